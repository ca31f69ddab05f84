"""The owner's door: a Unix socket beside the database, answered on the loop's thread.

Whoever holds the database's lock may open it. So a socket that is found there belongs to nobody
any more and is replaced; without the lock it is never touched.
"""

from __future__ import annotations

import asyncio
import os
import socket
import stat
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

from dayfly.errors import BadInput, DayflyError, StoreError
from dayfly.serve.wire import (
    MOST_ASKED,
    Reply,
    beside,
    decode_request,
    encode,
    new_socket,
    short_name,
)
from dayfly.store.lock import owned

#: Callers at a time, seconds that one may stay silent, and seconds in which it must read on.
_CALLERS, _SILENCE, _READING = 32, 120.0, 60.0

Answer = Callable[[str, Mapping[str, Any]], Awaitable[Any]]


@contextmanager
def taken(db: Path, patience: float = 5.0) -> Iterator[None]:
    """Own this database inside the block; a command that has it for a moment is waited for."""
    path = beside(db, "")
    give_up = time.monotonic() + patience
    while True:
        lock = owned(path)
        try:
            lock.__enter__()
            break
        except StoreError as error:
            if isinstance(error.__cause__, OSError):  # it has no owner: the folder is to blame
                raise
            # A crawler stays; only commands come and go.
            if time.monotonic() > give_up or beside(db, ".sock").exists():
                raise StoreError(f"{error}; stop that one first, or use another --db") from None
            time.sleep(0.1)
    try:
        yield
    finally:
        lock.__exit__(None, None, None)


@asynccontextmanager
async def serving(db: Path, answer: Answer) -> AsyncIterator[None]:
    """Answer at this database's socket inside the block. The caller holds the database's lock."""
    path = beside(db, ".sock")
    door = _Door(answer)
    listening = _bound(path)
    server = await asyncio.start_unix_server(door.welcome, sock=listening, limit=MOST_ASKED)
    mine = os.lstat(path).st_ino
    try:
        yield
    finally:
        with suppress(OSError):
            if os.lstat(path).st_ino == mine:
                path.unlink()
        server.close()
        await door.close()
        await server.wait_closed()


def _bound(path: Path) -> socket.socket:
    """A socket that listens under this name and that only its owner may use."""
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise BadInput(f"{path}: is in the way; remove it or use another --db")
        path.unlink()
    listening = new_socket()
    before = os.umask(0o177)
    try:
        with short_name(path) as name:
            listening.bind(name)
        listening.listen(_CALLERS)
    except OSError as error:
        listening.close()
        raise BadInput(f"{path}: no socket can be made: {error.strerror or error}") from None
    except BaseException:
        listening.close()
        raise
    finally:
        os.umask(before)
    return listening


class _Door:
    """Who is here, and what they are told."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._callers: set[asyncio.Task[None]] = set()

    async def welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        content = False
        try:
            if len(self._callers) >= _CALLERS:
                busy = Reply(error="too many callers; try again", kind="StoreError")
                await _say(writer, encode(busy))
                content = True
                return
            self._callers.add(task)
            await self._talk(reader, writer)
            content = True
        except (OSError, TimeoutError, asyncio.CancelledError):
            pass  # gone, silent for too long, or we close
        finally:
            await _part(writer, content)
            # Not before: who is told nothing more still holds what was not read.
            self._callers.discard(task)

    async def close(self) -> None:
        """Send everybody away, in the middle of a question too."""
        for task in self._callers:
            task.cancel()
        if self._callers:
            await asyncio.wait(self._callers, timeout=5.0)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            try:
                async with asyncio.timeout(_SILENCE):
                    line = await reader.readuntil(b"\n")
            except asyncio.IncompleteReadError:
                return
            except asyncio.LimitOverrunError:
                said = f"a request has at most {MOST_ASKED} bytes"
                await _say(writer, encode(Reply(error=said, kind="BadInput")))
                return
            await _say(writer, await self._reply(line))

    async def _reply(self, line: bytes) -> bytes:
        try:
            request = decode_request(line)
            return encode(Reply(answer=await self._answer(request.ask, request.arguments)))
        except DayflyError as error:
            said, kind = str(error) or "no reason given", type(error).__name__
        except Exception as error:  # a question never ends the crawl
            said, kind = f"internal error: {type(error).__name__}: {error}", ""
        return encode(Reply(error=said.encode(errors="replace").decode(), kind=kind))


async def _part(writer: asyncio.StreamWriter, content: bool) -> None:
    """Let go of a caller; whoever does not read the rest is not waited for."""
    if content:
        with suppress(OSError, TimeoutError, asyncio.CancelledError):
            writer.close()
            async with asyncio.timeout(_READING):
                await writer.wait_closed()
    writer.transport.abort()


async def _say(writer: asyncio.StreamWriter, line: bytes) -> None:
    writer.write(line)
    async with asyncio.timeout(_READING):
        await writer.drain()
