"""`dayfly refresh`: visit a source as soon as politeness allows."""

from __future__ import annotations

import time

import click

from dayfly.cli import database, options


@click.command()
@database.source_argument
@options.json_option
@database.db_option
@database.config_option
def refresh(source: str, as_json: bool, db: str | None, config: str | None) -> None:
    """Visit SOURCE as soon as politeness allows, and say when that is.

    The running crawler does it, ahead of what the index would choose. It never comes earlier than
    the minimum interval, a Retry-After, a back-off or the spacing of the host allow: asking twice
    changes nothing.
    """
    from dayfly.cli.output import print_json, print_line

    with database.office_of(db, config) as office:
        answer = office.ask("refresh", source=source)
    if as_json:
        print_json(answer)
        return
    if not answer["held_by"]:
        print_line(f"{answer['name']}: is visited now.")
    elif answer["visit_at"] is None:
        print_line(f"{answer['name']}: is visited as soon as possible ({answer['held_by']}).")
    else:
        now, at = time.time(), answer["visit_at"]
        when = f"{database.show_instant(at, now)}, {database.show_since(at, now)}"
        print_line(f"{answer['name']}: is visited at {when}; until then: {answer['held_by']}.")
