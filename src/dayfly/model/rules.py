"""What the number columns of a fleet must satisfy, said once for arguments and for files."""

import math

import numpy as np

from dayfly.model.arrays import Array

#: Columns that are numbers, with their default and the rule they follow; all but the endless
#: ones must be finite, too.
NUMBERS: dict[str, tuple[float | None, str]] = {
    "arrival": (None, "not negative"),
    "decay": (None, "not negative"),
    "worth": (1.0, "not negative"),
    "cost": (1.0, "positive"),
    "lifetime": (np.inf, "positive or endless"),
    "window": (np.inf, "whole or endless"),
    "slow_decay": (0.0, "not negative"),
    "slow_share": (0.0, "share"),
}


def first_bad(rule: str, numbers: Array) -> int | None:
    """Row of the first value that breaks the rule, at the speed of numpy."""
    good = numbers >= 0 if rule in ("not negative", "share") else numbers > 0
    if not rule.endswith("endless"):
        good &= np.isfinite(numbers)
    if rule == "share":
        good &= numbers <= 1
    if rule == "whole or endless":
        good &= numbers == np.floor(numbers)
    return None if good.all() else int(np.argmin(good))


def complaint(rule: str, number: float, shown: str | None = None) -> str:
    """What to say about a value that breaks the rule; `shown` is how its writer put it."""
    shown = f"{number:g}" if shown is None else shown
    if math.isnan(number) or (math.isinf(number) and not rule.endswith("endless")):
        return f"must be a finite number, got {shown}"
    demand = {
        "not negative": "must not be negative",
        "positive": "must be positive",
        "positive or endless": "must be positive",
        "whole or endless": "must be a whole number of at least 1",
        "share": "must lie between 0 and 1",
    }[rule]
    return f"{demand}, got {shown}"
