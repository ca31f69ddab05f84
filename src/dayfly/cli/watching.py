"""A crawl that is watched: by a live view or a log, and by whoever sends signals."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

from dayfly.units import show_duration, show_rate

if TYPE_CHECKING:
    from dayfly.cli.logs import Log
    from dayfly.cli.options import Budget
    from dayfly.schedule import Loop

#: Frames of the live view per second.
_FRAMES = 2.0


async def run_watched(loop: Loop, told: Watch, until: float | None, once: bool) -> None:
    """Run the loop until then, or until a signal; with `once` until everybody was visited."""
    from dayfly.serve.errand import Errand

    beside: list[asyncio.Future[None]] = []
    try:
        with _Signals(loop, told):
            beside.append(asyncio.ensure_future(told.draw()))
            if once:
                told.errand = Errand(loop)
                beside.append(asyncio.ensure_future(told.errand.run()))
            await loop.run(until)
    finally:
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
        told.close()


class _Signals:
    """The first asks the loop to stop; a second Ctrl-C ends everything at once."""

    def __init__(self, loop: Loop, told: Watch) -> None:
        self._loop, self._told, self._asked = loop, told, False
        self._heard = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # as nohup has it
            self._heard.append(signal.SIGHUP)

    def __enter__(self) -> None:
        running = asyncio.get_running_loop()
        for number in self._heard:
            running.add_signal_handler(number, self._stop, number)

    def __exit__(self, *_: object) -> None:
        running = asyncio.get_running_loop()
        for number in self._heard:
            running.remove_signal_handler(number)

    def _stop(self, number: int) -> None:
        if self._asked and number == signal.SIGINT:
            # What is committed is safe, what is not is made again at the next start.
            self._told.close()
            os._exit(130)
        self._asked = True
        self._told.stopping(signal.Signals(number).name)
        self._loop.stop()


class Watch:
    """Where the crawl is watched: a live view or lines; alarms are the same in both."""

    def __init__(self, form: str | None) -> None:
        from dayfly.cli.logs import Log
        from dayfly.serve.alarms import Alarms

        self._log: Log | None = None if form is None else Log(form, sys.stdout, time.time)
        self._alarms = Alarms()
        self._view: Any = None
        self._screen: Any = None
        self._loop: Loop | None = None
        self.errand: Any = None
        self.asked_to_stop = False

    def begin(self, loop: Loop, title: str, budget: Budget, n: int, new: int) -> None:
        """The loop is ready."""
        self._loop = loop
        if self._log is not None:
            self._log.watch(loop)
            rate = show_rate(loop.scheduler.budget)
            self._log.say("start", sources=n, new=new, budget=rate, pid=os.getpid())
            if not loop.scheduler.promise.kept:
                self._log.alarm(str(loop.scheduler.promise))
            return
        from dayfly.cli.live import LiveView, screen

        self._view = LiveView(loop, title, budget)
        if not loop.scheduler.promise.kept:
            self._view.alarm(str(loop.scheduler.promise))
        self._screen = screen(self._view)
        self._screen.start()

    async def draw(self) -> None:
        """Frame after frame."""
        while self._screen is not None:
            try:
                self._screen.refresh()
            except OSError:  # the terminal was closed
                self._screen = None
                if self._loop is not None:
                    self._loop.stop()
            await asyncio.sleep(1.0 / _FRAMES)

    def tell(self, news: Any) -> None:
        """Something happened."""
        from dayfly.schedule import Recorded

        if self._loop is None:
            return
        watcher = self._log or self._view
        watcher.tell(news)
        if self.errand is not None:
            self.errand.tell(news)
        if isinstance(news, Recorded):
            for crawl in news.crawls:
                for text in self._alarms.see(crawl, self._loop.sources):
                    watcher.alarm(text)

    def alarm(self, text: str) -> None:
        """Something is odd."""
        watcher = self._log or self._view
        if watcher is not None:
            watcher.alarm(text)

    def warn(self, text: str) -> None:
        """Something to know from the start on."""
        if self._log is not None:
            self._log.say("warning", text=text)
        elif self._view is not None:
            self._view.alarm(text)

    def stopping(self, why: str) -> None:
        """Asked to end."""
        self.asked_to_stop = True
        if self._log is not None:
            self._log.say("stopping", why=why)
        elif self._view is not None:
            self._view.stopping = True

    def end(self, loop: Loop) -> int:
        """All is stored; the exit code."""
        counts = loop.counters
        self.close()
        ran = loop.clock.now() - counts.since
        if self._log is not None:
            self._log.say(
                "stop", ran_s=round(ran, 1), visits=counts.visits, items=counts.items,
                value=round(counts.value, 6), failed=counts.failed, refused=counts.refused,
                abandoned=counts.abandoned,
            )  # fmt: skip
            if self._log.broken:
                raise OSError("the log cannot be written any more; stopped, and nothing is lost")
            return 0
        from dayfly.cli.output import print_line, show_number, show_share

        share = ""
        if 0 < counts.value <= counts.expected:
            share = f", {show_share(counts.value / counts.expected)} of what was published"
        print_line(
            f"Stopped after {show_duration(ran)}: {counts.visits:,} visits, {counts.items:,} new"
            f" items, value {show_number(counts.value)}{share}. Nothing is lost."
        )
        print_line("dayfly items shows what was caught, dayfly stats who needs a look.")
        return 0

    def close(self) -> None:
        """Give the terminal back."""
        if self._screen is not None:
            with contextlib.suppress(OSError):  # there may be no terminal any more
                self._screen.stop()
            self._screen = None
