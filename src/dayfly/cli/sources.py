"""`dayfly sources`: the list of what is crawled."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

import click

from dayfly.cli import database, options
from dayfly.cli.adding import add, import_
from dayfly.cli.database import show_instant, show_since
from dayfly.cli.output import print_json, print_line, printable
from dayfly.cli.source_tables import print_source, print_sources
from dayfly.errors import BadInput

#: Sources named in a warning.
_TOLD = 3
_STATES = ("active", "paused", "gone", "quarantined", "removed")
_SUFFIXES = {".opml": "opml", ".xml": "opml", ".txt": "text", ".csv": "csv", ".toml": "toml",
             ".json": "json"}  # fmt: skip

sources_argument = click.argument(
    "named", metavar="SOURCE…", nargs=-1, required=True, callback=database.plain_names
)


@click.group()
def sources() -> None:
    """What is crawled: add, list, pause, remove, import and export.

    SOURCE is an id, an address, a title, or the beginning of the first two. Works beside a
    running crawler, which takes every change at once.
    """


sources.add_command(add)
sources.add_command(import_)


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
    now = time.time()
    until = None if length is None else now + length
    # A source that rests for longer than that anyhow stays as it is.
    done = "paused" if until is None else "paused until {at}, {since}"
    _each(named, "sources.pause", done, as_json, db, config, until=until)


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
    from dayfly.config.export import FORMATS, holds

    form = form or _form_of(out or "")
    with database.office_of(db, config) as office:
        found = office.ask("sources.list", tag=tag)["sources"]
    if not found and tag is not None:
        raise BadInput(f"no source has the tag {tag!r}; nothing was written")
    if fewer := [one["id"] for one in found if not holds(form, one)]:
        said = f"left out: {len(fewer):,} of kind page, whose selectors only --format toml keeps"
        click.echo(printable(f"{said}: {', '.join(fewer[:_TOLD])}"), err=True)
    written = "".join(FORMATS[form](found))
    if out is None:
        click.echo(written, nl=False)
        return
    write_text_atomically(out, written)
    print_line(f"Wrote {len(found) - len(fewer):,} sources to {out}.")


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
        at, now = one["not_before_at"], time.time()
        said = done.format(at=show_instant(at, now), since=show_since(at, now))
        print_line(f"{one['id']}: {said}.")
