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
