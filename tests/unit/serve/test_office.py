"""The operations, on a store at rest: sources, items, and what holds for all."""

import json

import msgspec
import pytest
from msgspec.structs import replace

from dayfly.errors import BadInput
from dayfly.serve import Office, StillHouse
from dayfly.serve.office import OPERATIONS
from dayfly.serve.vocabulary import plain_listing
from dayfly.store import Listing, MemoryStore, State

from .conftest import NOW, SECRET, listing


def test_every_answer_is_plain_json(office):
    asked = [
        ("sources.list", {}),
        ("sources.show", {"source": "feed1"}),
        ("items", {}),
        ("explain", {"source": "feed0"}),
        ("explain", {"source": "feed0", "budget_per_s": 1.0}),
        ("stats", {}),
        ("plan", {"seconds": 60.0, "budget_per_s": 1.0}),
        ("status", {}),
        ("check", {}),
        ("events.learn", {}),
    ]
    for what, arguments in asked:
        answer = office.ask(what, **arguments)
        assert json.loads(json.dumps(answer, allow_nan=False)) == answer, what


def test_A11_no_answer_holds_a_secret(office):
    for what, arguments in [
        ("sources.list", {}),
        ("sources.show", {"source": "feed0"}),
        ("sources.pause", {"source": "feed0"}),
        ("explain", {"source": "feed0"}),
        ("stats", {}),
        ("items", {}),
    ]:
        assert SECRET not in json.dumps(office.ask(what, **arguments)), what
    assert office.ask("sources.show", source="feed0")["header_names"] == ["Authorization"]


@pytest.mark.parametrize(
    "broken",
    [
        {"headers": [["X-Token", f"{SECRET}\r\nHost: evil"]]},
        {"headers": [["X-Token", [SECRET]]]},
        {"headers": SECRET},
        {"weight": SECRET},
        {"url": f"https://user:{SECRET}@example.org/feed"},
    ],
)
def test_A11_an_error_does_not_quote_a_secret(office, broken):
    with pytest.raises(BadInput) as error:
        office.ask("sources.add", sources=[{"id": "x", "url": "https://x.example.org/"} | broken])
    assert SECRET not in str(error.value)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"row": 7}, "unknown setting of a source 'row'"),
        ({"state": "gone"}, "unknown setting of a source 'state'"),
        ({"weigth": 2}, "did you mean 'weight'"),
        ({"url": "ftp://x.org/"}, "x"),
        ({"url": "http://127.0.0.3:1\\@x.org/"}, "x"),
        ({"kind": "podcast"}, "kind of source"),
        ({"decay": -1.0}, "decay"),
        ({"arrival": float("nan")}, "arrival"),
        ({"title": "t" * 5000}, "characters"),
        ({"id": ""}, "needs 'id'"),
        ({"headers": [["Host", "evil"]]}, "Host"),
        ({"id": "../up"}, "path"),
        ({"id": "x" * 121}, "characters"),
        ({"id": "a\x1b[31m"}, "printable"),
        ({"title": "a\nb"}, "printable"),
        ({"tags": ["t"] * 51}, "tags"),
        ({"tags": ["t" * 101]}, "tags"),
        ({"host": "elsewhere.example.org"}, "host"),
        ({"min_interval": -5.0}, "min_interval"),
        ({"min_interval": 9.0, "max_interval": 5.0}, "max_interval"),
        ({"select": [["item", "li"]]}, "select"),
        ({"kind": "page", "select": [["item", ":has(a)"]]}, "simple"),
        ({"kind": "page"}, "select"),
    ],
)
def test_A09_what_is_added_is_checked_whoever_adds_it(office, broken, said):
    with pytest.raises(BadInput) as error:
        office.ask("sources.add", sources=[{"id": "x", "url": "https://x.example.org/"} | broken])
    assert said in str(error.value)
    assert len(office.ask("sources.list")["sources"]) == 3


def test_a_listing_survives_the_way_through_json():
    given = Listing(
        id="a", url="https://a.example.org/", tags=("x", "y"), headers=(("A", "b"),), weight=2.0,
        select=(("item", "li"),), kind="page", min_interval=60.0, obey_robots=False,
    )  # fmt: skip
    office = Office(StillHouse(MemoryStore()))
    plain = msgspec.json.decode(msgspec.json.encode(plain_listing(given)))
    assert office.ask("sources.add", sources=[plain]) == {"added": 1, "known": 0, "rows": [0]}
    (stored,) = office.house.sources()
    assert all(getattr(stored, name) == value for name, value in plain_listing(given).items())


def test_known_sources_stay_as_they_are_unless_they_are_to_be_updated(office):
    again = plain_listing(listing(1, weight=3.0))
    answer = office.ask("sources.add", sources=[again, plain_listing(listing(9))])
    assert answer == {"added": 1, "known": 1, "rows": [1, 3]}
    assert office.ask("sources.show", source="feed1")["weight"] == 1.0
    office.ask("sources.add", sources=[again], update=True)
    shown = office.ask("sources.show", source="feed1")
    assert (shown["weight"], shown["title"], shown["tags"]) == (3.0, "Second", ["news", "local"])


def test_the_same_address_under_another_id_is_known(office):
    given = {"id": "other", "url": "https://1.example.org/feed.xml"}
    answer = office.ask("sources.add", sources=[given])
    assert answer == {"added": 0, "known": 1, "rows": [1]}


def test_a_removed_source_comes_back_when_it_is_added(office):
    office.ask("sources.remove", source="feed1")
    assert [one["id"] for one in office.ask("sources.list")["sources"]] == ["feed0", "feed2"]
    with pytest.raises(BadInput, match="was removed"):
        office.ask("sources.pause", source="feed1")
    answer = office.ask("sources.add", sources=[plain_listing(listing(1))])
    assert answer == {"added": 1, "known": 0, "rows": [1]}
    assert office.ask("sources.show", source="feed1")["state"] == "active"


def test_lists_are_filtered_and_come_in_portions(office):
    def ids(**given):
        answer = office.ask("sources.list", **given)
        return [one["id"] for one in answer["sources"]], answer["next"]

    assert ids(tag="local") == (["feed1"], None)
    assert ids(limit=2) == (["feed0", "feed1"], 1)
    assert ids(limit=2, after=1) == (["feed2"], None)
    office.ask("sources.pause", source="feed2")
    assert ids(state="paused") == (["feed2"], None)
    # A pause that ends by itself is one, too.
    office.ask("sources.pause", source="feed0", until=NOW + 900.0)
    assert ids(state="paused") == (["feed0", "feed2"], None)
    assert ids(state="active") == (["feed1"], None)
    assert office.ask("stats")["states"] == {"active": 1, "paused": 2}


@pytest.mark.parametrize(
    "named", ["feed1", "https://1.example.org/feed.xml", "https://1.", "1.example.org", "1.ex"]
)
def test_a_source_is_found_by_id_address_or_beginning(office, named):
    assert office.ask("sources.show", source=named)["row"] == 1


def test_a_source_is_found_by_the_title_that_screens_show(office, store):
    first, second, third = store.sources()
    daily = [replace(first, title="The Daily"), replace(third, title="The Daily")]
    store.change([*daily, replace(second, title="", document_title="Evening")])
    assert office.ask("sources.show", source="Evening")["row"] == 1
    with pytest.raises(BadInput, match="the title of several sources: feed0, feed2"):
        office.ask("sources.show", source="The Daily")


def test_who_cannot_be_found_is_told_with_a_suggestion(office):
    with pytest.raises(BadInput, match="did you mean 'feed1'"):
        office.ask("sources.show", source="fed1")
    with pytest.raises(BadInput, match="several sources: feed0, feed1, feed2"):
        office.ask("sources.show", source="feed")
    with pytest.raises(BadInput, match="dayfly sources list shows all"):
        office.ask("sources.show", source="zzz")
    with pytest.raises(BadInput, match="nor any other"):
        Office(StillHouse(MemoryStore())).ask("sources.show", source="x")


def test_a_pause_for_some_time_does_not_shorten_what_the_source_asked_for(office, store):
    now = NOW + 100.0
    source = store.sources()[0]
    store.change([replace(source, not_before=now + 500, why_not="Retry-After")])
    shorter = office.ask("sources.pause", source="feed0", until=now + 100)
    assert (shorter["not_before_at"], shorter["why_not"]) == (now + 500, "Retry-After")
    longer = office.ask("sources.pause", source="feed0", until=now + 900)
    assert longer["not_before_at"] == now + 900
    assert longer["why_not"].startswith("paused")
    even = office.ask("sources.pause", source="feed0", until=now + 950)
    assert even["not_before_at"] == now + 950
    ended = office.ask("sources.resume", source="feed0")
    assert (ended["not_before_at"], ended["why_not"]) == (now + 500, "Retry-After")


def test_a_pause_ends_when_it_is_ended(office):
    until = office.ask("sources.pause", source="feed1", until=NOW + 900.0)
    assert (until["state"], until["not_before_at"]) == ("paused", NOW + 900.0)
    assert office.ask("sources.resume", source="feed1")["not_before_at"] is None
    assert office.ask("sources.pause", source="feed1")["state"] == "paused"
    assert office.ask("sources.resume", source="feed1")["state"] == "active"
    with pytest.raises(BadInput, match="future"):
        office.ask("sources.pause", source="feed1", until=1.0)


def test_what_is_gone_or_quarantined_is_revived_by_hand(office, store):
    source = replace(store.sources()[1], state=State.QUARANTINED, lost=3, gone_since=NOW)
    store.change([source])
    shown = office.ask("sources.resume", source="feed1")
    assert (shown["state"], shown["lost"], shown["gone_since_at"]) == ("active", 0, None)


def test_changes_are_checked_and_a_new_address_forgets_validators(office, store):
    store.change([replace(store.sources()[1], etag='"x"', digest="d")])
    assert office.ask("sources.change", source="feed1", weight=2.5)["weight"] == 2.5
    assert store.sources()[1].etag == '"x"'
    office.ask("sources.change", source="feed1", url="https://new.example.org/")
    changed = store.sources()[1]
    assert (changed.etag, changed.digest, changed.host) == ("", "", "new.example.org")
    for broken in ({"id": "y"}, {"row": 3}, {"weight": "heavy"}, {}):
        with pytest.raises(BadInput):
            office.ask("sources.change", source="feed1", **broken)


def test_items_are_filtered_counted_on_and_each_told_once_if_wanted(office):
    def keys(**given):
        return [item["key"] for item in office.ask("items", **given)["items"]]

    assert keys() == ["0a", "0b", "1a", "1c"]
    assert keys(since=NOW + 0.5) == ["1a", "1c"]
    assert keys(source="feed0") == ["0a", "0b"]
    assert keys(tag="local") == ["1a", "1c"]
    assert keys(unique=True) == ["0a", "0b", "1c"]
    first = office.ask("items", limit=3)
    assert first["more"]
    assert [one["key"] for one in office.ask("items", after=first["last"])["items"]] == ["1c"]
    with pytest.raises(BadInput, match="at least 1"):
        office.ask("items", limit=0)


def test_what_is_not_an_operation_is_refused(office):
    with pytest.raises(BadInput, match="did you mean 'items'"):
        office.ask("item")
    with pytest.raises(BadInput, match="nonsense"):
        office.ask("items", nonsense=1)
    for name in OPERATIONS:
        with pytest.raises(BadInput):
            office.ask(name, house=1)


@pytest.mark.parametrize(
    "change",
    [
        {"url": "https://new.example.org/"},
        {"kind": "page", "select": [["item", "li"]]},
        {"kind": "feed"},
    ],
)
@pytest.mark.parametrize("way", ["sources.change", "sources.add"])
def test_C10_what_an_answer_was_known_by_goes_with_address_kind_and_selectors(
    office, store, way, change
):
    known = {"etag": '"x"', "last_modified": "Mon", "digest": "d"}
    store.change([replace(store.sources()[1], **known)])
    if way == "sources.change":
        office.ask(way, source="feed1", **change)
    elif "url" not in change:  # an update goes by the id and keeps the address
        given = {"id": "feed1", "url": "https://1.example.org/feed.xml"} | change
        office.ask(way, sources=[given], update=True)
    else:
        return
    put = store.sources()[1]
    assert (put.etag, put.last_modified, put.digest) == ("", "", "")


def test_validators_stay_where_nothing_of_that_changes(office, store):
    store.change([replace(store.sources()[1], etag='"x"', digest="d")])
    office.ask("sources.change", source="feed1", tags=["other"], url=store.sources()[1].url)
    assert (store.sources()[1].etag, store.sources()[1].digest) == ('"x"', "d")


def test_worth_is_told_once(office):
    assert "listed_worth" not in office.ask("sources.show", source="feed0")


def test_an_index_is_made_once_for_an_import_in_portions(store):
    from dayfly.serve.directory import Known

    sources = store.sources()
    first = Known.of(sources, None)
    sources.append(replace(sources[0], row=3, id="late", url="https://late.org/"))
    again = Known.of(sources, first)
    assert again is first
    assert again.row("late", "") == again.row("", "https://late.org/") == 3
    assert Known.of(list(sources), first) is not first


def test_a_pause_with_an_end_takes_the_place_of_one_without(office, store):
    office.ask("sources.pause", source="feed0")
    answer = office.ask("sources.pause", source="feed0", until=NOW + 900.0)
    found = store.sources()[0]
    assert (found.state, found.not_before) == (State.ACTIVE, NOW + 900.0)
    assert answer["state"] == "paused"


def test_a_removed_source_is_called_so_and_not_proposed(office, store):
    beginning = store.sources()[1].url[:-1]
    office.ask("sources.remove", source="feed1")
    with pytest.raises(BadInput, match=r"'feed1' was removed; dayfly sources add"):
        office.ask("explain", source=beginning)
    with pytest.raises(BadInput) as error:
        office.ask("explain", source="fead1")
    assert "feed1" not in str(error.value)


def test_A11_credentials_in_an_address_are_neither_needed_nor_told(office, store):
    url = store.sources()[2].url
    secret = url.replace("://", f"://bob:{SECRET}@")
    assert office.ask("sources.show", source=secret)["id"] == "feed2"
    with pytest.raises(BadInput) as error:
        office.ask("sources.show", source=f"https://bob:{SECRET}@elsewhere.example/")
    assert SECRET not in str(error.value)
