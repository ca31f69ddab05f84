"""Lists of sources in four formats: the good ones come in, the others are told with their line."""

import io
import sys

import pytest

from dayfly.config.entries import format_of
from dayfly.config.lists import listing_of, read_sources
from dayfly.config.settings import Settings
from dayfly.config.values import Seconds
from dayfly.errors import BadInput
from dayfly.store.sources import check_listings

OPML = """<?xml version="1.0"?>
<opml version="2.0"><body>
<outline text="News & more">
<outline text="A" xmlUrl="https://a.example/feed"/>
<outline text="No" xmlUrl="ftp://b.example/feed"/>
</outline>
<outline text="Tech"><outline text="A" xmlUrl="https://a.example/feed"/></outline>
</body></opml>
"""
TEXT = """# my feeds
https://a.example/feed

  https://b.example/
a.example/feed
http://a.example/feed
"""
CSV = """url,title,weight,tags,half_life,obey_robots,window
https://a.example/feed,"A, the first",2,news; local ,2h,,20
https://b.example/,B,much,,,,
https://c.example/,C,,,-2h,,
https://d.example/,D,,,,maybe,
https://e.example/,E,,,,no,,,,
https://f.example/,F,,,,false,
,G,,,,,
"""
TOML = """budget = "60/min"
[[sources]]
url = "https://a.example/feed"
tags = ["x"]
[[sources]]
url = "https://b.example/"
wieght = 1
[[sources]]
url = "gopher://c.example/"
[[sources]]
url = "https://d.example/"
kind = "page"
[[sources]]
url = "https://e.example/"
select = { item = "li" }
[[sources]]
url = "https://user:pw@f.example/"
bearer = "x"
[[sources]]
url = "https://g.example/"
window = 0.5
"""


@pytest.fixture
def read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def read(name, text, **given):
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_sources(name, **given)

    return read


def test_opml(read):
    found = read("feeds.opml", OPML)
    (one,) = found.listings
    assert (one.id, one.url, one.title) == ("a.example/feed", "https://a.example/feed", "A")
    assert one.tags == ("News & more", "Tech"), "folders of a feed that is listed twice are joined"
    assert found.repeated == 1
    assert found.problems == [
        "feeds.opml, line 5: not an http or https address: 'ftp://b.example/feed'"
    ]


def test_problems_of_opml_come_in_the_order_of_lines(read):
    text = (
        '<opml><body>\n<outline text="A" xmlUrl="ftp://a.example/"/>\n<outline type="rss"/>\n'
        '<outline text="B" xmlUrl="ftp://b.example/"/>\n<outline type="include"/>\n</body></opml>'
    )
    for content in (text, text.replace('text="A"', 'text="A & b"')):
        told = read("x.opml", content).problems
        assert [said.partition(":")[0] for said in told] == [
            f"x.opml, line {line}" for line in (2, 3, 4, 5)
        ]


def test_text(read):
    found = read("feeds.txt", TEXT)
    assert [one.url for one in found.listings] == ["https://a.example/feed", "https://b.example/"]
    assert found.repeated == 1, "http and https of the same place are one source"
    assert found.problems == [
        "feeds.txt, line 5: not an http or https address: 'a.example/feed';"
        " write https://a.example/feed"
    ]


def test_comments_begin_with_a_line_or_after_a_space(read):
    text = "https://a.example/feed   # the best\nhttps://b.example/#part\n\t# none\n"
    found = read("feeds.txt", text)
    assert [one.url for one in found.listings] == ["https://a.example/feed", "https://b.example/"]
    assert found.problems == []


def test_csv(read):
    found = read("feeds.csv", CSV)
    one, other = found.listings
    assert (one.title, one.weight, one.tags, one.window) == (
        "A, the first",
        2,
        ("news", "local"),
        20,
    )
    assert one.decay == pytest.approx(0.6931471805599453 / 7200)
    assert (one.obey_robots, other.obey_robots) == (True, False)
    assert found.problems == [
        "feeds.csv, line 3, weight: must be a number, got text",
        "feeds.csv, line 4, half_life: must be positive, got -7200",
        "feeds.csv, line 5, obey_robots: must be true or false, got text",
        "feeds.csv, line 6: has 10 cells below 7 columns",
        "feeds.csv, line 8: needs a url",
    ]


def test_toml(read):
    found = read("feeds.toml", TOML)
    assert [one.id for one in found.listings] == ["a.example/feed"]
    assert found.problems == [
        "feeds.toml: budget is not used in a list; give the file as --config",
        'feeds.toml, [[sources]] 2: unknown key "wieght"; did you mean "weight"?',
        "feeds.toml, [[sources]] 3: not an http or https address: 'gopher://c.example/'",
        "feeds.toml, [[sources]] 4: select needs a selector for 'item', the parts that are one item"
        " each",
        'feeds.toml, [[sources]] 5: select is for pages; write kind = "page"',
        "feeds.toml, [[sources]] 6: header Authorization is set twice",
        "feeds.toml, [[sources]] 7, window: must be a whole number, got 0.5",
    ]


@pytest.mark.parametrize(
    "values",
    [
        "weight = 1e300\nworth = 1e300", "weight = inf", "worth = nan", "cost = inf",
        "window = 1e400", "arrival = -1",
        'arrival = "1e400/s"', "half_life = 0", "half_life = 1e400", "window = 0",
    ],
)  # fmt: skip
def test_every_number_that_comes_in_is_one_that_a_store_takes(read, values):
    found = read("x.toml", f'[[sources]]\nurl = "https://a.example/"\n{values}\n')
    assert (len(found.listings), len(found.problems)) == (0, 1)
    edge = "weight = 0\nworth = 1e100\ncost = 1e-9\nwindow = 1\narrival = 0\nhalf_life = 1e-3\n"
    check_listings(read("y.toml", f'[[sources]]\nurl = "https://a.example/"\n{edge}').listings, ())


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("x.opml", OPML, "opml"),
        ("x.txt", OPML, "opml"),
        ("x", "\ufeff \n" + OPML, "opml"),
        ("x", OPML.encode("utf-16"), "opml"),
        ("x", TEXT, "text"),
        ("x", "https://a.example/?url,url\n", "text"),
        ("x.csv", CSV, "csv"),
        ("x", CSV, "csv"),
        ("x", 'id,"URL"\n', "csv"),
        ("x", TOML, "toml"),
        ("x.TOML", "", "toml"),
        ("<stdin>", TEXT, "text"),
    ],
)
def test_formats_are_told_apart(name, text, kind):
    assert format_of(name, text if isinstance(text, bytes) else text.encode()) == kind


def test_a_dash_is_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    found = read_sources("-")
    assert len(found.listings) == 2
    assert found.problems[0].startswith("<stdin>, line 5: ")


def test_the_settings_of_the_run_hold_where_the_list_says_nothing(read):
    found = read("x.txt", "https://a.example/", settings=Settings(half_life=Seconds(60.0)))
    assert found.listings[0].decay == pytest.approx(0.6931471805599453 / 60)


@pytest.mark.parametrize("name", ["x.txt", "x.csv", "x.toml", "x.opml", "x"])
@pytest.mark.parametrize("content", ["", " \n\t\r\n", "\ufeff"])
def test_an_empty_file_is_told(read, name, content):
    with pytest.raises(BadInput, match=f"^{name}: is empty; write one address per line"):
        read(name, content)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.txt", "# none yet\n"), ("x.csv", "url,title\n"), ("x.toml", "sources = []"),
        ("x.opml", "<opml><body/></opml>"),
    ],
)  # fmt: skip
def test_a_list_without_sources_is_told(read, name, content):
    assert read(name, content).problems == [f"{name}: lists no sources"]


def test_what_is_no_opml_is_told_without_a_tag_that_is_not_there(read):
    with pytest.raises(BadInput, match=r"x\.opml: is not OPML: there is no <opml> in it"):
        read("x.opml", "https://a.example/\n")


@pytest.mark.parametrize("name", ["x.csv", "x"])
def test_the_header_of_a_list_is_read_in_any_case(read, name):
    found = read(name, "URL,Title,HALF_LIFE\nhttps://a.example/,A,1min\n")
    assert (found.problems, found.listings[0].title) == ([], "A")
    assert found.listings[0].decay == pytest.approx(0.6931471805599453 / 60)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("link,title\n", 'x.csv, line 1: unknown key "link"'),
        ("title,weight\n", "x.csv, line 1: needs a header with a column url"),
        ("url,url\n", "x.csv, line 1: needs a header with a column url, each column once"),
        ("url,tag\n", 'x.csv, line 1: unknown key "tag"; did you mean "tags"?'),
        ("url,bearer\n", 'x.csv, line 1: unknown key "bearer"'),
        ("url;tags\n", "x.csv, line 1: divide columns by commas, not by semicolons"),
        ("url\ttags\n", "x.csv, line 1: divide columns by commas, not by tabs"),
    ],
)
def test_a_header_that_cannot_be_used_is_told(read, text, told):
    with pytest.raises(BadInput) as caught:
        read("x.csv", text + "https://a.example/,x\n")
    assert str(caught.value).startswith(told)


def test_lines_that_are_no_text_are_told_and_the_others_come_in(read):
    found = read("x.txt", b"https://a.example/\r\nhttps://\xe4.example/\rhttps://b.example/\n\0\n")
    assert [one.id for one in found.listings] == ["a.example", "b.example"]
    assert found.problems == [
        "x.txt, line 2: is not UTF-8 text; save it as UTF-8",
        "x.txt, line 4: holds a NUL; this is not a text file",
    ]
    found = read("x.csv", b'url,title\nhttps://a.example/,"caf\xe9"\nhttps://b.example/,"x\n')
    assert [one.id for one in found.listings] == []
    assert [problem.partition(": ")[0] for problem in found.problems] == [
        "x.csv, line 2",
        "x.csv, line 4",
    ]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.txt", "https://a.example/\r\nhttps://b.example/ # ö\r\n"),
        ("x", "url,title\nhttps://a.example/,ö\nhttps://b.example/,B\n"),
        (
            "x.toml",
            '[[sources]]\nurl = "https://a.example/"\n[[sources]]\nurl="https://b.example/"',
        ),
    ],
)
def test_utf_16_with_its_mark_is_read(read, name, text, encoding):
    found = read(name, f"\ufeff{text}".encode(encoding))
    assert [one.id for one in found.listings] == ["a.example", "b.example"]
    assert found.problems == []


def test_half_a_character_of_utf_16_is_told(read):
    with pytest.raises(BadInput, match="save it as UTF-8"):
        read("x.txt", b"\xff\xfea\0b")


def test_numbers_that_have_no_end_are_called_so(read):
    found = read("x.csv", "url,weight,arrival\nhttps://a.example/,inf,\nhttps://a.example/,,5\n")
    assert found.problems == [
        "x.csv, line 2, weight: must be finite, got inf",
        "x.csv, line 3, arrival: '5' per what? write for example 5/min, 5/h, 5/day",
    ]


def test_ids_and_addresses_are_taken_once(read):
    text = (
        "url,id\nhttps://a.example/,one\nhttps://b.example/,one\nhttps://a.example/,two\n"
        "https://a.example/,one\n"
    )
    found = read("x.csv", text)
    assert [one.id for one in found.listings] == ["one"]
    assert found.repeated == 1
    assert found.problems == [
        "x.csv, line 3: id 'one' is taken: x.csv, line 2",
        "x.csv, line 4: the same address under another id: x.csv, line 2",
    ]


def test_no_file_and_too_large_a_file_are_said_so(tmp_path, monkeypatch):
    with pytest.raises(BadInput, match="there is no such file"):
        read_sources(tmp_path / "none.opml")
    monkeypatch.setattr("dayfly.config.lists.LARGEST", 100)
    (tmp_path / "x.txt").write_text("#" * 101)
    with pytest.raises(BadInput, match="is larger than 100 bytes; split it"):
        read_sources(tmp_path / "x.txt")


def test_titles_and_tags_are_lines_of_bounded_length():
    one = listing_of(
        "https://a.example/",
        title="a\n\x1b[31mb\u202ec " + "x" * 10_000,
        tags=(" a \t b ", "a b", "", "y" * 1000, *map(str, range(100))),
    )
    assert one.title.startswith("a [31mb c xxx")
    assert len(one.title) == 1000
    assert one.tags[:2] == ("a b", "y" * 100)
    assert len(one.tags) == 50
