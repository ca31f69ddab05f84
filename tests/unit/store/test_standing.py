"""How a source stands after a visit."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from dayfly.estimate import Estimate
from dayfly.model import Crawl, Item, Status
from dayfly.store import StoredSource
from dayfly.store.sources import State
from dayfly.store.standing import after, alarm

NOW, DAY = 1e9, 86400.0
OLD, NEW = "https://a.example.org/feed", "https://b.example.net/feed"
KNOWN = StoredSource(
    id="a", url=OLD, row=0, etag='W/"x"', last_modified="yesterday, about noon", digest="d0",
    failures=2, last_new=NOW - DAY, document_title="Known", malformed=True, lost=2,
)  # fmt: skip


def stand(source: StoredSource, crawl: Crawl) -> StoredSource:
    return after(source, crawl, None, crawl.time + 300, "minimum interval")


def answered(time: float = NOW, moved: str = "", **more) -> Crawl:
    more = {"status": Status.UNCHANGED, "digest": "d1", **more}
    return Crawl(row=0, time=time, moved=moved, **more)


def failed(reason: str = "http 503", time: float = NOW, **more) -> Crawl:
    return Crawl(row=0, time=time, status=Status.FAILED, reason=reason, **more)


def refused(reason: str, time: float = NOW) -> Crawl:
    return Crawl(row=0, time=time, status=Status.REFUSED, reason=reason)


def test_an_answer_leaves_what_it_said():
    estimate = Estimate(row=0, time=NOW, arrival=1.0, decay=1.0, worth=1.0)
    crawl = Crawl(
        row=0, time=NOW, status=Status.CHANGED, items=(Item(key="k", published=None),), visible=1,
        etag='"y"', last_modified="today", digest="d1", title="New name", malformed=False,
    )  # fmt: skip
    now = after(KNOWN, crawl, estimate, NOW + 300, "cache")
    assert (now.etag, now.last_modified, now.digest) == ('"y"', "today", "d1")
    assert (now.not_before, now.why_not) == (NOW + 300, "cache")
    assert (now.last_crawl, now.last_new) == (NOW, NOW)
    assert (now.last_status, now.last_reason, now.failures, now.lost) == ("changed", "", 0, 0)
    assert (now.document_title, now.malformed) == ("New name", False)
    assert now.estimate is estimate
    assert now.url == OLD


@pytest.mark.parametrize("etag", ['W/"x"', "unquoted", '"MiXeD"', '"a b"', "'x'", '"é"'])
def test_C09_validators_are_kept_as_they_came(etag):
    now = stand(KNOWN, answered(etag=etag, last_modified="Mon, 1 Feb 99 odd"))
    assert (now.etag, now.last_modified) == (etag, "Mon, 1 Feb 99 odd")
    gone = stand(now, answered())
    assert (gone.etag, gone.last_modified) == ("", "")  # no longer said, no longer echoed


def test_C10_the_same_bytes_change_nothing_but_the_time():
    crawl = answered(digest="d0", etag=KNOWN.etag, last_modified=KNOWN.last_modified)
    now = stand(KNOWN, crawl)
    assert (now.etag, now.last_modified, now.digest) == (
        KNOWN.etag, KNOWN.last_modified, KNOWN.digest,
    )  # fmt: skip
    assert (now.last_new, now.last_crawl) == (NOW - DAY, NOW)
    assert now.malformed  # it was not read again
    assert now.document_title == "Known"


@pytest.mark.parametrize(
    "crawl", [failed(), failed("not a feed: html"), refused("http 403"), refused("robots")]
)
def test_a_bad_answer_takes_nothing_away(crawl):
    now = stand(KNOWN, crawl)
    for name in ("etag", "last_modified", "digest", "document_title", "malformed", "last_new",
                 "url", "state", "estimate"):  # fmt: skip
        assert getattr(now, name) == getattr(KNOWN, name), name
    assert now.failures == 3
    assert (now.last_status, now.last_reason) == (crawl.status.value, crawl.reason)
    assert now.lost == 0  # it ended


def test_failures_end_with_an_answer():
    assert stand(stand(KNOWN, failed()), answered()).failures == 0


# Redirects.


def visits(crawls, source: StoredSource = KNOWN) -> StoredSource:
    for crawl in crawls:
        source = stand(source, crawl)
    return source


def test_C13_a_permanent_redirect_is_believed_after_seven_days_of_valid_answers():
    daily = [answered(NOW + n * DAY, NEW, etag=f'"{n}"') for n in range(8)]
    for n in range(7):
        source = visits(daily[: n + 1])
        assert (source.url, source.moved_to, source.moved_since) == (OLD, NEW, NOW)
        assert source.etag == f'"{n}"'
    source = visits(daily)
    assert (source.url, source.host) == (NEW, "b.example.net")
    assert (source.moved_to, source.moved_since) == ("", None)
    assert source.id == "a"


def test_C10_validators_are_cleared_when_the_address_changes():
    source = visits([answered(NOW + n * 7 * DAY, NEW, etag='"x"', digest="d") for n in (0, 1)])
    assert source.url == NEW
    assert (source.etag, source.last_modified, source.digest) == ("", "", "")


def test_C13_another_target_begins_anew():
    other = "https://c.example.net/feed"
    source = visits([answered(NOW, NEW), answered(NOW + 6 * DAY, other)])
    assert (source.moved_to, source.moved_since) == (other, NOW + 6 * DAY)
    source = visits([answered(NOW + 8 * DAY, NEW)], source)
    assert (source.url, source.moved_since) == (OLD, NOW + 8 * DAY)


def test_C13_an_answer_without_a_permanent_redirect_takes_it_back():
    # A 302 or 307 is such an answer: the fetcher reports permanent redirects alone.
    source = visits([answered(NOW, NEW), answered(NOW + 6 * DAY), answered(NOW + 8 * DAY, NEW)])
    assert (source.url, source.moved_since) == (OLD, NOW + 8 * DAY)


def test_C13_silence_neither_proves_nor_denies():
    times = [answered(NOW, NEW), failed(time=NOW + 3 * DAY), answered(NOW + 7 * DAY, NEW)]
    assert visits(times).url == NEW


def test_C13_a_redirect_to_nothing_readable_begins_anew():
    portal = "https://portal.example/login"
    times = [answered(NOW, NEW), failed("not a feed: html", NOW + 6 * DAY, moved=portal)]
    source = visits(times)
    assert (source.url, source.moved_to, source.moved_since) == (OLD, portal, NOW + 6 * DAY)
    for n in range(7, 60):
        source = stand(source, failed("not a feed: html", NOW + n * DAY, moved=portal))
    assert source.url == OLD


def test_C13_the_same_page_encrypted_is_believed_at_once():
    plain = replace(KNOWN, url="http://a.example.org/feed?x=1")
    source = stand(plain, answered(moved="https://a.example.org/feed?x=1"))
    assert (source.url, source.host) == ("https://a.example.org/feed?x=1", "a.example.org")
    assert (source.etag, source.digest) == ("", "")


@pytest.mark.parametrize(
    "target",
    [
        "https://a.example.org/", "https://www.a.example.org/feed", "https://a.example.org:8443/feed",
        "https://a.example.org/feed?y", "http://a.example.org/feed2",
    ],
)  # fmt: skip
def test_C13_anything_else_waits(target):
    plain = replace(KNOWN, url="http://a.example.org/feed")
    source = stand(plain, answered(moved=target))
    assert (source.url, source.moved_to) == (plain.url, target)


def test_C13_an_unverified_server_proves_nothing_at_once():
    plain = replace(KNOWN, url="http://a.example.org/feed", verify_tls=False)
    assert stand(plain, answered(moved="https://a.example.org/feed")).url == plain.url


def test_C13_secrets_go_to_nobody_new():
    twice = [answered(NOW, NEW), answered(NOW + 9 * DAY, NEW)]
    secret = replace(KNOWN, headers=(("Authorization", "Bearer x"),))
    source = visits(twice, secret)
    assert (source.url, source.moved_to) == (OLD, NEW)  # shown, for the operator to decide
    near = OLD + "/v2"
    assert visits([answered(NOW, near), answered(NOW + 9 * DAY, near)], secret).url == near


@pytest.mark.parametrize("target", ["http://b.example.net/feed", "http://[::1/", "ftp://b/", "b"])
def test_C13_what_was_encrypted_stays_so_and_nonsense_is_not_believed(target):
    assert visits([answered(NOW, target), answered(NOW + 9 * DAY, target)]).url == OLD


def test_C13_a_host_that_the_operator_named_stays():
    shared = replace(KNOWN, host="shared")
    source = visits([answered(NOW, NEW), answered(NOW + 7 * DAY, NEW)], shared)
    assert (source.url, source.host) == (NEW, "shared")


@pytest.mark.parametrize("written", ["bücher.example", "BÜCHER.example", "xn--bcher-kva.example"])
def test_C13_a_host_moves_along_however_its_name_is_written(written):
    source = StoredSource(id="a", url=f"https://{written}/feed", row=0)
    assert source.host == "xn--bcher-kva.example"
    source = visits([answered(NOW, NEW), answered(NOW + 7 * DAY, NEW)], source)
    assert (source.url, source.host) == (NEW, "b.example.net")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("http://bücher.example/feed", "https://xn--bcher-kva.example/feed"),
        ("HTTP://A.example.org/feed", "https://a.example.org/feed"),
        ("http://a.example.org", "https://a.example.org/"),
        ("http://a.example.org/für?q=ü", "https://a.example.org/f%C3%BCr?q=%C3%BC"),
        ("http://a.example.org:80/feed", "https://a.example.org/feed"),
    ],
)
def test_C13_the_same_page_encrypted_may_be_written_in_another_way(old, new):
    source = stand(StoredSource(id="a", url=old, row=0), answered(moved=new))
    assert (source.url, source.moved_to) == (new, "")


def test_C13_secrets_stay_with_a_host_however_its_name_is_written():
    secret = (("Authorization", "Bearer x"),)
    source = StoredSource(id="a", url="https://bücher.example/feed", row=0, headers=secret)
    near = "https://xn--bcher-kva.example/v2"
    assert visits([answered(NOW, near), answered(NOW + 7 * DAY, near)], source).url == near


def listed(n: int, moved_to: str = "", since: float = NOW) -> StoredSource:
    url = f"https://host{n}.example.org/feed"
    when = since if moved_to else None
    return StoredSource(id=f"s{n}", url=url, row=n, moved_to=moved_to, moved_since=when)


def test_C13_when_everybody_moves_to_one_place_somebody_is_told():
    portal = "https://portal.example/login"
    sources = [listed(n, portal, NOW + n) for n in range(50)]
    told = alarm(sources)
    assert told is not None
    assert "50 of 50 hosts" in told
    assert "'portal.example'" in told
    assert alarm(sources[:3] + [listed(n) for n in range(3, 30)]) is not None
    assert [source.url for source in sources] == [listed(n).url for n in range(50)]


def test_C13_a_few_who_move_alarm_nobody():
    assert alarm([]) is None
    platform = "https://blogs.example/x"
    assert alarm([listed(0, platform), listed(1, platform)]) is None
    few = [listed(n, platform) for n in range(9)] + [listed(n) for n in range(9, 100)]
    assert alarm(few) is None
    slowly = [listed(n, platform, NOW + n * DAY) for n in range(50)]
    assert alarm(slowly) is None
    apart = [listed(n, f"https://new{n}.example/x") for n in range(50)]
    assert alarm(apart) is None
    at_home = [listed(n, f"https://host{n}.example.org/other") for n in range(50)]
    assert alarm(at_home) is None


def test_C13_one_host_with_many_sources_is_one_host():
    same = [replace(listed(n, "https://b.example/x"), host="h") for n in range(50)]
    assert alarm(same) is None


def test_C13_what_the_alarm_quotes_is_text():
    evil = [listed(n, "https://\x1b[31mevil\x1b[0m/x") for n in range(9)]
    assert "\x1b" not in (alarm(evil) or "")


def test_C13_a_captive_portal_of_a_day_changes_no_address():
    """Everybody, every five minutes, is sent to a page that even looks like a feed."""
    portal = "https://portal.example/feed"
    fleet = [replace(listed(n), url=f"http://host{n}.example.org/feed") for n in range(20)]
    for minute in range(0, 24 * 60, 5):
        fleet = [stand(source, answered(NOW + 60 * minute, portal)) for source in fleet]
    assert [source.url for source in fleet] == [
        f"http://host{n}.example.org/feed" for n in range(20)
    ]
    assert alarm(fleet) is not None
    back = [stand(source, answered(NOW + 2 * DAY)) for source in fleet]
    assert alarm(back) is None


# Gone.


def test_C14_gone_once_is_kept():
    source = stand(KNOWN, refused("http 410"))
    assert (source.state, source.gone_since) == (State.ACTIVE, NOW)
    source = stand(source, refused("http 410", NOW + DAY - 1))
    assert (source.state, source.gone_since) == (State.ACTIVE, NOW)


def test_C14_gone_twice_a_day_apart_is_believed_and_shown():
    source = visits([refused("http 410"), refused("http 410", NOW + DAY)])
    assert source.state is State.GONE
    assert (source.gone_since, source.last_reason) == (NOW, "http 410")
    assert source.digest == KNOWN.digest  # it can be revived


def test_C14_gone_then_there_is_forgotten():
    source = visits([refused("http 410"), answered(NOW + DAY), refused("http 410", NOW + 2 * DAY)])
    assert (source.state, source.gone_since) == (State.ACTIVE, NOW + 2 * DAY)


def test_C14_not_found_fifty_times_is_not_gone():
    source = visits([failed("http 404", NOW + n * DAY) for n in range(50)])
    assert (source.state, source.gone_since, source.failures) == (State.ACTIVE, None, 52)


def test_C14_what_the_operator_paused_stays_paused():
    paused = replace(KNOWN, state=State.PAUSED, gone_since=NOW - 2 * DAY)
    assert stand(paused, refused("http 410")).state is State.PAUSED


CRAWLS = st.builds(
    Crawl,
    row=st.just(0),
    time=st.floats(NOW, NOW + 90 * DAY),
    status=st.sampled_from(Status),
    reason=st.sampled_from(["", "http 410", "http 404", "robots", "timeout"]),
    moved=st.sampled_from(["", "", NEW, "http://c.example/x"]),
    etag=st.text(max_size=5),
    digest=st.sampled_from(["", "d0", "d1"]),
)


@given(st.lists(CRAWLS, max_size=12), st.randoms(use_true_random=False))
def test_C13_whatever_happens_the_address_changes_only_with_proof(crawls, chance: random.Random):
    crawls.sort(key=lambda crawl: crawl.time)
    source = KNOWN
    for crawl in crawls:
        then = stand(source, crawl)
        if then.url != source.url:
            assert crawl.answered
            assert crawl.moved == then.url == source.moved_to
            assert crawl.time - source.moved_since >= 7 * DAY
        if then.state is State.GONE and source.state is State.ACTIVE:
            assert source.gone_since is not None
            assert crawl.time - source.gone_since >= DAY
        if not crawl.answered:
            assert (then.etag, then.digest) == (source.etag, source.digest)
        assert then.id == KNOWN.id
        source = then
