"""Two thousand recorded documents are read or refused, and read as feedparser reads them."""

import asyncio
import os
import random
import re
import resource
import tarfile
from collections.abc import Iterator

import pytest

from dayfly.fetch.documents import Reader, Unreadable, read_strictly
from dayfly.fetch.identity import clean
from dayfly.lab.data import data_folder
from dayfly.lab.trials.corpus import ARCHIVE, NOW, URL, read_corpus

pytestmark = pytest.mark.skipif(
    not (data_folder() / ARCHIVE).is_file(),
    reason=f"{ARCHIVE} is not in {data_folder()}; name its folder with DAYFLY_DATA",
)


@pytest.mark.acceptance
def test_every_document_is_read_or_refused_and_every_difference_has_a_reason():
    found = asyncio.run(read_corpus())
    assert found.uncaught == []
    assert found.unexplained == []
    assert found.files == 2056
    assert (found.read, found.refused.total()) == (1991, 65)
    # No feed: 21 in EBCDIC, which hides what it is, 9 packed, 7 lists of feeds, 4 single entries,
    # 2 pages, 7 made to be none. Malformed: nothing inside, not even a title.
    assert found.refused == {"not a feed": 50, "malformed": 15}
    assert (found.compared, found.items) == (1904, 4227)
    assert found.same >= 1763
    assert dict(found.differing) == {
        "id kept": 59, "markup": 40, "tolerant": 29, "id no link": 21, "base64": 11, "first": 9,
        "nested": 6, "entry": 4, "own child": 2, "channel base": 1, "attribute": 1, "mojibake": 1,
        "half day": 1,
    }  # fmt: skip


@pytest.mark.acceptance
def test_a_feed_with_one_item_more_tells_just_that_when_it_is_read_again():
    pairs = shorter = 0
    with tarfile.open(data_folder() / ARCHIVE) as archive:
        for member in archive:
            file = archive.extractfile(member) if "/feeds/" in member.name else None
            for before, after in _grown(file.read()) if file else ():
                try:
                    first = read_strictly(before, "auto", "", URL, NOW)
                    whole = read_strictly(after, "auto", "", URL, NOW)
                except Unreadable:
                    continue
                again = read_strictly(after, "auto", "", URL, NOW, first.showing)
                stored = {item.key for item in first.items}
                new = [item for item in whole.items if item.key not in stored]
                assert [item for item in again.items if item.key not in stored] == new, member.name
                pairs, shorter = pairs + 1, shorter + (len(again.items) < len(whole.items))
    print(f"{pairs} pairs; in {shorter} only what is new was read")
    assert pairs > 700
    assert shorter > 0.75 * pairs


def _grown(text: bytes) -> Iterator[tuple[bytes, bytes]]:
    """A feed without its first, its last, or an item between them; and with it."""
    for name in (b"item", b"entry"):
        items = re.findall(rb"<%s[ >].*?</%s>\s*" % (name, name), text, re.S)
        if len(items) > 1:
            for item in {items[0], items[len(items) // 2], items[-1]}:
                yield text.replace(item, b"", 1), text


_SPLINTERS = (
    b"<", b">", b"&", b'"', b"]]>", b"<![CDATA[", b"<!--", b"<?", b"<!DOCTYPE x [", b"<item>",
    b"</entry>", b"&#x0;", b"xmlns:a=''", b"\0", b"\xff\xfe", b"\xed\xa0\x80",
)  # fmt: skip


def _fuzz(seed: int, rounds: int) -> None:
    """P14: real documents, damaged; items within the caps or a refusal, within the limits."""
    print("seed", seed)
    draw = random.Random(seed)
    with tarfile.open(data_folder() / ARCHIVE) as archive:
        names = [name for name in archive.getnames() if "/feeds/" in name or "/sitemaps/" in name]
        bodies = [
            file.read()
            for name in draw.sample(sorted(names), 200)
            if (file := archive.extractfile(name)) is not None
        ]

    async def run() -> None:
        with Reader() as reader:
            for _ in range(rounds):
                body = _damaged(draw, bodies)
                before = _cpu_s()
                try:
                    document = await reader.read(body, url=URL, now=NOW)
                except Unreadable:
                    pass
                else:
                    assert len(document.items) <= 50_000
                    for item in document.items:
                        assert 0 < len(item.key) <= 512
                        assert item.link == "" or item.link.startswith(("http://", "https://"))
                        assert clean(item.title) == item.title
                        assert clean(item.key) == item.key
                        assert item.published is None or 6e8 < item.published <= NOW
                assert _cpu_s() - before < 5

    asyncio.run(run())


def _damaged(draw: random.Random, bodies: list[bytes]) -> bytes:
    body = bytearray(draw.choice(bodies)[: 1 << 17])
    for _ in range(draw.randint(1, 8)):
        at = draw.randrange(len(body) + 1)
        match draw.randrange(6):
            case 0:
                body[at : at + 1] = bytes([draw.randrange(256)])
            case 1:
                del body[at : at + draw.randint(1, 200)]
            case 2:
                body[at:at] = body[at : at + draw.randint(1, 200)] * draw.randint(1, 20)
            case 3:
                other = draw.choice(bodies)
                start = draw.randrange(len(other) + 1)
                body[at:at] = other[start : start + draw.randint(1, 500)]
            case 4:
                body[at:at] = draw.choice(_SPLINTERS)
            case 5:
                del body[at:]
    return bytes(body)


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


@pytest.mark.acceptance
def test_P14_three_thousand_damaged_documents_are_never_an_accident():
    _fuzz(seed=14, rounds=3000)


@pytest.mark.soak
def test_P14_damaged_documents_for_as_long_as_you_like():
    _fuzz(seed=int(os.environ.get("DAYFLY_SEED", "15")), rounds=1_000_000)
