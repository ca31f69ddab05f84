"""What is the same item, and what of it is kept."""

import pytest

from dayfly.fetch.identity import Entry, clean, items_of, web_link
from dayfly.model import Crawl, Status
from dayfly.store import Listing, MemoryStore, Record


def keys(*entries: Entry) -> list[str]:
    return [item.key for item in items_of(entries)]


def test_identity_is_the_id_else_the_link_else_the_title_with_its_date():
    assert keys(
        Entry(id="g", link="http://x/1", title="t"),
        Entry(link="http://x/2", title="t"),
        Entry(title="t"),
        Entry(title="t", date="Monday"),
    ) == ["g", "http://x/2", "t", "t Monday"]


def test_with_nothing_else_the_text_tells_items_apart():
    first, second = keys(Entry(text="one"), Entry(text="two"), Entry(text="one"), Entry())
    assert first != second


def test_a_rewritten_item_stays_the_same():
    assert keys(Entry(id="g", title="old", date="1")) == keys(Entry(id="g", title="new", date="2"))


def test_an_id_shared_by_items_with_other_links_identifies_nothing():
    shared = [Entry(id="0", link=f"http://x/{n}") for n in range(3)]
    assert keys(*shared) == ["0 http://x/0", "0 http://x/1", "0 http://x/2"]
    # Whoever comes and goes, the others keep their keys.
    assert keys(*shared[1:]) == ["0 http://x/1", "0 http://x/2"]
    assert keys(Entry(id="0", title="a"), Entry(id="0", title="b")) == ["0"]


def test_a_link_with_http_and_with_https_is_one_item_as_in_the_store():
    entries = [Entry(link="http://x/1"), Entry(link="https://x/1"), Entry(id="http://x/1")]
    assert keys(*entries) == ["http://x/1"]
    assert keys(*reversed(entries[:2])) == ["https://x/1"]
    store = MemoryStore()
    store.add([Listing(id="a", url="https://x/feed")])
    crawl = Crawl(row=0, time=1.0, status=Status.CHANGED, items=items_of(entries), visible=1)
    store.record([Record(crawl=crawl, source=store.sources()[0])], store.own())
    assert len(list(store.items())) == len(crawl.items)
    assert store.unseen(0, keys(*reversed(entries[:2]))) == set()


def test_a_huge_key_is_replaced_by_its_hash_and_stays_distinct():
    first, second = keys(Entry(id="x" * 100_000 + "a"), Entry(id="x" * 100_000 + "b"))
    assert first != second
    assert len(first) < 100


def test_a_title_is_cut_and_a_link_never():
    (item,) = items_of([Entry(id="1", title="y" * 5000)])
    assert len(item.title) == 1024
    assert web_link("http://x/" + "y" * 5000, "") == ""


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("  a\n\t b  ", "a b"), ("a\0b\x07c\x9fd", "abcd"), ("\u202eabc\u2066", "abc"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"), ("&amp;", "&amp;"),
        ("می\u200cخواهم", "می\u200cخواهم"), ("👩\u200d💻", "👩\u200d💻"), ("\ud800x", "x"),
        ("\ufeffx\u00a0y", "x y"), (" " * 10_000, ""),
    ],
)  # fmt: skip
def test_text_is_one_clean_line(text, kept):
    assert clean(text) == kept


@pytest.mark.parametrize(
    ("written", "link"),
    [
        ("http://x/", "http://x/"), (" https://x/a b\n", "https://x/a%20b"), ("//y/1", "http://y/1"),
        ("2", "http://h/d/2"), ("?q=1", "http://h/d/f?q=1"), ("HTTP://X/", "http://X/"),
        ("http://x/?a&amp;b", "http://x/?a&b"), ("http://x/é", "http://x/é"),
        ("javascript:alert(1)", ""), ("java\tscript:alert(1)", ""), ("data:text/html,x", ""),
        ("file:///etc/passwd", ""), ("ftp://x/", ""), ("http://", ""), ("", ""), ("mailto:a@x", ""),
        ("http:\\\\x", ""), ("http://[::1", ""), ("http://x[y/", ""), ("vbscript:x", ""),
        ("http://x/\u202egpj.exe", "http://x/gpj.exe"),
    ],
)  # fmt: skip
def test_only_web_links_are_links(written, link):
    assert web_link(written, "http://h/d/f") == link
