"""What is crawled waits, fades and is delivered; nothing is lost on the way and nothing gained."""

import numpy as np
import pytest

from dayfly.errors import BadInput
from dayfly.index import relax
from dayfly.model import Fleet
from dayfly.schedule import Scheduler
from dayfly.schedule.pressure import Pressure
from dayfly.simulate.downstream import Delivery, Queue, Service, deliver

N, BUDGET = 300, 1.0


def steady(rate: float) -> Service:
    return Service(since=np.array([0.0]), rate=np.array([rate]))


def fleet_of(seed: int) -> Fleet:
    rng = np.random.default_rng(seed)
    return Fleet(
        arrival=rng.lognormal(-5.0, 1.0, N),
        decay=rng.lognormal(-6.5, 0.5, N),
        cost=rng.choice((0.5, 1.0, 2.0), N),
    )


def played(fleet: Fleet, **how) -> Delivery:
    # As half of the budget would leave them: the start favours nobody with a slow consumer.
    age = np.minimum(relax(fleet, BUDGET / 2).age, 3600.0)
    since = -age * np.random.default_rng(N).random(N)
    scheduler = Scheduler(fleet, BUDGET, 0.0, min_interval=10.0, max_interval=np.inf, last=since)
    return deliver(scheduler, fleet, since=since, **{"ticks": 600, "burn_in": 300, **how})


def test_work_is_the_integral_of_the_rate():
    service = Service(since=np.array([10.0, 20.0, 30.0]), rate=np.array([1.0, 0.0, 3.0]))
    assert service.work(0.0, 10.0) == 0
    assert service.work(5.0, 15.0) == 5
    assert service.work(15.0, 31.0) == 8
    assert service.work(20.0, 30.0) == 0


@pytest.mark.parametrize(
    ("since", "rate"), [([1.0, 0.0], [1.0, 1.0]), ([0.0], [-1.0]), ([0.0], [np.nan]), ([], [])]
)
def test_a_service_that_is_none_is_refused(since, rate):
    with pytest.raises(BadInput, match="service needs rising instants"):
        Service(since=np.array(since), rate=np.array(rate))


def test_content_fades_until_its_work_is_done():
    queue = Queue()
    queue.put(np.array([4.0]), np.array([0.1]), np.array([2.0]), 0.0)
    assert queue.serve(1.0, 0.0, 1.0) == 0
    assert queue.work == 1.0
    assert queue.serve(4.0, 1.0, 2.0) == pytest.approx(4 * np.exp(-0.1 * 1.25))
    assert queue.work == 0
    assert queue.serve(4.0, 2.0, 3.0) == 0


def test_the_order_of_service():
    value, none = np.array([1.0, 3.0, 2.0]), np.zeros(3)
    for best_first, expected in ((True, [3.0, 2.0, 1.0]), (False, [1.0, 3.0, 2.0])):
        queue = Queue(best_first=best_first)
        queue.put(value, none, np.ones(3), 0.0)
        assert [queue.serve(1.0, t, t + 1.0) for t in range(3)] == expected


def test_the_best_is_what_is_worth_most_now():
    queue = Queue()
    queue.put(np.array([10.0, 5.0]), np.array([1.0, 0.0]), np.ones(2), 0.0)
    assert queue.serve(1.0, 3.0, 4.0) == 5.0


def test_in_turn_it_is_the_queue_of_the_textbook():
    """Served in turn, one unit each: the n-th leaves at max(its arrival, the one before) + 1/s."""
    seed = 5
    rng = np.random.default_rng(seed)
    queue, rate = Queue(best_first=False), 3.0
    arrivals = rng.poisson(2.5, 200)
    decay, free, delivered, expected = 0.05, 0.0, 0.0, 0.0
    for second, many in enumerate(arrivals):
        queue.put(np.ones(many), np.full(many, decay), np.ones(many), float(second))
        for _ in range(many):
            free = max(free, float(second)) + 1 / rate
            expected += np.exp(-decay * (free - second))
        delivered += queue.serve(rate, float(second), second + 1.0)
    delivered += queue.serve(1e-9 + rate * 100, 200.0, 300.0)
    assert queue.work == pytest.approx(0, abs=1e-6)
    assert delivered == pytest.approx(expected, rel=1e-6), f"seed {seed}"


def test_without_a_consumer_all_is_delivered_at_once():
    run = played(fleet_of(1))
    assert np.allclose(run.delivered, run.crawled)
    assert (run.queue == 0).all()
    assert (run.share == 1).all()
    assert run.spent.sum() == pytest.approx(run.allowed.sum(), rel=0.05)


@pytest.mark.parametrize("best_first", [True, False])
@pytest.mark.parametrize("seed", [1, 2])
def test_back_pressure_delivers_more_and_nobody_beats_the_bound(best_first, seed):
    fleet, able = fleet_of(seed), 0.5 * BUDGET
    bound = relax(fleet, able).bound
    how = {"service": steady(able), "best_first": best_first}
    without = played(fleet, **how)
    with_ = played(fleet, **how, pressure=Pressure(0.0, wait=5.0))
    note = f"seed {seed}: {with_.value / bound:.4f} against {without.value / bound:.4f}"
    assert without.value < with_.value < 1.01 * bound, note
    assert with_.value > 0.95 * bound, note
    assert with_.queue.mean() == pytest.approx(5 * able, rel=0.3), note
    assert with_.spent.sum() == pytest.approx(600 * able, rel=0.03), note
    assert without.queue[-1] > 300, note


def test_failed_visits_bring_nothing_and_leave_what_waits():
    fleet = fleet_of(3)

    def fails(now, rows):
        return (rows + int(now)) % 3 == 0

    run, free = played(fleet, fails=fails), played(fleet)
    assert run.spent.sum() == pytest.approx(free.spent.sum(), rel=0.05)
    assert 0.6 * free.value < run.value < free.value


def test_before_is_called_before_every_decision():
    seen: list[float] = []
    played(fleet_of(1), ticks=5, burn_in=2, before=seen.append)
    assert seen == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
