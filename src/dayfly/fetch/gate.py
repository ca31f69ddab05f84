"""A strict XML gate: what passes is well-formed, harmless, and has told its dates.

The fast parser behind the gate guesses: it repairs broken documents, and where an item has no
usable date it makes one up from the item's number and today. So the gate refuses broken documents
and reads the dates itself, as they are written.
"""

from __future__ import annotations

from xml.parsers import expat

#: Feeds are flat; what nests deeper than this is not a feed.
_DEPTH = 256
#: A hostile document costs the parser behind the gate far more than it costs to send: a second for
#: a thousand attributes on one element, or for a few thousand items. Real feeds stay far below.
_ATTRIBUTES = 100
_NAME = 1000
_ELEMENTS = 200_000
_ITEMS = 2000
#: Names for the date of an item, the best first.
_DATES = ("pubdate", "published", "issued", "date", "created", "updated", "modified")


class Unreadable(Exception):
    """Not a feed, or not one that can be read without guessing."""


def pass_gate(body: bytes) -> list[str]:
    """The date of each item as it is written, in the order of the document; empty if none is.

    Examples
    --------
    >>> pass_gate(b"<rss><channel><pubDate>no item</pubDate><item><pubDate>today</pubDate></item>"
    ...           b"<item/></channel></rss>")
    ['today', '']
    >>> pass_gate(b"<rss><channel>")
    Traceback (most recent call last):
    dayfly.fetch.gate.Unreadable: malformed: no element found: line 1, column 14
    """
    gate = _Gate()
    try:
        gate.parser.Parse(body, True)
    except (expat.ExpatError, LookupError, ValueError) as error:
        # The last two: an encoding that nobody knows, or that has no fixed width.
        raise Unreadable(f"malformed: {str(error)[:80]}") from None
    return [min(dates, default=(0, ""))[1] for dates in gate.items]


class _Gate:
    def __init__(self) -> None:
        #: For each item its dates with their rank.
        self.items: list[list[tuple[int, str]]] = []
        self.depth = self.elements = 0
        self.item_depth: int | None = None
        self.text: list[str] = []
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.StartElementHandler = self.opened
        self.parser.EndElementHandler = self.closed
        self.parser.EntityDeclHandler = self.declared

    def opened(self, name: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        self.elements += 1
        if self.depth > _DEPTH:
            raise Unreadable("malformed: nested too deep")
        if len(attributes) > _ATTRIBUTES:
            raise Unreadable(f"hostile: more than {_ATTRIBUTES} attributes on one element")
        if max(map(len, (name, *attributes))) > _NAME:
            raise Unreadable(f"hostile: a name of more than {_NAME} characters")
        if self.elements > _ELEMENTS or len(self.items) > _ITEMS:
            raise Unreadable(f"hostile: more than {_ITEMS} items or {_ELEMENTS} elements")
        local = _local(name)
        if self.item_depth is None:
            if local in ("item", "entry"):
                self.item_depth = self.depth
                self.items.append([])
        elif self.depth == self.item_depth + 1 and local in _DATES:
            self.text = []
            self.parser.CharacterDataHandler = self.text.append

    def closed(self, name: str) -> None:
        if self.item_depth is not None:
            if self.depth == self.item_depth:
                self.item_depth = None
            elif self.depth == self.item_depth + 1 and _local(name) in _DATES:
                self.parser.CharacterDataHandler = None
                written = "".join(self.text).strip()
                if written:
                    self.items[-1].append((_DATES.index(_local(name)), written))
        self.depth -= 1

    def declared(self, *_: object) -> None:
        raise Unreadable("malformed: declares entities")


def _local(name: str) -> str:
    """A name without its namespace."""
    return name.rpartition(" ")[2].lower()
