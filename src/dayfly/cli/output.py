"""Tables for people and JSON for programs.

The vocabulary of the JSON is docs/reference/json.md: one key per quantity, units in the key.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

#: Columns are set apart by this much, and names are not cut below this length.
_GAP, _SHORTEST = "   ", 8
#: An index that is so many times the price says only that the budget is ample.
_FAR = 1000.0


def print_json(document: Mapping[str, Any]) -> None:
    """One object; what is infinite or unknown is null. Lists have one row per line.

    >>> print_json({"price": 2.0, "sources": [{"id": "a", "interval_s": float("inf")}]})
    {
    "price": 2.0,
    "sources": [
    {"id":"a","interval_s":null}
    ]
    }
    """
    import msgspec

    def encoded(part: Any) -> str:
        return msgspec.json.encode(part).decode()

    out = sys.stdout
    out.write("{\n")
    for number, (key, part) in enumerate(document.items()):
        out.write((",\n" if number else "") + f"{encoded(key)}: ")
        if isinstance(part, list) and part:
            out.write("[\n")
            out.writelines((",\n" if i else "") + encoded(row) for i, row in enumerate(part))
            out.write("\n]")
        else:
            out.write(encoded(part))
    out.write("\n}\n")


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, texts: int = 1, last: bool = False
) -> None:
    """A table whose first `texts` columns are words and whose others are numbers.

    `last` sets the last row apart from the others.
    """
    from rich.cells import cell_len, set_cell_size
    from rich.console import Console

    kept = [[printable(cell) for cell in row] for row in rows]
    for place in reversed(range(1, texts)):
        if not any(row[place] for row in kept):  # a fleet without hosts needs no such column
            columns, texts = [*columns[:place], *columns[place + 1 :]], texts - 1
            kept = [[*row[:place], *row[place + 1 :]] for row in kept]
    widths = [max(map(cell_len, column)) for column in zip(columns, *kept, strict=True)]
    if sys.stdout.isatty():
        # Names give way where the terminal is narrow; a number is never cut.
        room = Console().width - sum(widths[texts:]) - len(_GAP) * (len(columns) - 1)
        widths[:texts] = [min(width, max(room // texts, _SHORTEST)) for width in widths[:texts]]

    def line(cells: Sequence[str]) -> str:
        padded = []
        for place, (cell, width) in enumerate(zip(cells, widths, strict=True)):
            fits = cell if cell_len(cell) <= width else set_cell_size(cell, width - 1) + "…"
            pad = " " * (width - cell_len(fits))
            padded.append(fits + pad if place < texts else pad + fits)
        return _GAP.join(padded).rstrip()

    rule = "─" * (sum(widths) + len(_GAP) * (len(widths) - 1))
    click.echo(click.style(line(columns), bold=True))
    click.echo(rule)
    for place, row in enumerate(kept):
        if last and place == len(kept) - 1:
            click.echo(rule)
        click.echo(line(row))


def print_facts(facts: Sequence[tuple[str, str]]) -> None:
    """Names and what they are, one per line."""
    width = max(len(name) for name, _ in facts)
    for name, what in facts:
        print_line(f"{name:<{width}}   {what}")


def print_line(text: str = "") -> None:
    """A sentence below a table."""
    click.echo(printable(text))


def show_number(x: float) -> str:
    """A number for people, with three or four digits that matter.

    >>> [show_number(x) for x in (1234567.8, 123.456, 12.345, 0.012345, 1.2e-7, 0.0, 1e12)]
    ['1,234,568', '123.5', '12.35', '0.0123', '1.2e-07', '0', '1e+12']
    """
    size = abs(x)
    if 1000 <= size < 1e9:
        return f"{x:,.0f}"
    if 10 <= size < 1000:
        return f"{x:.4g}"
    return f"{x:.3g}"


def show_times(index: float, price: float) -> str:
    """What a visit is worth beside the price.

    >>> show_times(3.83e-6, 5.58e-7), show_times(1.0, 0.0)
    ('6.86 × the price', 'worth something, and the price is 0')
    >>> show_times(1.0, 1e-6)
    'far above the price'
    """
    if price <= 0:
        return "worth something, and the price is 0"
    if index > _FAR * price:
        return "far above the price"
    return f"{show_number(index / price)} × the price"


def show_share(share: float, *, sign: bool = False) -> str:
    """A share in percent.

    >>> show_share(0.8234), show_share(-0.1, sign=True), show_share(float("nan"))
    ('82.3 %', '-10.0 %', '–')
    """
    if share != share:
        return "–"
    return f"{share:+.1%}".replace("%", " %") if sign else f"{share:.1%}".replace("%", " %")


def as_typed() -> str:
    """What to type for `dayfly`: its path as it was started, where the shell would not find it."""
    started, found = Path(sys.argv[0]), shutil.which("dayfly")
    if started.name == "__main__.py" and found is None:
        return f"{_from_here(sys.executable)} -m dayfly"
    if started.name != "dayfly" or not started.exists():
        return "dayfly"
    if found is not None and os.path.samefile(found, started):
        return "dayfly"
    return _from_here(started)


def _from_here(path: str | Path) -> str:
    """A path from the folder that we are in, if it lies in there."""
    near = Path(os.path.relpath(path))
    if near.parts[0] == os.pardir:
        return shlex.quote(os.path.abspath(path))
    # The shell looks for a bare name elsewhere.
    return shlex.quote(str(near) if len(near.parts) > 1 else f"./{near}")


def printable(text: str) -> str:
    """Names come from files: what could steer a terminal is shown as a dot."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "·" for c in text)
