"""New items handed on: at least once, in order, through the one guarded way out."""

import asyncio
import json
from contextlib import suppress

import pytest
from tests.origin import CANARY, Canary, Origin, reply

from dayfly.errors import BadInput
from dayfly.fetch import FetchError, Guard, Web
from dayfly.model import Item
from dayfly.serve import StillHouse
from dayfly.serve.webhook import PORTION, Webhook
from dayfly.store import MemoryStore

from .conftest import NOW, listing, record


class Receiver:
    """Answers as told, one after the other, then 204; keeps what it accepted."""

    def __init__(self, *answers) -> None:
        self.answers, self.got, self.tries = list(answers), [], 0

    async def post(self, url, body, headers) -> int:
        self.tries += 1
        assert headers["Content-Type"] == "application/json"
        answer = self.answers.pop(0) if self.answers else 204
        if isinstance(answer, Exception):
            raise answer
        if 200 <= answer < 300:
            self.got += [item["number"] for item in json.loads(body)["items"]]
        return answer


class Naps:
    """Time to sleep that is only counted; the end comes after some."""

    def __init__(self, most: int) -> None:
        self.most, self.slept = most, []

    async def __call__(self, seconds: float) -> None:
        self.slept.append(seconds)
        if len(self.slept) >= self.most:
            raise asyncio.CancelledError


def house_with(n: int):
    store = MemoryStore()
    store.add([listing(0)])
    fence = store.own()
    items = [Item(key=str(number), published=NOW) for number in range(n)]
    if items:
        record(store, 0, fence, items=items)
    return StillHouse(store), store, fence


def deliver(receiver, house, position, naps=1, **given):
    rest = Naps(naps)
    hook = Webhook("https://x.example.org/", receiver, position, sleep=rest, **given)
    with suppress(asyncio.CancelledError):
        asyncio.run(hook.run(house))
    return rest.slept


def test_a_new_webhook_begins_with_what_comes_from_now_on(tmp_path):
    house, store, fence = house_with(3)
    receiver = Receiver()
    deliver(receiver, house, tmp_path / "position")
    assert receiver.got == []
    record(store, 0, fence, time=NOW + 1, items=[Item(key="new", published=NOW)])
    deliver(receiver, house, tmp_path / "position")
    assert receiver.got == [4]


def test_items_come_in_order_in_portions_and_once_where_nothing_fails(tmp_path):
    house, *_ = house_with(2 * PORTION + 5)
    (tmp_path / "position").write_text("0")
    receiver = Receiver()
    deliver(receiver, house, tmp_path / "position")
    deliver(receiver, house, tmp_path / "position")
    assert receiver.got == list(range(1, 2 * PORTION + 6))
    assert receiver.tries == 3


def test_failures_are_tried_again_later_and_later_and_told_once(tmp_path):
    house, *_ = house_with(3)
    (tmp_path / "position").write_text("0")
    receiver = Receiver(500, FetchError("timeout", "total"), 302, 404)
    told = []
    slept = deliver(receiver, house, tmp_path / "position", naps=6, tell=told.append)
    assert slept == [1.0, 2.0, 4.0, 8.0, 1.0, 1.0]
    assert receiver.got == [1, 2, 3]
    assert ["http 500" in told[0], "after 4 failures" in told[1], len(told)] == [True, True, 2]


def test_back_off_ends_at_an_hour(tmp_path):
    house, *_ = house_with(1)
    (tmp_path / "position").write_text("0")
    slept = deliver(Receiver(*[500] * 40), house, tmp_path / "position", naps=30)
    assert max(slept) == 3600.0


def test_months_of_failures_are_counted_without_end(tmp_path):
    house, *_ = house_with(1)
    (tmp_path / "position").write_text("0")
    slept = deliver(Receiver(*[500] * 1100), house, tmp_path / "position", naps=1100)
    assert slept[1050:] == [3600.0] * 50


def test_where_the_position_cannot_be_written_nothing_is_sent_twice(tmp_path, monkeypatch):
    house, *_ = house_with(PORTION + 5)
    (tmp_path / "position").write_text("0")
    full = [True] * 4
    remember = Webhook._remember

    def fails(self, last):
        if full and full.pop():
            raise OSError(28, "No space left on device")
        remember(self, last)

    monkeypatch.setattr(Webhook, "_remember", fails)
    receiver, told = Receiver(), []
    slept = deliver(receiver, house, tmp_path / "position", naps=6, tell=told.append)
    assert receiver.got == list(range(1, PORTION + 6))
    assert slept == [1.0, 2.0, 4.0, 8.0, 1.0, 1.0]
    assert ["No space left" in told[0], "after 4 failures" in told[1], len(told)] == [True, True, 2]
    assert (tmp_path / "position").read_text() == str(PORTION + 5)


def test_what_was_sent_but_not_noted_is_sent_again(tmp_path):
    house, *_ = house_with(2)
    (tmp_path / "position").write_text("0")

    class Dying(Receiver):
        async def post(self, url, body, headers):
            await super().post(url, body, headers)
            raise asyncio.CancelledError  # the process ends before the answer is there

    first, second = Dying(), Receiver()
    deliver(first, house, tmp_path / "position")
    deliver(second, house, tmp_path / "position")
    assert first.got == second.got == [1, 2]


def test_a_spoiled_position_is_told(tmp_path):
    house, *_ = house_with(1)
    (tmp_path / "position").write_text("many")
    with pytest.raises(BadInput, match="holds no item number"):
        deliver(Receiver(), house, tmp_path / "position")


def test_F07_a_webhook_cannot_reach_what_the_guard_refuses(tmp_path):
    house, *_ = house_with(1)
    (tmp_path / "position").write_text("0")
    told = []

    async def main():
        async with Canary() as canary, Web(Guard(), agent="dayfly") as web:
            for host in (CANARY, "localhost", "[::1]", "169.254.169.254"):
                hook = Webhook(
                    f"http://{host}:{canary.port}/", web, tmp_path / "position", tell=told.append
                )
                await hook.drain(house)
            return canary.accepts

    assert asyncio.run(main()) == 0
    assert len(told) == 4
    assert (tmp_path / "position").read_text() == "0"


def test_F07_a_receiver_cannot_send_us_on(tmp_path):
    house, *_ = house_with(1)
    (tmp_path / "position").write_text("0")
    told = []

    async def main():
        async with Canary() as canary, Origin() as origin:
            origin.on("/hook", reply(b"", 307, Location=f"http://{CANARY}:{canary.port}/"))
            async with Web(origin.guard, agent="dayfly") as web:
                hook = Webhook(origin.url("/hook"), web, tmp_path / "position", tell=told.append)
                await hook.drain(house)
            return canary.accepts

    assert asyncio.run(main()) == 0
    assert "http 307" in told[0]


def test_it_arrives_over_http_as_json(tmp_path):
    house, *_ = house_with(2)
    (tmp_path / "position").write_text("0")

    async def main():
        async with Origin() as origin:
            origin.on("/hook", reply(b"ok"))
            async with Web(origin.guard, agent="dayfly/test") as web:
                await Webhook(origin.url("/hook"), web, tmp_path / "position").drain(house)
            return origin.requests

    (request,) = asyncio.run(main())
    assert request.method == "POST"
    assert [item["key"] for item in json.loads(request.body)["items"]] == ["0", "1"]
    assert (tmp_path / "position").read_text() == "2"


def test_after_an_older_database_was_put_back_nothing_counts_as_delivered(tmp_path):
    house, store, fence = house_with(3)
    (tmp_path / "position").write_text("500")
    receiver = Receiver()
    deliver(receiver, house, tmp_path / "position")
    assert receiver.got == []
    record(store, 0, fence, time=NOW + 1, items=[Item(key="new", published=NOW)])
    deliver(receiver, house, tmp_path / "position")
    assert receiver.got == [4]


def test_a_failure_that_lasts_is_told_again(tmp_path):
    house, *_ = house_with(1)
    (tmp_path / "position").write_text("0")
    told = []

    class Down:
        async def post(self, url, body, headers):
            return 500

    hook = Webhook("https://x.example/", Down(), tmp_path / "position", tell=told.append)

    async def main():
        for _ in range(12):
            await hook.drain(house)

    asyncio.run(main())
    assert [text.partition(";")[0] for text in told] == [
        "webhook: http 500", "webhook: http 500, 11 times in a row",
        "webhook: http 500, 12 times in a row",
    ]  # fmt: skip


def test_a_position_that_is_no_number_is_told_in_plain_words(tmp_path):
    house, *_ = house_with(1)
    (tmp_path / "position").write_text("seven")
    with pytest.raises(BadInput, match="holds no item number; delete it"):
        deliver(Receiver(), house, tmp_path / "position")
