"""The gate before the XML parser: nothing declared in a document may grow or reach out.

The parser behind it is strict and has limits of its own on depth and on lengths. What it does not
know is how much a document type with entities is allowed to blow up. So a document that brings
declarations of its own is looked at here first, up to its first element, and refused unless they
are small and internal. A document type that only points elsewhere, as RSS 0.91 has one, is
harmless: nothing is ever loaded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

if TYPE_CHECKING:
    from lxml.etree import XMLPullParser, XMLSyntaxError

#: All that entities may add to a document, and how many a document may declare, within how many
#: bytes; and how many ampersands it may have then, whatever they begin: each is looked at.
_EXPANSION = 64 * 1024
_ENTITIES = 1000
_LONGEST = 1 << 20
_AMPERSANDS = 500_000
#: Longer names are not declared, so references need not be looked at further.
_NAME = 64
_REFERENCE = re.compile(rb"&([^\s&;#<>]{1,%d});" % _NAME)


class Unreadable(Exception):
    """Not a document with items, or not one that may be read; the text is a short reason."""

    #: Whether the same document may be read another time.
    passing = False


class Malformed(Unreadable):
    """Not well-formed; the tolerant parser may still make sense of it."""


def refusal(error: XMLSyntaxError) -> Unreadable:
    """What an error of the XML parser means: beyond its limits is hostile, the rest malformed."""
    from lxml.etree import ErrorTypes

    if error.code in (ErrorTypes.ERR_RESOURCE_LIMIT, ErrorTypes.ERR_NAME_TOO_LONG):
        return Unreadable(f"hostile: {error.msg.partition(',')[0][:80]}")
    return Malformed(f"malformed: {error.msg[:80]}")


def fed_up(parser: XMLPullParser, what: str) -> Unreadable:
    """Why a parser that was given so much found nothing: it had met an error, or it is a trick.

    A parser that is fed piece by piece tells of an error only when it is closed.
    """
    from lxml.etree import ErrorTypes, XMLSyntaxError

    try:
        parser.close()
    except XMLSyntaxError as error:
        # Of course the document is not complete yet.
        if error.code not in (ErrorTypes.ERR_TAG_NOT_FINISHED, ErrorTypes.ERR_DOCUMENT_END):
            return refusal(error)
    return Unreadable(f"hostile: {what}")


@contextmanager
def pull_parser(*tags: str, **settings: Any) -> Iterator[XMLPullParser]:
    """A parser that is fed piece by piece and tells where such elements end; gone at the end.

    A parser and the last tree that it told of hold each other, and with them every name that was
    in it. So what it has not told yet is listened to, and another document, of which it has nothing
    to tell, takes the place of that tree.
    """
    from lxml.etree import XMLPullParser, XMLSyntaxError

    parser = XMLPullParser(events=("end",), tag=tags, **settings)
    try:
        yield parser
    finally:
        with suppress(XMLSyntaxError):
            parser.close()
        for _ in parser.read_events():
            pass
        parser.feed(b"<nothing/>")
        parser.close()


class _Reached(Exception):
    """The first element: all declarations are known."""


def pass_gate(body: bytes) -> None:
    """Refuse a document (in UTF-8) whose declarations could hurt.

    Examples
    --------
    >>> pass_gate(b'<!DOCTYPE a [<!ENTITY copy "(c)">]><a>&copy; 2026</a>')
    >>> pass_gate(b'<!DOCTYPE a [<!ENTITY f SYSTEM "file:///etc/passwd">]><a>&f;</a>')
    Traceback (most recent call last):
    dayfly.fetch.gate.Malformed: malformed: declares an entity that is somewhere else
    """
    if b"<!DOCTYPE" not in body:
        return
    gate = _Gate()
    try:
        gate.parser.Parse(body[:_LONGEST], len(body) <= _LONGEST)
    except _Reached:
        if gate.values:
            gate.weigh(body, gate.parser.CurrentByteIndex)
    except (expat.ExpatError, ValueError) as error:
        raise Malformed(f"malformed: {str(error)[:80]}") from None
    else:
        raise Unreadable(f"hostile: more than {_LONGEST} bytes before the first element")


class _Gate:
    def __init__(self) -> None:
        self.values: dict[bytes, bytes] = {}
        self.sizes: dict[bytes, int] = {}
        self.parser = expat.ParserCreate("utf-8")
        self.parser.EntityDeclHandler = self.declared
        self.parser.AttlistDeclHandler = self.defaulted
        self.parser.StartElementHandler = self.reached

    def declared(self, name: str, parameter: bool, value: str | None, *_where: str | None) -> None:
        if value is None or parameter:
            # Nobody will fetch it, and without it text would be missing; the tolerant parser
            # knows the usual names by heart.
            raise Malformed("malformed: declares an entity that is somewhere else")
        if len(name.encode()) > _NAME:
            raise Unreadable(f"hostile: declares an entity with a name of more than {_NAME} bytes")
        if len(self.values) >= _ENTITIES:
            raise Unreadable(f"hostile: declares more than {_ENTITIES} entities")
        # The first declaration of a name is the one that counts.
        self.values.setdefault(name.encode(), value.encode("utf-8", "replace"))

    def defaulted(
        self, element: str, name: str, kind: str, default: str | None, required: bool
    ) -> None:
        if default:
            raise Unreadable("hostile: declares attributes with a value")

    def reached(self, *_: object) -> None:
        raise _Reached

    def weigh(self, body: bytes, start: int) -> None:
        """Add up what all references behind the declarations would grow to."""
        if body.count(b"&", start) > _AMPERSANDS:
            raise Unreadable(f"hostile: declares entities, and has over {_AMPERSANDS} references")
        total = 0
        for found in _REFERENCE.finditer(body, start):
            total += self.size(found[1], ())
            if total > _EXPANSION:
                raise Unreadable(f"hostile: entities grow to more than {_EXPANSION} bytes")

    def size(self, name: bytes, within: tuple[bytes, ...]) -> int:
        """How long an entity is with all that it refers to."""
        if name not in self.values:
            return 0
        if name in within or len(within) > 16:
            raise Unreadable("hostile: entities within entities without end")
        if name not in self.sizes:
            value = self.values[name]
            parts = (self.size(one, (*within, name)) for one in _REFERENCE.findall(value))
            self.sizes[name] = len(value) + sum(parts)
        return self.sizes[name]
