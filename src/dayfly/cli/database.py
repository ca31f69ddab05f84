"""The database that a command works on, and times as people read them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dayfly.units import show_duration

if TYPE_CHECKING:
    from dayfly.config.settings import Settings

#: Where settings are looked for if nobody says where.
USUAL = "dayfly.toml"

config_option = click.option(
    "--config",
    metavar="FILE",
    help=f"Settings.  [default: {USUAL}, where there is one]",
)
db_option = click.option(
    "--db", metavar="FILE", help="The crawler's database.  [default: dayfly.db]"
)


def plain_names(_ctx: click.Context, _param: click.Parameter, given: Any) -> Any:
    """Sources as they are known: without the credentials that an address was imported with."""
    if given is None:
        return None
    from dayfly.config.addresses import without_credentials

    if isinstance(given, str):
        return without_credentials(given)
    return tuple(without_credentials(one) for one in given)


source_argument = click.argument("source", callback=plain_names)


def settings_of(config: str | None) -> Settings:
    """The settings that hold here: of this file, of the usual one, or the defaults."""
    from dayfly.config.settings import Settings, read_settings

    if config is None and not os.path.lexists(USUAL):
        return Settings()
    return read_settings(config or USUAL)


def database_of(db: str | None, config: str | None) -> Path:
    """The database that is meant: as typed, else as the settings have it."""
    if db is not None and config is None:
        return Path(db)
    settings = settings_of(config)  # read although it may not be needed: a wrong one is told
    return Path(settings.db if db is None else db)


@contextmanager
def office_of(db: str | None, config: str | None) -> Iterator[Any]:
    """The office of the database that is meant."""
    from dayfly.serve import reach

    with reach(database_of(db, config)) as office:
        yield office


def show_instant(at: float | None, now: float | None = None) -> str:
    """An instant in local time: the hour if it is near, the day as well if not.

    >>> show_instant(None)
    '–'
    """
    if at is None:
        return "–"
    try:
        then = time.localtime(at)
    except (OverflowError, ValueError, OSError):
        return "never"
    near = abs(at - (time.time() if now is None else now)) < 12 * 3600
    return time.strftime("%H:%M:%S" if near else "%Y-%m-%d %H:%M", then)


def show_since(at: float | None, now: float) -> str:
    """How long ago, or how long until.

    >>> show_since(100.0, 160.0), show_since(100.0, 40.0), show_since(None, 0.0), show_since(5, 5.2)
    ('1min ago', 'in 1min', 'never', 'now')
    """
    if at is None:
        return "never"
    if abs(now - at) < 1:
        return "now"
    return f"{show_duration(now - at)} ago" if at < now else f"in {show_duration(at - now)}"
