"""Every real robots.txt is read without an accident, and as a second reader reads it."""

import random
import tarfile
import time

import pytest
from protego import Protego

from dayfly.errors import BadInput
from dayfly.fetch.robotstxt import LONGEST, RobotsText, rules_for
from dayfly.lab.data import data_file

pytestmark = pytest.mark.acceptance

PATHS = [
    "/", "/feed", "/feed/", "/rss.xml", "/atom.xml", "/index.php?feed=rss2", "/sitemap.xml",
    "/wp-admin/", "/wp-admin/admin-ajax.php", "/search?q=a", "/private/x", "/cgi-bin/x", "/a.pdf",
    "/tag/x/feed/", "/news/2026/11/16/", "/user/login", "/~joe/", "/%E3%83%84", "/a/b.html?x=1&y=2",
]  # fmt: skip
#: A token that no file names, and that begins with no letter that one could be cut down to.
NOBODY = "zzqx"


@pytest.fixture(scope="module")
def files():
    try:
        path = data_file("feeds_robots_corpus.tar.gz")
    except BadInput as error:
        pytest.skip(str(error))
    found = {}
    with tarfile.open(path) as archive:
        for member in archive:
            if member.isfile() and "/robots/" in f"/{member.name}":
                found[member.name] = archive.extractfile(member).read()
    return found


def verdicts(text: RobotsText) -> list[bool]:
    return [text.allows(f"https://example.org:443{path}") for path in PATHS]


def test_C01_every_real_file_is_read(files):
    print(f"{len(files)} files")
    assert len(files) == 3856
    not_utf8 = 0
    for body in files.values():
        try:
            body.decode()
        except UnicodeDecodeError:
            not_utf8 += 1
        for token in ("dayfly", "Googlebot"):
            kept = rules_for(body, token)
            text = RobotsText(kept)
            verdicts(text)
            assert text.crawl_delay is None or 0 <= text.crawl_delay <= 300
            # What is kept says the same as the file, again and again.
            assert rules_for(kept, token) == kept
    print(f"{not_utf8} of them are not UTF-8")
    assert not_utf8 > 0


def test_C01_a_second_reader_of_whole_files_agrees(files):
    """Protego alone, on the whole file; differences are listed."""
    differing = []
    for name, body in files.items():
        ours = verdicts(RobotsText(rules_for(body, NOBODY)))
        whole = Protego.parse(body[:LONGEST].decode("utf-8", "replace").removeprefix("\ufeff"))
        theirs = [whole.can_fetch(f"https://example.org{path}", NOBODY) for path in PATHS]
        if ours != theirs:
            differing.append(name)
    print(f"{len(differing)} files are read differently: {differing[:20]}")
    assert differing == []


def test_P14_mutated_files_are_read_within_a_second(files):
    seed = 9309
    print("seed", seed)
    chance = random.Random(seed)
    bodies = [body for body in files.values() if len(body) < 20_000]
    worst = 0.0
    for _ in range(5000):
        body = bytearray(chance.choice(bodies))
        other = chance.choice(bodies)
        for _ in range(chance.randrange(1, 12)):
            at = chance.randrange(len(body) + 1)
            match chance.randrange(4):
                case 0:
                    body[at : at + 1] = bytes([chance.randrange(256)])
                case 1:
                    del body[at : at + chance.randrange(40)]
                case 2:
                    body[at:at] = other[: chance.randrange(200)]
                case 3:
                    body[at:at] = chance.choice([b"*", b"$", b"%", b"\0", b"\r", b"\n", b":"]) * 9
        began = time.process_time()
        text = RobotsText(rules_for(bytes(body), "dayfly"))
        verdicts(text)
        worst = max(worst, time.process_time() - began)
    print(f"worst {worst:.3f} s")
    assert worst < 2.0


@pytest.mark.parametrize(
    "line",
    [
        b"Disallow: /%d\n", b"Allow: /*%d*a*b*c*d$\n", b"Disallow: /*%d\n", b"Disallow:/%d\n",
        b"User-agent: x%d\n", b"Crawl-delay: %d\n", b"Disallow: /%%%d\n",
    ],
)  # fmt: skip
def test_C04_a_hostile_file_costs_at_most_two_seconds(line):
    body = b"User-agent: *\n" + b"".join(line % n for n in range(60_000))
    began = time.process_time()
    text = RobotsText(rules_for(body, "dayfly"))
    text.allows("https://example.org/" + "a" * 8000)
    took = time.process_time() - began
    print(f"{took:.2f} s")
    assert took < 2.0


def test_C04_a_long_line_of_stars_is_no_trouble():
    for rule in (b"/" + b"*a" * 200_000, b"/" + b"*" * 400_000, b"/" + b"a*" * 200_000 + b"$"):
        began = time.process_time()
        text = RobotsText(rules_for(b"User-agent: *\nDisallow: " + rule, "dayfly"))
        text.allows("https://example.org/" + "a" * 8000)
        assert time.process_time() - began < 2.0
