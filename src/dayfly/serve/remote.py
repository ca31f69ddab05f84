"""The office of another process, asked through its socket."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any, Self

import msgspec

from dayfly.errors import BadInput, DayflyError, StaleFence, StoreError
from dayfly.serve.wire import (
    MOST_ANSWERED,
    Reply,
    Request,
    beside,
    encode_request,
    new_socket,
    short_name,
)

#: Seconds to wait for an answer; a backup of a large database takes its time.
_PATIENCE = 300.0
#: Sources sent, or asked for, at a time.
_PORTION = 1000
_KINDS: dict[str, type[DayflyError]] = {
    "BadInput": BadInput,
    "UnknownName": BadInput,
    "StoreError": StoreError,
    "StaleFence": StaleFence,
}


def answering(db: Path) -> Remote | None:
    """The running owner of this database, or None where nobody answers."""
    path = beside(db, ".sock")
    channel = new_socket()
    channel.settimeout(_PATIENCE)
    try:
        with short_name(path) as name:
            channel.connect(name)
    except (FileNotFoundError, ConnectionRefusedError):
        channel.close()
        return None
    except OSError as error:
        channel.close()
        raise StoreError(f"{path}: cannot be reached: {error.strerror or error}") from None
    except BaseException:
        channel.close()
        raise
    return Remote(channel, path)


class Remote:
    """Asks the crawler that owns the database."""

    def __init__(self, channel: socket.socket, path: Path) -> None:
        self._channel, self._path = channel, path
        self._lines = channel.makefile("rb")

    def ask(self, what: str, **arguments: Any) -> Any:
        """The answer to one operation; long lists go in portions."""
        if what == "sources.add":
            return self._add(**arguments)
        answer = self._exchange(what, arguments)
        while what == "sources.list" and "limit" not in arguments and answer["next"] is not None:
            more = self._exchange(what, {**arguments, "after": answer["next"]})
            answer["sources"] += more["sources"]
            answer["next"] = more["next"]
        return answer

    def _add(self, sources: list[Any], **arguments: Any) -> dict[str, Any]:
        total: dict[str, Any] = {"added": 0, "known": 0, "rows": []}
        for first in range(0, max(len(sources), 1), _PORTION):
            part = {**arguments, "sources": sources[first : first + _PORTION]}
            answer = self._exchange("sources.add", part)
            total = {key: total[key] + answer[key] for key in total}
        return total

    def _exchange(self, what: str, arguments: dict[str, Any]) -> Any:
        try:
            self._channel.sendall(encode_request(Request(ask=what, arguments=arguments)))
            line = self._lines.readline(MOST_ANSWERED)
        except TimeoutError:
            raise StoreError(
                f"{self._path}: the crawler did not answer within {_PATIENCE:g} s; is it stopped?"
            ) from None
        except OSError as error:
            raise StoreError(
                f"{self._path}: the crawler went away: {error.strerror or error}; ask again"
            ) from None
        if not line.endswith(b"\n"):
            raise StoreError(f"{self._path}: the crawler went away while it answered; ask again")
        reply = msgspec.json.decode(line, type=Reply)
        if reply.error:
            raise _KINDS.get(reply.kind, DayflyError)(reply.error)
        return reply.answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._lines.close()
        self._channel.close()
