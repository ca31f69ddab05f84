"""Finding the price at which a budget is spent.

Spending falls as the price rises: smoothly in continuous time, in steps where it is slotted. A
sample of a large fleet gives a first guess; the whole fleet is asked a handful of times.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dayfly.index.limits import Limits
from dayfly.index.response import Response
from dayfly.model import Array, Mask, Rows

#: Spending this close to the budget (relative) is spending it.
_CLOSE = 1e-11
#: … and for a long fleet, where every further digit is another pass over it, this close.
_CLOSE_ENOUGH = 5e-10
#: Fleets longer than this are sampled for a first guess.
_SAMPLE = 1 << 14
#: As many price steps as may be listed and sorted, beside a quarter of the fleet.
_FEW = 1 << 15
#: How far a guess from a sample is trusted at first.
_TRUST = 0.01


@dataclass(frozen=True, kw_only=True, eq=False)
class Found:
    """A price, the range of equally good ones, and the rates that spend the budget there."""

    price: float
    price_range: tuple[float, float]
    rate: Array
    #: What each host asks in all; None where no host has a limit of its own.
    asks: Array | None = None
    #: Whether the rates are the answer to this very price, nothing mixed.
    plain: bool = False


def find_price(response: Response, budget: float, limits: Limits) -> Found:
    """The price at which the fleet spends exactly the budget, or 0 where it cannot."""
    n = len(response.fleet)
    free = _free(response)
    left = budget - limits.spent(free)
    if left >= -1e-15 * budget:
        rate, asks = limits.hold(response, 0.0, free)
        rate = rate + _endless(response, max(left, 0.0), limits)
        return Found(price=0.0, price_range=(0.0, 0.0), rate=rate, asks=asks)
    top = float(response.top.max())
    if budget == 0.0:
        return Found(price=top, price_range=(top, np.inf), rate=np.zeros(n))
    slotted = response.epoch is not None and not limits.any
    low, high, rate_low, rate_high = _bracket(response, budget, limits, top, listable=slotted)
    if slotted and low < high:
        return _step(response, budget, rate_low, rate_high)
    rate, asks = limits.hold(response, low, rate_low)
    price = low
    if low < high:
        # Spending jumps here, or the price has no digits left: mix the answers on either side.
        rate_high, _ = limits.hold(response, high, rate_high)
        asked_low, asked_high = (float(np.dot(response.cost, r)) for r in (rate, rate_high))
        gap = asked_low - asked_high
        share = float(np.clip((budget - asked_high) / gap, 0.0, 1.0)) if gap > 0 else 0.0
        price = high + share * (low - high)
        rate = rate_high + share * (rate - rate_high)
    return Found(
        price=price,
        price_range=(price, price),
        rate=rate,
        asks=np.maximum(asks, price),
        plain=low == high and not limits.any,
    )


def _free(response: Response) -> Array:
    """Rates at a price of next to nothing: every epoch, or at every instant."""
    fleet, epoch = response.fleet, response.epoch
    rate = np.where(response.top > 0, np.inf if epoch is None else 1.0, 0.0)
    life = fleet.lifetime
    if np.isfinite(life).any():
        # Items that expire before they fade lose nothing by waiting until just then.
        before = fleet.harvest.index(life * (1 - 1e-9))
        patient = (response.top > 0) & (before < 1e-12 * response.top * fleet.cost)
        last = life if epoch is None else np.maximum(np.floor(life / epoch * (1 + 1e-12)), 1.0)
        rate = np.where(patient, 1.0 / last, rate)
    return rate


def _endless(response: Response, left: float, limits: Limits) -> Array:
    """Rates of items that never fade: they wait at no loss, and take what nobody else wants."""
    fleet = response.fleet
    rows = (response.top == 0) & np.isinf(fleet.harvest.value(np.full(len(fleet), np.inf)))
    rows &= np.isinf(limits.allowed)[fleet.host_code]
    asked = float(response.cost[rows].sum())
    share = left / asked if asked > 0 else 0.0
    return np.where(rows, share if response.epoch is None else min(share, 1.0), 0.0)


def _bracket(
    response: Response, budget: float, limits: Limits, top: float, *, listable: bool
) -> tuple[float, float, Array, Array]:
    """Two prices between which the budget is spent, as close as needed, and their rates."""
    n = len(response.fleet)
    asked = _Asked(response, limits)
    low, high = 0.0, top
    rate_low, rate_high = np.zeros(n), np.zeros(n)
    few = max(_FEW, n // 4)
    close = _CLOSE if n <= _FEW else _CLOSE_ENOUGH
    price, slope = _guess(response, budget, top)
    last: tuple[float, float] | None = None
    slow = 0
    for _ in range(400):
        width = high - low
        rate, spent = asked(price)
        if abs(spent - budget) <= close * budget and not listable:
            return price, price, rate, rate
        if spent >= budget:
            low, rate_low = price, rate
        else:
            high, rate_high = price, rate
        if high - low <= 2 * np.spacing(high):
            break
        if listable and low > 0 and _ladder(response, rate_low, rate_high).steps <= few:
            break
        # Where spending jumps, a slope may creep towards the jump from one side for ever.
        miss, missed = spent - budget, 0.0 if last is None else last[1] - budget
        closing = miss * missed > 0 and abs(miss) < 0.1 * abs(missed)
        slow = 0 if closing or high - low <= 0.5 * width else slow + 1
        if last is not None and last[1] == spent:
            slow = 9
        elif last is not None and min(spent, last[1]) > 0:
            slope = float(np.log(spent / last[1]) / np.log(price / last[0]))
        last = (price, spent)
        if slow > 3:
            price, slow = _middle(low, high), 0
        else:
            price = _next(price, spent, slope, budget, low, high, listable)
    if low == 0.0:
        low, (rate_low, _) = np.nextafter(0.0, 1.0), asked(np.nextafter(0.0, 1.0))
    return low, high, rate_low, rate_high


class _Asked:
    """Rates and spending at one price for all."""

    def __init__(self, response: Response, limits: Limits) -> None:
        self.response, self.limits = response, limits

    def __call__(self, price: float) -> tuple[Array, float]:
        rate = self.response.rate(np.broadcast_to(price, (len(self.response.fleet),)))
        return rate, self.limits.spent(rate)


def _guess(response: Response, budget: float, top: float) -> tuple[float, float]:
    """A first price, and how spending answers it: d log(spending) / d log(price)."""
    n = len(response.fleet)
    if n <= 2 * _SAMPLE:
        return 0.5 * top, -1.0
    part = response.fleet.take(slice(None, None, n // _SAMPLE))
    sample = Response(part, response.epoch)
    asked = _Asked(sample, Limits(part, None))
    goal = budget * len(part) / n
    low, high = 0.0, top
    while high - low > 1e-3 * high and high > top * 1e-30:
        price = np.sqrt(max(low, top * 1e-30) * high) if high > 4 * low else 0.5 * (low + high)
        low, high = (price, high) if asked(price)[1] >= goal else (low, price)
    price = 0.5 * (low + high)
    up, down = asked(price * 1.02)[1], asked(price * 0.98)[1]
    slope = float(np.log(up / down) / np.log(1.02 / 0.98)) if 0 < up < down else -1.0
    if not 0 < up < down:
        return float(price), slope
    price = float(price * (goal / np.sqrt(up * down)) ** (1 / slope))
    if n > 16 * _SAMPLE:
        # A larger sample costs little beside the whole, and saves asking that once more.
        part = response.fleet.take(slice(None, None, n // (8 * _SAMPLE)))
        asked = _Asked(Response(part, response.epoch, response.threads), Limits(part, None))
        price *= (budget * len(part) / n / asked(price)[1]) ** (1 / slope)
    return price, slope


def _next(
    price: float,
    spent: float,
    slope: float,
    budget: float,
    low: float,
    high: float,
    listable: bool,
) -> float:
    """The next price to ask: along the slope of the logarithms, else in the middle."""
    step = 0.0
    if spent > 0 and slope < 0:
        move = float(np.log(budget / spent) / slope)
        if listable:
            # A step function is only to be caught between two prices, so go a little beyond.
            move += float(np.copysign(min(abs(move) + 1e-12, _TRUST), move))
        step = float(price * np.exp(np.clip(move, -50, 50)))
    return step if low < step < high else _middle(low, high)


def _middle(low: float, high: float) -> float:
    """Halves exponents while the ends are far apart, and digits when they are not."""
    if low > 0 and high <= 4 * low:
        return 0.5 * (low + high)
    return float(np.sqrt(max(low, high * 1e-30)) * np.sqrt(high))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Ladder:
    """Slotted: the ages that sources pass through between two prices."""

    row: Rows
    first: Array
    last: Array
    #: Those that give up altogether, at their highest price, after `last`.
    leaves: Mask

    @property
    def steps(self) -> float:
        return float(np.sum(self.last - self.first + self.leaves))


def _ladder(response: Response, rate_low: Array, rate_high: Array) -> _Ladder:
    row = np.flatnonzero(rate_low > rate_high)
    with np.errstate(divide="ignore"):
        first, last = np.rint(1.0 / rate_low[row]), np.rint(1.0 / rate_high[row])
    leaves = np.isinf(last)
    if leaves.any():
        # Steps crowd towards the highest price; beyond this age they are one within rounding.
        assert response.epoch is not None
        part = Response(response.fleet.take(row[leaves]), response.epoch)
        last[leaves] = np.rint(part.age(part.top * (1 - 1e-12)) / response.epoch)
        last[leaves] = np.maximum(last[leaves], first[leaves])
    return _Ladder(row=row, first=first, last=last, leaves=leaves)


def _step(response: Response, budget: float, rate_low: Array, rate_high: Array) -> Found:
    """Slotted: walk the price steps between two prices, one by one, to the marginal one."""
    cost, epoch = response.cost, response.epoch
    assert epoch is not None
    if abs(float(np.dot(cost, rate_low)) - budget) <= _CLOSE * budget:
        return _plateau(response, rate_low)
    ladder = _ladder(response, rate_low, rate_high)
    count = (ladder.last - ladder.first + ladder.leaves).astype(np.int64)
    row = np.repeat(ladder.row, count)
    nth = np.arange(count.sum()) - np.repeat(count.cumsum() - count, count)
    k = np.repeat(ladder.first, count) + nth
    leaves = np.repeat(ladder.leaves, count) & (k == np.repeat(ladder.last, count))
    at = Response(response.fleet.take(row), epoch).next_price(k * epoch)
    at = np.where(leaves, response.top[row], at)
    drop = cost[row] * np.where(leaves, 1.0 / k, 1.0 / (k * (k + 1.0)))
    order = np.lexsort((k, at))  # by price; a source passes its own ages in turn even when tied
    row, k, at, drop, leaves = row[order], k[order], at[order], drop[order], leaves[order]
    # Spending after each step, summed from its end: a tiny budget is not lost in a difference.
    after = float(np.dot(cost, rate_high)) + np.append(np.cumsum(drop[:0:-1])[::-1], 0.0)
    rate = rate_low.copy()
    j = int(np.searchsorted(-after, -budget * (1 + _CLOSE)))  # first step that leaves ≤ budget
    price = float(at[min(j, len(at) - 1)])
    tied = np.flatnonzero((at >= price * (1 - 1e-14)) & (at <= price * (1 + 1e-14)))
    begin, end = int(tied[0]), int(tied[-1]) + 1
    _walk(rate, row[:begin], k[:begin], leaves[:begin])
    held = rate.copy()
    _walk(rate, row[begin:end], k[begin:end], leaves[begin:end])
    asked, before = float(np.dot(cost, rate)), float(np.dot(cost, held))
    if budget - asked <= _CLOSE * budget:
        return _plateau(response, rate)
    share = min((budget - asked) / (before - asked), 1.0)
    return Found(price=price, price_range=(price, price), rate=rate + share * (held - rate))


def _plateau(response: Response, rate: Array) -> Found:
    """The budget is met exactly: every price is as good at which no source changes its age."""
    epoch = response.epoch
    assert epoch is not None
    with np.errstate(divide="ignore"):
        age = np.where(rate > 0, epoch / rate, np.inf)
    going, later = rate > 0, (rate > 0) & (rate < 1)
    earlier = np.where(later, age - epoch, epoch)
    down = np.where(later, response.next_price(earlier), np.where(going, 0.0, response.top))
    low = float(down.max(initial=0.0))
    high = max(float(response.next_price(age)[going].min(initial=np.inf)), low)
    return Found(price=0.5 * (low + high), price_range=(low, high), rate=rate)


def _walk(rate: Array, row: Rows, k: Array, leaves: Mask) -> None:
    """Move sources one step up in age, in the order given."""
    rate[row] = np.where(leaves, 0.0, 1.0 / (k + 1.0))
