"""Entries of a list, in each of the formats that lists come in."""

from __future__ import annotations

import codecs
import csv
import re
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any

from dayfly.config.cells import bare
from dayfly.config.opml import read_opml
from dayfly.config.settings import (
    KEYS,
    SOURCE_KEYS,
    SourceSettings,
    parse_toml,
    source_settings,
    tables_of,
)
from dayfly.config.values import known_keys
from dayfly.errors import BadInput

#: One source, and where in the list it stands.
Entry = tuple[SourceSettings, str]

#: Columns of a CSV list; tables and secrets have their place in TOML.
COLUMNS = tuple(key for key in SOURCE_KEYS if key not in ("headers", "select", "basic", "bearer"))

_FORMATS = {".opml": "opml", ".xml": "opml", ".csv": "csv", ".toml": "toml", ".txt": "text"}
_TOML = re.compile(rb"^[ \t]*\[\[[ \t]*sources[ \t]*\]\]", re.M)
_COMMENT = re.compile(r"(?:^|\s)#.*")
_BREAKS = re.compile(rb"\r\n|\n|\r")


def entries(content: bytes, name: str, problems: list[str]) -> Iterator[Entry]:
    """All entries that can be told; what is wrong with others goes to `problems`.

    `BadInput` where the file as a whole is nothing that could be a list.
    """
    form = format_of(name, content)
    if form != "opml" and content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        content = _as_utf8(content, name)
        form = format_of(name, content)
    read = {"opml": _opml, "toml": _toml, "csv": _csv, "text": _text}[form]
    return read(content, name, problems)


def format_of(name: str, content: bytes) -> str:
    """`opml`, `csv`, `toml` or `text`: by what is unmistakable, then by suffix, then by looks."""
    head = content[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith((b"<", b"\xff\xfe<", b"\xfe\xff\0<")):
        return "opml"
    if (known := _FORMATS.get(PurePath(name).suffix.lower())) is not None:
        return known
    if _TOML.search(content):
        return "toml"
    first = next(iter(_BREAKS.split(head, maxsplit=1)))
    cells = [cell.strip(b' "') for cell in first.lower().split(b",")]
    return "csv" if b"url" in cells and b"://" not in first else "text"


def _opml(content: bytes, name: str, problems: list[str]) -> Iterator[Entry]:
    outlines = read_opml(content, name)
    left_out = deque(outlines.left_out)
    for one in outlines.found:
        # Whoever takes the entry adds to the problems: so they are in the order of lines.
        while left_out and left_out[0][0] <= one.line:
            problems.append(left_out.popleft()[1])
        entry = SourceSettings(url=one.url, title=one.title, tags=one.tags)
        yield entry, f"{name}, line {one.line}"
    problems += [said for _, said in left_out]


def _toml(content: bytes, name: str, problems: list[str]) -> Iterator[Entry]:
    document = parse_toml(content, name)
    known_keys(document, KEYS, name)
    problems += [
        f"{name}: {key} is not used in a list; give the file as --config"
        for key in document
        if key != "sources"
    ]
    for number, table in enumerate(tables_of(document.get("sources", []), name), start=1):
        place = f"{name}, [[sources]] {number}"
        try:
            yield source_settings(table, place), place
        except BadInput as error:
            problems.append(str(error))


def _csv(content: bytes, name: str, problems: list[str]) -> Iterator[Entry]:
    rows = csv.reader(_lines(content, name, problems), strict=True)
    header: Sequence[str] | None = None
    while True:
        try:
            cells = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            problems.append(f"{name}, line {rows.line_num}: {error}")
            continue
        place = f"{name}, line {rows.line_num}"
        if not any(cells):
            continue
        if header is None:
            header = [cell.strip().lower() for cell in cells]
            for mark, called in ((";", "semicolons"), ("\t", "tabs")):
                if any(mark in cell for cell in header):
                    raise BadInput(f"{place}: divide columns by commas, not by {called}")
            known_keys(header, COLUMNS, place)
            if "url" not in header or len(set(header)) < len(header):
                raise BadInput(f"{place}: needs a header with a column url, each column once")
            continue
        try:
            if len(cells) > len(header):
                raise BadInput(f"{place}: has {len(cells)} cells below {len(header)} columns")
            given: dict[str, Any] = {
                key: bare(cell) for key, cell in zip(header, cells, strict=False) if cell.strip()
            }
            if "tags" in given:
                given["tags"] = [tag for tag in given["tags"].split(";") if tag.strip()]
            yield source_settings(given, place, texts=True), place
        except BadInput as error:
            problems.append(str(error))


def _text(content: bytes, name: str, problems: list[str]) -> Iterator[Entry]:
    for number, line in enumerate(_lines(content, name, problems), start=1):
        # A # within an address is part of it.
        entry = _COMMENT.sub("", line).strip()
        if entry:
            yield SourceSettings(url=entry), f"{name}, line {number}"


def _as_utf8(content: bytes, name: str) -> bytes:
    """The same text as UTF-8; some editors and spreadsheets save UTF-16."""
    try:
        return content.decode("utf-16").encode()
    except UnicodeError:
        raise BadInput(f"{name}: is not whole UTF-16 text; save it as UTF-8") from None


def _lines(content: bytes, name: str, problems: list[str]) -> Iterator[str]:
    """Lines as text; one that is not UTF-8 is a problem, and empty instead."""
    for number, line in enumerate(_BREAKS.split(content.removeprefix(b"\xef\xbb\xbf")), start=1):
        try:
            text = line.decode()
        except UnicodeDecodeError:
            problems.append(f"{name}, line {number}: is not UTF-8 text; save it as UTF-8")
            text = ""
        if "\0" in text:
            problems.append(f"{name}, line {number}: holds a NUL; this is not a text file")
            text = ""
        yield text
