"""Cases A09 to A12 as far as lists, settings and exports go: all of it is hostile input."""

import csv
import logging
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import dayfly
from dayfly.config.export import FORMATS
from dayfly.config.lists import listing_of, read_sources
from dayfly.config.opml import read_opml
from dayfly.config.settings import read_settings
from dayfly.errors import BadInput
from dayfly.serve.vocabulary import shown_source
from dayfly.store import StoredSource

BOMB = (
    '<?xml version="1.0"?><!DOCTYPE opml [<!ENTITY a "aaaaaaaaaa">'
    + "".join(
        f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    + ']><opml><body><outline text="&i;" xmlUrl="https://a.example/"/></body></opml>'
)
HOSTILE = {
    "bomb": BOMB,
    "quadratic": f'<!DOCTYPE opml [<!ENTITY a "{"a" * 50_000}">]><opml><body><outline text="'
    + "&a;" * 50_000
    + '" xmlUrl="https://a.example/"/></body></opml>',
    "file": '<!DOCTYPE opml [<!ENTITY x SYSTEM "file:///etc/passwd">]><opml><body>'
    '<outline text="&x;" xmlUrl="https://a.example/"/></body></opml>',
    "parameter": '<!DOCTYPE opml [<!ENTITY % x SYSTEM "http://127.0.0.3:9/x"> %x;]><opml/>',
    "defaults": f'<!DOCTYPE opml [<!ATTLIST outline text CDATA "{"a" * 9999}">]><opml><body>'
    + "<outline/>" * 9999
    + "</body></opml>",
    "broken": '<!DOCTYPE opml [<!ENTITY x SYSTEM "file:///etc/passwd"> & ]><opml><body>'
    '<outline text="&x; & y" xmlUrl="https://a.example/&x;"/></body></opml>',
}


@pytest.fixture
def watched():
    """Files, sockets and processes that are opened meanwhile.

    Modules and codecs that the interpreter loads when they are first used do not count.
    """
    opened, on = [], [True]
    own = (sys.prefix, sys.base_prefix, str(Path(dayfly.__file__).parent))

    def look(event, arguments):
        outward = ("socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.system")
        foreign = event == "open" and not str(arguments[0]).startswith(own)
        if on[0] and (foreign or event in outward):
            opened.append((event, arguments[0]))

    sys.addaudithook(look)
    yield opened
    on[0] = False


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_A09_entities_in_a_list_are_refused_and_nothing_is_opened(text, watched):
    with pytest.raises(BadInput, match="declares entities or a document type of its own"):
        read_opml(text.encode(), "x.opml")
    assert watched == []


def test_A09_a_document_type_that_is_elsewhere_is_not_looked_at(watched):
    text = (
        '<!DOCTYPE opml SYSTEM "http://127.0.0.3:9/opml.dtd"><opml><body>'
        '<outline text="A" xmlUrl="https://a.example/"/></body></opml>'
    )
    assert [one.url for one in read_opml(text.encode(), "x").found] == ["https://a.example/"]
    assert watched == []


def test_A09_an_unknown_entity_is_text():
    text = '<opml><body><outline text="&x;" xmlUrl="https://a.example/?&x;"/></body></opml>'
    (one,) = read_opml(text.encode(), "x").found
    assert (one.title, one.url) == ("&x;", "https://a.example/?&x;")


@pytest.mark.parametrize(
    "url",
    [
        "/etc/passwd",
        "../../etc/passwd",
        "file:///etc/passwd",
        "FILE:/etc/passwd",
        "//evil.example/x",
        "source:file:///etc/passwd",
        "data:text/xml,x",
        "jar:https://a.example/!x",
        "http:a.example",
        "https:///x",
    ],
)
@pytest.mark.parametrize("form", ["txt", "opml", "csv", "toml"])
def test_A09_paths_and_other_schemes_in_a_list_are_refused(tmp_path, url, form):
    lists = {
        "txt": url,
        "opml": f'<opml><body><outline text="x" xmlUrl="{url}"/></body></opml>',
        "csv": f'url\n"{url}"\n',
        "toml": f'[[sources]]\nurl = "{url}"\n',
    }
    path = tmp_path / f"x.{form}"
    path.write_text(lists[form])
    found = read_sources(path)
    assert found.listings == []
    assert len(found.problems) == 1


@pytest.mark.parametrize("id", ["../x", "a/../b", "/etc/x", "-rf", "~root", "a\\b", "a\nb", " a"])
def test_A09_ids_that_look_like_paths_or_options_are_refused(id):
    with pytest.raises(BadInput, match=r"^id "):
        listing_of("https://a.example/", id=id)


def test_A09_no_derived_id_climbs():
    for path in ("/../../etc", "/%2e%2e/%2e%2e/etc", "/a/..//..", "/.."):
        id = listing_of("https://a.example" + path).id
        assert ".." not in id.split("/")


@pytest.mark.parametrize("key", ["row", "state", "not_before", "etag", "estimate", "host", "lost"])
def test_A09_a_list_sets_nothing_but_settings(tmp_path, key):
    """What the crawler keeps about a source cannot be assigned through a list."""
    (tmp_path / "x.toml").write_text(f'[[sources]]\nurl = "https://a.example/"\n{key} = "x"\n')
    found = read_sources(tmp_path / "x.toml")
    assert found.listings == []
    assert f'unknown key "{key}"' in found.problems[0]
    (tmp_path / "x.csv").write_text(f"url,{key}\nhttps://a.example/,x\n")
    with pytest.raises(BadInput, match=f'unknown key "{key}"'):
        read_sources(tmp_path / "x.csv")


CODE = (
    "{{ 7 * 7 }}",
    "${HOME}",
    "$(touch x)",
    "!!python/object:os.system",
    "%(x)s",
    "{0.__class__}",
)


@pytest.mark.parametrize("text", CODE)
def test_A10_templates_and_callables_are_inert_text(tmp_path, text, monkeypatch, watched):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.toml").write_text(
        f"db = '{text}'\n[[sources]]\nurl = 'https://a.example/'\ntitle = '{text}'\n"
        f"headers = {{ X-A = '{text}' }}\n"
    )
    watched.clear()
    found = read_settings("x.toml")
    assert found.db == text
    assert found.sources[0].title == text
    assert found.sources[0].headers == {"X-A": text}
    assert watched == [("open", "x.toml")], "the settings, and nothing else"
    assert [path.name for path in tmp_path.iterdir()] == ["x.toml"]
    (tmp_path / "x.csv").write_text(f'url,title\nhttps://a.example/,"{text}"\n')
    assert read_sources("x.csv").listings[0].title == text


def test_A10_a_command_is_no_place_for_a_secret(tmp_path):
    (tmp_path / "x.toml").write_text('webhook = { command = "touch x" }\n')
    with pytest.raises(BadInput, match="webhook: write text"):
        read_settings(tmp_path / "x.toml")


SECRETS = ("pa55word", "t0ken", "h3ader", "am9lOnBhNTV3b3Jk")  # the last: joe:pa55word, encoded


def _sources():
    listings = [
        listing_of("https://joe:pa55word@a.example/feed", title="A"),
        listing_of("https://b.example/", bearer="t0ken", headers={"X-Key": "h3ader"}),
    ]
    for row, one in enumerate(listings):
        plain = {name: getattr(one, name) for name in one.__struct_fields__}
        yield StoredSource(**plain, row=row)


def test_A11_credentials_in_an_address_become_a_header():
    one, _ = _sources()
    assert one.url == "https://a.example/feed"
    assert one.id == "a.example/feed"
    assert one.host == "a.example"
    assert one.headers == (("Authorization", "Basic am9lOnBhNTV3b3Jk"),)
    assert listing_of("https://joe%40x:p%3Aw@a.example/").headers[0][1] == "Basic am9lQHg6cDp3"


@pytest.mark.parametrize("form", sorted(FORMATS))
def test_A11_exports_hold_no_secret(form):
    written = "".join(FORMATS[form]([shown_source(one, 0.0) for one in _sources()]))
    assert "https://a.example/feed" in written
    for secret in SECRETS:
        assert secret not in written


def test_A11_neither_text_nor_messages_hold_a_secret(tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    told = [repr(list(_sources()))]
    bad = [
        "ftp://joe:pa55word@a.example/",
        "https://joe:pa55word@a.example:0/",
        "https://joe:pa55word@127.1/",
        "https://joe:pa55word@@a.example/",
        "https://joe:pa55word\\@a.example/",
        "https://joe:pa55word @a.example/",
        "https://joe:/pa55word@a.example/ x",
        "https://joe:x/pa55word@a.example/",
        "joe:pa55word@a.example/",
        "joe.x:pa55word@a.example",
    ]
    (tmp_path / "x.txt").write_text("\n".join(bad))
    found = read_sources(tmp_path / "x.txt")
    assert len(found.problems) == len(bad)
    (tmp_path / "x.toml").write_text(
        '[[sources]]\nurl = "https://joe:pa55word@a.example/"\nbasic = "joe:pa55word"\n'
        '[[sources]]\nurl = "https://a.example/"\nheaders = { Host = "h3ader" }\n'
        '[[sources]]\nurl = "https://a.example/"\nbearer = "t0ken\\n"\n'
        '[[sources]]\nurl = "https://a.example/"\nbasic = "pa55word"\n'
    )
    more = read_sources(tmp_path / "x.toml")
    assert len(more.problems) == 4
    (tmp_path / "ids.toml").write_text(
        '[[sources]]\nurl = "https://a.example/"\nid = "https://joe:pa55word@a.example/"\n'
        '[[sources]]\nurl = "https://a.example/"\nid = "joe:pa55word@a.example"\n'
    )
    assert len(read_sources(tmp_path / "ids.toml").problems) == 2
    told += read_sources(tmp_path / "ids.toml").problems
    (tmp_path / "x.opml").write_text(
        '<opml><body><outline type="rss" text="https://joe:pa55word@a.example/"/>\n'
        '<outline text="https://joe:pa55word@b.example/" xmlUrl="https://b.example/"/></body></opml>'
    )
    listed = read_sources(tmp_path / "x.opml")
    assert listed.listings[0].title == "https://b.example/"
    told += listed.problems
    assert len(listed.problems) == 1
    (tmp_path / "x.csv").write_text("https://joe:pa55word@a.example/\n")
    for path in (tmp_path / "x.csv", "https://joe:pa55word@a.example/", "joe:pa55word@a.example"):
        with pytest.raises(BadInput) as caught:
            read_sources(path)
        told.append(str(caught.value))
    assert "dayfly sources add" in told[-2]
    for text in (*told, *found.problems, *more.problems, caplog.text):
        for secret in SECRETS:
            assert secret not in text


FORMULAS = (
    "=cmd|' /C calc'!A0", "+1+1", "-1+1", "@SUM(1)", "\t=1", "\r=1", " =1", "＝1", "'=1", '=1","=2'
)  # fmt: skip


@pytest.mark.parametrize("title", FORMULAS)
def test_A12_no_cell_of_an_exported_list_is_a_formula(title):
    one = next(iter(_sources()))
    shown = shown_source(one, 0.0) | {"title": title, "tags": [title], "id": title, "kind": title}
    rows = list(csv.reader("".join(FORMATS["csv"]([shown])).splitlines(keepends=True)))
    for cell in rows[1]:
        assert not cell.lstrip().startswith(tuple("=+-@＝＋－＠"))
        assert not cell.startswith(("\t", "\r"))


@pytest.mark.parametrize(
    "title", ["]]>", "</outline>", '"/><outline xmlUrl="x', "\x00\x1b[31m", "&i;"]
)
def test_A12_markup_in_a_title_is_text_in_opml(title):
    one = next(iter(_sources()))
    shown = shown_source(one, 0.0) | {"title": title, "tags": [title, title]}
    body = ET.fromstring("".join(FORMATS["opml"]([shown]))).find("body")
    ((folder,),) = [list(body)]
    assert len(folder) == 1
    clean = title.replace("\x00", "\ufffd").replace("\x1b", "\ufffd")
    assert (folder.get("text"), folder[0].get("text")) == (clean, clean)
    assert folder[0].get("xmlUrl") == "https://a.example/feed"
