"""Addresses and headers as people write them."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dayfly.config.addresses import authorization, read_address, without_credentials
from dayfly.errors import BadInput
from dayfly.serve.listable import LONGEST_ID, check_id, id_of


@pytest.mark.parametrize(
    ("text", "id"),
    [
        ("https://example.org", "example.org"),
        ("http://example.org/", "example.org"),
        (" https://Example.ORG:443/Feed.xml#top ", "example.org/Feed.xml"),
        ("https://example.org:8443/feed/", "example.org:8443/feed/"),
        ("https://example.org/?a=1&b", "example.org/?a=1&b"),
        ("https://example.org/a/../b", "example.org/b"),
        ("https://medium.com/feed/@x", "medium.com/feed/@x"),
        ("https://käse.example/ü", "xn--kse-qla.example/%C3%BC"),
    ],
)
def test_ids_are_readable_and_the_same_for_all_ways_of_writing(text, id):
    assert read_address(text).id == id
    assert id_of(read_address(text).canonical) == id


def test_long_ids_are_cut_and_told_apart():
    ids = {read_address(f"https://example.org/{'x' * 300}{n}").id for n in range(10)}
    assert len(ids) == 10
    assert {len(id) for id in ids} == {LONGEST_ID}


def test_the_address_stays_as_it_was_written():
    odd = "https://example.org/?args[box]=Home&a=%7e&ü#part"
    assert read_address(odd).url == odd.removesuffix("#part")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("example.org/feed", "'example.org/feed'; write https://example.org/feed"),
        ("/etc/passwd", "not an http or https address: '/etc/passwd'"),
        ("file:///etc/passwd", "not an http or https address: 'file:///etc/passwd'"),
        ("javascript:alert(1)", "not an http or https address"),
        ("feed:ftp://example.org/", "no plain host and port"),
        ("feed://joe:pw@example.org:0/", "'feed://…@example.org:0/'"),
        ("//evil.example/x", "not an http or https address"),
        ("https://a b.example/", "a control character, space or backslash"),
        ("http://127.0.0.3\\@example.org/", "a control character, space or backslash"),
        ("https://example.org:0/", "no plain host and port"),
        ("https://example.org/\ufffd", "a character that could not be read"),
        ("https://a:b@c@example.org/", "a user name in the address"),
        ("https://@example.org/", "a user name in the address"),
        ("http://127.0.0.3%2f@example.org\\/", "a control character, space or backslash"),
        ("https://a%0d%0ax:b@example.org/", "a control character in the credentials"),
        ("", "not an http or https address"),
        (
            "medium.example/feed/@x",
            "'medium.example/feed/@x'; write https://medium.example/feed/@x",
        ),
        ("ftp://a.example:21/@x", "'ftp://a.example:21/@x'"),
    ],
)
def test_what_is_no_address_is_told(text, told):
    with pytest.raises(BadInput) as caught:
        read_address(text)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("feed:http://a.example/x", "http://a.example/x"),
        ("feed:https://a.example/x", "https://a.example/x"),
        ("feed://a.example/x", "http://a.example/x"),
        ("FEED://https://a.example/x", "https://a.example/x"),
        ("feed://joe:pw@a.example/x", "http://a.example/x"),
    ],
)
def test_the_scheme_that_readers_write_is_http(text, url):
    assert read_address(text).url == url
    assert bool(read_address(text).headers) == ("joe" in text)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("https://joe:pw@a.example/x@y", "https://a.example/x@y"),
        ("https://joe@a.example/", "https://a.example/"),
        ("https://joe:p/w@a.example/", "https://a.example/"),
        ("feed:https://joe:pw@a.example/", "feed:https://a.example/"),
        ("joe:pw@a.example/x", "a.example/x"),
        ("https://a.example/@joe", "https://a.example/@joe"),
        ("Joe @ home: news", "Joe @ home: news"),
        ("Joe:news@home", "Joe:news@home"),
        ("10:30@lunch", "10:30@lunch"),
        ("http://[::1]/@joe", "http://[::1]/@joe"),
        ("http://[::1]:8080/@joe", "http://[::1]:8080/@joe"),
        ("joe@home", "joe@home"),
        ("", ""),
    ],
)
def test_credentials_go_and_other_text_stays(text, plain):
    assert without_credentials(text) == plain


def test_long_nonsense_is_told_shortly():
    with pytest.raises(BadInput) as caught:
        read_address("https://example.org/" + "x" * 100_000)
    assert len(str(caught.value)) < 300


@given(st.text(max_size=60), st.text(max_size=20))
def test_any_text_is_an_address_or_refused(text, user):
    for candidate in (text, "https://" + text, f"https://{user}:pw@example.org/{text}"):
        try:
            found = read_address(candidate)
        except BadInput:
            continue
        again = read_address(found.url)
        assert (again.canonical, again.id, again.headers) == (found.canonical, found.id, ())
        assert read_address(found.canonical).id == found.id


@pytest.mark.parametrize("id", ["bbc", "bbc news", "a/b", "ünï", "x..y", "=1"])
def test_ids_that_people_choose(id):
    assert check_id(id) == id


def test_authorization():
    ((name, value),) = authorization(basic="joe:p:w")
    assert (name, base64.b64decode(value.removeprefix("Basic "))) == ("Authorization", b"joe:p:w")
    assert authorization(bearer="t0k") == (("Authorization", "Bearer t0k"),)
    assert authorization() == ()
    with pytest.raises(BadInput, match="user:password"):
        authorization(basic="joe")
