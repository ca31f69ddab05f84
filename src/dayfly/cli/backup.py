"""`dayfly backup` and `dayfly restore`: a copy of the database, and back."""

from __future__ import annotations

from pathlib import Path

import click

from dayfly.cli import database, options


@click.command()
@click.argument("file")
@options.json_option
@database.db_option
@database.config_option
def backup(file: str, as_json: bool, db: str | None, config: str | None) -> None:
    """Copy the database to FILE, as it is at one instant.

    Works beside a running crawler. FILE appears, or replaces an earlier backup of that name, when
    the copy is complete and checked, never before. Nothing else is ever replaced.
    """
    from dayfly.cli.output import print_json, print_line

    with database.office_of(db, config) as office:
        answer = office.ask("backup", path=str(Path(file).resolve()))
    if as_json:
        print_json(answer)
        return
    print_line(f"{file}: {answer['size_bytes'] / 2**20:,.1f} MiB, complete.")


@click.command()
@click.argument("file")
@database.db_option
@database.config_option
def restore(file: str, db: str | None, config: str | None) -> None:
    """Make the backup FILE the database; FILE itself is only read.

    FILE is checked first, and a database that is there is kept under another name. The crawler
    must not be running.
    """
    from dayfly.cli.output import print_line
    from dayfly.serve import taken
    from dayfly.store.backup import restore as put_back

    path = database.database_of(db, config)
    with taken(path):
        pass  # whoever is in the way is named, and what to do
    aside = put_back(file, path)
    kept = "" if aside is None else f" What was there is {aside} now; delete it when all is well."
    print_line(f"{path}: restored from {file}.{kept}")
