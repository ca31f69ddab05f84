"""`dayfly doctor`: whether a crawl can be trusted to run here for months."""

from __future__ import annotations

import os
import shutil
import stat
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dayfly.cli import database, options
from dayfly.errors import DayflyError

if TYPE_CHECKING:
    from dayfly.config.settings import Settings

#: Open files that a crawl needs, bytes free below which it is wrong, and below which it is tight.
_FILES, _NO_ROOM, _LITTLE_ROOM = 1024, 100 << 20, 1 << 30
#: Before this instant no clock is right: November 2025.
_EARLIEST = 1_762_000_000.0
#: A crawler that is meant to run does not leave everybody alone for so many seconds.
_LONG = 3600.0


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    #: "ok", "note" (worth knowing) or "wrong".
    state: str
    what: str
    text: str


@click.command()
@options.json_option
@database.db_option
@database.config_option
def doctor(as_json: bool, db: str | None, config: str | None) -> None:
    """Look at database, crawler, clock, limits, disk and settings; exits with 1 if one is wrong.

    Works beside a running crawler; the database's integrity is then left for a backup to show.
    """
    from dayfly.cli.output import print_json, print_line

    settings = database.settings_of(config)
    path = Path(db) if db is not None else Path(settings.db)
    found = list(_findings(path, settings))
    wrong = sum(finding.state == "wrong" for finding in found)
    if as_json:
        print_json({"wrong": wrong, "findings": [asdict(finding) for finding in found]})
    else:
        width = max(len(finding.what) for finding in found)
        for finding in found:
            print_line(f"{finding.state:<5}   {finding.what:<{width}}   {finding.text}")
        print_line(f"{wrong} wrong." if wrong else "Nothing is wrong.")
    if wrong:
        raise click.exceptions.Exit(1)


def _findings(path: Path, settings: Settings) -> Iterator[Finding]:
    yield from _database(path)
    yield _sqlite()
    yield _clock()
    yield _files()
    yield _disk(path)
    yield _contact(settings)


def _database(path: Path) -> Iterator[Finding]:
    from dayfly.serve import Remote, reach

    if not path.exists():
        # A backup that was never written, or a job of cron that starts in another folder.
        said = f"{path.absolute()}: is not there; name it with --db, or dayfly sources add makes it"
        yield Finding("wrong", "database", said)
        return
    try:
        with reach(path) as office:
            if isinstance(office, Remote):
                runs = f"running, process {office.ask('status')['pid']}"
                advice = f"dayfly backup copy.db && dayfly doctor --db copy.db checks {path}"
                yield Finding("note", "database", f"not checked while it is in use; {advice}")
            else:
                runs = ""
                problems = office.ask("check")["problems"]
                size = path.stat().st_size / 2**20
                yield from (Finding("wrong", "database", f"{path}: {said}") for said in problems)
                if not problems:
                    yield Finding("ok", "database", f"{path}: {size:,.1f} MiB, integrity is clean")
            answer = office.ask("stats", seconds=_LONG)
            yield _crawler(answer, runs)
            yield from _sources(answer, path)
    except DayflyError as error:
        yield Finding("wrong", "database", str(error))


def _crawler(answer: dict[str, Any], runs: str) -> Finding:
    """Whether one runs, and when it came last; nobody but you knows whether one should."""
    newest, now = answer["newest_visit_at"], time.time()
    text = f"{runs or 'none runs'}; last visit: {database.show_since(newest, now)}"
    if runs or not answer["n_ready"] or (newest is not None and newest > now - _LONG):
        return Finding("ok", "crawler", text)
    waiting = f"{answer['n_ready']:,} sources may be visited; if one should run, dayfly run"
    return Finding("note", "crawler", f"{text}; {waiting}")


def _sources(answer: dict[str, Any], path: Path) -> Iterator[Finding]:
    number = answer["n_sources"]
    if not number:
        yield Finding("note", "sources", "none; dayfly sources add")
    elif not answer["states"].get("active"):
        yield Finding("note", "sources", f"{number:,}, none of them active; dayfly sources resume")
    else:
        yield Finding("ok", "sources", f"{number:,}")
    newest = answer["newest_visit_at"]
    if newest is not None and newest > time.time() + 300:
        when = database.show_instant(newest)
        yield Finding("wrong", "clock", f"the last visit was in the future ({when}); set the clock")
    if answer["n_quarantined"]:
        names = ", ".join(row["id"] for row in answer["quarantined"][:3])
        yield Finding("wrong", "quarantine", f"{answer['n_quarantined']}: {names}; dayfly stats")
    if answer["n_overridden"]:
        said = "sources whose robots.txt or certificates you ignore; dayfly stats lists them"
        yield Finding("note", "overrides", f"{answer['n_overridden']} {said}")
    mode = stat.S_IMODE(os.stat(path).st_mode)
    if answer["n_with_headers"] and mode & 0o077:
        yield Finding(
            "wrong", "permissions", f"{path} holds credentials and others can read it: chmod 600"
        )


def _sqlite() -> Finding:
    import sqlite3

    from dayfly.store.gate import version_warning

    said = version_warning()
    return (
        Finding("note", "SQLite", said) if said else Finding("ok", "SQLite", sqlite3.sqlite_version)
    )


def _clock() -> Finding:
    now = time.time()
    if now < _EARLIEST:
        return Finding("wrong", "clock", f"says {time.strftime('%Y-%m-%d %H:%M')}; set it right")
    return Finding("ok", "clock", time.strftime("%Y-%m-%d %H:%M:%S %Z"))


def _files() -> Finding:
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < _FILES:
        return Finding("wrong", "open files", f"{soft}, {_FILES} are needed: ulimit -n {_FILES}")
    return Finding("ok", "open files", "any" if soft == resource.RLIM_INFINITY else f"{soft:,}")


def _disk(path: Path) -> Finding:
    from dayfly.store.gate import place_warning

    folder = path.resolve().parent
    if said := place_warning(path):
        return Finding("wrong", "disk", said)
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return Finding("wrong", "disk", f"{folder}: {error.strerror}")
    size = path.stat().st_size if path.exists() else 0
    state = "wrong" if free < max(_NO_ROOM, size // 10) else "note" if free < _LITTLE_ROOM else "ok"
    return Finding(state, "disk", f"{free / 2**30:,.1f} GiB free in {folder}")


def _contact(settings: Settings) -> Finding:
    if settings.contact:
        return Finding("ok", "contact", settings.contact)
    said = "none in the settings: dayfly run then needs --contact to leave this machine"
    return Finding("note", "contact", said)
