"""Some two thousand feeds, sitemaps and other bodies as they were served, read by the crawler.

Good and broken ones: each must end as items or as a refusal with a reason. On the feeds that are
well-formed XML the items must be those that feedparser finds: id, link, title and date. Where they
are not, the difference must have a known reason; the reasons and how often each occurs are rows of
this trial.
"""

from __future__ import annotations

import asyncio
import calendar
import csv
import html
import io
import re
import tarfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from dayfly.errors import BadInput
from dayfly.fetch.charsets import as_utf8
from dayfly.fetch.dates import sane
from dayfly.fetch.documents import Reader, Unreadable
from dayfly.fetch.feeds import read_feed
from dayfly.fetch.gate import Malformed
from dayfly.fetch.identity import Entry, clean, web_link
from dayfly.lab.data import data_file
from dayfly.lab.trials.base import Progress, Trial, TrialRow

ARCHIVE = "feeds_robots_corpus.tar.gz"
#: When all of it is taken to be read, and where from.
NOW, URL = 1_794_800_000.0, "http://example.org/feed/"
_COMPARED = frozenset(("rss", "atom", "rdf", "rss/cdf"))
FIELDS = ("id", "link", "title", "published")
_TAGS = re.compile(r"<[^>]*>")

#: Why an item may differ from feedparser's, and what we do.
REASONS = {
    "id kept": "an id that could be a relative address is kept as written: it does not change when"
    " the feed moves",
    "id no link": "an id that is no address does not become a link",
    "markup": "a title with elements in it is their text, without tags and addresses",
    "base64": "base64 in a title is not undone; nobody has written it for twenty years",
    "first": "of several links, dates or titles the first counts, feedparser takes the last",
    "own child": "only an item's own title counts, not one inside another element",
    "mojibake": "text that was encoded twice is shown as it came",
    "half day": "a date with am or pm is read with its zone",
    "channel base": "the base address of a channel definition (CDF) is not used",
    "nested": "an item inside another item, or inside foreign elements, is not an item",
    "tolerant": "XML, but with prefixes or namespaces that are none: read by feedparser itself",
    "entry": "an Atom entry alone is not a feed",
    "attribute": "a link is its text, whatever its attributes say",
}


@dataclass
class Outcome:
    """What became of the corpus."""

    files: int = 0
    read: int = 0
    #: Read by the tolerant parser, or with bytes mended.
    malformed: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    #: Anything but items or a refusal.
    uncaught: list[str] = field(default_factory=list)
    slowest_s: float = 0.0
    #: Well-formed feeds, those that are the same in all fields, their items.
    compared: int = 0
    same: int = 0
    items: int = 0
    #: Fields that are the same, and differences by reason.
    equal: Counter[str] = field(default_factory=Counter)
    differing: Counter[str] = field(default_factory=Counter)
    unexplained: list[str] = field(default_factory=list)


def run(*, quick: bool = False, progress: Progress | None = None) -> Trial:
    """Read the corpus, compare with feedparser; a quick run takes every fifth file."""
    try:
        found = asyncio.run(read_corpus(5 if quick else 1, progress))
    except BadInput as error:
        rows = [TrialRow(name="files", value=float("nan"), note=str(error))]
    else:
        rows = _rows(found)
    return Trial(
        name="corpus",
        question="Is every document read or refused, and are its items what feedparser finds?",
        rows=rows,
        seed=0,
    )


async def read_corpus(every: int = 1, progress: Progress | None = None) -> Outcome:
    """Read every so manieth file of the corpus."""
    found = Outcome()
    members = list(_members())[::every]
    with Reader() as reader, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # feedparser's own
        for done, (row, body) in enumerate(members, 1):
            await _one(reader, row, body, found)
            if progress is not None:
                progress(done, len(members))
    return found


def _members() -> Iterator[tuple[dict[str, str], bytes]]:
    bodies: dict[str, bytes] = {}
    with tarfile.open(data_file(ARCHIVE)) as archive:
        for member in archive:
            if "/robots/" not in member.name and (file := archive.extractfile(member)):
                bodies[member.name.removeprefix("corpus/")] = file.read()
    manifest = bodies["MANIFEST.csv"].decode().splitlines()
    for row in csv.DictReader(manifest):
        if row["kind"] != "robots":
            yield row, bodies[row["path"]]


async def _one(reader: Reader, row: dict[str, str], body: bytes, found: Outcome) -> None:
    found.files += 1
    began = time.process_time()
    why = ""
    try:
        kind = "sitemap" if row["kind"].startswith("sitemap") else "auto"
        document = await reader.read(body, kind=kind, url=URL, now=NOW)
        found.read += 1
        found.malformed += document.malformed
    except Unreadable as error:
        why = str(error)
        found.refused[why.partition(":")[0]] += 1
    except Exception as error:  # what this trial is there to find
        found.uncaught.append(f"{row['path']}: {error!r}")
    found.slowest_s = max(found.slowest_s, time.process_time() - began)
    if row["kind"] in _COMPARED and row["expat_well_formed"] == "yes":
        _compare(row["path"], body, why, found)


def _compare(path: str, body: bytes, why: str, found: Outcome) -> None:
    """Count what is the same as feedparser's, and why the rest is not."""
    theirs = _feedparser(body)
    found.compared += 1
    before = found.differing.total() + len(found.unexplained)
    try:
        ours = read_feed(as_utf8(body), NOW, URL).entries
    except Malformed:
        # A prefix without a namespace, mostly: then it is feedparser itself that reads it.
        found.differing["tolerant"] += 1
        return
    if len(ours) != len(theirs):
        found.differing["entry" if "<entry>" in why else "nested"] += 1
        return
    for our, their in zip(ours, theirs, strict=True):
        found.items += 1
        for name in FIELDS:
            mine, other = getattr(our, name), getattr(their, name)
            if name in ("id", "title"):
                mine, other = clean(mine), clean(other)
            if mine == other:
                found.equal[name] += 1
            elif reason := _reason(name, our, their, body):
                found.differing[reason] += 1
            else:
                found.unexplained.append(f"{path}: {name} {mine!r}, they have {other!r}")
    found.same += before == found.differing.total() + len(found.unexplained)


def _feedparser(body: bytes) -> list[Entry]:
    import feedparser

    headers = {"content-type": "application/xml", "content-location": URL}
    parsed = feedparser.parse(io.BytesIO(body), response_headers=headers, sanitize_html=False)
    return [_entry(entry) for entry in parsed["entries"]]


def _entry(entry: dict[str, Any]) -> Entry:
    # Past its own lookup, which hands out one field for another.
    said = {name: dict.get(entry, name) or "" for name in ("id", "link", "title")}
    dates = [
        sane(float(calendar.timegm(when)), NOW)
        for name in ("published_parsed", "updated_parsed", "created_parsed")
        if (when := dict.get(entry, name))
    ]
    return Entry(
        id=said["id"],
        link=web_link(said["link"], URL),
        title=said["title"],
        published=next((date for date in dates if date is not None), None),
    )


def _reason(name: str, our: Entry, their: Entry, body: bytes) -> str:
    """Which of the known reasons explains a difference; empty if none does."""
    if name == "id":
        kept = their.id.casefold().endswith(our.id.casefold())
        return "id kept" if kept or not their.id else ""
    if name == "link":
        if not our.link:
            made = their.link.startswith(URL) or their.link.endswith(our.id)
            return "id no link" if made else ""
        if not their.link:
            return "attribute"
        if b"<CHANNEL" in body[:1000]:
            return "channel base"
        return "first" if their.link.encode() in body or their.link.endswith(our.id) else ""
    if name == "title":
        if _plain(their.title) in (clean(our.title), _plain(our.title)):
            return "markup"
        if b"base64" in body:
            return "base64"
        if not our.title:
            return "own child"
        return "mojibake" if "Ã" in our.title else ""
    if re.search(rb"\d [ap]m", body):
        return "half day"
    return "first" if their.published is not None and our.published is not None else ""


def _plain(markup: str) -> str:
    return " ".join(html.unescape(_TAGS.sub("", markup)).split())


def _rows(found: Outcome) -> list[TrialRow]:
    refusals = ", ".join(f"{count} {why}" for why, count in found.refused.most_common())
    rows = [
        TrialRow(name="files", value=found.files),
        TrialRow(name="read", value=found.read),
        TrialRow(name="of these not well-formed", value=found.malformed),
        TrialRow(name="refused", value=found.refused.total(), note=f"refused: {refusals}"),
        TrialRow(
            name="uncaught exceptions", value=len(found.uncaught), aim="0",
            ok=not found.uncaught, note="; ".join(found.uncaught[:5]),
        ),
        TrialRow(name="longest on one file, CPU", value=found.slowest_s, unit="s"),
        TrialRow(name="well-formed feeds compared", value=found.compared),
        TrialRow(name="feeds the same in every field", value=found.same / found.compared, unit="%"),
        TrialRow(name="items compared", value=found.items),
    ]  # fmt: skip
    rows += [
        TrialRow(name=f"same {name}", value=found.equal[name] / found.items, unit="%")
        for name in FIELDS
    ]
    rows += [
        TrialRow(name=f"differ: {reason}", value=count, note=REASONS[reason])
        for reason, count in found.differing.most_common()
    ]
    rows.append(
        TrialRow(
            name="differences without a reason", value=len(found.unexplained), aim="0",
            ok=not found.unexplained, note="; ".join(found.unexplained[:5]),
        )
    )  # fmt: skip
    return rows
