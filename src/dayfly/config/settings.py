"""`dayfly.toml`: everything that a run takes, and sources with settings of their own.

    budget = "60/min"
    contact = "https://example.org/crawler"

    [[sources]]
    url = "https://example.org/feed.xml"
    half_life = "2h"
    bearer = { env = "EXAMPLE_TOKEN" }

An unknown key is an error that names the place and the nearest key that there is. Whatever is wrong
is told in one line, and nothing is half-read. The page is docs/reference/settings.md.
"""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from dayfly.config.files import read_limited
from dayfly.config.values import (
    PerSecond,
    Seconds,
    Secret,
    convert,
    known_keys,
    nonnegative,
    positive,
)
from dayfly.errors import BadInput
from dayfly.units import parse_budget

_DAY = 86400.0
#: A longer file is not written by a person.
LARGEST = 64 << 20
#: What CSS selectors of a page are for.
SELECTED = ("item", "link", "title", "date")


class SourceSettings(Struct, frozen=True, kw_only=True):
    """One source as a person writes it; what is None or empty is as the run has it."""

    url: str
    id: str = ""
    title: str = ""
    tags: tuple[str, ...] = ()
    weight: float = 1.0
    half_life: Seconds | None = None
    #: Items per second: a guess, until crawls tell.
    arrival: PerSecond | None = None
    worth: float = 1.0
    cost: float = 1.0
    window: float | None = None
    kind: Literal["auto", "feed", "sitemap", "page"] = "auto"
    select: dict[str, str] = {}
    min_interval: Seconds | None = None
    max_interval: Seconds | None = None
    obey_robots: bool = True
    verify_tls: bool = True
    #: Secrets, in clear or as `{ env = "NAME" }` or `{ file = "PATH" }`.
    headers: dict[str, Secret] = {}
    basic: Secret = Secret("")
    bearer: Secret = Secret("")


class Settings(Struct, frozen=True, kw_only=True):
    """Everything that `dayfly run` takes; durations in seconds, the budget as it was typed."""

    budget: str | None = None
    db: str = "dayfly.db"
    half_life: Seconds = Seconds(6 * 3600.0)
    #: Where a site's owner finds out who we are: a web page or a mail address.
    contact: str = ""
    #: CIDR:PORT that the guard lets through although they are not public.
    allow: tuple[str, ...] = ()
    min_interval: Seconds = Seconds(300.0)
    max_interval: Seconds | None = None
    host_spacing: Seconds = Seconds(5.0)
    #: How far `max-age`, `Expires` and `ttl` may put off a visit.
    cache_cap: Seconds = Seconds(3600.0)
    keep_items: Seconds = Seconds(30 * _DAY)
    keep_visits: Seconds = Seconds(90 * _DAY)
    #: Visits under way at a time; None as the loop has it.
    parallel: int | None = None
    log: Literal["text", "json"] = "text"
    #: Where new items are posted to. Such an address is often a secret in itself.
    webhook: Secret = Secret("")
    sources: tuple[SourceSettings, ...] = ()


#: Keys by the place they stand in, for messages, tests and the page.
KEYS = Settings.__struct_fields__
SOURCE_KEYS = SourceSettings.__struct_fields__


def read_settings(path: str | os.PathLike[str]) -> Settings:
    """The settings in this file; `BadInput` says what is wrong and where."""
    name, document = read_toml(path)
    known_keys(document, KEYS, name)
    given = dict(document)
    tables = given.pop("sources", [])
    settings = convert(given, Settings, name)
    _check(settings, name)
    sources = tuple(
        source_settings(table, f"{name}, [[sources]] {number}")
        for number, table in enumerate(tables_of(tables, name), start=1)
    )
    return replace(settings, sources=sources)


def source_settings(table: Mapping[str, Any], place: str, *, texts: bool = False) -> SourceSettings:
    """One source from its table; `place` is where that stands, for messages.

    `texts` says that numbers and truth values come as text, too.
    """
    known_keys(table, SOURCE_KEYS, place)
    source = convert(table, SourceSettings, place, strict=not texts)
    known_keys(source.select, SELECTED, f"{place}, select")
    if bool(source.basic) + bool(source.bearer) > 1:
        raise BadInput(f"{place}: give basic or bearer, not both")
    for key in ("weight", "worth"):
        nonnegative(getattr(source, key), f"{place}, {key}")
    for key in ("arrival", "half_life", "min_interval", "max_interval", "cost", "window"):
        positive(getattr(source, key), f"{place}, {key}")
    nonnegative(source.weight * source.worth, f"{place}, weight times worth")
    if source.window is not None and source.window != math.floor(source.window):
        raise BadInput(f"{place}, window: must be a whole number, got {source.window:g}")
    _in_order(source.min_interval, source.max_interval, place)
    return source


def read_toml(path: str | os.PathLike[str]) -> tuple[str, dict[str, Any]]:
    """The name of a TOML file, for messages, and what it holds."""
    name, content = read_limited(path, LARGEST)
    return name, parse_toml(content, name)


def parse_toml(content: bytes, name: str) -> dict[str, Any]:
    """What a TOML file holds."""
    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadInput(f"{name}, line {line}: is not UTF-8 text; save it as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{name}: is not TOML: {error}") from None
    except RecursionError:
        raise BadInput(f"{name}: is not TOML that anybody wrote: too deep") from None


def tables_of(given: Any, name: str) -> list[Mapping[str, Any]]:
    """The tables under [[sources]]."""
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise BadInput(f"{name}: sources are tables; write [[sources]] above each of them")
    return given


def _check(settings: Settings, name: str) -> None:
    if settings.budget is not None:
        try:
            per_s, _ = parse_budget(settings.budget)
        except BadInput as error:
            raise BadInput(f"{name}, budget: {error}") from None
        positive(per_s, f"{name}, budget")
    for key in ("half_life", "keep_items", "keep_visits", "max_interval", "parallel"):
        positive(getattr(settings, key), f"{name}, {key}")
    for key in ("min_interval", "host_spacing", "cache_cap"):
        nonnegative(getattr(settings, key), f"{name}, {key}")
    _in_order(settings.min_interval, settings.max_interval, name)
    _check_outside(settings, name)


def _check_outside(settings: Settings, name: str) -> None:
    """What the network is told or asked for, checked by those who do it."""
    from dayfly.fetch import Forbidden, Guard, check_url
    from dayfly.serve.indoors import check_contact

    try:
        Guard(settings.allow)
    except BadInput as error:
        raise BadInput(f"{name}, allow: {error}") from None
    try:
        check_contact(settings.contact)
    except BadInput as error:
        raise BadInput(f"{name}, contact: {error}") from None
    try:
        if settings.webhook:
            check_url(settings.webhook)
    except Forbidden as error:
        raise BadInput(f"{name}, webhook: {error}") from None


def _in_order(least: float | None, most: float | None, place: str) -> None:
    if least is not None and most is not None and not least <= most < math.inf:
        raise BadInput(f"{place}: max_interval must not be shorter than min_interval")
