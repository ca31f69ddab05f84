"""OPML as it is found: strict where it can be, tolerant where it must be, addresses untouched."""

import contextlib
import html
import re
import tarfile
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dayfly.config import opml
from dayfly.config.lists import read_sources
from dayfly.config.opml import read_opml
from dayfly.errors import BadInput
from dayfly.lab.data import data_folder


def page(inside, head=""):
    return f'<?xml version="1.0"?>\n<opml version="2.0">{head}<body>\n{inside}\n</body></opml>'


def read(text):
    return read_opml(text if isinstance(text, bytes) else text.encode(), "list.opml")


def only(inside):
    (found,) = read(page(inside)).found
    return found


def test_a_list_with_folders():
    found = read(
        page(
            '<outline text="News"><outline text="World">\n'
            '<outline type="rss" text="A" title="A title" xmlUrl="https://a.example/?x=1&amp;y=2"/>'
            '</outline>\n<outline text="B" xmlUrl=" https://b.example/ " category="/Tech/Web,it"/>'
            '</outline><outline text="C" XMLURL="https://c.example/"/>'
        )
    )
    assert found.well_formed
    assert not found.problems
    assert [tuple(one) for one in found.found] == [
        ("https://a.example/?x=1&y=2", "A title", ("News", "World"), 4),
        ("https://b.example/", "B", ("News", "Tech", "Web", "it"), 5),
        ("https://c.example/", "C", (), 5),
    ]


def test_what_is_no_feed_is_told():
    found = read(
        page('<outline type="rss" text="A"/>\n<outline type="include" url="http://x.example/"/>')
    )
    assert found.found == []
    assert found.problems == [
        "list.opml, line 3: a feed without xmlUrl: 'A'",
        "list.opml, line 4: includes another list, which is not followed",
    ]


@pytest.mark.parametrize(
    ("inside", "url", "title"),
    [
        ('<outline title="A & B" xmlUrl="https://a.example/?x=1&y=2"/>', "?x=1&y=2", "A & B"),
        ('<outline title="The "A"" xmlUrl="https://a.example/"/>', "", 'The "A"'),
        ('<outline title=""A" of "B"" xmlUrl="https://a.example/"/>', "", '"A" of "B"'),
        ("<outline title='It's' xmlUrl='https://a.example/'/>", "", "It's"),
        ('<outline title="a < b" xmlUrl="https://a.example/"/>', "", "a < b"),
        ('<outline title="<b>A</b>" xmlUrl="https://a.example/"></outline>', "", "<b>A</b>"),
        # Names of entities in HTML are no entities here: &copy, &lang, &para stay as they are.
        (
            '<outline title="A" xmlUrl="https://a.example/?copy=1&copy=2&lang=en&para;&amp;x"/>',
            "?copy=1&copy=2&lang=en&para;&x",
            "A",
        ),
        ('<outline title="x" xmlUrl="https://a.example/?a=&#38;&#x26;&"/>', "?a=&&&", "x"),
        (
            '<outline title="A" description="<a href="https://b.example/" rel="x">b</a>" & c'
            ' text="T" xmlUrl="https://a.example/x"/>',
            "x",
            "A",
        ),
        ('<outline a=b title="A" xmlUrl="https://a.example/lost?a&b"/>', "lost?a&b", ""),
    ],
)
def test_a_broken_outline_gives_its_address_unharmed(inside, url, title):
    found = only(inside)
    assert found.url == "https://a.example/" + url
    assert found.title == title


def test_nesting_survives_what_is_broken():
    found = read(
        page(
            '<outline text="N & W">\n<!-- <outline xmlUrl="https://no.example/"/> & -->'
            '<outline text="A" xmlUrl="https://a.example/"/>'
            '<outline text="B" xmlUrl="https://b.example/">\n</outline></outline>'
            '<outline text="C" xmlUrl="https://c.example/"/>'
        )
    )
    assert not found.well_formed
    assert [(one.url[8], one.tags, one.line) for one in found.found] == [
        ("a", ("N & W",), 4),
        ("b", ("N & W",), 4),
        ("c", (), 5),
    ]


@pytest.mark.parametrize("comment", ["<!-- x --> ", "<!-- x"])
def test_comments_inside_values_lose_nothing(comment):
    one = f'<outline text="A" description="<p>&</p>{comment}" xmlUrl="https://a.example/"/>'
    other = '<outline text="B" xmlUrl="https://b.example/"/>'
    assert [found.url[8] for found in read(page(one + other)).found] == ["a", "b"]


def test_a_list_that_is_cut_short_gives_what_is_whole():
    whole = page("".join(f'<outline text="{n}" xmlUrl="https://{n}.example/"/>' for n in range(50)))
    found = read(whole[: whole.index("https://30.example") + 9])
    assert [one.title for one in found.found] == [str(n) for n in range(30)]
    assert found.problems == ["list.opml, line 3: an xmlUrl without quotes, or cut short"]


def test_no_feed_is_lost_without_a_word():
    found = read(page('<outline text=A xmlUrl=https://a.example/ />\n<outline text="x & y"/>'))
    assert found.found == []
    assert found.problems == ["list.opml, line 3: an xmlUrl without quotes, or cut short"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "windows-1252", "latin-1"])
@pytest.mark.parametrize("ampersand", ["&amp;", "&"])
def test_encodings(encoding, ampersand):
    text = page(f'<outline text="Käse {ampersand} Wein" xmlUrl="https://a.example/ü"/>')
    if encoding not in ("utf-16", "utf-8-sig"):
        text = text.replace("?>", f' encoding="{encoding}"?>', 1)
    (found,) = read(text.encode(encoding)).found
    assert (found.url, found.title) == ("https://a.example/ü", "Käse & Wein")


def test_what_nobody_declared_is_read_as_windows_has_it():
    text = '<opml><body><outline text="Käse" xmlUrl="https://a.example/"/></body></opml>'
    (found,) = read(text.encode("windows-1252")).found
    assert found.title == "Käse"
    unknown = text.replace("<opml>", '<?xml version="1.0" encoding="x-odd"?><opml>')
    (found,) = read(unknown.encode()).found
    assert found.title == "Käse"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("<html><body>Not found</body></html>", "is not OPML: it begins with <html>"),
        ("<html><body>Not found & more", "is not OPML: it begins with <html>"),
        ("<rss><channel/></rss>", "is a feed or sitemap, not a list"),
        ("", "is not OPML"),
        ("no markup at all", "is not OPML"),
    ],
)
def test_what_is_no_list_is_told(text, told):
    with pytest.raises(BadInput, match=f"^list.opml: {told}"):
        read(text)


def test_depth_and_number_are_limited(monkeypatch):
    deep = "<outline text='x'>" * 100
    with pytest.raises(BadInput, match=r"line 3: folders lie more than 64 deep"):
        read(page(deep + "</outline>" * 100))
    with pytest.raises(BadInput, match=r"line 3: folders lie more than 64 deep"):
        read(page(deep + "&"))
    with pytest.raises(BadInput, match="elements lie too deep"):
        read("<opml>" + "<x>" * 1000 + "</x>" * 1000 + "</opml>")
    monkeypatch.setattr(opml, "MOST", 10)
    for end in ("", "&"):
        with pytest.raises(BadInput, match="more than 10 outlines; split it"):
            read(page("<outline/>" * 11 + end))


@pytest.mark.parametrize(
    "inside",
    [
        "<!--" * 200_000,
        '<outline title="' + '" x' * 200_000,
        '<outline title="' + '">' * 200_000,
        '<outline a="' + '" ' * 200_000,
        "<outline " + 'xmlUrl="' * 200_000,
        '<outline title="' + '"' + " " * 2_000_000,
        "<outline " * 200_000,
        '<outline text="' + "&#" * 200_000 + '"/>',
        "</outline" + " " * 2_000_000,
    ],
    ids=lambda text: text[:16],
)
def test_hostile_text_is_read_in_linear_time(inside):
    before = time.process_time()
    with contextlib.suppress(BadInput):
        read("<opml><body>& " + inside)
    assert time.process_time() - before < 20  # quadratic ways take minutes


@given(st.text(alphabet="<>/\"'&=;# \nabxmlUrl-!:", max_size=200))
def test_any_text_is_read_or_refused(text):
    for content in ("<opml><outline " + text, text):
        try:
            found = read(content)
        except BadInput:
            continue
        assert all(one.url for one in found.found)


@given(
    st.lists(
        st.tuples(
            st.text(
                alphabet=st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1
            ),
            st.text(alphabet="abc/?&=;%[]~", max_size=30),
        ),
        max_size=5,
    )
)
def test_both_ways_of_reading_agree_on_well_formed_lists(entries):
    body = "".join(
        f'<outline text="{html.escape(title)}" xmlUrl="http://x.example/{html.escape(rest)}"/>'
        for title, rest in entries
    )
    strict, tolerant = read(page(body)), opml._tolerantly(page(body), "list.opml")
    assert strict.well_formed
    assert strict.found == tolerant.found
    assert [one.url for one in strict.found] == ["http://x.example/" + rest for _, rest in entries]


@pytest.fixture(scope="module")
def lists():
    """The real lists, by name."""
    packed = data_folder() / "opml_lists.tar.gz"
    if not packed.is_file():
        pytest.skip(f"no real lists: {packed} is not there; set DAYFLY_DATA to its folder")
    with tarfile.open(packed) as archive:
        return {
            member.name: archive.extractfile(member).read()
            for member in archive.getmembers()
            if member.isfile()
        }


def test_all_real_lists_give_all_their_feeds(lists):
    assert len(lists) == 120
    read = {name: read_opml(content, name) for name, content in lists.items()}
    assert sum(not found.well_formed for found in read.values()) == 80
    assert not [problem for found in read.values() for problem in found.problems]
    for name, found in read.items():
        written = re.findall(r'xmlUrl="([^"]*)"', lists[name].decode())
        # None of these has an entity other than &amp;, so this is what is written there.
        assert [one.url for one in found.found] == [url.replace("&amp;", "&") for url in written]
    assert sum(len(found.found) for found in read.values()) == 2804
    assert len({one.url for found in read.values() for one in found.found}) == 2013


def test_the_tolerant_way_agrees_with_the_strict_one_on_real_lists(lists):
    compared = 0
    for name, content in lists.items():
        strict = read_opml(content, name)
        if not strict.well_formed:
            # Most are well-formed but for bare ampersands: mended, they have a strict reading.
            mended = re.sub(rb"&(?!(?:amp|lt|gt|quot|apos|#\d+);)", b"&amp;", content)
            strict = read_opml(mended, name)
        if strict.well_formed:
            assert opml._tolerantly(opml._text(content), name).found == strict.found
            compared += 1
    assert compared == 98


def test_sources_of_the_real_lists(lists, tmp_path):
    """All but one of the 2,013: its host ends in a dot, which not everybody reads alike."""
    ids, problems, repeated = {}, [], 0
    for number, content in enumerate(lists.values()):
        (tmp_path / f"{number}.opml").write_bytes(content)
        found = read_sources(tmp_path / f"{number}.opml")
        problems += found.problems
        repeated += found.repeated
        for listing in found.listings:
            ids.setdefault(listing.id, set()).add(listing.url)
    assert [problem.partition(": ")[2] for problem in problems] == [
        "not a host name: 'https://benhouston3d.com./rss.xml'"
    ]
    assert len(ids) == 2012
    assert all(len(urls) == 1 for urls in ids.values()), "an id stands for one address"
    assert repeated == 0
