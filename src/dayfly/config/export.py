"""The list of sources for others: OPML, addresses, CSV, TOML, JSON. Secrets stay here.

Sources come as the plain JSON that `sources.list` answers with. What is written,
other than JSON, can be read again by `dayfly.config.lists`; credentials have to be given anew.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any
from xml.sax.saxutils import quoteattr

from dayfly.config.cells import harmless
from dayfly.config.entries import COLUMNS
from dayfly.store import Listing

Source = Mapping[str, Any]

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_UNITS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))
_USUAL = Listing(id="-", url="-")


def opml(sources: Sequence[Source]) -> Iterator[str]:
    """OPML 2.0; the first tag of a source is its folder, the others are its categories."""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<opml version="2.0">\n'
    yield "<head><title>Sources of Dayfly</title></head>\n<body>\n"
    folders: dict[str, list[Source]] = {}
    for source in sources:
        folders.setdefault(next(iter(source["tags"]), ""), []).append(source)
    for folder, inside in folders.items():
        if folder:
            yield f"<outline text={_attribute(folder)}>\n"
        for source in inside:
            name = _attribute(source["title"] or source["name"])
            parts = [f'<outline type="rss" text={name} xmlUrl={_attribute(source["url"])}']
            # A comma or a slash would divide a category.
            tags = [tag for tag in source["tags"][1:] if "," not in tag and "/" not in tag]
            if tags:
                parts.append(f"category={_attribute(','.join(tags))}")
            yield " ".join(parts) + "/>\n"
        if folder:
            yield "</outline>\n"
    yield "</body>\n</opml>\n"


def text(sources: Sequence[Source]) -> Iterator[str]:
    """One address per line."""
    for source in sources:
        yield f"{source['url']}\n"


def csv_lines(sources: Sequence[Source]) -> Iterator[str]:
    """A header and one line per source; nothing in it is a formula."""
    line = io.StringIO()
    writer = csv.writer(line, lineterminator="\n")
    for cells in _cells(sources):
        writer.writerow(cells)
        yield line.getvalue()
        line.seek(0)
        line.truncate()


def toml(sources: Sequence[Source]) -> Iterator[str]:
    """One table per source with what differs from the usual."""
    for source in sources:
        yield "[[sources]]\n"
        for key, value in _listed(source).items():
            yield f"{key} = {_toml_value(value)}\n"
        if source["select"]:
            pairs = (f"{key} = {_quoted(value)}" for key, value in source["select"].items())
            yield f"select = {{ {', '.join(pairs)} }}\n"
        if source["header_names"]:
            names = ", ".join(map(_quoted, source["header_names"]))
            yield f"# not exported, because they may hold secrets: headers {names}\n"
        yield "\n"


def json(sources: Sequence[Source]) -> Iterator[str]:
    """All that may be told about each source, one per line."""
    from msgspec.json import encode

    yield f'{{"n_sources": {len(sources)}, "sources": ['
    for number, source in enumerate(sources):
        yield (",\n" if number else "\n") + encode(source).decode()
    yield "\n]}\n"


def holds(form: str, source: Source) -> bool:
    """Whether this source could be imported again: a page is nothing without its selectors."""
    return form != "csv" or source["kind"] != "page"


FORMATS: dict[str, Callable[[Sequence[Source]], Iterable[str]]] = {
    "opml": opml,
    "text": text,
    "csv": csv_lines,
    "toml": toml,
    "json": json,
}


def _cells(sources: Sequence[Source]) -> Iterator[list[str]]:
    yield list(COLUMNS)
    for source in sources:
        if not holds("csv", source):
            continue
        tags = ";".join(tag.replace(";", ",") for tag in source["tags"])
        listed = _listed(source) | {"tags": tags}
        yield [_cell(listed.get(column, "")) for column in COLUMNS]


def _listed(source: Source) -> dict[str, Any]:
    """The settings of a source under the keys of a settings file; the usual ones are left out."""
    values = {
        "url": source["url"],
        "id": source["id"],
        "title": source["title"],
        "tags": list(source["tags"]),
        "weight": source["weight"],
        "half_life": _duration(source["half_life_s"]),
        "arrival": _rate(source["listed_arrival_per_s"]),
        "worth": source["worth"],
        "cost": source["cost"],
        "window": source["window"],
        "kind": source["kind"],
        "min_interval": _duration(source["min_interval_s"]),
        "max_interval": _duration(source["max_interval_s"]),
        "obey_robots": "robots" not in source["overrides"],
        "verify_tls": "tls" not in source["overrides"],
    }
    usual = {
        "title": "", "tags": [], "weight": _USUAL.weight, "arrival": _rate(_USUAL.arrival),
        "worth": _USUAL.worth, "cost": _USUAL.cost, "kind": _USUAL.kind,
        "obey_robots": True, "verify_tls": True,
    }  # fmt: skip
    return {
        key: value
        for key, value in values.items()
        if value is not None and (key not in usual or value != usual[key])
    }


def _rate(per_s: float) -> str:
    """Per second, with all its digits; so it comes back as it was."""
    return f"{per_s!r}/s"


def _duration(seconds: float | None) -> str | None:
    """In the largest unit that it is a whole number of; so it comes back as it was."""
    if seconds is None:
        return None
    seconds = float(f"{seconds:.12g}")
    for size, unit in _UNITS:
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds!r}s"


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return harmless(value)
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _toml_value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_quoted, value))}]"
    return repr(value)


def _quoted(value: str) -> str:
    """A basic string of TOML."""

    def escaped(character: str) -> str:
        if character in '"\\':
            return "\\" + character
        code = ord(character)
        if code < 0x20 or 0x7F <= code < 0xA0:
            return f"\\u{code:04x}"
        return "\ufffd" if 0xD800 <= code < 0xE000 else character

    return '"' + "".join(map(escaped, value)) + '"'


def _attribute(value: str) -> str:
    """A value of XML, quotes included; white space survives."""
    escapes = {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
    return quoteattr(_NOT_XML.sub("\ufffd", value), escapes)
