"""Lists of sources: OPML, addresses one per line, CSV and TOML, told apart by what they hold.

What is wrong with an entry is told with file and line, and the good ones come through. A list may
hold an entry twice: its tags are joined, and it is one source.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from dayfly.config.addresses import Address, authorization, read_address, without_credentials
from dayfly.config.entries import entries
from dayfly.config.files import called, read_limited
from dayfly.config.settings import LARGEST, Settings, SourceSettings
from dayfly.errors import BadInput
from dayfly.serve.listable import LONGEST_TAG, LONGEST_TITLE, MOST_TAGS, listable
from dayfly.store import Listing


@dataclass(slots=True)
class Imported:
    """What a list holds."""

    listings: list[Listing] = field(default_factory=list)
    #: What was left out and why, each with file and line.
    problems: list[str] = field(default_factory=list)
    #: Entries that the list holds more than once.
    repeated: int = 0
    _by_id: dict[str, tuple[int, str, str]] = field(default_factory=dict, repr=False)
    _by_place: dict[str, tuple[int, str, str]] = field(default_factory=dict, repr=False)

    def take(self, one: SourceSettings, place: str, settings: Settings) -> None:
        """This entry, or the problem with it."""
        try:
            listing, address = _listing(one, settings)
        except BadInput as error:
            self.problems.append(f"{place}: {error}")
            return
        # With or without s, it is one place: what has moved to https is no second source.
        _, _, where = address.canonical.partition("://")
        same_id, same_place = self._by_id.get(listing.id), self._by_place.get(where)
        if same_id is None and same_place is None:
            entry = (len(self.listings), where, place)
            self._by_id[listing.id] = self._by_place[where] = entry
            self.listings.append(listing)
        elif same_id is not None and same_id[1] == where:
            row = same_id[0]
            tags = tuple(dict.fromkeys([*self.listings[row].tags, *listing.tags]))
            self.listings[row] = replace(self.listings[row], tags=tags[:MOST_TAGS])
            self.repeated += 1
        elif same_id is not None:
            self.problems.append(f"{place}: id {listing.id!r} is taken: {same_id[2]}")
        elif same_place is not None:
            self.problems.append(f"{place}: the same address under another id: {same_place[2]}")


def read_sources(path: str | os.PathLike[str], *, settings: Settings | None = None) -> Imported:
    """The sources in a list of any format; `-` reads standard input.

    `BadInput` where the file as a whole is nothing that could be a list.
    """
    if "://" in os.fspath(path) and not os.path.exists(path):
        raise BadInput(f"{called(path)}: is an address, not a list; dayfly sources add takes it")
    name, content = read_limited(path, LARGEST)
    if not content.strip(b"\xef\xbb\xbf \t\r\n"):
        raise BadInput(f"{name}: is empty; write one address per line, or export OPML to it")
    settings = settings or Settings()
    found = Imported()
    for one, place in entries(content, name, found.problems):
        found.take(one, place, settings)
    if not found.listings and not found.problems:
        found.problems.append(f"{name}: lists no sources")
    return found


def listings_of(settings: Settings, name: str = "dayfly.toml") -> list[Listing]:
    """The sources that a settings file has itself; `BadInput` for the first that cannot be used."""
    found = Imported()
    for number, one in enumerate(settings.sources, start=1):
        found.take(one, f"{name}, [[sources]] {number}", settings)
        if found.problems:
            raise BadInput(found.problems[0])
    return found.listings


def listing_of(url: str, *, settings: Settings | None = None, **given: Any) -> Listing:
    """One source by its address; `given` are values of `SourceSettings`."""
    return _listing(SourceSettings(url=url, **given), settings or Settings())[0]


def _listing(one: SourceSettings, settings: Settings) -> tuple[Listing, Address]:
    address = read_address(one.url)
    named = [(name, str(value)) for name, value in one.headers.items()]
    secrets = authorization(basic=one.basic, bearer=one.bearer)
    if one.id != without_credentials(one.id):
        raise BadInput("id: must not hold a user and password; leave it out, or choose a name")
    id = one.id or address.id
    title = _line(without_credentials(one.title), LONGEST_TITLE)
    half_life = float(one.half_life if one.half_life is not None else settings.half_life)
    listing = Listing(
        id=id,
        url=address.url,
        title="" if title == id else title,  # it is called so anyhow
        tags=_tags(one.tags),
        weight=one.weight,
        decay=math.log(2) / half_life,
        worth=one.worth,
        cost=one.cost,
        window=math.inf if one.window is None else one.window,
        kind=one.kind,
        select=tuple(one.select.items()),
        min_interval=None if one.min_interval is None else float(one.min_interval),
        max_interval=None if one.max_interval is None else float(one.max_interval),
        obey_robots=one.obey_robots,
        verify_tls=one.verify_tls,
        headers=(*named, *secrets, *address.headers),
    )
    if one.arrival is not None:
        listing = replace(listing, arrival=float(one.arrival))
    return listable(listing), address


def _tags(tags: Sequence[str]) -> tuple[str, ...]:
    lines = (_line(tag, LONGEST_TAG) for tag in tags)
    return tuple(dict.fromkeys(tag for tag in lines if tag))[:MOST_TAGS]


def _line(text: str, longest: int) -> str:
    """One printable line of text."""
    plain = "".join(c if c.isprintable() else " " for c in text[: 4 * longest])
    return " ".join(plain.split())[:longest]
