"""How an office is spoken to: one JSON object per line, over a Unix socket beside the database.

{"ask": "explain", "with": {"source": "heise"}}
{"answer": {…}}     or     {"error": "unknown source 'heise'; …", "kind": "UnknownName"}
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from dayfly.errors import BadInput

#: Longest line that an office reads, and longest answer that a caller accepts.
MOST_ASKED = 16 * 1024 * 1024
MOST_ANSWERED = 512 * 1024 * 1024
#: The kernel's limit on the name of a Unix socket, without the final NUL.
_LONGEST_NAME = 107


class Request(msgspec.Struct, forbid_unknown_fields=True):
    """One question."""

    ask: str
    arguments: dict[str, Any] = msgspec.field(default_factory=dict, name="with")


class Reply(msgspec.Struct, omit_defaults=True):
    """One answer, or why there is none."""

    answer: Any = None
    error: str = ""
    kind: str = ""


def encode(message: Request | Reply) -> bytes:
    """As one line; infinity and NaN are null."""
    return msgspec.json.encode(message) + b"\n"


def encode_request(request: Request) -> bytes:
    """A question as one line, or `BadInput`: a name from a shell may hold any bytes, JSON not."""
    try:
        return encode(request)
    except UnicodeEncodeError as error:
        near = error.object[max(error.start - 20, 0) : error.end + 20]
        raise BadInput(
            f"{near!r} is not UTF-8, which a running crawler cannot be told; use another name"
        ) from None


def decode_request(line: bytes) -> Request:
    """A question from outside, or `BadInput`."""
    try:
        return msgspec.json.decode(line, type=Request)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(f"not a request: {error}") from None


def beside(db: Path, suffix: str) -> Path:
    """The file that belongs to this database; one file, whichever way its name is written."""
    return Path(os.path.realpath(db) + suffix)


@contextmanager
def short_name(path: Path) -> Iterator[str]:
    """A name of this socket that is short enough for the kernel, valid inside the block.

    Where the path is too long, its folder is opened and named by its number.
    """
    name = os.fspath(path)
    if len(os.fsencode(name)) <= _LONGEST_NAME:
        yield name
        return
    try:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise BadInput(f"{path.parent}: cannot be opened: {error.strerror or error}") from None
    try:
        name = f"/proc/self/fd/{folder}/{path.name}"
        if len(os.fsencode(name)) > _LONGEST_NAME or not os.path.isdir(f"/proc/self/fd/{folder}"):
            raise BadInput(f"{path}: too long a name for a Unix socket; use a shorter --db")
        yield name
    finally:
        os.close(folder)


def new_socket() -> socket.socket:
    """A Unix socket that no child process inherits."""
    return socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
