"""What a source must be like to be listed, whoever lists it: a file, a person or a program.

The import of lists and the office make the same checks, because they are these.
"""

from __future__ import annotations

import hashlib
import math
import re
from typing import TypeVar

from dayfly.errors import BadInput, UnknownName
from dayfly.fetch import Forbidden, check_headers, check_url
from dayfly.fetch.pages import check_select
from dayfly.store import Listing
from dayfly.store.sources import check_numbers

L = TypeVar("L", bound=Listing)

#: Longer ids are cut and told apart by a hash.
LONGEST_ID = 120
#: Characters of a title and of a tag, and tags of a source.
LONGEST_TITLE, LONGEST_TAG, MOST_TAGS = 1000, 100, 50
_KINDS = ("auto", "feed", "sitemap", "page")
_ODD = re.compile(r"[\x00-\x1f\x7f-\x9f\\]")


def id_of(canonical: str) -> str:
    """A readable id that always comes out the same: the address without its scheme.

    A source that moves from http to https keeps its id, and is the same source in a list that
    still has the old address.

    >>> id_of("https://example.org/"), id_of("http://example.org:8080/a/feed.xml")
    ('example.org', 'example.org:8080/a/feed.xml')
    """
    name = canonical.partition("://")[2]
    if name.endswith("/") and name.count("/") == 1:
        name = name[:-1]
    if len(name) <= LONGEST_ID:
        return name
    told_apart = hashlib.sha256(name.encode()).hexdigest()[:12]
    return f"{name[: LONGEST_ID - 13]}~{told_apart}"


def check_id(text: str) -> str:
    """An id that somebody chose, if it can be one."""
    if not text.isprintable() or text != text.strip() or _ODD.search(text):
        raise BadInput(f"id {text[:64]!r}: must be printable, without a backslash or outer spaces")
    if len(text) > LONGEST_ID:
        raise BadInput(f"id {text[:64]!r}…: must not have more than {LONGEST_ID} characters")
    if ".." in re.split("/", text) or text.startswith(("/", "-", "~")):
        raise BadInput(f"id {text[:64]!r}: must not look like a path or an option")
    return text


def listable(listing: L, *, new: bool = True) -> L:
    """This source, if it may be listed; else `BadInput`, which quotes no secret.

    An id is for life: only that of a `new` source is looked at.
    """
    try:
        url = check_url(listing.url)
    except Forbidden as error:
        raise BadInput(str(error)) from None
    if new and listing.id != id_of(str(url)):
        check_id(listing.id)
    if new and listing.host != Listing(id="-", url=listing.url).host:
        # Another name would take it out of the queue for its host.
        raise BadInput("the host follows from the address; leave it out")
    check_headers(listing.headers)
    _check_texts(listing)
    _check_page(listing)
    _check_intervals(listing)
    check_numbers(listing)
    return listing


def _check_texts(listing: Listing) -> None:
    if len(listing.title) > LONGEST_TITLE:
        raise BadInput(f"title: must not have more than {LONGEST_TITLE} characters")
    if len(listing.tags) > MOST_TAGS or any(len(tag) > LONGEST_TAG for tag in listing.tags):
        raise BadInput(f"tags: at most {MOST_TAGS}, of at most {LONGEST_TAG} characters each")
    if not all(text.isprintable() for text in (listing.title, *listing.tags)):
        raise BadInput("title and tags must be printable")


def _check_page(listing: Listing) -> None:
    if listing.kind not in _KINDS:
        raise UnknownName("kind of source", listing.kind, _KINDS)
    if listing.select and listing.kind != "page":
        raise BadInput('select is for pages; write kind = "page"')
    if listing.kind == "page":
        check_select(dict(listing.select))


def _check_intervals(listing: Listing) -> None:
    least, most = listing.min_interval, listing.max_interval
    if any(time is not None and not 0 < time < math.inf for time in (least, most)):
        raise BadInput("min_interval and max_interval must be positive")
    if least is not None and most is not None and least > most:
        raise BadInput("max_interval must not be shorter than min_interval")
