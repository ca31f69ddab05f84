"""Cells of a table turned into columns: plain floats at the speed of numpy, units where written."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt

from dayfly.errors import BadInput, UnknownName
from dayfly.model.arrays import Array
from dayfly.model.fleet import KINDS
from dayfly.model.rules import NUMBERS, complaint, first_bad
from dayfly.units import parse_budget, parse_duration, parse_rate

#: The first bad cell of a column: its row, and what is wrong with it.
Fault = tuple[int, str]

_LONGEST_SHOWN = 64


def _plain(cell: str) -> float:
    raise BadInput(f"not a number: {shown(cell)!r}")


#: Number columns as a file may name them: the fleet's column, and how units are read.
READERS: dict[str, tuple[str, Callable[[str], float]]] = {
    "arrival": ("arrival", parse_rate),
    "decay": ("decay", parse_rate),
    "half_life": ("decay", parse_duration),
    "worth": ("worth", _plain),
    "cost": ("cost", _plain),
    "lifetime": ("lifetime", parse_duration),
    "window": ("window", _plain),
    "slow_decay": ("slow_decay", parse_rate),
    "slow_half_life": ("slow_decay", parse_duration),
    "slow_share": ("slow_share", _plain),
}


def numbers(name: str, cells: Sequence[str]) -> tuple[Array, Fault | None]:
    """A number column as the fleet wants it, and its first fault."""
    column, read = READERS[name]
    default, rule = NUMBERS[column]
    halved = name != column  # given as a half-life
    fault: Fault | None = None
    empty: list[int] = []
    try:
        found = np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError:
        in_one_unit = _in_one_unit(cells, read)
        if in_one_unit is not None:
            found = in_one_unit
        else:
            found, empty, fault = _one_by_one(cells, read, default)
    if halved:
        found[empty] = 1.0  # passes, and makes room for the default below
        rule = "positive"
    sound = found if fault is None else found[: fault[0]]
    bad = first_bad(rule, sound)
    if bad is not None:
        return found, (bad, complaint(rule, sound[bad], shown(cells[bad])))
    if halved:
        with np.errstate(divide="ignore", over="ignore"):
            found = math.log(2.0) / found
        bad = first_bad("not negative", found[: len(sound)])
        if bad is not None:
            return found, (bad, f"is too short, got {shown(cells[bad])}")
        found[empty] = default
    return found, fault


def kinds(cells: Sequence[str]) -> tuple[npt.NDArray[np.uint8], Fault | None]:
    """The kind of every row as its code, and the first unknown one."""
    codes = {cell: _kind(cell) for cell in set(cells)}
    for row, cell in enumerate(cells if -1 in codes.values() else ()):
        if codes[cell] < 0:
            wrong = str(UnknownName("kind of source", shown(cell.strip()), KINDS))
            return np.zeros(len(cells), np.uint8), (row, wrong)
    return np.fromiter((codes[cell] for cell in cells), np.uint8, len(cells)), None


def ids(cells: Sequence[str]) -> Fault | None:
    """The first row without an id."""
    if all(map(str.strip, cells)):
        return None
    for row, cell in enumerate(cells):
        if not cell.strip():
            return row, "is empty; give every source an id, or leave the column out"
    return None


def hosts_of(urls: Sequence[str]) -> tuple[list[str], Fault | None]:
    """Host of each address; none where the cell is empty."""
    found: list[str] = []
    known: dict[str, str | None] = {}
    for row, url in enumerate(urls):
        start = "/".join(url.split("/", 3)[:3]) if "://" in url else url
        if start not in known:
            known[start] = _host(start)
        host = known[start]
        if host is None:
            return found, (row, f"has no host: {shown(url)!r}")
        found.append(host)
    return found, None


def shown(cell: str) -> str:
    """A cell, short enough for a message."""
    cell = cell.strip()
    return cell if len(cell) <= _LONGEST_SHOWN else cell[:_LONGEST_SHOWN] + "…"


def _in_one_unit(cells: Sequence[str], read: Callable[[str], float]) -> Array | None:
    """The column where all cells end in the same unit, with the very bits of one by one."""
    unit = cells[0].strip().lstrip("+-.0123456789eE ")
    if not unit or not (unit.isalpha() if read is parse_duration else read is parse_rate):
        return None
    bare = [cell[: -len(unit)] for cell in cells if cell.endswith(unit)]
    if len(bare) < len(cells):
        return None
    try:
        found = np.fromiter(map(float, bare), np.float64, len(bare))
        return (
            found / parse_budget(f"1{unit}")[1] if read is parse_rate else found * read(f"1{unit}")
        )
    except ValueError:
        return None


def _one_by_one(
    cells: Sequence[str], read: Callable[[str], float], default: float | None
) -> tuple[Array, list[int], Fault | None]:
    found = np.zeros(len(cells))
    empty: list[int] = []
    known: dict[str, float] = {}
    for row, cell in enumerate(cells):
        if cell not in known:
            if not cell.strip():
                if default is None:
                    return found, empty, (row, "is empty and has no default")
                empty.append(row)
                found[row] = default
                continue
            try:
                known[cell] = _read(cell.strip(), read)
            except BadInput as error:
                return found, empty, (row, str(error))
        found[row] = known[cell]
    return found, empty, None


def _read(cell: str, read: Callable[[str], float]) -> float:
    try:
        return float(cell)
    except ValueError:
        return read(cell)


def _kind(cell: str) -> int:
    name = cell.strip() or KINDS[0]
    return KINDS.index(name) if name in KINDS else -1


def _host(url: str) -> str | None:
    url = url.strip()
    if not url:
        return ""
    try:
        return urlsplit(url if "//" in url else f"//{url}").hostname
    except ValueError:
        return None
