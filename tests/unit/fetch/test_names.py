"""Names by the system's own look-up: what fails is told, and nobody's place is kept for ever."""

import asyncio
import socket
import threading

import pytest

from dayfly.fetch import FetchError, Forbidden, Guard, names
from dayfly.fetch.names import SystemNames, addresses

FOUND = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.215.14", 0))]


@pytest.fixture
def two_places(monkeypatch):
    """Two look-ups at a time: whoever does not give a place back is noticed by the third."""
    monkeypatch.setattr(names, "_PARALLEL", 2)


def look_up(*hosts: str) -> list:
    """What came of looking these up, one after another."""

    async def run():
        system, told = SystemNames(), []
        async with asyncio.timeout(10):
            for host in hosts:
                try:
                    told.append(await system.resolve(host))
                except OSError as error:
                    told.append(error)
        return told

    return asyncio.run(run())


def fails(host, *_, **__):
    raise socket.gaierror(socket.EAI_NONAME, "unknown")


def test_F04_every_look_up_gives_its_place_back(two_places, monkeypatch):
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: FOUND * 2)
    assert look_up(*[f"n{n}.example" for n in range(9)]) == [["93.184.215.14"] * 2] * 9


def test_F04_a_look_up_that_fails_is_told_and_gives_its_place_back(two_places, monkeypatch):
    monkeypatch.setattr(socket, "getaddrinfo", fails)
    told = look_up(*[f"n{n}.example" for n in range(9)])
    assert [type(error) for error in told] == [socket.gaierror] * 9


def test_F04_a_name_that_cannot_be_looked_up_at_all_is_told(two_places):
    """The system's own words for it: nothing is asked of anybody."""
    told = look_up(*["a" * 64 + ".example", "a..example", "\ud800.example"] * 2)
    assert all(isinstance(error, OSError) for error in told)


def test_F04_where_no_thread_can_be_had_it_is_told_and_the_place_given_back(
    two_places, monkeypatch
):
    start, wanting = threading.Thread.start, [True] * 5

    def none_left(thread):
        if thread.name == "dayfly-names" and wanting:
            wanting.pop()
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", none_left)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: FOUND)
    *failed, found = look_up(*["n.example"] * 6)
    assert [str(error) for error in failed] == ["can't start new thread"] * 5
    assert found == ["93.184.215.14"]


@pytest.mark.parametrize("answer", [lambda *_, **__: FOUND, fails])
def test_F17_an_answer_that_nobody_waits_for_any_more_is_dropped(two_places, monkeypatch, answer):
    go = threading.Event()

    def slowly(host, *rest, **more):
        go.wait(10)
        return answer(host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", slowly)

    async def run():
        complaints = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: complaints.append(context))
        system = SystemNames()
        async with asyncio.timeout(10):
            for _ in range(2):
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.01):
                        await system.resolve("slow.example")
            assert system._slots.locked()  # they still have their threads
            go.set()
            while system._slots._value < 2:
                await asyncio.sleep(0.001)
        return complaints

    assert asyncio.run(run()) == []


def test_F17_an_answer_after_the_end_of_the_crawl_is_dropped(monkeypatch):
    go, threads = threading.Event(), []

    def slowly(host, *_, **__):
        threads.append(threading.current_thread())
        go.wait(10)
        return FOUND

    monkeypatch.setattr(socket, "getaddrinfo", slowly)
    complaints = []
    monkeypatch.setattr(threading, "excepthook", complaints.append)

    async def run():
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await SystemNames().resolve("slow.example")

    asyncio.run(run())
    go.set()
    threads[0].join(10)
    assert complaints == []


def resolved(host: str, port: int = 80) -> list[str]:
    async def run():
        return list(await addresses(host, port, names=SystemNames(), guard=Guard(), deadline=10.0))

    return asyncio.run(run())


def test_F04_an_alias_counts_for_the_addresses_at_its_end(monkeypatch):
    """The system follows CNAMEs itself; it is the addresses that are checked, not the name."""

    def aliased(host, *_, **__):
        ends = {"public.example": "93.184.215.14", "inside.example": "127.0.0.3"}
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "end.example", (ends[host], 0))]

    monkeypatch.setattr(socket, "getaddrinfo", aliased)
    assert resolved("public.example") == ["93.184.215.14"]
    with pytest.raises(Forbidden, match="not public"):
        resolved("inside.example")


def test_F04_a_system_that_fails_is_an_error_and_no_permission(monkeypatch):
    for code in (socket.EAI_NONAME, socket.EAI_AGAIN, socket.EAI_FAIL, socket.EAI_SYSTEM):

        def fails(*_, code=code, **__):
            raise socket.gaierror(code, "whatever")

        monkeypatch.setattr(socket, "getaddrinfo", fails)
        with pytest.raises(FetchError) as caught:
            resolved("some.example")
        assert str(caught.value) == "dns: no address for this name"


def test_F04_a_literal_is_looked_up_nowhere(monkeypatch):
    monkeypatch.setattr(socket, "getaddrinfo", None)
    assert resolved("93.184.215.14") == ["93.184.215.14"]


@pytest.mark.parametrize("literal", ["127.0.0.3", "::1", "169.254.169.254"])
def test_F01_a_literal_is_checked_before_anybody_dials_it(literal):
    with pytest.raises(Forbidden, match="not public"):
        resolved(literal)


def test_F04_an_address_that_is_named_again_and_again_is_tried_once(monkeypatch):
    again = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (at, 0)) for at in ["1.1.1.1"] * 9]
    last = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("8.8.8.8", 0))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: again + last)
    assert resolved("many.example") == ["1.1.1.1", "8.8.8.8"]
