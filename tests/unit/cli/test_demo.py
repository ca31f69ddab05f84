"""The demonstration runs end to end over real sockets."""

import click.testing

from dayfly.cli.demo import demo
from dayfly.cli.demo_crawl import FEEDS, FastClock, best_share
from dayfly.cli.demo_web import as_atom, as_rss
from dayfly.fetch import read_feed
from dayfly.model import Item


def test_it_crawls_learns_and_tells(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    result = click.testing.CliRunner().invoke(demo, ["--seconds", "1.5"])
    assert result.exit_code == 0, result.output
    for name, *_ in FEEDS:
        assert name in result.output
    assert "value" in result.output
    assert "dayfly plan" in result.output
    assert "dayfly reproduce" in result.output
    assert list(tmp_path.iterdir()) == []  # nothing is left behind


def test_misuse_is_told():
    result = click.testing.CliRunner().invoke(demo, ["--seconds", "0"])
    assert result.exit_code == 2


def test_its_feeds_are_read_as_they_were_written():
    now = 1_800_000_000.0
    items = [Item(key="8", published=now - 60), Item(key="7", published=now - 3600)]
    for document in (as_rss(1, items), as_atom(1, items)):
        read = read_feed(document.encode(), now)
        assert [item.published for item in read] == [now - 60, now - 3600]
        assert len({item.key for item in read}) == 2


def test_the_bound_is_a_share():
    assert 0.5 < best_share() < 1.0


def test_fast_time_runs_ahead():
    clock = FastClock(1e6)
    before = clock.now()
    assert clock.now() > before
