"""Rivals timed in turn, so that whatever else the machine does hits all of them alike."""

import statistics
import time
from collections.abc import Callable


class Times:
    """Seconds of one contender, over the rounds."""

    def __init__(self, seconds: list[float]) -> None:
        self.least, self.median = min(seconds), statistics.median(seconds)

    def __str__(self) -> str:
        return f"{_shown(self.least)} / {_shown(self.median)}"


def compare(contenders: dict[str, Callable[[], object]], rounds: int = 7) -> dict[str, Times]:
    """Each contender once per round, after one round that does not count."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(rounds + 1):
        for name, work in contenders.items():
            start = time.perf_counter()
            work()
            if number:
                seconds[name].append(time.perf_counter() - start)
    return {name: Times(taken) for name, taken in seconds.items()}


def show(title: str, times: dict[str, Times], against: str) -> None:
    """A table: minimum / median, and how many times faster than `against`."""
    print(f"\n{title}")
    base = times[against]
    width = max(len(name) for name in times)
    for name, taken in times.items():
        ratio = f"{base.least / taken.least:8.2f}x min {base.median / taken.median:8.2f}x median"
        print(f"  {name:<{width}}  {taken!s:>22}   {ratio}")


def _shown(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms" if seconds < 1 else f"{seconds:.2f} s"
