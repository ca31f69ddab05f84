"""Without a contact nobody outside is visited, whichever way leads there."""

import asyncio
from pathlib import Path

import pytest
from tests.origin import Origin, Place, redirect

from dayfly.errors import BadInput, StoreError
from dayfly.fetch import HttpFetcher
from dayfly.model import RobotsCopy, Status
from dayfly.serve.crawler import Admission, Run, _chore
from dayfly.serve.indoors import Indoors, check_contact
from dayfly.store import Listing, StoredSource


def test_only_allowed_addresses_are_dialled():
    guard = Indoors(["127.0.0.2/32:8080", "93.184.215.14/32:9999"])
    assert guard.permits("127.0.0.2", 8080)
    assert not guard.permits("127.0.0.2", 8081)
    assert not guard.permits("93.184.215.14", 80)
    assert not guard.permits("2606:2800:21f:cb07:6820:80da:af6b:8b2c", 443)


def test_a_redirect_does_not_lead_outside():
    async def main():
        async with Origin() as origin:
            origin.on("/feed", redirect("http://93.184.215.14/feed"))
            async with HttpFetcher(Indoors([origin.allowance])) as fetcher:
                return await fetcher.fetch(Place(url=origin.url("/feed")))

    crawl = asyncio.run(main())
    assert (crawl.status, "no contact is set" in crawl.reason) == (Status.REFUSED, True)


@pytest.mark.parametrize(
    ("url", "contact", "admitted"),
    [
        ("http://127.0.0.2:8080/", "", True),
        ("http://127.0.0.2:8081/", "", True),  # refused when it is visited, contact or not
        ("http://feeds.example.org/", "", False),
        ("http://93.184.215.14/", "", False),
        ("http://feeds.example.org/", "https://example.org/bot", True),
    ],
)
def test_who_needs_a_contact_is_told_before_anything_happens(url, contact, admitted):
    run = Run(db=Path("x.db"), budget=1.0, allow=("127.0.0.2/32:8080",), contact=contact)
    admission = Admission(run)
    listing = Listing(id="x", url=url)
    if admitted:
        admission.check(listing)
    else:
        with pytest.raises(BadInput, match="set --contact"):
            admission.check(listing)


def test_the_contact_is_in_the_name_that_we_give():
    run = Run(db=Path("x.db"), budget=1.0, contact="https://example.org/bot")
    assert Admission(run).agent.endswith("(+https://example.org/bot)")
    with pytest.raises(BadInput, match="not a contact"):
        Admission(Run(db=Path("x.db"), budget=1.0, contact="x\r\nHost: evil"))


def test_A11_the_webhook_is_not_shown():
    run = Run(db=Path("x.db"), budget=1.0, webhook="https://example.org/tellnobody")
    assert "tellnobody" not in repr(run)


def test_an_address_that_is_allowed_by_name_may_be_public():
    guard = Indoors(["93.184.215.14/32:443"])
    assert guard.permits("93.184.215.14", 443)
    guard.check("93.184.215.14", 443)
    assert not guard.permits("93.184.215.15", 443)
    run = Run(db=Path("x.db"), budget=1.0, allow=("93.184.215.14/32:443",))
    Admission(run).check(Listing(id="x", url="https://93.184.215.14/"))


@pytest.mark.parametrize("text", ["foo", "me", "https://", "example.org/bot", "a b@c", "@"])
def test_a_contact_is_somewhere_to_turn_to(text):
    with pytest.raises(BadInput, match="not a contact"):
        check_contact(text)


def refused(number: int, **changes) -> StoredSource:
    url = f"http://127.0.0.{number}:8080/"
    known = {"why_not": "guard", "not_before": 9000.0, "last_crawl": 100.0, "failures": 4}
    return StoredSource(row=number, id=str(number), url=url, **known | changes)


def test_a_forgotten_allowance_is_told_and_mended_by_the_next_start():
    sources = [refused(2), refused(3), refused(2, why_not="Retry-After")]
    before = Admission(Run(db=Path("x.db"), budget=1.0))
    assert before.let_in(sources, 300.0) == []
    assert "3 sources are at an address" in before.closed(sources)
    assert before.closed(sources).endswith("--allow 127.0.0.2/32:8080 and 1 more such")
    assert before.closed(sources[:1]).endswith("--allow 127.0.0.2/32:8080")
    after = Admission(Run(db=Path("x.db"), budget=1.0, allow=("127.0.0.2/32:8080",)))
    (let_in,) = after.let_in(sources, 300.0)
    assert (let_in.row, let_in.not_before, let_in.why_not) == (2, 400.0, "minimum interval")
    assert let_in.failures == 0
    assert after.closed(sources[:1]) == ""
    copies = [
        RobotsCopy(origin="http://127.0.0.2:8080", outcome="unreachable", reason="guard: no"),
        RobotsCopy(origin="http://127.0.0.3:8080", outcome="unreachable", reason="guard: no"),
        RobotsCopy(origin="http://127.0.0.2:8080", outcome="unreachable", reason="http 503"),
    ]
    assert before.still_true(copies) == copies
    assert after.still_true(copies) == copies[1:]


def test_what_fails_beside_the_crawl_is_begun_again_and_told_once():
    told, tries = [], []

    async def chore():
        tries.append(1)
        if len(tries) < 4:
            raise StoreError("disk full") if len(tries) < 3 else OSError("no such folder")

    async def nap(seconds):
        pass

    asyncio.run(_chore(chore, told.append, nap))
    assert len(tries) == 4
    assert [text.partition(";")[0] for text in told] == ["disk full", "OSError: no such folder"]
