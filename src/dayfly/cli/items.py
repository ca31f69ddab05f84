"""`dayfly items`: what was caught, once or as it comes in."""

from __future__ import annotations

import io
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from dayfly.cli import database, item_formats, options
from dayfly.errors import StoreError
from dayfly.units import show_duration

#: Rows of a table where nobody asks for another number, and seconds between two looks.
_TABLE, _LOOK = 50, 1.0
#: The same while no crawler runs: opening a database takes longer than asking. For the same reason
#: so many items are read before they are printed.
_OPEN, _AT_ONCE = 5.0, 20_000
#: Where nothing else is said, so many seconds back.
_SINCE = 86400.0
#: Characters of a title in a table; other formats have all of it.
_LONGEST = 120


@click.command()
@click.option("--since", type=options.age, metavar="TIME", help="Seen since: 2h.  [default: 1 day]")
@click.option("--follow", is_flag=True, help="Go on with what is seen from now on.")
@click.option(
    "--format", "form",
    type=click.Choice(["table", "jsonl", "csv", "atom"]), default="table", show_default=True,
)  # fmt: skip
@click.option("--unique", is_flag=True, help="The same item in several sources only once.")
@click.option(
    "--source", callback=database.plain_names,
    help="Of this source only: its id, address, or the beginning of one.",
)  # fmt: skip
@click.option("--tag", help="Of sources with this tag only.")
@click.option(
    "--limit", type=click.IntRange(0), metavar="N",
    help="The newest N only; 0 for all.  [default: 50 in a table, else all]",
)  # fmt: skip
@database.db_option
@database.config_option
def items(
    since: float | None,
    follow: bool,
    form: str,
    unique: bool,
    source: str | None,
    tag: str | None,
    limit: int | None,
    db: str | None,
    config: str | None,
) -> None:
    """What was caught, in the order in which it was seen.

    Works beside a running crawler. With --follow it starts now, or where --since says, and ends
    with Ctrl-C. jsonl, csv and atom are for other programs; docs/reference/json.md has the keys.
    """
    if follow and form == "atom":
        raise click.UsageError("a feed in Atom has an end: --follow goes with jsonl, csv or table")
    if follow and limit:
        raise click.UsageError("--limit goes without --follow")
    if form != "table" and isinstance(sys.stdout, io.TextIOWrapper):
        # Other programs read it, whatever the terminal would show.
        sys.stdout.reconfigure(encoding="utf-8")
    query = {"source": source, "tag": tag}
    look = _Look(database.database_of(db, config), query, unique)
    back = since if since is not None else 0.0 if follow else _SINCE
    try:
        if follow:
            _follow(look, form, back)
        else:
            _list(look, form, back, _TABLE if limit is None and form == "table" else limit)
    except KeyboardInterrupt:
        raise click.exceptions.Exit(0 if follow else 130) from None


class _Look:
    """Reads on from where it was, in portions; each item once if that is wanted.

    Whoever reads what we print may take his time. So nothing is held meanwhile: neither the
    database, which a crawler may want, nor a crawler's ear.
    """

    def __init__(self, db: Path, query: dict[str, Any], unique: bool) -> None:
        from dayfly.serve.items import Once

        self.db, self._query = db, query
        self._once = Once() if unique else None
        self._last = 0
        #: Whether a crawler was asked, the last time.
        self.beside = False

    def read(self, since: float) -> Iterator[dict[str, Any]]:
        """All there is by now."""
        from dayfly.serve import Remote, reach

        more = True
        while more:
            found: list[dict[str, Any]] = []
            last = self._last
            with reach(self.db) as office:
                self.beside = isinstance(office, Remote)
                while more and len(found) < _AT_ONCE:
                    answer = office.ask("items", since=since, after=last, **self._query)
                    last, more = answer["last"], answer["more"]
                    found += answer["items"]
            # Only now: if the crawler ends in between, all of it is asked for again.
            self._last = last
            for item in found:
                if self._once is None or self._once.new(item):
                    yield item


def _list(look: _Look, form: str, back: float, limit: int | None) -> None:
    number = 0
    kept: deque[dict[str, Any]] = deque(maxlen=limit or None)
    found = look.read(time.time() - back)
    if form in ("jsonl", "csv") and not limit:
        write = item_formats.jsonl if form == "jsonl" else item_formats.csv_lines
        sys.stdout.writelines(write(found))
        return
    for item in found:
        kept.append(item)
        number += 1
    if form == "table":
        _print(kept, number, back)
        return
    write = {
        "jsonl": item_formats.jsonl, "csv": item_formats.csv_lines, "atom": item_formats.atom,
    }[form]  # fmt: skip
    sys.stdout.writelines(write(kept))


def _print(kept: deque[dict[str, Any]], number: int, back: float) -> None:
    from dayfly.cli.output import print_line, print_table

    if kept:
        now = time.time()
        print_table(
            ["seen", "source", "title", "late"],
            (
                [
                    database.show_instant(item["seen_at"], now),
                    item["name"],
                    _title(item),
                    _late(item),
                ]
                for item in kept
            ),
            texts=3,
        )
    shown = "" if len(kept) == number else f", the newest {len(kept)} are shown (--limit 0 for all)"
    print_line(f"{number:,} items in {show_duration(back)}{shown}.")


def _follow(look: _Look, form: str, back: float) -> None:
    """Whether a crawler runs or not: one may start, stop and start again meanwhile."""
    since = time.time() - back
    first = True
    while True:
        try:
            found = look.read(since)
            if form == "csv":
                sys.stdout.writelines(item_formats.csv_lines(found, header=first))
            elif form == "jsonl":
                sys.stdout.writelines(item_formats.jsonl(found))
            else:
                for item in found:
                    _print_one(item)
            sys.stdout.flush()
            first = False
        except StoreError:
            if first or not look.db.exists():
                raise
            look.beside = False
        time.sleep(_LOOK if look.beside else _OPEN)


def _print_one(item: dict[str, Any]) -> None:
    from rich.cells import set_cell_size

    from dayfly.cli.output import print_line

    name = set_cell_size(item["name"], 24)
    print_line(f"{database.show_instant(item['seen_at'])}  {name}  {_title(item)}  {item['link']}")


def _title(item: dict[str, Any]) -> str:
    """What to call it, short enough for a line of a table."""
    title = str(item["title"] or item["link"] or item["key"])
    return title if len(title) <= _LONGEST else title[: _LONGEST - 1] + "…"


def _late(item: dict[str, Any]) -> str:
    """How long after it appeared we saw it."""
    if item["published_at"] is None:
        return "–"
    return show_duration(max(item["seen_at"] - item["published_at"], 0.0))
