"""Files that people hand over and get back: read with care, written whole or not at all."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from dayfly.errors import BadInput
from dayfly.files import replacing
from dayfly.model import LONGEST_LINE, Fleet, read_csv


def called(path: str | os.PathLike[str]) -> str:
    """The name of a file for messages; people type addresses there, too, with passwords in them."""
    name = os.fspath(path)
    if "@" in name:
        from dayfly.config.addresses import without_credentials

        name = without_credentials(name)
    return "<stdin>" if name == "-" else name


def read_fleet(path: str | os.PathLike[str]) -> Fleet:
    """The fleet in a CSV file; `-` reads standard input."""
    name = called(path)
    with _opened(path, name) as file:
        try:
            return read_csv(_lines(file, name), name)
        except OSError as error:
            raise BadInput(f"{name}: cannot be read: {error.strerror or error}") from None


def write_text_atomically(path: str | os.PathLike[str], text: str) -> None:
    """Replace a file by this text in one step."""
    try:
        encoded = text.encode()
        with replacing(path) as file:
            file.write(encoded)
    except UnicodeEncodeError as error:
        raise BadInput(f"{path}: the text cannot be written as UTF-8: {error.reason}") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror or error}") from None


def read_limited(path: str | os.PathLike[str], most: int) -> tuple[str, bytes]:
    """The name of a file, for messages, and its bytes, if there are no more than `most`."""
    name = called(path)
    with _opened(path, name) as file:
        try:
            content = bytes(file.buffer.read(most + 1))
        except OSError as error:
            raise BadInput(f"{name}: cannot be read: {error.strerror or error}") from None
    if len(content) > most:
        raise BadInput(f"{name}: is larger than {most:,} bytes; split it")
    return name, content


@contextmanager
def _opened(path: str | os.PathLike[str], name: str) -> Iterator[io.TextIOWrapper]:
    # Undecodable bytes come through as surrogates, so that the line they stand on can be told.
    if os.fspath(path) == "-":
        file = io.TextIOWrapper(sys.stdin.buffer, "utf-8-sig", "surrogateescape")
        try:
            yield file
        finally:
            file.detach()  # standard input is not ours to close
        return
    try:
        file = open(path, encoding="utf-8-sig", errors="surrogateescape")  # noqa: SIM115
    except FileNotFoundError:
        raise BadInput(f"{name}: there is no such file") from None
    except IsADirectoryError:
        raise BadInput(f"{name}: is a folder, not a file") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or error
        raise BadInput(f"{name!r}: cannot be opened: {reason}") from None
    with file:
        yield file


def _lines(file: io.TextIOWrapper, name: str) -> Iterator[str]:
    """Lines of bounded length; what is longer arrives cut and is refused by the reader."""
    number = 0
    while line := file.readline(LONGEST_LINE + 2):
        number += 1
        if not line.isascii():
            try:
                line.encode()
            except UnicodeEncodeError:
                raise BadInput(
                    f"{name}, line {number}: is not UTF-8 text; save it as UTF-8"
                ) from None
        yield line
        if len(line) > LONGEST_LINE + 1:
            return
