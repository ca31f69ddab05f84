"""What a robots.txt says to us: RFC 9309 as a table, limits, and a second opinion."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dayfly.fetch.robotstxt import LONGEST, RobotsText, product_token, rules_for


def read(body: bytes, token: str = "FooBot") -> RobotsText:
    return RobotsText(rules_for(body, token))


def allows(body: str | bytes, path: str, token: str = "FooBot") -> bool:
    body = body.encode() if isinstance(body, str) else body
    return read(body, token).allows(f"https://example.org:443{path}")


# What the file says, the path that is asked for, and whether it may be.
CASES = [
    # No file, no rules, nothing for us.
    ("", "/a", True),
    ("\n\n  \n", "/a", True),
    ("# only a comment", "/a", True),
    ("User-agent: *", "/a", True),
    ("Disallow: /", "/a", True),  # rules before any user-agent line belong to nobody
    ("User-agent: BarBot\nDisallow: /", "/a", True),
    ("<html><body>Disallow: /</body></html>", "/a", True),
    # The plain file.
    ("User-agent: *\nDisallow: /", "/", False),
    ("User-agent: *\nDisallow: /", "/a", False),
    ("User-agent: *\nDisallow:", "/a", True),
    ("User-agent: *\nAllow: /", "/a", True),
    ("User-agent: *\nDisallow: /a", "/a", False),
    ("User-agent: *\nDisallow: /a", "/abc", False),
    ("User-agent: *\nDisallow: /a", "/b", True),
    ("User-agent: *\nDisallow: /a/", "/a", True),
    ("User-agent: *\nDisallow: /a", "/A", True),  # paths are matched as they are written
    ("User-agent: *\nDisallow: /a?b=c", "/a?b=c&d", False),
    ("User-agent: *\nDisallow: a", "/a", True),  # not a path
    ("User-agent: *\nDisallow: /", "/robots.txt", True),  # always allowed
    # Whose group it is: the token, whole, in any case, up to the first odd character.
    ("User-agent: FooBot\nDisallow: /a", "/a", False),
    ("User-agent: foobot\nDisallow: /a", "/a", False),
    ("USER-AGENT: FOOBOT\nDISALLOW: /a", "/a", False),
    ("User-agent: FooBot/2.1\nDisallow: /a", "/a", False),
    ("User-agent: FooBot bar\nDisallow: /a", "/a", False),
    ("User-agent: Foo\nDisallow: /a", "/a", True),
    ("User-agent: Bot\nDisallow: /a", "/a", True),
    ("User-agent: FooBotNews\nDisallow: /a", "/a", True),
    ("User-agent: Foo-Bot\nDisallow: /a", "/a", True),
    ("User-agent:\nDisallow: /a", "/a", True),
    ("User-agent: *\nDisallow: /a\nUser-agent: FooBot\nDisallow: /b", "/a", True),
    ("User-agent: *\nDisallow: /a\nUser-agent: FooBot\nDisallow: /b", "/b", False),
    ("User-agent: FooBot\nDisallow: /b\nUser-agent: *\nDisallow: /a", "/a", True),
    ("User-agent: *\nDisallow: /\nUser-agent: FooBot\nDisallow:", "/a", True),
    ("User-agent: *\nDisallow: /\nUser-agent: FooBot", "/a", True),  # named, without rules
    ("User-agent: *\nAllow: /\nUser-agent: BarBot\nDisallow: /", "/a", True),
    # Several agents share a group; groups of the same agent are one.
    ("User-agent: BarBot\nUser-agent: FooBot\nDisallow: /a", "/a", False),
    ("User-agent: FooBot\n\n# them, too\nUser-agent: BarBot\nDisallow: /a", "/a", False),
    ("User-agent: FooBot\nDisallow: /a\nUser-agent: BarBot\nDisallow: /b", "/b", True),
    ("User-agent: FooBot\nDisallow: /a\n\nUser-agent: FooBot\nDisallow: /b", "/a", False),
    ("User-agent: FooBot\nDisallow: /a\n\nUser-agent: foobot\nDisallow: /b", "/b", False),
    ("User-agent: *\nDisallow: /a\n\nUser-agent: *\nDisallow: /b", "/a", False),
    ("User-agent: FooBot\nDisallow: /a\nUser-agent: X\nDisallow: /\nUser-agent: FooBot\nAllow: /ab",
     "/ab", True),
    # Lines that are not for us separate nothing; those that we obey do.
    ("User-agent: FooBot\nSitemap: https://a.org/s\nUser-agent: BarBot\nDisallow: /a", "/a", False),
    ("User-agent: FooBot\nInvalid-Line: x\nUser-agent: BarBot\nDisallow: /a", "/a", False),
    ("User-agent: FooBot\nDisallow: /a\nSitemap: /s\nDisallow: /b", "/b", False),
    ("User-agent: FooBot\nCrawl-delay: 5\nUser-agent: BarBot\nDisallow: /a", "/a", True),
    ("User-agent: FooBot\nDisallow:\nUser-agent: BarBot\nDisallow: /a", "/a", True),
    # The longest match counts, whatever comes first; Allow wins a tie.
    ("User-agent: *\nDisallow: /\nAllow: /a", "/a", True),
    ("User-agent: *\nAllow: /a\nDisallow: /", "/b", False),
    ("User-agent: *\nAllow: /a\nDisallow: /a/b", "/a/b/c", False),
    ("User-agent: *\nDisallow: /a/b\nAllow: /a", "/a/b", False),
    ("User-agent: *\nDisallow: /a\nAllow: /a", "/a", True),
    ("User-agent: *\nAllow: /a\nDisallow: /a", "/a", True),
    ("User-agent: *\nAllow: /page\nDisallow: /*.html", "/page.html", False),
    ("User-agent: *\nAllow: /page.html\nDisallow: /*.html", "/page.html", True),
    ("User-agent: *\nDisallow: /x/page.\nAllow: /x/page.htm", "/x/page.html", True),
    # * is any characters, $ is the end.
    ("User-agent: *\nDisallow: *", "/a", False),
    ("User-agent: *\nDisallow: /*", "/a", False),
    ("User-agent: *\nDisallow: /a*c", "/abbc", False),
    ("User-agent: *\nDisallow: /a*c", "/ac", False),
    ("User-agent: *\nDisallow: /a*c", "/abb", True),
    ("User-agent: *\nDisallow: /a*c", "/abbcd", False),
    ("User-agent: *\nDisallow: /*/feed", "/x/y/feed.xml", False),
    ("User-agent: *\nDisallow: /*.pdf$", "/x.pdf", False),
    ("User-agent: *\nDisallow: /*.pdf$", "/x.pdf?a", True),
    ("User-agent: *\nDisallow: /*.pdf$", "/x.pdf.pdf", False),
    ("User-agent: *\nDisallow: /a$", "/a", False),
    ("User-agent: *\nDisallow: /a$", "/ab", True),
    ("User-agent: *\nDisallow: /$", "/", False),
    ("User-agent: *\nDisallow: /$", "/a", True),
    ("User-agent: *\nAllow: /$\nDisallow: /", "/", True),
    ("User-agent: *\nAllow: /$\nDisallow: /", "/a", False),
    ("User-agent: *\nDisallow: /a**b", "/axb", False),
    ("User-agent: *\nDisallow: /*?", "/a", True),
    ("User-agent: *\nDisallow: /*?", "/a?", False),
    # Escapes: the same octets are the same, however they are written.
    ("User-agent: *\nDisallow: /~joe", "/%7Ejoe", False),
    ("User-agent: *\nDisallow: /%7Ejoe", "/~joe", False),
    ("User-agent: *\nDisallow: /%7ejoe", "/%7Ejoe", False),
    ("User-agent: *\nDisallow: /ツ", "/%E3%83%84", False),
    ("User-agent: *\nDisallow: /%E3%83%84", "/%e3%83%84", False),
    ("User-agent: *\nDisallow: /a/b", "/a%2Fb", True),  # an escaped slash separates nothing
    ("User-agent: *\nDisallow: /a%2Fb", "/a%2fb", False),
    ("User-agent: *\nDisallow: /a%2Ab", "/a*b", False),
    ("User-agent: *\nDisallow: /a%2Ab", "/axb", True),
    ("User-agent: *\nDisallow: /a%24", "/a$", False),
    ("User-agent: *\nDisallow: /a b", "/a%20b", False),
    ("User-agent: *\nDisallow: /bar?u=http://foo.bar", "/bar?u=http://foo.bar", False),
    ("User-agent: *\nDisallow: /100%", "/100%25", False),  # a bare % is the octet itself
    # How lines are written.
    ("User-agent: *\r\nDisallow: /a\r\n", "/a", False),
    ("User-agent: *\rDisallow: /a", "/a", False),
    ("\ufeffUser-agent: *\nDisallow: /a", "/a", False),
    ("  User-agent  :  *  \n\tDisallow\t:\t/a\t", "/a", False),
    ("User-agent: * # all\nDisallow: /a # private", "/a", False),
    ("User-agent: *\nDisallow: /a#b", "/a", False),
    ("User-agent *\nDisallow /a", "/a", False),
    ("useragent: *\ndissallow: /a", "/a", False),
]  # fmt: skip


@pytest.mark.parametrize(("body", "path", "allowed"), CASES)
def test_C01_the_table_of_rfc_9309(body, path, allowed):
    assert allows(body, path) is allowed


@pytest.mark.parametrize("odd", ["\x85", "\u2028", "\x0b", "\x0c", "\x1c", "\0"])
def test_C01_a_line_ends_at_cr_or_lf_alone(odd):
    body = f"User-agent: *\nDisallow: /a\nDisallow: /b{odd}Allow: /a/b\n"
    assert not allows(body, "/a/b")


def test_C01_the_table_is_long_enough():
    assert len(CASES) >= 60


def test_C01_other_tokens_are_other_robots():
    body = "User-agent: dayfly\nDisallow: /a\n\nUser-agent: *\nDisallow: /b"
    assert not allows(body, "/a", "dayfly")
    assert allows(body, "/a", "FooBot")
    assert not allows(body, "/b", "FooBot")
    assert allows(body, "/b", "Dayfly")


def test_C01_what_is_not_utf8_is_obeyed_all_the_same():
    body = (
        b"User-agent: *\nDisallow: /caf\xe9\nDisallow: /b\xff\xfe # \xe9\n\xe9\xe8: x\nDisallow: /c"
    )
    assert not allows(body, "/caf%E9/menu")
    assert not allows(body, "/c")
    assert allows(body, "/d")


# What the pieces of a rule and of a path may be in the comparison below.
PIECES = st.sampled_from(["/", "a", "b", "ab", "%7E", "~", ".", "?", "=", "1"])
PATHS = st.lists(PIECES, max_size=6).map(lambda pieces: "/" + "".join(pieces))
PATTERNS = st.tuples(
    st.lists(PIECES | st.just("*"), max_size=5).map(lambda pieces: "/" + "".join(pieces)),
    st.sampled_from(["", "", "$"]),
).map("".join)


def by_the_letter(rules: list[tuple[bool, str]], path: str) -> bool:
    """RFC 9309, 2.2.2, by regular expressions."""
    path = path.replace("%7E", "~")
    best, allowed = -1, True
    for allow, written in rules:
        pattern = written.replace("%7E", "~")
        end = pattern.endswith("$")
        parts = (pattern[:-1] if end else pattern).split("*")
        regex = ".*".join(re.escape(part) for part in parts) + (r"\Z" if end else "")
        if re.match(regex, path) and (len(pattern), allow) > (best, allowed and best >= 0):
            best, allowed = len(pattern), allow
    return allowed


@given(st.lists(st.tuples(st.booleans(), PATTERNS), max_size=6), PATHS)
def test_C01_a_second_opinion_agrees(rules, path):
    body = "User-agent: *\n" + "".join(
        f"{'Allow' if allow else 'Disallow'}: {pattern}\n" for allow, pattern in rules
    )
    assert allows(body, path) is by_the_letter(rules, path)


@given(st.binary(max_size=400))
def test_C01_no_bytes_are_too_odd(body):
    text = read(body)
    assert text.allows("https://example.org/a") in (True, False)
    assert text.crawl_delay is None or 0 <= text.crawl_delay <= 300


LINES = st.lists(
    st.sampled_from([
        b"User-agent: *", b"User-agent: FooBot", b"User-agent: x", b"Disallow: /a", b"Allow: /a/b",
        b"Disallow: /\xe9", b"Crawl-delay: 2", b"Sitemap: /s", b"", b"# x", b"Request-rate: 1/5",
    ]),
    max_size=12,
)  # fmt: skip


@given(LINES)
def test_what_is_kept_of_a_file_says_the_same_again(lines):
    kept = rules_for(b"\n".join(lines), "FooBot")
    assert rules_for(kept, "FooBot") == kept
    # A copy outlives the name under which it was read.
    assert rules_for(kept, "AnotherName") == kept


def test_C04_rules_after_500_KiB_are_not_read():
    head = b"User-agent: *\nDisallow: /first\n"
    tail = b"\nDisallow: /last\n"
    body = head + b"#" * (LONGEST - len(head)) + tail + b"#" * (600 * 1024)
    assert LONGEST == 512_000
    assert not allows(body, "/first")
    assert allows(body, "/last")
    assert not allows(head + b"#" * (LONGEST - len(head) - len(tail)) + tail, "/last")


def test_C04_a_line_of_16_KiB_is_a_line():
    path = b"/a" * 8192
    body = b"User-agent: *\nDisallow: " + path + b"\nDisallow: /b"
    assert not allows(body, path.decode())
    assert allows(body, path.decode()[:-1])
    assert not allows(body, "/b")


def test_C04_binary_is_no_rule():
    assert allows(bytes(range(256)) * 2000, "/a")
    assert not allows(b"\0\1\2\nUser-agent: *\nDisallow: /a\n\0", "/a")


def test_C04_the_same_rule_said_often_is_kept_once():
    kept = rules_for(b"User-agent: *\n" + b"Disallow: /a\n" * 30_000, "FooBot")
    assert kept == b"user-agent: *\ndisallow: /a\n"


@pytest.mark.parametrize(
    ("said", "delay"),
    [
        ("0", 0.0), ("5", 5.0), ("2.5", 2.5), ("1e9", 300.0), ("301", 300.0), ("-1", None),
        ("abc", None), ("", None), ("nan", None), ("inf", None), ("10 seconds", 10.0),
        ("5 # not more often", 5.0), ("9" * 400, None), ("\xff", None),
    ],
)  # fmt: skip
def test_C07_a_crawl_delay_is_between_nothing_and_five_minutes(said, delay):
    body = f"User-agent: *\nCrawl-delay: {said}\nDisallow: /b"
    assert read(body.encode("latin-1")).crawl_delay == delay


@pytest.mark.parametrize(
    ("said", "delay"),
    [("1/10", 10.0), ("1/5m", 300.0), ("30/60", 2.0), ("1/10 0600-0845", 10.0), ("0/5", None),
     ("x", None), ("1/1d", 300.0)],
)  # fmt: skip
def test_C07_a_request_rate_is_a_delay(said, delay):
    assert read(f"User-agent: *\nRequest-rate: {said}".encode()).crawl_delay == delay


def test_C07_the_longer_of_delay_and_rate_counts_and_only_ours():
    both = b"User-agent: *\nCrawl-delay: 3\nRequest-rate: 1/20\nUser-agent: x\nCrawl-delay: 99"
    assert read(both).crawl_delay == 20.0
    assert read(both, "x").crawl_delay == 99.0


def test_the_product_token_is_the_first_word_of_the_user_agent():
    assert product_token("dayfly/0.1 (+https://example.org/bot)") == "dayfly"
    assert product_token("Foo-Bot_x 2") == "Foo-Bot_x"
    assert product_token("") == ""
