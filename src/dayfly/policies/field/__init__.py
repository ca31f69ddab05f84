"""The rules that people run today, B0 to B14, each in its own order and scaled to the budget.

`docs/reference/field-rules.md` says where each comes from and gives its worked values.
"""

from collections.abc import Callable
from functools import partial

from dayfly.policies.contender import Contender, Contest
from dayfly.policies.field.crawlers import (
    NEWS_CRAWL,
    STORM_CRAWLER,
    MediaCloud,
    Nutch,
    StormCrawler,
)
from dayfly.policies.field.dispatcher import Cycle, Native, Order, Scaled, Ticking
from dayfly.policies.field.polls import DAY, Polls
from dayfly.policies.field.readers import (
    AutoTTL,
    ClockGrid,
    CommaFeed,
    EntryFrequency,
    FeedIo,
    GoRead,
    NewsBlur,
    feedhq,
    miniflux_round_robin,
    newsblur_jitter,
)
from dayfly.policies.field.rule import Fixed, Jitter, Rule
from dayfly.policies.rivals import RIVALS

Make = Callable[[Contest], Contender]
#: A rule for so many sources.
MakeRule = Callable[[int], Rule]

#: Miniflux picks at most so many feeds every so many minutes.
_TICK, _BATCH = 60.0, 100


def native(rule: MakeRule, order: Order, jitter: Jitter | None = None) -> Make:
    """A contender that runs the rule as its project does."""
    return lambda contest: Native(contest, rule(contest.sources), order, jitter)


def ticking(rule: MakeRule, order: Order) -> Make:
    """A contender that runs the rule as Miniflux does, on ticks."""
    return lambda contest: Ticking(contest, rule(contest.sources), order, _TICK, _BATCH)


def scaled(rule: MakeRule, jitter: Jitter | None = None) -> Make:
    """A contender that runs the rule scaled to the budget."""
    return lambda contest: Scaled(contest, rule(contest.sources), jitter)


def _same(rule: Rule) -> MakeRule:
    """A rule without memory serves any number of sources."""

    def make(_sources: int) -> Rule:
        return rule

    return make


def _rules() -> dict[str, Make]:
    due: Order = "earliest due"
    oldest: Order = "least recently polled"
    chance: Order = "random"
    found: dict[str, Make] = {"b0_cycle": Cycle}
    fixed = {"": 60.0, "_30min": 30.0, "_3h": 180.0, "_1d": DAY, "_7d": 7 * DAY, "_30d": 30 * DAY}
    for name, minutes in fixed.items():
        found["b1_fixed" + name] = native(_same(Fixed(minutes)), oldest)
    # Scaled, one fixed interval is as good as another.
    found["b1_fixed.scaled"] = scaled(_same(Fixed(60.0)))
    for name, rule in (
        ("b2_miniflux_round_robin", _same(Fixed(float(miniflux_round_robin())))),
        ("b3_miniflux_entry_frequency", EntryFrequency),
    ):
        found[name] = ticking(rule, due)
        found[name + ".scaled"] = scaled(rule)
    for name, weight in (("b5_newsblur_w1", 1.0), ("b5_newsblur_w10", 10.0)):
        audience = partial(NewsBlur, weight=weight)
        found[name] = native(audience, chance, newsblur_jitter)
        found[name + ".scaled"] = scaled(audience, newsblur_jitter)
    # Nutch takes the top of a score, which is 1 for all here; StormCrawler and Media Cloud look at
    # hosts, which a trace does not have; feed-io and reader poll all that is due: in each of these
    # the earliest due comes first.
    others: dict[str, tuple[MakeRule, Order]] = {
        "b4_commafeed": (_same(CommaFeed()), due),
        "b6_nutch": (Nutch, due),
        "b7_stormcrawler": (partial(StormCrawler, storm=STORM_CRAWLER), due),
        "b8_news_crawl": (partial(StormCrawler, storm=NEWS_CRAWL), due),
        "b9_media_cloud": (MediaCloud, due),
        "b10_autottl": (AutoTTL, oldest),
        "b11_feed_io": (_same(FeedIo()), due),
        "b12_goread": (GoRead, due),
        "b13_clock_grid": (_same(ClockGrid()), due),
        "b14_feedhq": (_same(Fixed(float(feedhq()))), due),
    }
    for name, (rule, order) in others.items():
        found[name] = native(rule, order)
        found[name + ".scaled"] = scaled(rule)
    return dict(sorted(found.items(), key=lambda entry: int(entry[0][1:].split("_")[0])))


#: The field rules by name: made for a contest, they choose and observe.
FIELD: dict[str, Make] = _rules()

__all__ = [
    "FIELD",
    "RIVALS",
    "Native",
    "Polls",
    "Rule",
    "Scaled",
    "Ticking",
    "native",
    "scaled",
    "ticking",
]
