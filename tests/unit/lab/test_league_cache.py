"""Outcomes that are kept, and what they are kept under."""

from functools import partial

import pytest

from dayfly.errors import BadInput
from dayfly.lab.league.cache import Cache, default_folder
from dayfly.lab.league.code import code_digest, depends_on
from dayfly.lab.league.outcome import Outcome
from dayfly.simulate import Trace, contenders

KEY = {"scenario": "news-v1", "policy": "oracle", "budget": 20.0, "window": None, "seed": 0}
OUTCOME = Outcome(
    share=0.5, items=4, caught=2, lost=1, delay_mean_s=None, delay_p95_s=7.5, crawls=9,
    value_by_day=[1.0, 1.0], published_by_day=[2.0, 2.0], drew=False, cpu_s=0.25,
)  # fmt: skip


def test_what_was_kept_is_found_by_the_same_key_alone(tmp_path):
    cache = Cache(tmp_path / "here" / "new")
    assert cache.find(KEY) is None
    cache.keep(KEY, OUTCOME)
    assert Cache(tmp_path / "here" / "new").find(KEY) == OUTCOME
    for other in ({"seed": 1}, {"budget": 20.5}, {"window": 20}, {"policy": "azar"}):
        assert cache.find({**KEY, **other}) is None


@pytest.mark.parametrize("broken", [b"", b"{", b"\xff\xfe", b'{"key": {}, "outcome": {}}'])
def test_an_entry_that_cannot_be_read_is_not_there(tmp_path, broken):
    cache = Cache(tmp_path)
    cache.keep(KEY, OUTCOME)
    (entry,) = (path for path in tmp_path.rglob("*") if path.is_file())
    entry.write_bytes(broken)
    assert cache.find(KEY) is None
    cache.keep(KEY, OUTCOME)
    assert cache.find(KEY) == OUTCOME


def test_an_entry_under_a_wrong_name_is_not_believed(tmp_path):
    cache = Cache(tmp_path)
    cache.keep(KEY, OUTCOME)
    cache._path({**KEY, "seed": 1}).write_bytes(cache._path(KEY).read_bytes())
    assert cache.find({**KEY, "seed": 1}) is None


def test_a_folder_that_cannot_be_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="--cache"):
        Cache(tmp_path / "file")


def test_the_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "dayfly" / "league"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_folder() == tmp_path / ".cache" / "dayfly" / "league"


def test_a_policy_depends_on_what_it_imports_and_not_on_its_neighbours():
    field = depends_on(["dayfly.policies.field"])
    assert {"dayfly.policies.field.crawlers", "dayfly.model.visits"} <= set(field)
    for far in ("learn", "schedule", "lab", "cli", "store"):
        assert not any(module.startswith(f"dayfly.{far}") for module in field)
    assert "dayfly.policies.field" not in depends_on(["dayfly.policies.rivals.contenders"])
    # A name from a room's front door leads to where it is defined.
    assert "dayfly.policies" not in field


def test_settings_count_as_much_as_code():
    def make(contest, n):
        raise NotImplementedError

    assert code_digest(partial(make, n=1)) == code_digest(partial(make, n=1))
    assert code_digest(partial(make, n=1)) != code_digest(partial(make, n=2))


def test_the_digest_of_every_contender_is_the_same_when_it_is_made_again():
    trace = Trace.from_columns(["a"], [1.0])
    first, second = contenders(trace), contenders(trace)
    assert {name: code_digest(make) for name, make in first.items()} == {
        name: code_digest(make) for name, make in second.items()
    }
    assert code_digest(first["b7_stormcrawler"]) != code_digest(first["b8_news_crawl"])
    assert code_digest(first["b1_fixed"]) != code_digest(first["b1_fixed_1d"])
