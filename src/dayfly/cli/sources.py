"""`dayfly sources`: the list of what is crawled."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import click

from dayfly.cli import database, options
from dayfly.cli.output import print_json, print_line, printable
from dayfly.cli.source_tables import print_source, print_sources
from dayfly.errors import BadInput

if TYPE_CHECKING:
    from dayfly.config.lists import Imported
    from dayfly.config.settings import Settings

#: Problems told one by one; JSON has them all.
_TOLD = 20
_STATES = ("active", "paused", "gone", "quarantined", "removed")
_SUFFIXES = {".opml": "opml", ".xml": "opml", ".txt": "text", ".csv": "csv", ".toml": "toml",
             ".json": "json"}  # fmt: skip

sources_argument = click.argument("named", metavar="SOURCE…", nargs=-1, required=True)


@click.group()
def sources() -> None:
    """What is crawled: add, list, pause, remove, import and export.

    SOURCE is an id, an address, a title, or the beginning of the first two. Works beside a
    running crawler, which takes every change at once.
    """


@sources.command()
@click.argument("urls", metavar="URL…", nargs=-1, required=True)
@click.option("--discover", is_flag=True, help="Visit URL, a web page, and add the feed it names.")
@click.option("--id", "chosen", help="Name it yourself.  [default: from the address]")
@click.option("--title", default="", help="What you call it.")
@click.option("--tag", "tags", multiple=True, help="Put it under this tag; repeatable.")
@click.option(
    "--weight", type=click.FloatRange(0), default=1.0, metavar="N", show_default=True,
    help="How much it matters beside others.",
)  # fmt: skip
@click.option("--half-life", type=options.duration, help="Until an item has lost half its worth.")
@options.json_option
@database.db_option
@database.config_option
def add(
    urls: Sequence[str],
    discover: bool,
    chosen: str | None,
    title: str,
    tags: Sequence[str],
    weight: float,
    half_life: float | None,
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
                weight=weight,
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
    with reach(database.database_of(db, config), create=True) as office:
        if discover:
            named = [_discovered(office, one.url, settings) for one in found.listings]
            found = entries([feeds[0] for feeds in named])
            others = [url for feeds in named for url in feeds[1:]]
        answer = _handed_over(office, found, update=False)
    _tell(answer | ({"others": others} if discover else {}), as_json)
    if others and not as_json:
        print_line(f"Also named there: {', '.join(others)}")


@sources.command("import")
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


@sources.command("list")
@click.option("--tag", help="With this tag only.")
@click.option("--state", type=click.Choice(_STATES), help="In this state only.")
@options.json_option
@database.db_option
@database.config_option
def list_(
    tag: str | None, state: str | None, as_json: bool, db: str | None, config: str | None
) -> None:
    """All sources, in the order in which they were added."""
    with database.office_of(db, config) as office:
        found = office.ask("sources.list", tag=tag, state=state)["sources"]
    if as_json:
        print_json({"n_sources": len(found), "sources": found})
        return
    print_sources(found, time.time())


@sources.command()
@database.source_argument
@options.json_option
@database.db_option
@database.config_option
def show(source: str, as_json: bool, db: str | None, config: str | None) -> None:
    """One source: how it is set, and how its last visits ended."""
    with database.office_of(db, config) as office:
        found = office.ask("sources.show", source=source)
    if as_json:
        print_json(found)
        return
    print_source(found, time.time())


@sources.command()
@sources_argument
@click.option("--for", "length", type=options.duration, metavar="TIME", help="Only so long: 2h.")
@options.json_option
@database.db_option
@database.config_option
def pause(
    named: Sequence[str], length: float | None, as_json: bool, db: str | None, config: str | None
) -> None:
    """Do not visit these sources until they are resumed, or for some time."""
    until = None if length is None else time.time() + length
    _each(named, "sources.pause", "paused", as_json, db, config, until=until)


@sources.command()
@sources_argument
@options.json_option
@database.db_option
@database.config_option
def resume(named: Sequence[str], as_json: bool, db: str | None, config: str | None) -> None:
    """Visit these sources again: after a pause, or where they were gone or quarantined."""
    _each(named, "sources.resume", "resumed", as_json, db, config)


@sources.command()
@sources_argument
@options.json_option
@database.db_option
@database.config_option
def remove(named: Sequence[str], as_json: bool, db: str | None, config: str | None) -> None:
    """Never visit these sources again; their items stay until they expire."""
    _each(named, "sources.remove", "removed", as_json, db, config)


@sources.command()
@click.option(
    "--format", "form", type=click.Choice(["opml", "text", "csv", "toml", "json"]),
    help="[default: by the suffix of --out, else opml]",
)  # fmt: skip
@click.option("--out", metavar="FILE", help="Write to this file.  [default: standard output]")
@click.option("--tag", help="With this tag only.")
@database.db_option
@database.config_option
def export(
    form: str | None, out: str | None, tag: str | None, db: str | None, config: str | None
) -> None:
    """The list for other programs, or to be imported again. Secrets are left out."""
    from dayfly.config import write_text_atomically
    from dayfly.config.export import FORMATS

    form = form or _form_of(out or "")
    with database.office_of(db, config) as office:
        found = office.ask("sources.list", tag=tag)["sources"]
    if not found and tag is not None:
        raise BadInput(f"no source has the tag {tag!r}; nothing was written")
    written = "".join(FORMATS[form](found))
    if out is None:
        click.echo(written, nl=False)
        return
    write_text_atomically(out, written)
    print_line(f"Wrote {len(found):,} sources to {out}.")


def _form_of(out: str) -> str:
    """The format that the suffix of a file asks for."""
    suffix = PurePath(out).suffix.lower()
    if suffix and suffix not in _SUFFIXES:
        raise click.BadParameter(
            f"{suffix} is no format of a list: end it in {', '.join(_SUFFIXES)},"
            " or say which with --format",
            param_hint="'--out'",
        )
    return _SUFFIXES.get(suffix, "opml")


def _discovered(office: Any, url: str, settings: Settings) -> list[str]:
    """The feeds that a page names, the best first."""
    ours = {"allow": list(settings.allow), "contact": settings.contact}
    feeds = office.ask("discover", url=url, **ours)["feeds"]
    if not feeds:
        raise BadInput(f"{url}: names no feed, and none is where feeds usually are")
    return [feed["url"] for feed in feeds]


def _handed_over(office: Any, found: Imported, *, update: bool) -> dict[str, Any]:
    """The good ones handed to the office; what became of all."""
    from dayfly.serve.vocabulary import plain_listing

    plain = [plain_listing(listing) for listing in found.listings]
    taken = office.ask("sources.add", sources=plain, update=update) if plain else {}
    return {
        "added": taken.get("added", 0),
        "known": taken.get("known", 0),
        "repeated": found.repeated,
        "ids": [listing.id for listing in found.listings],
        "problems": found.problems,
    }


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


def _each(
    named: Sequence[str], what: str, done: str, as_json: bool, db: str | None, config: str | None,
    **arguments: Any,
) -> None:  # fmt: skip
    """One operation on each of these sources."""
    with database.office_of(db, config) as office:
        for one in named:  # all of them are there, or nothing is done
            office.ask("sources.show", source=one, visits=0)
        found = [office.ask(what, source=one, **arguments) for one in named]
    if as_json:
        print_json({"sources": found})
        return
    for one in found:
        print_line(f"{one['id']}: {done}.")
