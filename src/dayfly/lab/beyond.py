"""Beyond the papers: how far policies stay below the bound as fleets grow, and what budget buys.

Fleets are random and very unequal; the world is deterministic (mean-field). A finite run would be
blurred by what waits at its start and end: at the optimal price p each source of age k is worth

    V(k) = f_k − pC − β  from its best age k* on,   f_k* − pC − β(1 + k* − k)  before,

more than one just crawled, and reward + V(end) − V(start) never exceeds the bound by a digit. The
gap is measured with that correction, so that it shows what decisions lose and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dayfly.index import Relaxed, relax
from dayfly.lab.drawing import INK, STYLES, Drawn, drawn
from dayfly.model import Array, Fleet
from dayfly.policies import Greedy, Policy, RoundRobin, Static, Whittle
from dayfly.simulate import play, simulate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Fleet sizes, and how many fleets of each: small ones differ more.
SIZES = {10: 16, 30: 10, 100: 6, 300: 4, 1000: 3, 3000: 2, 10_000: 1, 30_000: 1, 100_000: 1}
#: Crawls per source and epoch while the fleet grows.
SHARE = 0.2
#: Crawls per source and epoch of the budget curve.
BUDGETS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)

POLICIES: dict[str, type[Policy]] = {"whittle": Whittle, "static": Static, "greedy": Greedy}


#: What each policy is called in a figure, and how it is drawn.
LOOKS = {
    "whittle": ("Whittle index", STYLES[0]),
    "static": ("best fixed periods, most overdue first", STYLES[2]),
    "greedy": ("greedy by age", STYLES[1]),
    "round_robin": ("round robin", STYLES[3]),
}


def random_fleet(n: int, rng: np.random.Generator) -> Fleet:
    """Unequal sources: rates and worths over two orders of magnitude, half-lives .7 to 7 epochs."""
    return Fleet(
        arrival=rng.lognormal(0.0, 1.0, n),
        decay=np.exp(rng.uniform(np.log(0.1), 0.0, n)),
        worth=rng.lognormal(0.0, 0.5, n),
    )


def gaps(n: int, fleets: int, *, epochs: int = 150, burn_in: int = 100) -> dict[str, float]:
    """1 − share of the bound, by policy, on average over random fleets of n sources."""
    found: dict[str, list[float]] = {name: [] for name in POLICIES}
    for number in range(fleets):
        fleet = random_fleet(n, np.random.default_rng([n, number]))
        best = relax(fleet, SHARE * n, 1.0)
        for name, policy in POLICIES.items():
            lost = gap(fleet, policy(), SHARE * n, best, epochs=epochs, burn_in=burn_in)
            found[name].append(lost)
    return {name: float(np.mean(lost)) for name, lost in found.items()}


def gap(
    fleet: Fleet, policy: Policy, budget: float, best: Relaxed, *, epochs: int, burn_in: int
) -> float:
    """Share of the bound that a policy's decisions lose, start and end accounted for.

    Parameters
    ----------
    best
        What `relax` says about the fleet and the budget, with epochs of length 1.

    Examples
    --------
    The greedy rule crawls sources 1 and 2 of Table I by turns, and so does an optimal policy:

    >>> from dayfly.lab.table1 import TABLE_ONE
    >>> best = relax(TABLE_ONE, 1, 1.0)
    >>> abs(gap(TABLE_ONE, Greedy(), 1, best, epochs=11, burn_in=10)) < 1e-12
    True
    """
    age = np.ones(len(fleet))
    earned, before = 0.0, 0.0
    for number, step in enumerate(play(fleet, policy, budget, burn_in + epochs)):
        if number == burn_in:
            earned, before = 0.0, stock(fleet, age, best)
        earned += step.reward
        age[step.rows] = 0.0
        age += 1.0
    return 1.0 - (earned + stock(fleet, age, best) - before) / (epochs * best.bound)


def stock(fleet: Fleet, age: Array, best: Relaxed) -> float:
    """ΣV(k): what the sources' ages are worth, beside sources just crawled, at the best price."""
    due = best.age
    crawled = np.isfinite(due)
    fee = best.price * fleet.cost
    target = fleet.harvest.value(np.where(crawled, due, 0.0)) - fee
    beta = np.where(crawled, target / np.where(crawled, due, 1.0), 0.0)
    now = fleet.harvest.value(age) - fee - beta
    later = target - beta * (1.0 + np.where(crawled, due, 0.0) - age)
    return float(np.where(crawled, np.where(age >= due, now, later), np.maximum(now, 0.0)).sum())


def budget_point(share: float, n: int = 200) -> dict[str, float]:
    """Value per epoch by policy, and the bound, as shares of what crawling everything brings."""
    fleet = random_fleet(n, np.random.default_rng([n, 0]))
    everything = float(fleet.harvest.value(np.ones(n)).sum())
    budget = share * n
    policies = {**POLICIES, "round_robin": RoundRobin}
    found = {"bound": relax(fleet, budget, 1.0).bound / everything}
    for name, policy in policies.items():
        run = simulate(fleet, policy(), budget, 300, burn_in=100)
        found[name] = run.mean / everything
    return found


def gap_figure(points: Mapping[int, Mapping[str, float]]) -> Drawn:
    """The optimality gap against the size of the fleet; `points` has what `gaps` found."""
    sizes = sorted(points)

    def draw(axes: Axes) -> None:
        for name in POLICIES:
            label, style = LOOKS[name]
            axes.plot(sizes, [points[n][name] for n in sizes], **style, label=label)
        axes.set(xscale="log", yscale="log", xlabel="sources N", ylabel="gap to the bound")
        axes.set_yticks([1e-4, 1e-3, 1e-2, 1e-1], ["0.01 %", "0.1 %", "1 %", "10 %"])
        axes.set_ylim(1e-5, 0.2)
        axes.minorticks_off()
        axes.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))

    least, most = (
        {name: percent(gap) for name, gap in points[n].items()} for n in (sizes[0], sizes[-1])
    )
    return drawn(
        "figure-gap",
        "Optimality gap against the size of the fleet",
        f"Random unequal fleets with {SHARE:g} crawls per source and epoch, deterministic arrivals,"
        " what waits at start and end accounted for. The Whittle policy's decisions lose "
        f"{least['whittle']} of the bound with {sizes[0]:,} sources and {most['whittle']} with "
        f"{sizes[-1]:,}; there fixed periods lose {most['static']} and greedy {most['greedy']}.",
        draw,
    )


def percent(share: float) -> str:
    """A small share with two digits.

    >>> percent(6.2e-5), percent(.0487)
    ('0.0062 %', '4.9 %')
    """
    return f"{100 * share:.2g} %"


def budget_figure(points: Mapping[float, Mapping[str, float]]) -> Drawn:
    """Value against budget; `points` has what `budget_point` found."""
    budgets = sorted(points)

    def draw(axes: Axes) -> None:
        bound = [points[b]["bound"] for b in budgets]
        axes.plot(budgets, bound, color=INK, linewidth=1.0, label="bound")
        for name, (label, style) in LOOKS.items():
            line = {**style, "linestyle": "none"} if name == "whittle" else style
            axes.plot(budgets, [points[b][name] for b in budgets], **line, label=label)
        axes.set(xlabel="budget (crawls per source and epoch)",
                 ylabel="value, as a share of\ncrawling everything", xlim=(0, 1.02),
                 ylim=(0, 1.02))  # fmt: skip
        axes.legend(loc="lower right")

    return drawn(
        "figure-budget",
        "Value against budget",
        "A random fleet of 200 sources. The bound is concave: the first crawls buy most, and its "
        "slope is the price of one more crawl. The Whittle policy lies on it; round robin needs a "
        "multiple of the budget for the same value.",
        draw,
    )
