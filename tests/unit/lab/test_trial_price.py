"""The trials of price and back-pressure, on small fleets."""

import numpy as np
import pytest

from dayfly.index import relax
from dayfly.lab.trials import pressure, price


def test_the_price_of_a_phase_is_that_of_what_gets_through():
    fleet = price.fleet_of(200)
    usual = relax(fleet, 200 / price.SCARCE).price
    found = price.prices(fleet, price.SCENES["all together"])
    assert found.shape == (price.HOUR,)
    assert found[0] == relax(fleet, 0.7 * 200 / price.SCARCE).price > usual
    assert found[15 * 60] > found[0] > found[25 * 60]
    assert found[32 * 60] == found[25 * 60]  # stalled: the price before the stall stays
    assert (price.prices(fleet, price.SCENES["price put down to half"]) == usual).all()


def test_an_hour_of_changing_budgets():
    calls: list[tuple[int, int]] = []
    effort = price.Effort(sources=400, burn_in=300, scenes=("budget halves and doubles",))
    trial = price.run(effort=effort, progress=lambda done, total: calls.append((done, total)))
    spent, value, move, _ = trial.rows
    assert trial.name == "price"
    assert not trial.missed, f"seed {trial.seed}: {spent.value}, {value.value}, {move.value}"
    assert calls
    assert calls[-1][0] <= calls[-1][1]
    key = "budget halves and doubles: "
    allowed = trial.series[key + "allowed"]
    assert [allowed[60 * minute] for minute in (5, 20, 35, 50)] == [1.0, 0.5, 2.0, 1.0]
    assert all(len(column) == price.HOUR for column in trial.series.values())


def test_both_runs_see_the_same_failures(monkeypatch):
    monkeypatch.setattr(price, "HOUR", 900)
    fleet = price.fleet_of(200)
    solved = price.prices(fleet, price.SCENES["30 % of fetches fail"])
    runs = [
        price.play(fleet, "30 % of fetches fail", solved, 60, lambda: None, told=True)
        for _ in range(2)
    ]
    assert np.array_equal(runs[0].run.delivered, runs[1].run.delivered)
    assert np.array_equal(runs[0].base, solved)


def test_a_slow_consumer_with_and_without_back_pressure(monkeypatch):
    monkeypatch.setattr(pressure, "HOUR", 600)
    monkeypatch.setattr(pressure, "BURN_IN", 600)
    monkeypatch.setattr(pressure, "ORDERS", {"in turn": False})
    effort = pressure.Effort(sources=400, scenes=("slow consumer",))
    trial = pressure.run(effort=effort)
    delivered, bare, queue, long = trial.rows
    assert trial.name == "pressure"
    assert delivered.value > 0.9 > bare.value
    assert queue.value < 10 < 300 < long.value


@pytest.mark.parametrize("module", [price, pressure])
def test_it_draws(module):
    figure = pytest.importorskip("matplotlib.figure").Figure()
    names = tuple(module.SCENES)[:2]
    minute = np.arange(price.HOUR) / 60
    flat = np.ones(price.HOUR)
    kinds = ("price learnt", "price solved", "spent", "allowed", "purse")
    series = {"minute": minute}
    for name in names:
        series |= {f"{name}: {kind}": flat for kind in kinds}
        for kind in ("queue", "delivered", "share"):
            series |= {f"{name}, in turn: {kind} {how}": flat for how in ("with", "without")}
    module._figure(series, names)(figure)
    assert len(figure.axes) == 6
