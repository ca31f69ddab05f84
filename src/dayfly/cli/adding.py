"""`dayfly sources add` and `dayfly sources import`: how sources come in."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from dayfly.cli import database, options
from dayfly.cli.output import print_json, print_line, printable
from dayfly.errors import BadInput

if TYPE_CHECKING:
    from dayfly.config.lists import Imported
    from dayfly.config.settings import Settings

#: Problems told one by one; JSON has them all.
_TOLD = 20


@click.command()
@click.argument("urls", metavar="URL…", nargs=-1, required=True)
@click.option("--discover", is_flag=True, help="Visit URL, a web page, and add the feed it names.")
@click.option("--id", "chosen", help="Name it yourself.  [default: from the address]")
@click.option("--title", default="", help="What you call it.")
@click.option("--tag", "tags", multiple=True, help="Put it under this tag; repeatable.")
@click.option(
    "--weight", type=click.FloatRange(0), metavar="N",
    help="How much it matters beside others.  [default: 1]",
)  # fmt: skip
@click.option("--half-life", type=options.duration, help="Until an item has lost half its worth.")
@click.option("--update", is_flag=True, help="Change known sources to what is typed.")
@options.json_option
@database.db_option
@database.config_option
def add(
    urls: Sequence[str],
    discover: bool,
    chosen: str | None,
    title: str,
    tags: Sequence[str],
    weight: float | None,
    half_life: float | None,
    update: bool,
    as_json: bool,
    db: str | None,
    config: str | None,
) -> None:
    """Add sources by their addresses.

    What answers there may be a feed, a sitemap or a sitemap index. For a web page use --discover.
    More settings, and credentials, are read from a TOML list: dayfly sources import.
    """
    from dayfly.config.lists import Imported
    from dayfly.config.settings import SourceSettings
    from dayfly.config.values import Seconds
    from dayfly.serve import reach

    if chosen is not None and len(urls) > 1:
        raise click.UsageError("--id goes with one URL")
    settings = database.settings_of(config)

    def entries(addresses: Sequence[str]) -> Imported:
        found = Imported()
        for address in addresses:
            one = SourceSettings(
                url=address,
                id=chosen or "",
                title=title,
                tags=tuple(tags),
                weight=1.0 if weight is None else weight,
                half_life=None if half_life is None else Seconds(half_life),
            )
            found.take(one, "URL", settings)
        if found.problems:  # typed by hand: all of them, or none
            raise BadInput("; ".join(found.problems))
        return found

    try:
        found, others = entries(urls), []  # before a database is made for it
    except BadInput as error:
        raise click.UsageError(str(error)) from None
    path = database.database_of(db, config)
    if discover:
        with _visitor(path) as office:
            named = [_discovered(office, one.url, settings) for one in found.listings]
        found = entries([feeds[0] for feeds in named])
        others = [url for feeds in named for url in feeds[1:]]
    typed = {
        "title": title or None,
        "tags": list(tags) or None,
        "weight": weight,
        "decay": None if half_life is None else math.log(2) / half_life,
    }
    with reach(path, create=True) as office:
        answer = _handed_over(office, found, typed=typed if update else None)
    _tell(answer | ({"others": others} if discover else {}), as_json)
    if as_json:
        return
    if answer["known"]:
        print_line(
            "What is known is as typed now."
            if update
            else "What is known stays as it is; --update changes it to what is typed."
        )
    if others:
        print_line(f"Also named there: {', '.join(others)}")


@click.command("import")
@click.argument("file")
@click.option("--update", is_flag=True, help="Change known sources to what the list says of them.")
@options.json_option
@database.db_option
@database.config_option
def import_(file: str, update: bool, as_json: bool, db: str | None, config: str | None) -> None:
    """Add all sources of a list: OPML, addresses one per line, CSV or TOML; - is standard input.

    Broken OPML is read as well. What cannot be used is told with its line, the rest comes in.
    Sources that are known already stay as they are, unless --update says otherwise.
    """
    from dayfly.config.lists import read_sources
    from dayfly.serve import reach

    found = read_sources(file, settings=database.settings_of(config))
    with reach(database.database_of(db, config), create=True) as office:
        answer = _handed_over(office, found, update=update)
    _tell(answer, as_json)


@contextmanager
def _visitor(path: Path) -> Iterator[Any]:
    """Whoever can look at a page; no database is made for a question that may come to nothing."""
    from dayfly.serve import Office, StillHouse, reach
    from dayfly.store import MemoryStore

    if not path.exists():
        yield Office(StillHouse(MemoryStore()))
        return
    with reach(path) as office:
        yield office


def _discovered(office: Any, url: str, settings: Settings) -> list[str]:
    """The feeds that a page names, the best first."""
    from dayfly.serve.discovering import places

    if sys.stderr.isatty():  # it may take half a minute
        beside = ", ".join(urlsplit(place.url).path for place in places(url))
        click.echo(printable(f"Visiting {url}; if it names no feed, also {beside} …"), err=True)
    ours = {"allow": list(settings.allow), "contact": settings.contact}
    feeds = office.ask("discover", url=url, **ours)["feeds"]
    if not feeds:
        raise BadInput(f"{url}: names no feed, and none is where feeds usually are")
    return [feed["url"] for feed in feeds]


def _handed_over(
    office: Any, found: Imported, *, update: bool = False, typed: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The good ones handed to the office, and set as typed; what became of all."""
    from dayfly.serve.vocabulary import plain_listing

    plain = [plain_listing(listing) for listing in found.listings]
    taken = office.ask("sources.add", sources=plain, update=update) if plain else {}
    if typed is not None:
        _set(office, found, taken["rows"], typed)
    return {
        "added": taken.get("added", 0),
        "known": taken.get("known", 0),
        "repeated": found.repeated,
        "ids": [listing.id for listing in found.listings],
        "problems": found.problems,
    }


def _set(office: Any, found: Imported, rows: Sequence[int], typed: dict[str, Any]) -> None:
    """Have these sources as typed, also where that is the default; the rest stays as it is."""
    said = {name: value for name, value in typed.items() if value is not None}
    for listing, row in zip(found.listings, rows, strict=True):
        values = said | ({"headers": listing.headers} if listing.headers else {})
        if values:
            (one,) = office.ask("sources.list", after=row - 1, limit=1)["sources"]
            office.ask("sources.change", source=one["id"], **values)


def _tell(answer: dict[str, Any], as_json: bool) -> None:
    """What was taken in, and what was not; a failure if that was nothing."""
    problems = answer["problems"]
    if as_json:
        print_json(answer)
    else:
        for problem in problems[:_TOLD]:
            click.echo(printable(f"left out: {problem}"), err=True)
        if len(problems) > _TOLD:
            click.echo(f"… and {len(problems) - _TOLD:,} more; --json tells all", err=True)
        said = [f"{answer['added']:,} added", f"{answer['known']:,} known already"]
        if answer["repeated"]:
            said.append(f"{answer['repeated']:,} listed more than once")
        if problems:
            said.append(f"{len(problems):,} left out")
        if len(answer["ids"]) == 1:
            said.insert(0, answer["ids"][0])
        print_line(f"{', '.join(said)}.")
    if problems and not answer["ids"]:
        raise click.exceptions.Exit(1)
