"""A fleet as CSV: one source per line, columns by name, units as people write them.

    id,arrival,half_life,window
    bbc,40/day,6h,20

Whatever is wrong with a file is told once, by file, line and column, and nothing is half-read.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

from dayfly.errors import BadInput, UnknownName
from dayfly.model import cells
from dayfly.model.arrays import Array
from dayfly.model.fleet import KINDS, Fleet, first_misfit
from dayfly.model.rules import NUMBERS

if TYPE_CHECKING:
    from _csv import Reader

#: A longer line is not a source; it is refused before it fills the memory.
LONGEST_LINE = 65_536

_TEXTS = ("id", "host", "kind")
_IGNORED = ("name", "title", "url")
_KNOWN = (*_TEXTS, *cells.READERS, *_IGNORED)
#: Lines and rows in memory as text at a time.
_BATCH, _BLOCK = 1 << 10, 1 << 12
_UNCLOSED = "a quote is opened and not closed on the same line"

Lines = npt.NDArray[np.int64]


def read_csv(lines: Iterable[str], name: str = "<csv>") -> Fleet:
    """A fleet from the lines of a CSV file; `name` is the file's, for messages.

    >>> fleet = read_csv(["id,arrival,half_life,window", "bbc,40/day,6h,20", "blog,1/week,2 days,"])
    >>> fleet.id, fleet.window, fleet.arrival * 86400
    (('bbc', 'blog'), array([20., inf]), array([40. , 0.14285714]))
    >>> read_csv(["arrival,decay", "1,0.1", "1,-0.2"], "fleet.csv")
    Traceback (most recent call last):
    dayfly.errors.BadInput: fleet.csv, line 3, column decay: must not be negative, got -0.2
    """
    return _Table(name).read(lines)


def write_csv(fleet: Fleet) -> Iterator[str]:
    r"""The lines of a CSV file that `read_csv` turns into the same fleet, to the last bit.

    >>> list(write_csv(Fleet(arrival=0.5, decay=[0.1, 0.2], cost=[1, 2])))
    ['arrival,decay,cost\n', '0.5,0.1,1.0\n', '0.5,0.2,2.0\n']
    """
    texts: dict[str, Sequence[str]] = {"id": fleet.id, "host": fleet.host, "kind": fleet.kind}
    if all(given == str(row) for row, given in enumerate(texts["id"])):
        del texts["id"]
    for name, default in (("host", ""), ("kind", KINDS[0])):
        if all(given == default for given in texts[name]):
            del texts[name]
    kept = [n for n, (default, _) in NUMBERS.items() if (getattr(fleet, n) != default).any()]
    if not len(fleet):
        kept = ["arrival", "decay"]
    yield ",".join([*texts, *kept]) + "\n"
    for start in range(0, len(fleet), _BLOCK):
        rows = slice(start, start + _BLOCK)
        columns = [[_quoted(name, cell) for cell in texts[name][rows]] for name in texts]
        for name in kept:
            numbers = getattr(fleet, name)[rows].tolist()
            columns.append(["" if x == np.inf else repr(x) for x in numbers])
        for row in zip(*columns, strict=True):
            yield ",".join(row) + "\n"


@dataclass
class _Table:
    """One reading of one file."""

    name: str
    header: list[str] = field(default_factory=list)
    #: File line of every row so far, block by block.
    at: list[Lines] = field(default_factory=list)
    #: The columns so far, block by block.
    parts: dict[str, list[Any]] = field(default_factory=dict)

    def read(self, lines: Iterable[str]) -> Fleet:
        checked = chain.from_iterable(self._checked(lines))
        reader = csv.reader(checked, strict=True, skipinitialspace=True)
        before = 0
        while block := self._block(reader, before):
            self._digest(block, before)
            before = reader.line_num
        if not self.header:
            self._fail(None, None, "is empty; the first line names the columns: id,arrival,decay")
        if not any(map(len, self.at)):
            self._fail(before, None, "there is a header, and no source below it")
        return self._fleet()

    def _checked(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """The lines as they are, up to the first that must not reach the CSV reader."""
        more, before = iter(lines), 0
        while batch := list(islice(more, _BATCH)):
            if max(map(len, batch)) > LONGEST_LINE or any("\0" in line for line in batch):
                for number, line in enumerate(batch, before + 1):
                    if len(line.rstrip("\r\n")) > LONGEST_LINE:
                        self._fail(number, None, f"is longer than {LONGEST_LINE} characters")
                    if "\0" in line:
                        self._fail(number, None, "contains a NUL byte")
            if not before:
                batch[0] = batch[0].removeprefix("\ufeff")
            before += len(batch)
            yield batch

    def _block(self, reader: Reader, before: int) -> list[list[str]]:
        """The next rows; they start on the line after `before` and have one line each."""
        block: list[list[str]] = []
        try:
            block.extend(islice(reader, _BLOCK))
        except csv.Error as error:
            start = before + len(block) + 1
            unclosed = reader.line_num > start or "end of data" in str(error)
            self._fail(start, None, _UNCLOSED if unclosed else f"is not CSV: {error}")
        if reader.line_num > before + len(block):
            split = next(row for row, cut in enumerate(block) if any("\n" in cell for cell in cut))
            self._fail(before + split + 1, None, _UNCLOSED)
        return block

    def _set_header(self, line: int, row: list[str]) -> None:
        header = [cell.strip().lower() for cell in row]
        for place, column in enumerate(header, 1):
            if not column:
                self._fail(line, str(place), "has no name")
            if column not in _KNOWN:
                if {";", "\t"} & set(column):
                    self._fail(line, None, "cells must be separated by commas")
                unknown = UnknownName("column", cells.shown(column), _KNOWN)
                self._fail(line, None, str(unknown))
            if header.count(column) > 1:
                self._fail(line, column, "is there twice")
        for one, other in (("decay", "half_life"), ("slow_decay", "slow_half_life")):
            if one in header and other in header:
                self._fail(line, other, f"says the same as column {one}; leave one out")
        for needed, instead in (("arrival", None), ("decay", "half_life")):
            if needed not in header and instead not in header:
                other = f" (or {instead})" if instead else ""
                self._fail(line, needed, f"is missing{other}; every source needs one")
        self.header = header

    def _digest(self, block: list[list[str]], before: int) -> None:
        """Turn rows of text into columns; the topmost fault of all columns is the one told."""
        wrong = None
        if not self.header or set(map(len, block)) != {len(self.header)}:
            block, at, wrong = self._sorted_out(block, before)
        else:
            at = np.arange(before + 1, before + 1 + len(block))
        if block:
            self.at.append(at)
            self._convert(block, at)
        if wrong is not None:
            self._fail(*wrong)

    def _sorted_out(
        self, block: list[list[str]], before: int
    ) -> tuple[list[list[str]], Lines, tuple[int, str | None, str] | None]:
        """Rows without header and blank lines, up to the first of the wrong length."""
        kept, at = [], []
        for line, row in enumerate(block, before + 1):
            if not "".join(row).strip():
                continue
            n = len(self.header)
            if not n:
                self._set_header(line, row)
            elif len(row) == n:
                kept.append(row)
                at.append(line)
            else:
                what = f"there are {len(row)} cells where the header names {n} columns"
                wrong = line, self.header[len(row)] if len(row) < n else None, what
                return kept, np.array(at, dtype=np.int64), wrong
        return kept, np.array(at, dtype=np.int64), None

    def _convert(self, block: list[list[str]], at: Lines) -> None:
        faults: list[tuple[int, int, str]] = []
        done: dict[str, Any] = {}
        by_name = dict(zip(self.header, zip(*block, strict=True), strict=True))
        for place, (name, column) in enumerate(by_name.items()):
            fault = None
            if name in cells.READERS:
                done[cells.READERS[name][0]], fault = cells.numbers(name, column)
            elif name == "kind":
                done["kind"], fault = cells.kinds(column)
            elif name == "id":
                done["id"], fault = column, cells.ids(column)
            elif name == "host":
                done["host"] = column
            if fault:
                faults.append((fault[0], place, fault[1]))
        given = by_name.get("host", ("",) * len(block))
        if "url" in by_name and not all(given):
            urls = ["" if host else url for host, url in zip(given, by_name["url"], strict=True)]
            found, fault = cells.hosts_of(urls)
            done["host"] = [own or host for own, host in zip(given, found, strict=False)]
            if fault:
                faults.append((fault[0], self.header.index("url"), fault[1]))
        if faults:
            row, place, what = min(faults)
            self._fail(int(at[row]), self.header[place], what)
        self._check_rows(done, at)
        for name, part in done.items():
            self.parts.setdefault(name, []).append(part)

    def _check_rows(self, done: dict[str, Any], at: Lines) -> None:
        n = len(at)
        columns: dict[str, Array] = {
            name: done.get(name, np.broadcast_to(default or 0.0, (n,)))
            for name, (default, _) in NUMBERS.items()
        }
        with np.errstate(over="ignore"):
            huge = np.isinf(columns["arrival"] * columns["worth"])
        if huge.any():
            self._fail(int(at[np.argmax(huge)]), "arrival", "times worth is too large for a number")
        wrong = first_misfit(done.get("kind", np.zeros(n, np.uint8)), columns)
        if wrong is not None:
            row, column, rule = wrong
            if column not in self.header:
                column = column.replace("decay", "half_life")
            self._fail(int(at[row]), column, rule)

    def _fleet(self) -> Fleet:
        columns: dict[str, Any] = {}
        for name, parts in self.parts.items():
            if name in ("id", "host"):
                columns[name] = list(chain.from_iterable(parts))
            else:
                columns[name] = np.concatenate(parts)
        if "kind" in columns:
            columns["kind"] = [KINDS[code] for code in columns["kind"].tolist()]
        if "id" in columns and len(set(columns["id"])) < len(columns["id"]):
            self._duplicate(columns["id"])
        return Fleet(**columns)

    def _duplicate(self, ids: Sequence[str]) -> NoReturn:
        at, seen = np.concatenate(self.at), dict[str, int]()
        for line, given in zip(at.tolist(), ids, strict=True):
            if given in seen:
                shown = repr(cells.shown(given))
                self._fail(line, "id", f"{shown} was given on line {seen[given]} already")
            seen[given] = line
        raise AssertionError("called without a duplicate")

    def _fail(self, line: int | None, column: str | None, what: str) -> NoReturn:
        where = self.name
        where += f", line {line}" if line else ""
        where += f", column {column}" if column else ""
        raise BadInput(f"{where}: {what}")


def _quoted(name: str, cell: str) -> str:
    if "\n" in cell or "\r" in cell or "\0" in cell or (name == "id" and not cell.strip()):
        raise BadInput(f"{name} {cells.shown(cell)!r} cannot be written as CSV")
    if '"' in cell or "," in cell or cell[:1] == " ":
        return '"' + cell.replace('"', '""') + '"'
    return cell
