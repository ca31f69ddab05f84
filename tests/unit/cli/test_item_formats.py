"""Items for other programs: what sources wrote is data."""

import csv
import io
import json
import os
import re
import subprocess
import sys
import time
from datetime import datetime
from xml.etree import ElementTree

import pytest

from dayfly.cli.item_formats import COLUMNS, atom, csv_lines, jsonl
from dayfly.model import Crawl, Item, Status
from dayfly.store import Listing, Record, SqliteStore

ATOM = "{http://www.w3.org/2005/Atom}"
HOSTILE = [
    "<script>alert(1)</script>", "]]>", "&lt;b&gt;", '"><img src=x onerror=alert(1)>', "a\x00b",
    "\ud800", "\x1b[31mred", "\u202egnp.exe", "{{7*7}}", "<!DOCTYPE x [<!ENTITY a 'b'>]>",
]  # fmt: skip
FORMULAS = [
    "=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", " =1", "\uff1d1+1", "\0=1",
]  # fmt: skip


def item(**changes):
    usual = {
        "number": 1, "source": "feed", "name": "Feed", "key": "k", "title": "Title",
        "link": "https://x.example.org/1", "published_at": 1_700_000_000.0,
        "seen_at": 1_700_000_100.5, "worth": 1.0,
    }  # fmt: skip
    return usual | changes


@pytest.mark.parametrize("text", FORMULAS)
@pytest.mark.parametrize("column", ["title", "name", "source", "key", "link"])
def test_A12_no_cell_begins_like_a_formula(column, text):
    (_, line) = csv.reader(io.StringIO("".join(csv_lines([item(**{column: text})])), newline=""))
    cell = line[COLUMNS.index(column)]
    assert cell == "'" + text.replace("\r", " ").replace("\0", " ")


def test_csv_has_all_keys_and_leaves_plain_text_alone():
    given = item(title='He said "no", twice\nor so', published_at=None)
    header, line = csv.reader(io.StringIO("".join(csv_lines([given])), newline=""))
    assert tuple(header) == COLUMNS == tuple(given)
    assert line[4] == given["title"]
    assert (line[6], line[7]) == ("", "1700000100.5")
    assert list(csv_lines([], header=False)) == []


@pytest.mark.parametrize("text", HOSTILE)
def test_P09_atom_shows_markup_as_text(text):
    given = [item(title=text, name=text, source=text, key=text)]
    document = "".join(atom(given))
    root = ElementTree.fromstring(document.encode())
    space = "{http://www.w3.org/2005/Atom}"
    entry = root.find(f"{space}entry")
    assert {child.tag.removeprefix(space) for child in entry} == {
        "id", "title", "updated", "source", "published", "link",
    }  # fmt: skip
    title = entry.find(f"{space}title")
    assert title.get("type") == "text"
    assert len(title) == 0
    clean = text.replace("\x00", "\ufffd").replace("\ud800", "\ufffd").replace("\x1b", "\ufffd")
    assert title.text == clean


@pytest.mark.parametrize("link", ["javascript:alert(1)", "data:text/html,x", "", "//x.org", 'x"y'])
def test_P09_atom_links_only_to_the_web(link):
    document = "".join(atom([item(link=link)]))
    assert "<link" not in document
    ElementTree.fromstring(document)


@pytest.mark.parametrize("source", ["127.0.0.77:8099/evil", "a b <ö>", "urn:x", "x\x00\ud800"])
def test_the_source_of_an_entry_is_named_by_an_iri(source):
    document = ElementTree.fromstring("".join(atom([item(source=source)])).encode())
    (named,) = document.iterfind(f"{ATOM}entry/{ATOM}source/{ATOM}id")
    assert re.fullmatch(r"urn:dayfly:source:[A-Za-z0-9./_~%-]+", named.text)


def test_an_entry_without_a_link_has_a_content():
    document = ElementTree.fromstring("".join(atom([item(link=""), item(link="", title="")])))
    contents = [one.text for one in document.iterfind(f"{ATOM}entry/{ATOM}content")]
    assert contents == ["k", "Title"]
    assert "<content" not in "".join(atom([item()]))


def test_an_empty_feed_is_as_old_as_the_question():
    document = ElementTree.fromstring("".join(atom([])))
    updated = datetime.fromisoformat(document.find(f"{ATOM}updated").text)
    assert abs(updated.timestamp() - time.time()) < 60


def test_P09_an_address_cannot_leave_its_attribute():
    document = "".join(atom([item(link='https://x.org/"><script>')]))
    (link,) = ElementTree.fromstring(document).iter("{http://www.w3.org/2005/Atom}link")
    assert link.get("href") == 'https://x.org/"><script>'


def test_atom_has_the_newest_first_and_stable_identities():
    document = "".join(atom([item(key="a"), item(key="b", seen_at=1_700_000_200.0)]))
    assert document == "".join(atom([item(key="a"), item(key="b", seen_at=1_700_000_200.0)]))
    ids = [
        one.text for one in ElementTree.fromstring(document).iter("{http://www.w3.org/2005/Atom}id")
    ]
    assert len(set(ids)) == 4  # feed, two entries, and the source of both
    assert document.index("2023-11-14T22:16:40Z") < document.index("2023-11-14T22:15:00Z")


@pytest.mark.parametrize("at", [1e18, -1e18, float("9e99")])
def test_P10_absurd_dates_do_not_stop_the_list(at):
    ElementTree.fromstring("".join(atom([item(published_at=at)])))


def test_jsonl_is_one_object_per_line():
    lines = list(jsonl([item(title="two\nlines"), item()]))
    assert [line.count("\n") for line in lines] == [1, 1]
    assert json.loads(lines[0])["title"] == "two\nlines"


@pytest.mark.parametrize("form", ["jsonl", "csv", "atom"])
def test_other_programs_get_utf_8_whatever_the_terminal_shows(tmp_path, form):
    store = SqliteStore(tmp_path / "d.db")
    store.add([Listing(id="a", url="https://a.example/")])
    now = time.time()
    item = Item(key="k", published=now, title="Zürich")
    crawl = Crawl(row=0, time=now, status=Status.CHANGED, items=(item,))
    store.record([Record(crawl=crawl, source=store.sources()[0])], store.own())
    store.close()
    command = [sys.executable, "-m", "dayfly", "items", "--db", "d.db", "--format", form]
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=True)
    assert "Zürich" in done.stdout.decode()
