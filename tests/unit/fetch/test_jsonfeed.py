"""JSON Feed as entries."""

import json

import pytest

from dayfly.fetch.gate import Unreadable
from dayfly.fetch.jsonfeed import read_json

NOW = 1_800_000_000.0
URL = "http://example.org/feed.json"


def feed(*items: object, **fields: object) -> bytes:
    whole = {"version": "https://jsonfeed.org/version/1.1", "title": "t", "items": items}
    return json.dumps(whole | fields).encode()


def test_the_fields_of_an_item():
    found = read_json(
        feed(
            {"id": "1", "url": "/1", "title": "A", "date_published": "2027-01-12T10:00:00+01:00"},
            {"id": 2, "external_url": "http://x/", "date_modified": "2027-01-12T09:00:00Z"},
            {"content_text": "only this"},
        ),
        URL,
        NOW,
    )
    first, second, third = found.entries
    assert (found.title, first.id, first.link) == ("t", "1", "http://example.org/1")
    assert (first.title, first.published) == ("A", 1799744400.0)
    assert (second.id, second.link, second.published) == ("2", "http://x/", 1799744400.0)
    assert third.text == "only this"


def test_an_odd_field_or_item_does_not_cost_the_feed():
    found = read_json(
        feed({"id": ["x"], "title": 7}, "no item", None, {"id": True, "url": {}}, title=[]),
        URL,
        NOW,
    )
    assert [(entry.id, entry.title) for entry in found.entries] == [("", "7"), ("", "")]
    assert found.title == ""


@pytest.mark.parametrize(
    "body",
    [
        b"{", b"[]", b"{}", b'{"version": 1, "items": []}', b'{"version": "x", "items": []}',
        b'{"version": "https://jsonfeed.org/version/1", "items": {}}', b"null", b"\xff",
    ],
)  # fmt: skip
def test_what_is_no_json_feed_is_refused(body):
    with pytest.raises(Unreadable, match="not a feed"):
        read_json(body, URL, NOW)


def test_a_field_beyond_all_bounds_says_nothing():
    long = "x" * (1 << 20)
    found = read_json(
        feed({"id": long, "url": "/1", "title": long}, {"id": {"a": [long]}}, title=long), URL, NOW
    )
    assert [(entry.id, entry.title) for entry in found.entries] == [("", ""), ("", "")]
    assert (found.title, found.entries[0].link) == ("", "http://example.org/1")


def test_texts_are_limited_all_together():
    wide = "€" + "x" * 10_000
    found = read_json(feed(*({"content_text": f"{n} {wide}"} for n in range(500))), URL, NOW)
    assert found.truncated
    assert 100 < len(found.entries) < 400
    found = read_json(feed(*({"id": n, "title": wide} for n in range(500))), URL, NOW)
    assert (found.truncated, len(found.entries)) == (False, 500)


@pytest.mark.parametrize(
    ("written", "title"),
    [
        (r"\ud800x", "\ufffdx"), (r"\udc00x", "\ufffdx"), (r"x\uD83D", "x\ufffd"),
        (r"\ud83d\ud83d\ude00", "\ufffd😀"), (r"\ude00\ud83d", "\ufffd\ufffd"),
        (r"\\ud800 \ud800", r"\ud800" + " \ufffd"), (r"\\\ud800", "\\\ufffd"),
        (r"\ud83d\ude00 \n\ud800", "😀 \n\ufffd"), (r"\\ud83d\ude00", r"\ud83d" + "\ufffd"),
    ],
)  # fmt: skip
def test_P08_half_a_character_costs_only_itself(written, title):
    body = feed({"id": "1", "title": "ok"}, {"id": "2", "title": "HERE"})
    found = read_json(body.replace(b"HERE", written.encode()), URL, NOW)
    assert [(entry.id, entry.title) for entry in found.entries] == [("1", "ok"), ("2", title)]


@pytest.mark.parametrize("evil", [b"\\\\" * 1_000_000, b"\\ud800" * 300_000, b"\\" * 1_999_001])
def test_P08_mending_takes_time_in_proportion(evil):
    body = feed({"id": "1"}).replace(b'"1"', b'"1", "x": "\\ud800' + evil + b'"')
    try:
        assert [entry.id for entry in read_json(body, URL, NOW).entries] == ["1"]
    except Unreadable:
        assert evil[-2:] == evil[:2] == b"\\" * 2  # an odd number of them escapes the end
