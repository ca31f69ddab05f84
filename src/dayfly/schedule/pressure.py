"""Back-pressure: how much of the budget the consumer of what is crawled can take.

Whoever reads the crawled pages (an indexing engine, a classifier) works at a rate of its own. What
is crawled faster than that waits in a queue, and its value decays there as it would have decayed at
the source; only it has been paid for, and newer content of the same source is crawled no better.
So crawl just as fast as is consumed, and let what waits wait at the sources, where the price keeps
the best of it on top.

Let s be the service rate, Q the queue and h the time that content may wait. The inflow wanted is

    w = s + (h·s − Q) / (2h),

what is served, and a correction that brings the queue to h seconds of work within 2h; the answer is
w as a share of the inflow that the whole budget brings, between 0 and 1. Three things are learnt:

- s from completions, averaged over h, while something waits: only then do they show what the
  consumer can do. When nothing waits it can do at least what it did, and s grows until something
  does, or until it is enough for the whole budget.
- the inflow at full budget from arrivals and the shares answered so far, because crawls fail, pages
  are unchanged, and costs differ.

Q′ = w − s is a stable system of first order with time constant 2h, and s comes from outside the
loop, so nothing swings. In a stall s falls within h, the share is 0 before 3h of work wait, and
after the stall the first completions open it again.
"""

from __future__ import annotations

import math

from dayfly.errors import BadInput

#: The inflow at full budget is averaged over so many times the waiting time.
_LONG = 8.0


class Pressure:
    """Told how long the queue is, answers the share of the budget to spend.

    Parameters
    ----------
    now
        Time to start from.
    wait
        Seconds that content may wait to be consumed: short beside its half-life, but several times
        what passes between two calls.

    Examples
    --------
    Ten pages per second come in, four are done:

    >>> pressure = Pressure(0.0)
    >>> shares = [pressure.share(t, queue=6.0 * t, done=4.0) for t in (1.0, 2.0, 3.0)]
    >>> shares
    [0.59, 0.46, 0.39]
    """

    def __init__(self, now: float, *, wait: float = 30.0) -> None:
        if not (math.isfinite(wait) and wait > 0):
            raise BadInput(f"wait must be positive and finite, got {wait}")
        self.wait = wait
        #: What the consumer can do per second; infinite until something had to wait.
        self.service = math.inf
        self._now, self._queue, self._share = now, 0.0, 1.0
        self._came = self._open = 0.0  # averages of inflow and share

    def share(self, now: float, queue: float, done: float) -> float:
        """The share of the budget to spend from now on.

        Parameters
        ----------
        now
            The time; at least that of the last call.
        queue
            What waits to be consumed, in pages or any other unit.
        done
            What was consumed since the last call, in the same unit.
        """
        if not (0 <= queue < math.inf and 0 <= done < math.inf):
            raise BadInput(
                f"queue and done must be finite and not negative, got {queue} and {done}"
            )
        elapsed = now - self._now
        if elapsed <= 0:
            return self._share
        self._learn(elapsed, queue, done)
        self._now, self._queue = now, queue
        self._share = self._answer(queue)
        return self._share

    def _learn(self, elapsed: float, queue: float, done: float) -> None:
        came = max(queue - self._queue + done, 0.0) / elapsed
        step = -math.expm1(-elapsed / (_LONG * self.wait))
        self._came += step * (came - self._came)
        self._open += step * (self._share - self._open)
        rate = done / elapsed
        if queue > 0:
            # Where nothing is known yet, the first second is better than nothing.
            known = self.service if math.isfinite(self.service) else rate
            self.service = known - math.expm1(-elapsed / self.wait) * (rate - known)
        else:
            # From nothing no growth leads up: a twentieth of all may always be tried. And who can
            # take all that comes need not be thought faster still: a stall must show soon.
            full = self._full()
            least = max(self.service, rate, 0.05 * full)
            self.service = min(least * math.exp(min(elapsed / self.wait, 1.0)), max(full, rate))

    def _full(self) -> float:
        """What the whole budget brings in per second."""
        return self._came / self._open if self._open > 0 else 0.0

    def _answer(self, queue: float) -> float:
        wanted = 1.5 * self.service - queue / (2.0 * self.wait)
        full = self._full()
        if full <= 0:
            return 1.0
        # In hundredths: a share that trembles would move the price for nothing.
        return round(min(max(wanted / full, 0.0), 1.0), 2)
