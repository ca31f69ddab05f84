"""The process in which malformed feeds are read: it may die, we may not."""

import asyncio
import sys

import pytest

from dayfly.fetch.cage import Cage
from dayfly.fetch.gate import Unreadable

NOW = 1_800_000_000.0
BROKEN = b"<rss><channel><title>t</title><item><guid>1</guid><title>a & b</title></item>"

#: Stands in for the parser: answers, or does what the body says.
PLAY = """
import json, os, struct, sys, time
while len(head := sys.stdin.buffer.read(8)) == 8:
    first, second = struct.unpack(">II", head)
    sys.stdin.buffer.read(first)
    body = sys.stdin.buffer.read(second).decode()
    if body == "die": os.kill(os.getpid(), 11)
    if body == "leave": os._exit(3)
    if body == "sleep": time.sleep(60)
    said = body.encode() if body[:1] in "{[x" else json.dumps(
        {"title": "t", "entries": [{"id": body, "pid": os.getpid()}]}).encode()
    sys.stdout.buffer.write(struct.pack(">I", len(said)) + said)
    sys.stdout.buffer.flush()
"""


@pytest.fixture
def play(tmp_path):
    script = tmp_path / "play.py"
    script.write_text(PLAY)
    cages = []

    def make(**limits):
        cages.append(Cage((sys.executable, str(script)), **limits))
        return cages[-1]

    yield make
    for cage in cages:
        cage.close()


async def keys(cage: Cage, body: bytes) -> list[str]:
    return [entry.id for entry in (await cage.read(body, "http://x/", NOW, why="why")).entries]


def test_the_real_one_reads_a_broken_feed():
    cage = Cage()
    try:
        feed = asyncio.run(cage.read(BROKEN, "http://x/", NOW, why="why"))
    finally:
        cage.close()
    assert feed.title == "t"
    assert [(entry.id, entry.title) for entry in feed.entries] == [("1", "a & b")]


def test_D14_a_parser_that_dies_is_replaced_and_only_its_document_is_lost(play):
    cage = play()

    async def run():
        assert await keys(cage, b"1") == ["1"]
        for body, why in ((b"die", r"died \(-11\)"), (b"leave", "ran out of memory")):
            with pytest.raises(Unreadable, match=f"^why; the careful parser {why}"):
                await cage.read(body, "http://x/", NOW, why="why")
            assert await keys(cage, b"2") == ["2"]

    asyncio.run(run())
    assert cage.starts == 3


def test_D14_a_parser_out_of_memory_is_replaced():
    cage = Cage(memory=1 << 20)
    large = BROKEN + b"<item><title>x</title></item>" * 50_000
    try:
        with pytest.raises(Unreadable, match="the careful parser ran out of memory"):
            asyncio.run(cage.read(large, "http://x/", NOW, why="why"))
    finally:
        cage.close()


def test_a_parser_that_takes_too_long_is_ended(play):
    cage = play(wall_s=0.3)

    async def run():
        with pytest.raises(Unreadable, match="took too long"):
            await cage.read(b"sleep", "http://x/", NOW, why="why")
        cage._wall_s = 60.0
        assert await keys(cage, b"1") == ["1"]

    asyncio.run(run())


def test_only_so_many_may_wait(play):
    cage = play(waiting=3)

    async def run():
        return await asyncio.gather(
            *(keys(cage, b"%d" % n) for n in range(5)), return_exceptions=True
        )

    done = asyncio.run(run())
    assert done[:3] == [["0"], ["1"], ["2"]]
    assert all("too many others wait" in str(error) for error in done[3:])


def test_the_process_is_replaced_after_so_many_documents(play):
    cage = play(recycle=2)

    async def run():
        for n in range(5):
            await keys(cage, b"%d" % n)

    asyncio.run(run())
    assert cage.starts == 3


def test_a_large_body_is_not_handed_over(play):
    cage = play()
    with pytest.raises(Unreadable, match="too large"):
        asyncio.run(cage.read(b"x" * (3 << 20), "http://x/", NOW, why="why"))
    assert cage.starts == 0


@pytest.mark.parametrize(
    "answer",
    [
        b"{",
        b"[]",
        b"x",
        b'{"entries": 7}',
        b'{"entries": [7, {"id": []}, {"read": "x"}], "title": {}}',
    ],
)
def test_its_word_is_not_trusted(play, answer):
    cage = play()
    try:
        feed = asyncio.run(cage.read(answer, "http://x/", NOW, why="why"))
    except Unreadable:
        return
    assert all(entry.id == "" and entry.published is None for entry in feed.entries)


def test_it_can_be_closed_at_any_time_and_used_again(play):
    cage = play()
    cage.close()

    async def run():
        sleeping = asyncio.ensure_future(keys(cage, b"sleep"))
        while cage.starts == 0:
            await asyncio.sleep(0.01)
        cage.close()
        with pytest.raises(Unreadable):
            await sleeping
        assert await keys(cage, b"1") == ["1"]

    asyncio.run(run())
