"""Cases F12 to F15: answers that are larger than they look, longer than they say, or never end."""

import asyncio
import gzip
import json
import subprocess
import sys
import time
import zlib
from pathlib import Path

import pytest
from tests.origin import Origin, Place, redirect, reply, then_close, trickle

from dayfly.fetch import FetchError, HttpFetcher, Web
from dayfly.model import Status

ROOT = Path(__file__).parents[3]
HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
FEED = b"<rss version='2.0'><channel><title>t</title><item><guid>1</guid></item></channel></rss>"


def get(script, **settings):
    """The answer, or the error; and the origin."""

    async def run():
        async with Origin() as origin:
            origin.on("/", script)
            async with Web(origin.guard, agent="t") as web:
                try:
                    return await web.get(origin.url(), **settings), origin
                except FetchError as error:
                    return error, origin

    return asyncio.run(run())


def visit(script, path="/feed", **place):
    async def run():
        async with Origin() as origin:
            origin.on(path, script)
            async with HttpFetcher(origin.guard) as fetcher:
                return await fetcher.fetch(Place(url=origin.url(path), **place))

    return asyncio.run(run())


def test_F12_a_declared_length_over_the_cap_is_given_up_at_once():
    error, _ = get(trickle(HEAD + b"Content-Length: 10737418240\r\n\r\n", b"x" * 1000, every=0.01))
    assert str(error) == "too large"


@pytest.mark.parametrize("digits", ["9" * 18, "9" * 25, "9" * 5000])
def test_F12_a_length_of_many_digits_is_an_error(digits):
    error, _ = get(then_close(HEAD + f"Content-Length: {digits}\r\n\r\nx".encode()))
    assert error.kind in ("too large", "protocol")


def test_F12_endless_chunks_stop_at_the_cap():
    sent = []

    async def endless(request, reader, writer):
        writer.write(CHUNKED)
        while not writer.is_closing():
            writer.write(b"8000\r\n" + b" " * 0x8000 + b"\r\n")
            await writer.drain()
            sent.append(1)

    error, _ = get(endless, wire_cap=1 << 20)
    assert str(error) == "too large"
    assert len(sent) < 300  # what the socket held when we hung up, 32 kB each


def test_F12_what_surrounds_the_body_counts_too():
    """One byte of body in each chunk, and long remarks about it."""

    async def remarks(request, reader, writer):
        writer.write(CHUNKED)
        while not writer.is_closing():
            writer.write((b"1;" + b"r" * 4000 + b"\r\nx\r\n") * 50)
            await writer.drain()

    error, _ = get(remarks, wire_cap=1 << 20)
    assert error.kind in ("too large", "protocol")


@pytest.mark.parametrize("size", [1, 2, 8, 24])
def test_F12_a_body_in_very_many_tiny_chunks_costs_little(size):
    """A million of them would still be within the cap on the wire."""
    chunk = b"%x\r\n%s\r\n" % (size, b"x" * size)

    async def crumbs(request, reader, writer):
        writer.write(CHUNKED)
        for _ in range((8 << 20) // (len(chunk) * 10_000)):
            writer.write(chunk * 10_000)
            await writer.drain()
        writer.write(b"0\r\n\r\n")

    error, _ = get(crumbs)
    assert str(error) == "protocol: more wrapping than content"


def test_F12_a_body_in_some_small_chunks_is_read():
    answer, _ = get(CHUNKED + b"1\r\nx\r\n" * 50_000 + b"0\r\n\r\n")
    assert answer.body == b"x" * 50_000


def test_F12_trailers_without_end_count_too():
    async def trailers(request, reader, writer):
        writer.write(CHUNKED + b"1\r\nx\r\n0\r\n")
        while not writer.is_closing():
            writer.write(b"X-Trailer: y\r\n" * 1000)
            await writer.drain()

    error, _ = get(trailers, wire_cap=1 << 20)
    assert error.kind in ("too large", "protocol", "cut short")


@pytest.mark.parametrize(
    "said",
    [
        HEAD + b"Content-Length: 500\r\n\r\n" + FEED,
        CHUNKED + b"%x\r\n" % len(FEED) + FEED + b"\r\n",
        CHUNKED + b"%x\r\n" % (len(FEED) + 5) + FEED,
        HEAD + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(FEED)[:-5],
        HEAD + b"Content-Encoding: deflate\r\n\r\n" + zlib.compress(FEED)[:-5],
    ],
    ids=["length", "chunks", "chunk", "gzip", "deflate"],
)
def test_F12_what_was_cut_short_is_never_read_as_whole(said):
    crawl = visit(then_close(said))
    assert (crawl.status, crawl.items) == (Status.FAILED, ())
    assert crawl.reason.startswith("cut short")
    assert (crawl.etag, crawl.digest) == ("", "")


def test_F12_a_length_that_is_too_small_is_an_error_and_ends_the_connection():
    error, origin = get(HEAD + b"Content-Length: 10\r\n\r\n" + FEED)
    assert error.kind == "protocol"

    async def late(request, reader, writer):
        writer.write(HEAD + b"Content-Length: 10\r\n\r\n" + FEED[:10])
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.write(FEED[10:])
        await writer.drain()

    async def run():
        async with Origin() as origin:
            origin.on("/", late, reply(b"fine"))
            async with Web(origin.guard, agent="t") as web:
                first = await web.get(origin.url())
                await asyncio.sleep(0.1)
                second = await web.get(origin.url())
        return first, second, origin

    first, second, origin = asyncio.run(run())
    assert (first.body, second.body) == (FEED[:10], b"fine")
    assert [request.connection for request in origin.requests] == [1, 2]


def test_F12_a_body_without_a_length_ends_with_its_connection():
    answer, _ = get(then_close(b"HTTP/1.0 200 OK\r\n\r\n" + FEED))
    assert answer.body == FEED


def bombs():
    zeros = b"\0" * (64 << 20)
    once = gzip.compress(zeros)
    packer = zlib.compressobj(wbits=-15)
    raw = packer.compress(zeros) + packer.flush()
    return {
        "gzip": once,
        "x-gzip": once,
        "gzip, gzip": gzip.compress(once),
        "deflate": zlib.compress(zeros),
        "deflate ": raw,
        "gzip, deflate": zlib.compress(once),
        "": once,  # a .gz file
        "gzip,": gzip.compress(gzip.compress(once)),  # a .gz file, packed twice more
    }


BOMBS = bombs()


@pytest.mark.parametrize("encoding", BOMBS)
def test_F13_a_bomb_does_not_go_off(encoding):
    before = time.process_time()
    bomb = BOMBS[encoding]
    answer, _ = get(reply(bomb, 200, Content_Encoding=encoding) if encoding else reply(bomb))
    if encoding == "gzip,":
        # Two layers are undone; the third stays closed.
        assert answer.body == gzip.decompress(gzip.decompress(bomb))
    else:
        assert str(answer).startswith("too large")
    assert time.process_time() - before < 2.0


@pytest.mark.parametrize("encoding", ["br", "zstd", "compress", "gzip, br", "exotic", "gzip gzip"])
def test_F13_what_we_did_not_offer_is_not_unpacked(encoding):
    error, origin = get(reply(b"\x1b\x03\x00", 200, Content_Encoding=encoding))
    assert error.kind == "encoding"
    assert origin.requests[0].headers["accept-encoding"] == "gzip, deflate"


@pytest.mark.parametrize("links", [3, 20, 5000])
def test_F13_more_than_two_layers_are_refused(links):
    encoding = ", ".join(["gzip"] * min(links, 1000))
    error, _ = get(reply(b"x", 200, Content_Encoding=encoding))
    assert error.kind == "encoding"


def test_F13_an_encoding_that_lies_is_an_error():
    error, _ = get(reply(FEED, 200, Content_Encoding="gzip"))
    assert error.kind == "encoding"


def test_F13_a_packed_file_without_a_header_is_read():
    assert visit(reply(gzip.compress(FEED)), path="/feed.xml.gz").visible == 1
    assert (
        visit(reply(gzip.compress(gzip.compress(FEED)), 200, Content_Encoding="gzip")).visible == 1
    )


def test_F14_very_many_empty_members_cost_little():
    """Naively this is minutes of work for 4 MB."""
    packed = gzip.compress(b"") * 200_000
    before = time.process_time()
    error, _ = get(reply(packed, 200, Content_Encoding="gzip"))
    assert str(error) == "encoding: more than 64 gzip members"
    assert time.process_time() - before < 1.0


def test_F14_very_many_members_after_a_whole_feed_cost_little_in_a_file():
    packed = gzip.compress(FEED) + gzip.compress(b"") * 200_000
    before = time.process_time()
    error, _ = get(reply(packed))
    assert error.kind == "encoding"
    assert time.process_time() - before < 1.0


@pytest.mark.parametrize("rubbish", [b"\0" * 512, b"rubbish" * 1000, b"\x1f", b"x" * 4_000_000])
def test_F14_what_follows_the_end_of_gzip_is_ignored(rubbish):
    before = time.process_time()
    assert visit(reply(gzip.compress(FEED) + rubbish, 200, Content_Encoding="gzip")).visible == 1
    assert time.process_time() - before < 1.0


@pytest.mark.parametrize("status", [302, 304, 401, 403, 404, 410, 429, 500, 503])
def test_F15_the_body_of_another_answer_is_not_unpacked(status, monkeypatch):
    def never(*_):
        raise AssertionError("somebody unpacked it")

    monkeypatch.setattr("dayfly.fetch.body.zlib.decompressobj", never)
    bomb = reply(BOMBS["gzip"], status, Content_Encoding="gzip")
    if status == 302:
        bomb = bomb.replace(b"\r\n", b"\r\nLocation: /robots.txt\r\n", 1)
    answer, _ = get(bomb)
    assert (answer.status, answer.body) == (404 if status == 302 else status, b"")
    crawl = visit(bomb, etag='"x"')
    assert crawl.items == ()


def test_F15_a_redirect_with_an_endless_body_is_followed_without_it():
    async def endless(request, reader, writer):
        writer.write(redirect("/there").replace(b"Content-Length: 0\r\n", b""))
        while not writer.is_closing():
            writer.write(b" " * 65536)
            await writer.drain()

    async def run():
        async with Origin() as origin:
            origin.on("/", endless)
            origin.on("/there", reply(b"fine"))
            async with Web(origin.guard, agent="t") as web:
                return await web.get(origin.url())

    answer = asyncio.run(run())
    assert answer.body == b"fine"
    assert answer.wire_bytes < 10 << 20


MIB = 1 << 20
EMOJI = "\N{GRINNING FACE}".encode()
TOP, END = FEED.removesuffix(b"</channel></rss>"), b"</channel></rss>"
JSON = b'{"version": "https://jsonfeed.org/version/1", "items": [%s], "title": "%s"}'
LATIN = b"<?xml version='1.0' encoding='windows-1252'?>"
DECLARES = b'<!DOCTYPE rss [<!ENTITY abc "">]>'


def filled(head: bytes, unit: bytes, tail: bytes, size: int = 20 * MIB) -> bytes:
    """So long, and no longer."""
    return head + unit * ((size - len(head) - len(tail)) // len(unit)) + tail


def item(inside: bytes) -> bytes:
    return TOP + b"<item><guid>2</guid>" + inside + b"</item>" + END


def numbered(pattern: bytes, count: int) -> bytes:
    return b"".join(pattern % number for number in range(count))


#: Bodies within the caps that would take far more than their length, if they were let; and how
#: many items come of them.
HOSTILE = {
    "one entity many times": (lambda: filled(DECLARES + TOP, b"&abc;", END), 0),
    "many entities": (lambda: DECLARES + TOP + numbered(b"&e%x;", 2_300_000) + END, 0),
    "entities behind what looks like the end": (
        lambda: filled(
            b'<!DOCTYPE rss [<!ENTITY a "]><rss>"><!ENTITY b "' + EMOJI, b"x", b'">]>' + FEED
        ),
        0,
    ),
    "three bytes for one": (
        lambda: filled(LATIN + TOP, b"<x>" + b"\x80" * 1000 + b"</x>", END), 0,
    ),
    "another encoding": (
        lambda: (TOP + b"<x>" + b"x" * 9 * MIB + b"</x>" + END).decode().encode("utf-16"), 1,
    ),
    "said to be UTF-8": (lambda: filled(LATIN + TOP + EMOJI, b"<x>yyyyyyyyyy</x>", END), 1),
    "JSON in an id": (
        lambda: JSON % (b'{"id": [' + b",".join([b'{"a":{}}'] * 499_990) + b"]}", b""), 0,
    ),
    "JSON with a long title": (lambda: JSON % (b'{"id": 1}', EMOJI + b"a" * (19 * MIB)), 1),
    "JSON with wide titles": (
        lambda: JSON % (
            numbered(b'{"id": %d, "title": "' + EMOJI + b"a" * 10_000 + b'"},', 1990) + b"{}", b"",
        ),
        1990,
    ),
    "JSON with many items": (
        lambda: JSON % (b",".join([b"{}"] * 499_000), b"y" * 18 * MIB), 0,
    ),
    "a comment": (lambda: filled(TOP + b"<!--", b"x", b"-->" + END), 1),
    "one start tag": (lambda: filled(TOP + b"<a x='", b"x", b"'/>" + END), 1),
    "many quotations": (
        lambda: filled(TOP + b"<item><title>", b"<![CDATA[x]]>", b"</title></item>" + END), 1,
    ),
    "many attributes": (lambda: item(numbered(b"<c a%d='x'/>", 199_000)), 1),
    "many made-up names": (
        lambda: TOP + b"".join(
            b"<item><guid>g%d</guid>%s</item>" % (one, numbered(b"<t%d-%%d/>" % one, 190))
            for one in range(1900)
        ) + END,
        1901,
    ),
    "many categories": (lambda: item(b"<category/>" * 1_000_000), 1),
    "a long title": (lambda: item(b"<title>" + EMOJI + b"x" * 9 * MIB + b"</title>"), 2),
    "a title of many parts": (
        lambda: item(b"<title>" + (EMOJI + b"x" * MIB + b"<b/>") * 19 + b"</title>"), 1,
    ),
    "wide titles": (
        lambda: TOP + numbered(
            b"<item><guid>g%d</guid><title>" + EMOJI + b"x" * 10_000 + b"</title></item>", 1990
        ) + END,
        1991,
    ),
    "wide addresses": (
        lambda: b"<urlset>" + numbered(
            b"<url><loc>http://x/%d/" + EMOJI + b"a" * 370 + b"</loc></url>", 49_000
        ) + b"</urlset>",
        8174,
    ),
    "long addresses": (
        lambda: b"<urlset>" + numbered(
            b"<url><loc>http://x.example/%d/" + b"a" * 370 + b"</loc></url>", 49_999
        ) + b"</urlset>",
        49_999,
    ),
    "bare ampersands": (lambda: TOP + b"<x>" + b"&" * (2 * MIB - 300) + b"</y>" + END, 0),
    "more than the cap": (lambda: bytes(99 * MIB), 0),
    "a packed file": (lambda: gzip.compress(bytes(99 * MIB)), 0),
}  # fmt: skip

VISIT = """
import asyncio, gc, json, resource, sys
from pathlib import Path
from dayfly.fetch import Guard, HttpFetcher
from tests.origin import Place

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) << 10

def cpu_s():
    both = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)

async def main(allowance, place):
    async with HttpFetcher(Guard([allowance])) as fetcher:
        for path in ("rss", "json", "sitemap"):
            await fetcher.fetch(Place(url=place + path))
        gc.collect()
        # The highest mark counts from here on, not what this process was forked from.
        Path("/proc/self/clear_refs").write_text("5")
        idle, began = peak(), cpu_s()
        crawl = await fetcher.fetch(Place(url=place + "hostile"))
        took = peak() - idle
    print(json.dumps([crawl.visible, took, cpu_s() - began, crawl.reason]))

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="nobody counts memory here")
@pytest.mark.parametrize("body", HOSTILE)
def test_F13_no_answer_takes_more_than_64_MiB(body):
    """Nor more than two seconds of work; reading included, in a process that did nothing before."""
    make, visible = HOSTILE[body]

    async def run():
        async with Origin() as origin:
            origin.on("/rss", reply(FEED))
            origin.on("/json", reply(JSON % (b"", b"")))
            origin.on("/sitemap", reply(b"<urlset><url><loc>http://x/1</loc></url></urlset>"))
            packed, kind = gzip.compress(make(), 1), "text/xml"
            if body == "said to be UTF-8":
                kind += "; charset=utf-8"
            origin.on("/hostile", reply(packed, 200, Content_Encoding="gzip", Content_Type=kind))
            child = await asyncio.create_subprocess_exec(
                sys.executable, "-c", VISIT, origin.allowance, origin.url("/"),
                cwd=ROOT, stdout=subprocess.PIPE,
            )  # fmt: skip
            return (await child.communicate())[0]

    seen, bytes_, cpu_s, reason = json.loads(asyncio.run(run()))
    assert (seen, bytes_ < 64 * MIB, cpu_s < 2.0) == (visible, True, True), (bytes_, cpu_s, reason)


def test_F13_a_body_too_long_for_the_wire_is_given_up():
    error, _ = get(reply(bytes(11 << 20)))
    assert str(error) == "too large"
