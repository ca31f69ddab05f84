"""One line per event, for a pipe: text or JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from datetime import UTC, datetime
from typing import Any, TextIO

from dayfly.cli.output import printable
from dayfly.model import Crawl
from dayfly.schedule import Loop, News, Notice, Recorded, RobotsRead
from dayfly.schedule.writer import STOPPED
from dayfly.serve.vocabulary import shown_url

#: Longest value in a line.
_LONGEST = 500


class Log:
    """Writes events; where nobody reads them any more, the crawl is asked to stop.

    Parameters
    ----------
    form
        "text" or "json".
    """

    def __init__(self, form: str, out: TextIO, now: Callable[[], float]) -> None:
        import structlog

        processors: list[Any] = (
            [structlog.processors.JSONRenderer(ensure_ascii=False)]
            if form == "json"
            else [_readable, structlog.processors.LogfmtRenderer(), _in_front]
        )
        self._logger = structlog.wrap_logger(
            structlog.PrintLogger(out), processors=processors, cache_logger_on_first_use=True
        )
        self._now = now
        self._loop: Loop | None = None
        self._broken = False

    def watch(self, loop: Loop) -> None:
        """Events of this loop from now on."""
        self._loop = loop
        if self._broken:
            loop.stop()

    def say(self, event: str, **values: Any) -> None:
        """One line."""
        if self._broken:
            return
        kept = {name: _plain(value) for name, value in values.items() if value not in (None, "")}
        try:
            self._logger.info(event, at=round(self._now(), 3), **kept)
        except (OSError, ValueError):  # ValueError: it was closed
            self._broken = True
            if self._loop is not None:
                self._loop.stop()

    @property
    def broken(self) -> bool:
        """Whether lines can no longer be written."""
        return self._broken

    def tell(self, news: News) -> None:
        """Something happened."""
        if isinstance(news, Recorded):
            for crawl in news.crawls:
                self._visit(crawl)
        elif isinstance(news, Notice):
            self.say("alarm", kind=news.kind, text=news.text)
        elif isinstance(news, RobotsRead):
            for copy in news.copies:
                self.say(
                    "robots", origin=copy.origin, outcome=copy.outcome, reason=copy.reason,
                    until_at=round(copy.expires, 1),
                )  # fmt: skip

    def alarm(self, text: str) -> None:
        """Something is odd as a whole."""
        self.say("alarm", text=text)

    def _visit(self, crawl: Crawl) -> None:
        assert self._loop is not None
        source = self._loop.sources[crawl.row]
        self.say(
            "visit" if crawl.answered else "abandoned" if crawl.reason == STOPPED else "error",
            source=shown_url(source.id),
            status=str(crawl.status),
            reason=crawl.reason,
            items=len(crawl.items) if crawl.answered else None,
            value=round(crawl.value, 6) if crawl.items else None,
            truncated=True if crawl.truncated else None,
            took_s=round(crawl.took_s, 3) if crawl.took_s else None,  # nobody knows
            wire_bytes=crawl.wire_bytes,
            not_before_at=source.not_before and round(source.not_before, 1),
            why_not=source.why_not,
        )


def _readable(_logger: Any, _method: str, line: MutableMapping[str, Any]) -> Mapping[str, Any]:
    """Instants as people read them; time and event stand first."""
    first = {"at": _instant(line.pop("at")), "event": line.pop("event")}
    return first | {
        name: _instant(value) if name.endswith("_at") else value for name, value in line.items()
    }


def _in_front(_logger: Any, _method: str, line: str) -> str:
    """The first two need no names: there is always a time and an event."""
    at, event, *rest = line.split(" ", 2)
    return " ".join([at.removeprefix("at="), event.removeprefix("event="), *rest])


def _instant(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _plain(value: Any) -> Any:
    """What comes from outside stays on its line, and short."""
    return printable(value[:_LONGEST]) if isinstance(value, str) else value
