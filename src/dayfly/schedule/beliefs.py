"""New numbers about sources: checked first, then written, all of them or none."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dayfly.errors import BadInput
from dayfly.estimate import Estimates
from dayfly.model import NUMBERS, Array, Rows
from dayfly.model.rules import complaint, first_bad
from dayfly.schedule.arguments import numbers
from dayfly.schedule.roster import ARRIVAL, CEILING, COST, DECAY, WORTH, Roster

_RULES = {name: NUMBERS[name][1] for name in ("arrival", "decay", "worth", "cost")}
_RULES["weight"] = "not negative"
_PLACES = {"arrival": ARRIVAL, "decay": DECAY, "worth": WORTH, "cost": COST}


def believe(
    roster: Roster, estimates: Estimates, affordable: Callable[[float], None]
) -> tuple[Rows, float]:
    """Write estimates into the roster; whose they are, and how much they moved.

    `affordable` complains about a cost that is too high.
    """
    rows = roster.check(estimates.row)
    if not len(rows):
        return rows, 0.0
    in_order = np.sort(rows)
    if (in_order[1:] == in_order[:-1]).any():
        raise BadInput("estimates: a row is there twice; one belief per source at a time")
    new = {name: _column(name, getattr(estimates, name), rows) for name in _RULES}
    hosts = _names("host", estimates.host, rows)
    groups = _names("group", estimates.group, rows)
    record = roster.record.take(rows, axis=0)
    old: dict[str, Array] = {
        "arrival": record[:, ARRIVAL],
        "worth": record[:, WORTH],
        "weight": roster.weight(rows),
        "decay": record[:, DECAY],
        "cost": record[:, COST],
    }
    now = {name: old[name] if column is None else column for name, column in new.items()}
    with np.errstate(over="ignore"):
        income = now["arrival"] * (now["worth"] * now["weight"])
    if not np.isfinite(income).all():
        row = int(rows[int(np.argmax(~np.isfinite(income)))])
        raise BadInput(f"row {row}: arrival × worth is too large for a number")
    if new["cost"] is not None:
        affordable(float(new["cost"].max()))
    # Nothing was written so far; from here on nothing can fail.
    roster.record[rows, CEILING] = roster.ceiling(income, now["decay"])
    for name, place in _PLACES.items():
        if new[name] is not None:
            roster.record[rows, place] = new[name]
    if new["weight"] is not None:
        roster.column("weight", np.float64, 1.0)[rows] = new["weight"]
    if new["cost"] is not None:
        roster.cheapest = min(roster.cheapest, float(new["cost"].min()))
        roster.dearest = max(roster.dearest, float(new["cost"].max()))
    if hosts is not None:
        roster.own_hosts()[rows] = roster.hosts.codes(hosts)
    if groups is not None:
        roster.column("group", np.int32, 0)[rows] = roster.groups.codes(groups)
    return rows, _moved(old, new)


def _moved(old: dict[str, Array], new: dict[str, Array | None]) -> float:
    """Sum of relative changes, each between -1 and 1: what scatters cancels."""
    total = 0.0
    for name, column in new.items():
        if column is not None:
            with np.errstate(invalid="ignore", divide="ignore"):
                change = (column - old[name]) / np.maximum(column, old[name])
            total += float(np.nansum(change))  # 0/0, where it was nothing and still is
    return total


def _column(name: str, given: object, rows: Rows) -> Array | None:
    if given is None:
        return None
    column = numbers(f"estimates: {name}", given)
    if column.ndim > 1 or (column.ndim == 1 and len(column) != len(rows)):
        raise BadInput(f"estimates: {name} has shape {column.shape} for {len(rows)} rows")
    column = np.broadcast_to(column, (len(rows),))
    bad = first_bad(_RULES[name], column)
    if bad is not None:
        said = complaint(_RULES[name], float(column[bad]))
        raise BadInput(f"row {int(rows[bad])}: {name} {said}; nothing was changed")
    return column


def _names(what: str, given: str | Sequence[str] | None, rows: Rows) -> Sequence[str] | None:
    if given is None:
        return None
    names = [given] * len(rows) if isinstance(given, str) else list(given)
    if not all(isinstance(name, str) for name in names):
        raise BadInput(f"estimates: {what} must hold names, one per row")
    if len(names) != len(rows):
        raise BadInput(f"estimates: {what} has {len(names)} names for {len(rows)} rows")
    return names
