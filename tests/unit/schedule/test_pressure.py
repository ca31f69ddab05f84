"""The queue stays short, the consumer stays busy, and nothing swings."""

import math

import numpy as np
import pytest

from dayfly.errors import BadInput
from dayfly.schedule.pressure import Pressure


def play(
    service: list[float], *, full: float, wait: float, lag: float = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Queue, share and work done per second; inflow follows the share, after some lag."""
    pressure = Pressure(0.0, wait=wait)
    queue, share, flow, done = 0.0, 1.0, full, 0.0
    course = []
    for second, able in enumerate(service):
        if second:
            share = pressure.share(float(second), queue, done)
        flow += (share * full - flow) / (1.0 + lag)
        queue += flow
        done = min(queue, able)
        queue -= done
        course.append((queue, share, done))
    queues, shares, works = np.array(course).T
    return queues, shares, works


@pytest.mark.parametrize("lag", [0.0, 5.0, 20.0])
@pytest.mark.parametrize("slow", [0.1, 0.5, 0.9])
def test_a_slow_consumer_is_fed_just_what_it_takes(slow, lag):
    queue, share, done = play([10 * slow] * 1200, full=10.0, wait=10.0, lag=lag)
    settled = slice(600, None)
    assert done[settled].mean() == pytest.approx(10 * slow, rel=1e-3)
    assert queue[settled].mean() == pytest.approx(10.0 * 10 * slow, rel=0.1)
    assert share[settled].std() < 0.02
    assert queue[settled].std() < 0.05 * queue[settled].mean()


def test_a_fast_consumer_is_left_alone():
    _, share, _ = play([12.0] * 300, full=10.0, wait=10.0)
    assert (share == 1.0).all()


def test_a_stall_stops_the_crawl_and_its_end_opens_it_again():
    service = [12.0] * 300 + [0.0] * 300 + [12.0] * 600
    queue, share, done = play(service, full=10.0, wait=10.0)
    assert queue.max() < 3 * 10.0 * 10
    assert (share[340:600] == 0).all()
    assert share[660:].min() == 1.0
    assert done[660:].mean() == pytest.approx(10.0, rel=0.01)


def test_after_a_recovery_the_share_does_not_swing():
    service = [6.0] * 600 + [0.0] * 120 + [6.0] * 900
    _, share, done = play(service, full=10.0, wait=10.0, lag=5.0)
    turns = np.count_nonzero(np.diff(np.sign(np.diff(share[800:]))))
    assert np.ptp(share[900:]) < 0.1, f"{turns} turns"
    assert done[760:].mean() == pytest.approx(6.0, rel=0.02)


def test_a_queue_that_was_cleared_in_a_stall_is_tried_again():
    pressure = Pressure(0.0, wait=10.0)
    for second in range(1, 100):
        pressure.share(float(second), queue=min(10.0 * second, 300.0), done=0.0)
    assert pressure.share(100.0, queue=300.0, done=0.0) == 0
    shares = [pressure.share(100.0 + second, queue=0.0, done=0.0) for second in range(1, 60)]
    assert shares[0] > 0
    assert shares[-1] == 1.0


def test_units_do_not_matter():
    """Crawls that bring nothing new, and pages counted by the thousand, only change the scale."""
    rates = [6.0] * 600
    _, share, _ = play(rates, full=10.0, wait=10.0)
    _, scaled, _ = play([rate / 1000 for rate in rates], full=10.0 / 1000, wait=10.0)
    assert np.abs(share - scaled).max() <= 0.01 + 1e-12


def test_no_time_no_change():
    pressure = Pressure(0.0)
    first = pressure.share(1.0, queue=6.0, done=4.0)
    assert pressure.share(1.0, queue=100.0, done=0.0) == first
    assert pressure.share(0.5, queue=100.0, done=0.0) == first


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf])
def test_what_is_no_amount_is_refused(bad):
    with pytest.raises(BadInput, match="queue and done"):
        Pressure(0.0).share(1.0, queue=bad, done=0.0)
    with pytest.raises(BadInput, match="queue and done"):
        Pressure(0.0).share(1.0, queue=0.0, done=bad)
    with pytest.raises(BadInput, match="wait must be positive"):
        Pressure(0.0, wait=bad)
