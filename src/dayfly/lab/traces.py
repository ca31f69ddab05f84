"""Trace files: one item per line, `source,time` and if you like `worth`; also packed with gzip.

Lines may come in any order, and two equal lines are two items. A time is in Unix seconds or in
ISO 8601 with an offset. Whatever is wrong is told by file, line and column; nothing is left out.
"""

from __future__ import annotations

import csv
import gzip
import os
import zlib
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NoReturn

import numpy as np

from dayfly.errors import BadInput, UnknownName
from dayfly.lab.lines import blocks, fail, opened
from dayfly.model import Array, Counts
from dayfly.simulate import Trace

#: More items than this are refused before they fill the memory.
MOST_ITEMS = 20_000_000
#: The year 2100. Whatever lies beyond is in milliseconds, or no time at all.
_FAR = 4_102_444_800.0

_COLUMNS = ("source", "time", "worth")


def read_trace(path: str | os.PathLike[str]) -> Trace:
    """The trace in a CSV file, plain or packed with gzip; `-` reads standard input."""
    name = "<stdin>" if os.fspath(path) == "-" else os.fspath(path)
    reading = _Reading(name)
    with opened(path, name) as file:
        try:
            for first, lines in blocks(file, name):
                reading.digest(first, lines)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise BadInput(f"{name}: is not a whole gzip file: {error}") from None
        except OSError as error:
            raise BadInput(f"{name}: cannot be read: {error.strerror or error}") from None
    return reading.trace()


def parse_time(text: str) -> float:
    """POSIX seconds in a time as ISO 8601 with an offset.

    >>> parse_time("2020-11-03T01:00:00+01:00"), parse_time("2020-11-03T00:00:00.5Z")
    (1604361600.0, 1604361600.5)
    >>> parse_time("2020-11-03 00:00")
    Traceback (most recent call last):
    dayfly.errors.BadInput: has no offset from UTC; write for example 2020-11-03T00:00:00Z
    """
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise BadInput(
            f"is not a time: {text[:64]!r}; write Unix seconds, or 2020-11-03T00:00:00Z"
        ) from None
    if moment.tzinfo is None:
        raise BadInput("has no offset from UTC; write for example 2020-11-03T00:00:00Z")
    return moment.timestamp()


def trace_lines(trace: Trace) -> Iterator[str]:
    r"""The lines of a file that `read_trace` turns into the same items, in order of time.

    >>> list(trace_lines(Trace.from_columns(["b", "a"], [2.5, 1.0])))
    ['source,time\n', 'a,1\n', 'b,2.5\n']
    """
    worth = bool((trace.worth != 1.0).any())
    yield "source,time,worth\n" if worth else "source,time\n"
    order = np.lexsort((trace.source, trace.time))
    names = [_quoted(name) for name in trace.sources]
    for at in range(0, len(order), 1 << 16):
        part = order[at : at + (1 << 16)]
        columns = [
            [names[row] for row in trace.source[part].tolist()],
            [repr(time).removesuffix(".0") for time in trace.time[part].tolist()],
        ]
        if worth:
            columns.append([repr(one) for one in trace.worth[part].tolist()])
        for cells in zip(*columns, strict=True):
            yield ",".join(cells) + "\n"


def truth_lines(trace: Trace) -> Iterator[str]:
    """The lines of a file with what is true about each source; empty where a law says nothing."""
    truth = trace.truth or {}
    yield ",".join(["source", *truth]) + "\n"
    columns = [["" if x != x else str(x) for x in column.tolist()] for column in truth.values()]
    for cells in zip(map(_quoted, trace.sources), *columns, strict=True):
        yield ",".join(cells) + "\n"


class _Reading:
    """One reading of one file."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.header: list[str] = []
        self.codes: dict[str, int] = {}
        self.parts: dict[str, list[Array | Counts]] = {"source": [], "time": [], "worth": []}
        self.items = 0

    def digest(self, first: int, lines: list[str]) -> None:
        """Turn lines, the first of which has this number, into columns."""
        rows, at = self._rows(first, lines)
        if not rows:
            return
        self.items += len(rows)
        if self.items > MOST_ITEMS:
            self._fail(at[-1], None, f"there are more than {MOST_ITEMS:,} items; split the file")
        by_name = dict(zip(self.header, zip(*rows, strict=True), strict=True))
        names = [cell.strip() for cell in by_name["source"]]
        if not all(names):
            self._fail(at[names.index("")], "source", "is empty; every item needs one")
        codes = self.codes
        self.parts["source"].append(
            np.fromiter(
                (codes.setdefault(name, len(codes)) for name in names), np.int64, len(names)
            )
        )
        self.parts["time"].append(self._times(by_name["time"], at))
        if "worth" in by_name:
            self.parts["worth"].append(self._worths(by_name["worth"], at))

    def trace(self) -> Trace:
        """All that was read."""
        if not self.header:
            self._fail(None, None, "is empty; the first line names the columns: source,time")
        if not self.items:
            self._fail(None, None, "there is a header, and no item below it")
        source, time = (np.concatenate(self.parts[name]) for name in ("source", "time"))
        worth = np.concatenate(self.parts["worth"]) if self.parts["worth"] else None
        return Trace.from_codes(list(self.codes), source.astype(np.int64), time, worth)

    def _rows(self, first: int, lines: list[str]) -> tuple[list[list[str]], Sequence[int]]:
        """The cells of lines that have any, and the number of each line."""
        try:
            rows = list(csv.reader(lines, strict=True, skipinitialspace=True))
        except csv.Error:
            rows = []
        if len(rows) != len(lines):
            for line, text in enumerate(lines, first):
                try:
                    next(csv.reader([text], strict=True, skipinitialspace=True), None)
                except csv.Error as error:
                    self._fail(line, None, f"is not CSV, or a quote is not closed: {error}")
            self._fail(first, None, "a line from here on is not CSV")
        at: Sequence[int] = range(first, first + len(rows))
        if not self.header or not all(map(len, rows)):
            full = [place for place, row in enumerate(rows) if "".join(row).strip()]
            rows, at = [rows[place] for place in full], [at[place] for place in full]
        if not self.header and rows:
            self._set_header(at[0], rows[0])
            rows, at = rows[1:], at[1:]
        n = len(self.header)
        if set(map(len, rows)) - {n}:
            place = next(place for place, row in enumerate(rows) if len(row) != n)
            what = f"there are {len(rows[place])} cells where the header names {n} columns"
            self._fail(at[place], None, what)
        return rows, at

    def _set_header(self, line: int, row: list[str]) -> None:
        header = [cell.strip() for cell in row]
        for column in header:
            if column not in _COLUMNS:
                if {";", "\t"} & set(column):
                    self._fail(line, None, "cells must be separated by commas")
                self._fail(line, None, str(UnknownName("column", column[:64], _COLUMNS)))
            if header.count(column) > 1:
                self._fail(line, column, "is there twice")
        for needed in _COLUMNS[:2]:
            if needed not in header:
                self._fail(line, needed, "is missing; every item has a source and a time")
        self.header = header

    def _times(self, cells: Sequence[str], at: Sequence[int]) -> Array:
        try:
            times = np.array(list(map(_number, cells)))
        except ValueError:
            times = np.array([self._time(cell, line) for cell, line in zip(cells, at, strict=True)])
        wrong = ~((times >= 0) & (times < _FAR))
        if wrong.any():
            place = int(np.argmax(wrong))
            bad = float(times[place])
            self._fail(at[place], "time", _time_fault(bad))
        return times

    def _time(self, cell: str, line: int) -> float:
        try:
            return _number(cell)
        except ValueError:
            pass
        try:
            return parse_time(cell)
        except BadInput as error:
            self._fail(line, "time", str(error))

    def _worths(self, cells: Sequence[str], at: Sequence[int]) -> Array:
        worths = np.empty(len(cells))
        for place, cell in enumerate(cells):
            try:
                worths[place] = _number(cell) if cell.strip() else 1.0
            except ValueError:
                self._fail(at[place], "worth", f"is not a number: {cell[:64]!r}")
        wrong = ~(np.isfinite(worths) & (worths >= 0))
        if wrong.any():
            place = int(np.argmax(wrong))
            what = f"must be finite and not negative, got {worths[place]:g}"
            self._fail(at[place], "worth", what)
        return worths

    def _fail(self, line: int | None, column: str | None, what: str) -> NoReturn:
        fail(self.name, line, column, what)


def _number(cell: str) -> float:
    if "_" in cell:  # Python reads 1_000 as a number; nobody else does
        raise ValueError
    return float(cell)


def _time_fault(bad: float) -> str:
    if not np.isfinite(bad):
        return f"must be a finite number of Unix seconds, got {bad:g}"
    if bad < 0:
        return f"lies before 1970: {bad:.15g}; times are Unix seconds"
    if bad / 1000 < _FAR:
        return f"lies after the year 2100: {bad:.15g}; if it is in milliseconds, divide it by 1000"
    return f"lies after the year 2100: {bad:.15g}; times are Unix seconds"


def _quoted(name: str) -> str:
    if "\n" in name or "\r" in name or "\0" in name or not name.strip():
        raise BadInput(f"source {name[:64]!r} cannot be written as CSV")
    if '"' in name or "," in name or name[:1] == " ":
        return '"' + name.replace('"', '""') + '"'
    return name
