"""Items for other programs. What sources wrote is data: it becomes neither markup nor a formula."""

from __future__ import annotations

import csv
import io
import re
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from dayfly.config.cells import harmless

#: Keys of an item, in the order of the columns.
COLUMNS = (
    "number", "source", "name", "key", "title", "link", "published_at", "seen_at", "worth",
)  # fmt: skip
#: Characters that XML cannot hold, however they are escaped.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

Item = dict[str, Any]
Writer = Callable[[Iterable[Item]], Iterator[str]]


def jsonl(items: Iterable[Item]) -> Iterator[str]:
    """One object per line."""
    import msgspec

    for item in items:
        yield msgspec.json.encode(item).decode() + "\n"


def csv_lines(items: Iterable[Item], *, header: bool = True) -> Iterator[str]:
    """A header and a line per item."""
    line = io.StringIO()
    writer = csv.writer(line, lineterminator="\n")

    def written(cells: Iterable[Any]) -> str:
        line.seek(0)
        line.truncate()
        writer.writerow(cells)
        return line.getvalue()

    if header:
        yield written(COLUMNS)
    for item in items:
        yield written(_cell(item[column]) for column in COLUMNS)


def atom(items: Iterable[Item]) -> Iterator[str]:
    """An Atom feed; the entries that come first are the newest."""
    newest = list(items)[::-1]
    updated = max((item["seen_at"] for item in newest), default=time.time())
    yield '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n'
    yield "<id>urn:dayfly:items</id>\n<title>Dayfly</title>\n"
    yield f"<author><name>Dayfly</name></author>\n<updated>{_date(updated)}</updated>\n"
    for item in newest:
        yield _entry(item)
    yield "</feed>\n"


def _entry(item: Item) -> str:
    import uuid

    identity = uuid.uuid5(uuid.NAMESPACE_URL, _xml(f"{item['source']}\n{item['key']}"))
    # Its address may change; the name of a source is for life, and becomes an IRI in this way.
    origin = f"urn:dayfly:source:{quote(_xml(item['source']))}"
    title = _text(item["title"] or item["link"] or item["key"])
    parts = [
        f"<id>urn:uuid:{identity}</id>",
        f'<title type="text">{title}</title>',
        f"<updated>{_date(item['seen_at'])}</updated>",
        f"<source><id>{origin}</id><title>{_text(item['name'])}</title></source>",
    ]
    if item["published_at"] is not None:
        parts.append(f"<published>{_date(item['published_at'])}</published>")
    if item["link"].startswith(("http://", "https://")):
        parts.append(f"<link href={quoteattr(_xml(item['link']))}/>")
    else:  # an entry that leads nowhere must have a content (RFC 4287, 4.1.2)
        parts.append(f'<content type="text">{title}</content>')
    return "<entry>" + "".join(parts) + "</entry>\n"


def _cell(cell: Any) -> str:
    """Text that a spreadsheet would run is marked as text."""
    if cell is None:
        return ""
    if not isinstance(cell, str):
        return str(cell)
    # The writer does not quote a lone carriage return, and readers take it for the end of a line.
    return harmless(cell.replace("\r", " ").replace("\0", " "))


def _text(text: str) -> str:
    return escape(_xml(text))


def _xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)


def _date(at: float) -> str:
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return "1970-01-01T00:00:00Z"
