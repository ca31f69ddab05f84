"""Figures 1–4 of the papers, and what their index formulas look like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dayfly.index import stochastic_index, whittle_index, whittle_index_at
from dayfly.lab.batch import Lane, Score, arrivals, by_form
from dayfly.lab.drawing import INK, STYLES, Drawn, drawn
from dayfly.lab.forms import Form, literal_index, slides_index
from dayfly.lab.rows import Row
from dayfly.lab.table1 import EPOCH, TABLE_ONE, ceiling, first_state
from dayfly.model import Array, Fleet, Mask

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Epochs shown of a run, and the seed of the random ones.
SHOWN, SEED = 40, 1

#: The policies of the comparison, top to bottom, as they are called on paper.
COMPARED = {
    "round_robin": "round robin",
    "greedy": "greedy by age",
    "whittle_slides": "Whittle, form of the slides",
    "whittle_literal": "Whittle, log⁺ read literally",
    "whittle": "Whittle, Theorem 1 and x/C",
    "whittle_stochastic": "Whittle, stochastic index",
}
CASES = {
    "poisson": "Poisson arrivals, constant worth",
    "epoch_exponential": "exponential worth, one draw per epoch",
    "item_exponential": "exponential worth, one draw per item",
}
#: Runs shown, by budget and form of the index: name, and where the papers show them.
EVOLUTIONS: dict[tuple[int, Form | None], tuple[str, str]] = {
    (1, None): ("figure-2", "Figure 2 of [J, C, S]."),
    (2, None): ("figure-3", "Figure 3 of [J, C, S]."),
    (2, slides_index): (
        "figure-4",
        "Figure 4 of [J, C, S], where “source 1 is crawled from time to time”: so it is with the "
        "form of the slides.",
    ),
    (2, whittle_index_at): (
        "figure-4-right",
        "Figure 4 with Theorem 1, on the same arrivals: source 1 is crawled in every epoch, as in "
        "the deterministic model.",
    ),
    (1, whittle_index_at): ("figure-4-m1", "Not in the papers: Theorem 1 with one crawl an epoch."),
}


def paper_figures(rows: Sequence[Row]) -> list[Drawn]:
    """All figures about the papers, in the order of the report."""
    return [
        content_value(),
        *(evolution(budget, form) for budget, form in EVOLUTIONS),
        index_forms(),
        comparison(rows),
    ]


def content_value() -> Drawn:
    """[J, Figure 1]."""
    age = np.linspace(0.0, 6.0, 200)

    def draw(axes: Axes) -> None:
        for source, style in zip(TABLE_ONE, STYLES, strict=True):
            axes.plot(age, source.worth * np.exp(-source.decay * age), **_line(style),
                      label=source.id)  # fmt: skip
        axes.set(xlabel="time since publication (epochs)", ylabel="value of one item",
                 xlim=(0, 6), ylim=(0, None))  # fmt: skip
        axes.legend()

    return drawn(
        "figure-1",
        "Content value as a function of time",
        "Figure 1 of [J, C, S]: items of sources 1 and 2 are worth most when new, those of sources "
        "2 and 4 keep their value longer.",
        draw,
    )


def evolution(budget: int, form: Form | None = None) -> Drawn:
    """[J, Figures 2, 3, 4]: what waits at every source, and who is crawled.

    Without a form the world is deterministic; with one, arrivals are Poisson and the form decides
    by the state that is seen.
    """
    state, crawled = trace(TABLE_ONE, budget, form)
    name, where = EVOLUTIONS[budget, form]

    def draw(axes: Axes) -> None:
        epoch = np.arange(len(state))
        for i, style in enumerate(STYLES):
            axes.plot(epoch, state[:, i], **{**_line(style), "linewidth": 1.0})
            at = np.flatnonzero(crawled[:, i])
            axes.plot(at, state[at, i], color=style["color"], marker=style["marker"],
                      linestyle="none")  # fmt: skip
            axes.plot([], [], **style, label=TABLE_ONE.id[i])
        axes.set(xlabel="epoch", ylabel="waiting value X", xlim=(-0.5, len(state) - 0.5),
                 ylim=(0, None))  # fmt: skip
        axes.legend(ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))

    count = [f"source {i + 1} {n} times" for i, n in enumerate(crawled.sum(axis=0)) if n]
    return drawn(
        name,
        f"State evolution, M = {budget}, {'deterministic' if form is None else 'Poisson arrivals'}",
        f"{where} Marks are crawls; in {len(crawled)} epochs: {', '.join(count)}.",
        draw,
    )


def trace(fleet: Fleet, budget: int, form: Form | None = None) -> tuple[Array, Mask]:
    """States at every decision and who was crawled, both of shape (epochs, sources)."""
    if form is not None:
        score: Score = by_form(form, EPOCH)
        fresh = next(arrivals(fleet, "constant", seeds=[SEED], epochs=SHOWN, epoch=EPOCH))
    else:
        score = lambda fleet, state, age: whittle_index(fleet, age, EPOCH)  # noqa: ARG005, E731
        fresh = np.broadcast_to(first_state(fleet, EPOCH), (SHOWN, 1, len(fleet)))
    lane = Lane(fleet, score, budget, 1, EPOCH)
    states, crawled = [], []
    for added in fresh:
        states.append(lane.state)
        crawled.append(lane.step(added)[1][0])
    return np.array(states), np.array(crawled)


def index_forms() -> Drawn:
    """The index of source 1 by its state, in the forms of the papers."""
    one = TABLE_ONE.take([0])
    top = float(ceiling(one)[0])
    lattice = 1 - np.exp(-one.decay[0] * np.arange(8))
    near = np.concatenate([lattice - 1e-6, lattice + 1e-6, [1 - 1e-9, 1.0]])
    x = np.sort(np.concatenate([np.linspace(0, 1.3, 1301), near[near > 0]]))
    many = Fleet(arrival=np.full(len(x), one.arrival[0]), decay=one.decay[0], worth=one.worth[0])

    def draw(axes: Axes) -> None:
        forms = (
            (literal_index, STYLES[1], "Theorem 1, log⁺ read literally"),
            (slides_index, STYLES[2], "form of the slides"),
            (whittle_index_at, STYLES[0], "Theorem 1, and x/C above u*"),
        )
        for form, style, label in forms:
            axes.plot(x, form(many, x * top, EPOCH) / top, **_line(style), label=label)
        law = "epoch_exponential"
        axes.plot(x, stochastic_index(many, x * top, EPOCH, law) / top, **_line(STYLES[3]),
                  label="stochastic index, one draw per epoch")  # fmt: skip
        axes.axvline(1.0, color=INK, linewidth=0.8)
        axes.text(1.005, 0.02, "u*", transform=axes.get_xaxis_transform())
        axes.set(xlabel="waiting value x / u*", ylabel="index γ(x) / u*", xlim=(0, 1.3))
        axes.legend()

    return drawn(
        "figure-forms",
        "Three readings of one index, source 1",
        "On the lattice states 1 − αᵏ all forms agree. Between them the slides' form falls behind "
        "at every jump of its ceiling; above u* the literal Theorem 1 drops to 0, so that the "
        "sources with most to collect are never crawled.",
        draw,
    )


def comparison(rows: Sequence[Row]) -> Drawn:
    """The stochastic rows: printed, ours with its interval, and the bound."""
    by_id = {row.id: row for row in rows}

    def draw(axes: Axes) -> None:
        place = -np.arange(len(COMPARED), dtype=float)
        for k, case in enumerate(CASES):
            style = STYLES[k]
            found = [by_id[f"tcns.{case}.m1.{policy}"] for policy in COMPARED]
            at = place + 0.22 * (1 - k)
            reach = [row.half_width for row in found]
            axes.errorbar([row.ours for row in found], at, xerr=reach, fmt=style["marker"],
                          color=style["color"], label=CASES[case])  # fmt: skip
            axes.axvline(by_id[f"tcns.{case}.m1.bound"].ours, color=style["color"],
                         linestyle=style["linestyle"], linewidth=1.0)  # fmt: skip
            seen = [(row.printed, y) for row, y in zip(found, at, strict=True) if row.printed]
            if seen:
                axes.plot(*zip(*seen, strict=True), linestyle="none", marker="x", color=INK,
                          markersize=6, label="printed in [J]" if k == 0 else None)  # fmt: skip
        axes.set_yticks(place, list(COMPARED.values()))
        axes.grid(visible=False, axis="y")
        axes.set(xlabel="value per epoch, M = 1; lines are bounds", xlim=(195, 315))
        axes.legend(ncols=2, loc="lower center", bbox_to_anchor=(0.4, 1.0))

    return drawn(
        "figure-comparison",
        "The stochastic comparison of [J]",
        "Printed values of the Whittle policy fit the form of the slides; with Theorem 1 it does "
        "not lose to greedy. Error bars (95 %) are mostly narrower than the marks.",
        draw,
        size=(7.4, 4.2),
    )


def _line(style: dict[str, Any]) -> dict[str, Any]:
    """A style without its marks."""
    return {key: style[key] for key in ("color", "linestyle")}
