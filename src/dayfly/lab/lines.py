"""The lines of a file from anywhere: unpacked, decoded, of bounded length, and numbered."""

from __future__ import annotations

import gzip
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, NoReturn, cast

from dayfly.errors import BadInput
from dayfly.model import LONGEST_LINE

#: Bytes read at a time.
_BLOCK = 1 << 20


@contextmanager
def opened(path: str | os.PathLike[str], name: str) -> Iterator[IO[bytes]]:
    """The file, unpacked if it is packed, whatever its name says."""
    if os.fspath(path) == "-":
        yield _unpacked(sys.stdin.buffer)
        return
    try:
        file = open(path, "rb")  # noqa: SIM115
    except FileNotFoundError:
        raise BadInput(f"{name}: there is no such file") from None
    except IsADirectoryError:
        raise BadInput(f"{name}: is a folder, not a file") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or error
        raise BadInput(f"{name!r}: cannot be opened: {reason}") from None
    with file:
        yield _unpacked(file)


def _unpacked(file: IO[bytes]) -> IO[bytes]:
    raw: Any = file
    buffered = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(raw)
    packed = buffered.peek(2)[:2] == b"\x1f\x8b"
    return cast(IO[bytes], gzip.GzipFile(fileobj=buffered) if packed else buffered)


def blocks(file: IO[bytes], name: str) -> Iterator[tuple[int, list[str]]]:
    """Whole lines, some at a time, with the number of the first; none is longer than allowed."""
    number, rest = 1, b""
    while True:
        more = file.read(_BLOCK)
        block, newline, rest = (rest + more).rpartition(b"\n") if more else (rest, b"", b"")
        if more and not newline and len(rest) <= LONGEST_LINE:
            continue
        if block or newline:
            lines = _decoded(block, number, name)
            yield number, lines
            number += len(lines)
        if len(rest) > LONGEST_LINE:
            fail(name, number, None, f"is longer than {LONGEST_LINE} characters")
        if not more:
            return


def _decoded(block: bytes, number: int, name: str) -> list[str]:
    if number == 1:
        block = block.removeprefix(b"\xef\xbb\xbf")
    try:
        lines = block.decode().split("\n")
    except UnicodeDecodeError as error:
        line = number + block[: error.start].count(b"\n")
        fail(name, line, None, "is not UTF-8 text; save it as UTF-8")
    lines = [line.removesuffix("\r") for line in lines]
    if b"\0" in block:
        line = number + next(place for place, line in enumerate(lines) if "\0" in line)
        fail(name, line, None, "contains a NUL byte")
    if len(max(lines, key=len)) > LONGEST_LINE:
        line = number + next(p for p, line in enumerate(lines) if len(line) > LONGEST_LINE)
        fail(name, line, None, f"is longer than {LONGEST_LINE} characters")
    return lines


def fail(name: str, line: int | None, column: str | None, what: str) -> NoReturn:
    """Say what is wrong, and where."""
    where = name + (f", line {line}" if line else "") + (f", column {column}" if column else "")
    raise BadInput(f"{where}: {what}")
