"""The cage: what is hard to read safely is read in a process of its own.

Feeds that are not well-formed are read by feedparser, which is patient, slow and large. Web pages
are read by a real HTML parser, which some pages of a hundred kilobytes keep busy for minutes. So
both run in a process that may take only so much memory and time, opens no files and no sockets,
and is replaced when it dies and after some hundred documents. One document is read at a time; a
few may wait. The process is started when it is first needed (see `inmate.py` for its side).
"""

from __future__ import annotations

import asyncio
import json
import os
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from dayfly.fetch.dates import instant
from dayfly.fetch.feeds import ITEMS, Feed
from dayfly.fetch.gate import Unreadable
from dayfly.fetch.identity import Entry, clean, web_link

#: Larger bodies are not worth the time that they would take.
_BODY = 2 << 20
#: An answer is a few fields per item; more than this is none. It is held three times while it is
#: read: as bytes, as text, and as what that says.
_ANSWER = 8 << 20
#: What the process may inherit: how to find Python, none of our secrets.
_ENVIRONMENT = ("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "SYSTEMROOT")
_INMATE = (sys.executable, "-P", str(Path(__file__).with_name("inmate.py")))


class Cage:
    """Reads malformed feeds and web pages, one at a time, in another process.

    Parameters
    ----------
    command
        What runs in the cage; speaks as `inmate.py` does.
    memory, cpu_s, wall_s
        Bytes of address space, seconds of work per document, seconds until we stop waiting.
    waiting
        So many documents may wait; a further one is refused.
    recycle
        The process is replaced after so many documents, in case it leaks.
    """

    def __init__(
        self,
        command: Sequence[str] = _INMATE,
        *,
        memory: int = 256 << 20,
        cpu_s: int = 2,
        wall_s: float = 60.0,
        waiting: int = 32,
        recycle: int = 300,
    ) -> None:
        self._command = (*command, str(memory), str(cpu_s), str(ITEMS))
        self._wall_s, self._waiting, self._recycle = wall_s, waiting, recycle
        self._process: subprocess.Popen[bytes] | None = None
        self._line: ThreadPoolExecutor | None = None
        self._queued = self._served = 0
        #: How often the process was started; more than once after deaths and recycling.
        self.starts = 0

    async def read(
        self, body: bytes, url: str, now: float, *, select: Mapping[str, str] = {}, why: str = ""
    ) -> Feed:
        """The entries of a malformed feed, or of a web page if it is said where they are.

        The body is in UTF-8. Raises `Unreadable` if there is nothing to be had; `why` is what was
        wrong with it before.
        """
        before = f"{why}; " if why else ""
        if len(body) > _BODY:
            raise Unreadable(f"{before}too large to be read with care")
        if self._queued >= self._waiting:
            raise _Busy(f"{before}too many others wait to be read with care")
        if self._line is None:
            self._line = ThreadPoolExecutor(1, thread_name_prefix="cage")
        self._queued += 1
        try:
            loop = asyncio.get_running_loop()
            answer = await loop.run_in_executor(self._line, self._ask, dict(select), body)
        except _Died as error:
            raise Unreadable(f"{before}the careful parser {error}") from None
        finally:
            self._queued -= 1
        feed = _feed(answer, url, now)
        if not feed.entries and (select or not feed.title):
            raise Unreadable(why or "not a page with items: nothing matches select item")
        return feed

    def close(self) -> None:
        """End the process; the next document starts another."""
        if self._line is None:
            return
        if (process := self._process) is not None:
            process.kill()  # whoever waits for its answer hears at once
        self._line.submit(self._stop)
        self._line.shutdown(wait=True)
        self._line = None

    def _ask(self, select: dict[str, str], body: bytes) -> dict[str, Any]:
        """One document to the process and its answer back; in the cage's own thread."""
        if self._served >= self._recycle:
            self._stop()
        process = self._process or self._start()
        alarm = threading.Timer(self._wall_s, process.kill)
        alarm.start()
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            head = json.dumps(select).encode()
            process.stdin.write(struct.pack(">II", len(head), len(body)) + head + body)
            process.stdin.flush()
            (length,) = struct.unpack(">I", process.stdout.read(4))
            answer = json.loads(process.stdout.read(length)) if length <= _ANSWER else None
        except (OSError, struct.error, ValueError):
            answer = None
        finally:
            alarm.cancel()
        if not isinstance(answer, dict):
            raise _Died(self._stop())
        self._served += 1
        return answer

    def _start(self) -> subprocess.Popen[bytes]:
        environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            # Ctrl-C is for us; the process ends when we close its input.
            start_new_session=True,
        )
        self._served = 0
        self.starts += 1
        return self._process

    def _stop(self) -> str:
        """End the process and say what became of it."""
        process, self._process = self._process, None
        if process is None:
            return "was stopped"
        try:
            process.wait(0.2)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for pipe in (process.stdin, process.stdout):
            try:
                if pipe is not None:
                    pipe.close()
            except OSError:
                pass  # what was still to be written is lost, and nobody wants it
        return _FATES.get(process.returncode, f"died ({process.returncode})")


#: What the end of the process means: its own word, or the signal that ended it.
_FATES = {3: "ran out of memory", -9: "took too long", -24: "took too long", 0: "gave up"}


class _Died(Exception):
    pass


class _Busy(Unreadable):
    """Not now; nothing is known about the document."""

    passing = True


def _feed(answer: dict[str, Any], url: str, now: float) -> Feed:
    """What came back as entries. The process has read hostile bytes, so its word is not trusted."""
    feed = Feed(title=clean(_text(answer.get("title"))), truncated=bool(answer.get("truncated")))
    feed.ttl = clean(_text(answer.get("ttl")), 16)
    entries = answer.get("entries")
    for said in entries[:ITEMS] if isinstance(entries, list) else ():
        if not isinstance(said, dict):
            continue
        dates = [_text(said.get("published")), _text(said.get("updated"))]
        read = (instant(date, now) for date in dates)
        # It leaves some references as they are, and takes any id for an address.
        key = _text(said.get("id")).strip().replace("&amp;", "&")
        link = _text(said.get("link"))
        if link == key and not key.startswith(("http://", "https://")):
            link = ""
        feed.entries.append(
            Entry(
                id=key,
                link=web_link(link, url),
                title=_text(said.get("title")),
                date=dates[0] or dates[1],
                published=next((one for one in read if one is not None), None),
                text=_text(said.get("text")),
            )
        )
    return feed


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
