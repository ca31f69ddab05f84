"""OPML, the format in which readers exchange lists of feeds; also as it is found, broken.

A well-formed file is read by the strict parser. Of the others, most have a bare `&`, or quotes and
markup inside a value. They are read by a scanner that knows where an outline begins and takes what
stands in its quotes. An address ends at the first quote in either way and is never mended: it comes
out as it was written, or not at all. Declarations of entities are refused, and nothing that a file
refers to is ever opened.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn
from xml.parsers import expat

from dayfly.config.addresses import without_credentials
from dayfly.errors import BadInput

#: Folders within folders, and outlines in all, beyond which nobody wrote the list.
DEEPEST, MOST = 64, 1_000_000
#: Titles and names of folders are cut here.
LONGEST = 1000

_TAG = re.compile(r"<!--|<outline(?=[\s/>])|</outline\s{0,64}>|</body\s{0,64}>", re.I)
_NAME = re.compile(r"\s*([A-Za-z_:][\w:.-]{0,63})\s{0,64}=\s{0,64}([\"'])")
_NEXT = re.compile(r"\s{1,4096}[A-Za-z_:][\w:.-]{0,63}\s{0,64}=\s{0,64}[\"']")
_LAST = re.compile(r"\s*/?>\s*\Z")
_ADDRESS = re.compile(r"\bxmlUrl\s{0,64}=\s{0,64}([\"'])(.*?)\1", re.S | re.I)
_REFERENCE = re.compile(r"&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6}));")
_DECLARED = re.compile(rb"^\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9._-]{1,40})[\"']")
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


class Outline(NamedTuple):
    """One feed in the list."""

    url: str
    title: str
    #: The folders that it lies in, and its categories.
    tags: tuple[str, ...]
    line: int


@dataclass(slots=True)
class Outlines:
    """The feeds of one file."""

    name: str
    found: list[Outline] = field(default_factory=list)
    #: What was left out: the line, and why with file and line.
    left_out: list[tuple[int, str]] = field(default_factory=list)
    #: Whether the strict parser could read the file.
    well_formed: bool = True
    _folders: list[str] = field(default_factory=list)
    _outlines: int = 0

    @property
    def problems(self) -> list[str]:
        """What was left out and why, with file and line."""
        return [said for _, said in self.left_out]

    def leave_out(self, line: int, why: str) -> None:
        """Something on this line cannot be used."""
        self.left_out.append((line, f"{self.name}, line {line}: {why}"))

    def open(self, attributes: Mapping[str, str], line: int) -> None:
        """An outline begins: a feed, a folder, or both."""
        given: dict[str, str] = {}
        for name, value in attributes.items():
            given.setdefault(name.lower(), value)
        self._outlines += 1
        if self._outlines > MOST:
            raise BadInput(f"{self.name}: has more than {MOST:,} outlines; split it")
        if len(self._folders) >= DEEPEST:
            raise BadInput(f"{self.name}, line {line}: folders lie more than {DEEPEST} deep")
        title = _line(given.get("title", "")) or _line(given.get("text", ""))
        url = given.get("xmlurl", "").strip()
        if url:
            inside = [*self._folders, *_categories(given.get("category", ""))]
            tags = tuple(dict.fromkeys(tag for tag in inside if tag))
            self.found.append(Outline(url, title, tags, line))
        elif given.get("type", "").lower() in ("rss", "atom"):
            self.leave_out(line, f"a feed without xmlUrl: {without_credentials(title)!r}")
        elif given.get("type", "").lower() == "include":
            self.leave_out(line, "includes another list, which is not followed")
        # The folder of a feed is its own name; what lies in it is not tagged by that.
        self._folders.append("" if url else title)

    def close(self) -> None:
        """The outline that was opened last ends."""
        if self._folders:
            self._folders.pop()


def read_opml(content: bytes, name: str = "<opml>") -> Outlines:
    """The feeds of an OPML file, in its order.

    >>> broken = b'<opml><body><outline title="A "b" & c" xmlUrl="http://a.org/?x=1&y=2"/></body></opml>'
    >>> read_opml(broken).found[0][:2]
    ('http://a.org/?x=1&y=2', 'A "b" & c')
    """
    try:
        return _strictly(content, name)
    except expat.ExpatError:
        return _tolerantly(_text(content), name)


def _strictly(content: bytes, name: str) -> Outlines:
    kept = Outlines(name)
    depth = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        if depth == 0:
            _check_root(tag, name)
        depth += 1
        if depth > 2 * DEEPEST:
            raise BadInput(f"{name}, line {parser.CurrentLineNumber}: elements lie too deep")
        if tag.lower() == "outline":
            kept.open(attributes, parser.CurrentLineNumber)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        if tag.lower() == "outline":
            kept.close()

    def doctype(_name: str, _system: str | None, _public: str | None, inner: int) -> None:
        if inner:
            _refuse_declarations(name)

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.StartDoctypeDeclHandler = doctype
    parser.EntityDeclHandler = lambda *_: _refuse_declarations(name)
    try:
        parser.Parse(content, True)
    except (LookupError, ValueError) as error:  # an encoding that nobody knows
        if isinstance(error, BadInput):
            raise
        raise expat.ExpatError(str(error)) from None
    return kept


def _tolerantly(text: str, name: str) -> Outlines:
    """What can be told for certain of a file that is not well-formed."""
    kept = Outlines(name, well_formed=False)
    root = re.search(r"<([A-Za-z][\w:.-]{0,63})", text)
    _check_root(root[1] if root else "", name)
    if root and "<!entity" in text[: root.start()].lower():
        _refuse_declarations(name)
    line, counted = 1, 0
    marks = list(_marks(text))
    for place, mark in enumerate(marks):
        line, counted = line + text.count("\n", counted, mark.start()), mark.start()
        if mark[0][1] == "/":
            kept.close()
            continue
        end = marks[place + 1].start() if place + 1 < len(marks) else len(text)
        inner = _uncommented(text[mark.end() : end])
        attributes = dict(_attributes(inner))
        told = "xmlurl" in {key.lower() for key in attributes}
        # Where quotes are beyond telling apart, those of the address are not.
        if not told and (found := _ADDRESS.search(inner)):
            attributes["xmlUrl"] = _decoded(found[2])
        elif not told and "xmlurl" in inner.lower():
            kept.leave_out(line, "an xmlUrl without quotes, or cut short")
        kept.open(attributes, line)
        if inner[: inner.rfind(">") + 1].endswith("/>"):
            kept.close()
    return kept


def _marks(text: str) -> Iterator[re.Match[str]]:
    """Beginnings and ends of outlines, outside comments."""
    at, last = 0, text.rfind("-->")
    while mark := _TAG.search(text, at):
        at = mark.end()
        if mark[0] != "<!--":
            yield mark
        elif at <= last:
            at = text.find("-->", at)


def _uncommented(inner: str) -> str:
    kept, at = [], 0
    while (begun := inner.find("<!--", at)) >= 0 and (end := inner.find("-->", begun)) >= 0:
        kept.append(inner[at:begun])
        at = end + 3
    return "".join([*kept, inner[at:]])


def _attributes(inner: str) -> Iterator[tuple[str, str]]:
    """Names and values of one tag, whose text ends before the next one.

    A value ends at a quote after which another attribute begins or the tag ends; an address at the
    first quote, since it cannot have one.
    """
    at, seen = 0, set()
    while begun := _NAME.match(inner, at):
        name, quote = begun[1], begun[2]
        end = inner.find(quote, begun.end())
        while end >= 0 and not name.lower().endswith("url"):
            if _NEXT.match(inner, end + 1) or _LAST.match(inner, end + 1):
                break
            end = inner.find(quote, end + 1)
        if end < 0:
            return
        if name.lower() not in seen:
            seen.add(name.lower())
            yield name, _decoded(inner[begun.end() : end])
        at = end + 1


def _decoded(value: str) -> str:
    """The value without references; a bare & is one, whatever letters follow it."""

    def one(found: re.Match[str]) -> str:
        if found[1]:
            return _NAMED[found[1]]
        code = int(found[2]) if found[2] else int(found[3], 16)
        plain = code < 0x110000 and not 0xD800 <= code < 0xE000
        return chr(code) if plain else "\ufffd"

    return _REFERENCE.sub(one, value)


def _text(content: bytes) -> str:
    """The text of a file that the strict parser could not read."""
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if content.startswith(mark):
            return content.decode(encoding, "replace")
    declared = _DECLARED.match(content)
    for encoding in ("utf-8", declared[1].decode() if declared else "utf-8"):
        try:
            return content.decode(encoding)
        except (LookupError, UnicodeError):
            continue
    return content.decode("windows-1252", "replace")


def _categories(text: str) -> list[str]:
    """`/News/World,local` as tags."""
    parts = text.replace("/", ",").split(",")
    return [_line(part) for part in parts]


def _line(text: str) -> str:
    return " ".join(text[: 4 * LONGEST].split())[:LONGEST]


def _check_root(tag: str, name: str) -> None:
    local = tag.rpartition(":")[2].lower()
    if local in ("opml", "outlinedocument", "outline"):
        return
    if local in ("rss", "feed", "rdf", "urlset", "sitemapindex"):
        raise BadInput(f"{name}: is a feed or sitemap, not a list; dayfly sources add its address")
    begins = f"it begins with <{tag[:40]}>" if tag else "there is no <opml> in it"
    raise BadInput(f"{name}: is not OPML: {begins}")


def _refuse_declarations(name: str) -> NoReturn:
    raise BadInput(f"{name}: declares entities or a document type of its own; remove <!DOCTYPE …>")
