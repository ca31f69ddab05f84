"""`dayfly events import`: clicks, votes and shares, which teach what items are worth."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import click

from dayfly.cli import database, options
from dayfly.errors import BadInput, UnknownName
from dayfly.units import show_duration

#: Columns of the file; `kind` is for people.
_COLUMNS = ("source", "link", "key", "time", "amount", "kind")
#: A longer file is to be split.
_LARGEST = 256 << 20
#: Events sent at a time.
_PORTION = 20_000


@click.group()
def events() -> None:
    """Interest in items, told by whoever saw it: clicks, votes, shares."""


@events.command(name="import")
@click.argument("file", metavar="FILE.csv")
@options.json_option
@database.db_option
@database.config_option
def import_(file: str, as_json: bool, db: str | None, config: str | None) -> None:
    """Learn from FILE.csv what items are worth and how fast they fade.

    A line is one event: link (or source and key) says which item, time when it happened (POSIX
    seconds or 2026-11-16T10:30:00+01:00), amount how much of it (1 if not given), kind is for
    people. Importing a file twice changes nothing. - reads standard input.

    What counts: events within two days of an item's appearance, for items older than that, from
    20 such events on. Sources with few events are drawn towards the mean of all.
    """
    from dayfly.cli.output import print_json, print_line, print_table, show_number

    total = {"added": 0, "known": 0, "unknown": 0}
    told = 0
    with database.office_of(db, config) as office:
        portion: list[Any] = []
        for event in _events(file):
            portion.append(event)
            told += 1
            if len(portion) == _PORTION:
                _count(total, office.ask("events.add", events=portion))
                portion = []
        if portion:
            _count(total, office.ask("events.add", events=portion))
        answer = total | office.ask("events.learn")
    if as_json:
        print_json(answer)
        return
    print_line(
        f"{total['added']:,} new events, {total['known']:,} known,"
        f" {total['unknown']:,} about items that are not stored."
    )
    if sum(total.values()) > told:
        print_line(
            f"They are {told:,} in the file: one whose item several sources have is of each."
        )
    if not answer["learned"]:
        print_line(
            f"{answer['events']:,} of all can be learnt from; {answer['fewest']} are needed."
        )
        return
    print_table(
        ["source", "worth", "half-life", "events", "items"],
        (
            [
                row["id"],
                show_number(row["worth"]),
                show_duration(row["half_life_s"]),
                f"{row['events']:,g}",
                f"{row['items']:,}",
            ]
            for row in answer["learned"][:20]
        ),
    )
    print_line(f"{len(answer['learned']):,} sources learnt from {answer['events']:,} events.")


def _count(total: dict[str, int], answer: dict[str, int]) -> None:
    for key in total:
        total[key] += answer[key]


def _events(file: str) -> Iterator[list[Any]]:
    """One [source, link or key, time, amount] per line."""
    import io

    from dayfly.config.files import read_limited

    name, content = read_limited(file, _LARGEST)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadInput(f"{name}, line {line}: is not UTF-8 text; save it as UTF-8") from None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = [cell.strip().lower() for cell in next(reader, [])]
        for column in header:
            if column not in _COLUMNS:
                raise UnknownName(f"column of {name}", column, _COLUMNS)
        if "time" not in header or not {"link", "key"} & set(header):
            raise BadInput(f"{name}, line 1: needs the columns time, and link or key")
        for cells in reader:
            place = f"{name}, line {reader.line_num}"
            if any(cells) and len(cells) != len(header):
                raise BadInput(f"{place}: has {len(cells)} cells, the header has {len(header)}")
            if any(cells):
                yield _event(dict(zip(header, cells, strict=True)), place)
    except csv.Error as error:
        raise BadInput(f"{name}, line {reader.line_num}: {error}") from None


def _event(cells: dict[str, str], place: str) -> list[Any]:
    item = cells.get("key", "").strip() or cells.get("link", "").strip()
    if not item:
        raise BadInput(f"{place}: says neither link nor key of the item")
    amount = _number(cells.get("amount", "").strip() or "1", f"{place}: amount")
    if not 0 < amount < 1e9:
        raise BadInput(f"{place}: amount must be positive, got {amount:g}")
    return [cells.get("source", "").strip(), item, _time(cells["time"].strip(), place), amount]


def _time(text: str, place: str) -> float:
    """POSIX seconds, from either way to write it."""
    try:
        at = float(text)
    except ValueError:
        try:
            when = datetime.fromisoformat(text)
        except ValueError:
            raise BadInput(f"{place}: not a time: {text[:64]!r}") from None
        if when.tzinfo is None:
            raise BadInput(f"{place}: {text[:64]!r} has no time zone; add Z or +01:00") from None
        at = when.timestamp()
    if not 0 <= at < 1e11:
        raise BadInput(f"{place}: not a time in POSIX seconds: {text[:64]!r}")
    return at


def _number(text: str, place: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise BadInput(f"{place} is not a number: {text[:64]!r}")
    return number
