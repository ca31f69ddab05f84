"""dayfly.toml: all that a run takes, with units; whatever is wrong is told with its place."""

import math
import re
from pathlib import Path

import pytest

from dayfly.config.entries import COLUMNS
from dayfly.config.lists import listings_of
from dayfly.config.settings import KEYS, SELECTED, SOURCE_KEYS, Settings, read_settings
from dayfly.errors import BadInput
from dayfly.schedule import Rules
from dayfly.store import Listing

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "settings.md"

WHOLE = """
budget = "60/min"
db = "news.db"
half_life = "4h"
contact = "https://example.org/crawler"
allow = ["127.0.0.2/32:8080"]
min_interval = "10min"
max_interval = "1d"
host_spacing = 2.5
cache_cap = "30min"
keep_items = "14 days"
keep_visits = "8w"
parallel = 20
log = "json"
webhook = { env = "HOOK" }

[[sources]]
url = "https://one.example/feed.xml"
id = "one"
title = "One"
tags = ["news", "local"]
weight = 2
half_life = "90min"
arrival = "40/day"
worth = 0.5
cost = 3
window = 20
min_interval = "2min"
max_interval = "6h"
obey_robots = false
verify_tls = false
headers = { X-Key = { file = "key.txt" }, X-Plain = "plain" }
bearer = { env = "TOKEN" }

[[sources]]
url = "https://two.example/list"
kind = "page"
select = { item = "li.post", link = "a", title = "h2", date = "time" }
"""


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(text):
        (tmp_path / "dayfly.toml").write_text(text, encoding="utf-8")
        return "dayfly.toml"

    return write


@pytest.fixture
def complaint(write):
    def complaint(text):
        with pytest.raises(BadInput) as caught:
            read_settings(write(text))
        assert "\n" not in str(caught.value)
        return str(caught.value)

    return complaint


def test_everything_that_a_run_takes(write, tmp_path, monkeypatch):
    monkeypatch.setenv("HOOK", "https://hooks.example/s3cret")
    monkeypatch.setenv("TOKEN", "t0ken")
    (tmp_path / "key.txt").write_text("k3y\n")
    found = read_settings(write(WHOLE))
    assert (found.budget, found.db, found.parallel, found.log) == ("60/min", "news.db", 20, "json")
    assert (found.half_life, found.min_interval, found.max_interval) == (14400, 600, 86400)
    assert (found.host_spacing, found.cache_cap) == (2.5, 1800)
    assert (found.keep_items, found.keep_visits) == (14 * 86400, 56 * 86400)
    assert found.allow == ("127.0.0.2/32:8080",)
    assert found.webhook == "https://hooks.example/s3cret"
    one, two = listings_of(found)
    assert (one.id, one.title, one.tags) == ("one", "One", ("news", "local"))
    assert (one.weight, one.worth, one.cost, one.window) == (2, 0.5, 3, 20)
    assert one.decay == pytest.approx(math.log(2) / 5400)
    assert one.arrival == pytest.approx(40 / 86400)
    assert (one.min_interval, one.max_interval) == (120, 21600)
    assert (one.obey_robots, one.verify_tls) == (False, False)
    assert dict(one.headers) == {
        "X-Key": "k3y",
        "X-Plain": "plain",
        "Authorization": "Bearer t0ken",
    }
    assert {type(value) for pair in one.headers for value in pair} == {str}
    assert two.id == "two.example/list"
    assert two.decay == pytest.approx(math.log(2) / 14400), "the run's own half-life"
    assert dict(two.select) == {"item": "li.post", "link": "a", "title": "h2", "date": "time"}


def test_without_a_word_the_defaults_hold(write):
    found = read_settings(write(""))
    assert found == Settings()
    assert (found.min_interval, found.host_spacing, found.cache_cap) == (300, 5, 3600)
    assert (found.keep_items, found.keep_visits) == (30 * 86400, 90 * 86400)
    assert found.half_life == 6 * 3600
    rules = Rules()
    assert found.min_interval == rules.min_interval
    assert (found.host_spacing, found.cache_cap) == (rules.host_spacing, rules.cache_cap)
    assert Listing(id="x", url="x").decay == pytest.approx(math.log(2) / found.half_life)


def test_every_key_of_the_sample_is_a_key_and_every_key_is_in_it():
    top, *tables = WHOLE.split("[[sources]]")
    found = set(re.findall(r"^(\w+) =", top, re.M))
    assert found | {"sources"} == set(KEYS)
    assert set(re.findall(r"^(\w+) =", "".join(tables), re.M)) | {"basic"} == set(SOURCE_KEYS)


@pytest.mark.parametrize("text", [WHOLE])
def test_secrets_are_not_shown(write, text, tmp_path, monkeypatch):
    monkeypatch.setenv("HOOK", "https://hooks.example/s3cret")
    monkeypatch.setenv("TOKEN", "t0ken")
    (tmp_path / "key.txt").write_text("k3y\n")
    found = read_settings(write(text))
    shown = repr(found) + f"{found}" + repr(listings_of(found))
    for secret in ("s3cret", "t0ken", "k3y"):
        assert secret not in shown


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('budgt = "1/s"', 'dayfly.toml: unknown key "budgt"; did you mean "budget"?'),
        (
            '[[sources]]\nurl = "https://a.example/"\n' * 2 + '[[sources]]\nwieght = 1\nurl = "x"',
            'dayfly.toml, [[sources]] 3: unknown key "wieght"; did you mean "weight"?',
        ),
        ('[[sources]]\nid = "x"', "dayfly.toml, [[sources]] 1: needs a url"),
        (
            '[[sources]]\nurl = "x"\nselect = { itm = "li" }',
            'dayfly.toml, [[sources]] 1, select: unknown key "itm"; did you mean "item"?',
        ),
        (
            'half_life = "6 parsecs"',
            "dayfly.toml, half_life: not a duration: '6 parsecs'; write for example"
            " 90s, 15min, 6h, 2 days",
        ),
        ("budget = 60", "dayfly.toml, budget: must be text, got a whole number"),
        ('budget = "0/min"', "dayfly.toml, budget: must be positive, got 0"),
        ("parallel = 0", "dayfly.toml, parallel: must be positive, got 0"),
        ("parallel = true", "dayfly.toml, parallel: must be a whole number, got true or false"),
        ('keep_items = "-1d"', "dayfly.toml, keep_items: must be positive, got -86400"),
        ("host_spacing = nan", "dayfly.toml, host_spacing: must be finite, got nan"),
        ("host_spacing = inf", "dayfly.toml, host_spacing: must be finite, got inf"),
        ('log = "xml"', "dayfly.toml, log: must be text or json, got 'xml'"),
        ("sources = 3", "dayfly.toml: sources are tables; write [[sources]] above each of them"),
        (
            '[[sources]]\nurl = "x"\ntags = ["a", 2]',
            "dayfly.toml, [[sources]] 1, tags 2: must be text, got a whole number",
        ),
        (
            '[[sources]]\nurl = "x"\nkind = "rss"',
            "dayfly.toml, [[sources]] 1, kind: must be auto, feed, sitemap or page, got 'rss'",
        ),
        (
            '[[sources]]\nurl = "x"\nweight = -1',
            "dayfly.toml, [[sources]] 1, weight: must not be negative, got -1",
        ),
        (
            '[[sources]]\nurl = "x"\ncost = 0',
            "dayfly.toml, [[sources]] 1, cost: must be positive, got 0",
        ),
        (
            '[[sources]]\nurl = "x"\nbasic = "a:b"\nbearer = "c"',
            "dayfly.toml, [[sources]] 1: give basic or bearer, not both",
        ),
        (
            '[[sources]]\nurl = "x"\nbearer = { env = "NOT_THERE" }',
            "dayfly.toml, [[sources]] 1, bearer: the environment variable NOT_THERE is not set",
        ),
        (
            '[[sources]]\nurl = "x"\nbearer = { file = "not-there" }',
            "dayfly.toml, [[sources]] 1, bearer: not-there: there is no such file",
        ),
        (
            '[[sources]]\nurl = "x"\nbearer = { command = "cat x" }',
            'dayfly.toml, [[sources]] 1, bearer: write text, { env = "NAME" } or { file = "PATH" }',
        ),
        (
            'min_interval = "2h"\nmax_interval = "1h"',
            "dayfly.toml: max_interval must not be shorter than min_interval",
        ),
        (
            'allow = ["127.0.0.1"]',
            "dayfly.toml, allow: not an allowed address: '127.0.0.1' (no port); write CIDR:PORT,"
            " for example 127.0.0.1/32:8080",
        ),
        (
            '[[sources]]\nurl = "x"\narrival = "5"',
            "dayfly.toml, [[sources]] 1, arrival: '5' per what? write for example 5/min, 5/h,"
            " 5/day",
        ),
        (
            '[[sources]]\nurl = "x"\narrival = 0.5',
            "dayfly.toml, [[sources]] 1, arrival: '0.5' per what? write for example 0.5/min, 0.5/h,"
            " 0.5/day",
        ),
        (
            'budget = "60"',
            "dayfly.toml, budget: '60' per what? write for example 60/min, 60/h, 60/day",
        ),
        ('webhook = "ftp://x.example/"', "dayfly.toml, webhook: not an http or https address"),
        (
            'contact = "me\\nHost: x"',
            "dayfly.toml, contact: not a contact: 'me\\nHost: x'; give an address of a page or of a"
            " mailbox",
        ),
        ("x = ", "dayfly.toml: is not TOML: Invalid value (at end of document)"),
        ("x = " + "[" * 100_000, "dayfly.toml: is not TOML that anybody wrote: too deep"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(complaint, text, told):
    assert complaint(text) == told


def test_a_source_that_cannot_be_crawled_is_told_with_its_place(write):
    found = read_settings(write('[[sources]]\nurl = "https://a.example/"\n[[sources]]\nurl = "b"'))
    with pytest.raises(BadInput, match=r"^dayfly.toml, \[\[sources\]\] 2: not an http or https"):
        listings_of(found)
    twice = '[[sources]]\nid = "x"\nurl = "https://a.example/"\n'
    found = read_settings(write(twice + twice.replace("//a.", "//b.")))
    with pytest.raises(BadInput, match=r"2: id 'x' is taken: dayfly.toml, \[\[sources\]\] 1"):
        listings_of(found)


def test_what_is_not_utf8_or_too_large_is_said_so(complaint, tmp_path, monkeypatch):
    (tmp_path / "dayfly.toml").write_bytes(b'db = "x"\ncontact = "caf\xe9"\n')
    with pytest.raises(BadInput, match=r"dayfly.toml, line 2: is not UTF-8 text"):
        read_settings("dayfly.toml")
    monkeypatch.setattr("dayfly.config.settings.LARGEST", 10)
    assert complaint("# 34567890123") == "dayfly.toml: is larger than 10 bytes; split it"


def test_a_file_of_secrets_must_hold_one(complaint, tmp_path):
    place = '[[sources]]\nurl = "https://a.example/"\nbearer = { file = "secret" }'
    (tmp_path / "secret").write_text(" \n")
    assert complaint(place).endswith("bearer: secret: is empty")
    (tmp_path / "secret").write_bytes(b"\xff\xfe")
    assert complaint(place).endswith("bearer: secret: is not text")
    (tmp_path / "secret").write_text("x" * 100_000)
    assert complaint(place).endswith("bearer: secret: is larger than 8,192 bytes; split it")


@pytest.mark.parametrize("key", sorted({*KEYS, *SOURCE_KEYS, *SELECTED}))
def test_every_key_is_on_the_page(key):
    assert re.search(rf"`{key}`", PAGE.read_text()), f"{PAGE.name} does not explain {key}"


def test_the_page_has_no_other_keys_and_its_samples_are_read(write, monkeypatch):
    page = PAGE.read_text()
    rows = {key for row in re.findall(r"^\| (`.*?) \|", page, re.M) for key in row.split(", ")}
    assert {key.strip("`") for key in rows} <= {*KEYS, *SOURCE_KEYS, *SELECTED}
    samples = re.findall(r"```toml\n(.*?)```", page, re.S)
    assert samples
    for name in re.findall(r'env = "(\w+)"', page):
        monkeypatch.setenv(name, "https://a.example/" if name == "WEBHOOK" else "user:password")
    for sample in samples:
        listings_of(read_settings(write(sample)))


def test_columns_of_a_csv_list_are_keys_without_secrets():
    assert set(COLUMNS) == set(SOURCE_KEYS) - {"headers", "basic", "bearer", "select"}
