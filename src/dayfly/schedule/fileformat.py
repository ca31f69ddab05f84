"""Settings and columns in one file: written whole or not at all, read if every byte is right.

A preamble of 32 bytes, a header that lists the columns, the settings as JSON, then the columns as
they lie in memory, little-endian. `docs/reference/snapshot.md` draws it.
"""

from __future__ import annotations

import io
import json
import math
import os
import stat
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any, BinaryIO, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from dayfly.errors import BadInput
from dayfly.files import replacing
from dayfly.schedule.columns import aligned

_Column = npt.NDArray[Any]
_Path = str | os.PathLike[str]

#: Not text, and different after anything that "repairs" line ends or stops at a Ctrl-Z.
_MAGIC = b"\x89Dfly\r\n\x1a"
_VERSION = 1
#: Magic, version, bytes of the header, bytes of the file, checksum of the header; then the checksum
#: of these. Every later version keeps these 32 bytes, so that an older one can say what it sees.
_PREAMBLE, _CHECK = struct.Struct("<8sIIQI"), struct.Struct("<I")
_START = _PREAMBLE.size + _CHECK.size
_DTYPES = {
    name: np.dtype(name).newbyteorder("<")
    for name in ("float64", "float32", "int64", "int32", "uint8", "bool")
}
#: Written and read in pieces that stay in the cache between the disk and the checksum.
_BLOCK = 1 << 20
REMEDY = "use another snapshot, or start from the store with dayfly.schedule.resume"

# A length far beyond any disk, and far from where the arithmetic of numpy ends.
_Size = Annotated[int, msgspec.Meta(ge=0, le=1 << 48)]


class _Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One array in the file; its offset counts from the end of the header."""

    name: str
    dtype: Literal["float64", "float32", "int64", "int32", "uint8", "bool"]
    shape: Annotated[list[_Size], msgspec.Meta(min_length=1, max_length=2)]
    offset: _Size
    crc: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{8}$")]

    @property
    def size(self) -> int:
        return math.prod(self.shape) * _DTYPES[self.dtype].itemsize


class _Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    dayfly: str
    byte_order: Literal["little"]
    meta: _Section
    columns: list[_Section]


def write_snapshot(path: _Path, meta: dict[str, Any], arrays: Mapping[str, _Column]) -> None:
    """Replace a file by these settings and columns in one step.

    Parameters
    ----------
    path
        The file; its folder must exist and have room for the old and the new.
    meta
        Text, whole numbers, floats, truth values and None, in dictionaries and lists. Floats come
        back bit for bit, infinities, NaN and -0.0 too; tuples come back as lists.
    arrays
        Columns of one or two dimensions: float64, float32, int64, int32, uint8 or bool. No second
        copy of them is made.
    """
    _check_plain(meta, "meta")
    # json and not msgspec: it writes infinities and NaN, and reads them back.
    text = np.frombuffer(json.dumps(meta).encode("ascii"), np.uint8)
    columns = [("meta", text), *arrays.items()]
    plan, end = [], 0
    for name, column in columns:
        plan.append(_section(name, column, end))
        end += plan[-1].size
    room = len(_head(plan, end))  # a checksum is as long as any other
    with _told(path, "written"), replacing(path) as file:
        file.seek(room)
        done = [
            msgspec.structs.replace(section, crc=f"{_write(file, column, section):08x}")
            for section, (_, column) in zip(plan, columns, strict=True)
        ]
        file.seek(0)  # last, so that a draft is never a snapshot
        file.write(_head(done, end))


def read_snapshot(path: _Path) -> tuple[dict[str, Any], dict[str, _Column]]:
    """The settings and columns of a file, or BadInput that says what is wrong with it."""
    with _opened(path) as file:
        header = _read_header(file, path)
        text = _read(file, header.meta, f"{path}, settings").tobytes()
        try:
            meta = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise BadInput(f"{path}, settings: are not JSON: {error}; {REMEDY}") from None
        if not isinstance(meta, dict):
            raise BadInput(f"{path}, settings: are not a JSON object; {REMEDY}")
        return meta, {
            section.name: _read(file, section, f"{path}, column {section.name}")
            for section in header.columns
        }


def _check_plain(value: Any, where: str) -> None:
    """Refuse what JSON would change without a word (keys that are not text) or cannot hold."""
    if isinstance(value, dict):
        for key, part in value.items():
            if not isinstance(key, str):
                raise BadInput(f"{where}: the key {key!r} is not text and cannot be stored")
            _check_plain(part, f"{where}.{key}")
    elif isinstance(value, list | tuple):
        for part in value:
            if type(part) is not str:  # a million names of hosts, say
                _check_plain(part, where)
    elif value is not None and not isinstance(value, str | int | float):
        raise BadInput(f"{where}: {type(value).__name__} cannot be stored; use plain numbers")


def _section(name: str, column: _Column, offset: int) -> _Section:
    dtype: Any = column.dtype.name
    if dtype not in _DTYPES:
        raise BadInput(f"column {name}: {dtype} cannot be stored; use one of {', '.join(_DTYPES)}")
    if column.ndim not in (1, 2):
        raise BadInput(f"column {name}: must have one or two dimensions, got {column.ndim}")
    return _Section(name, dtype, list(column.shape), offset, "00000000")


def _head(plan: list[_Section], rest: int) -> bytes:
    """Preamble and header of a file with these sections; the first one holds the settings."""
    header = msgspec.json.encode(_Header(dayfly_version(), "little", plan[0], plan[1:]))
    size = _START + len(header) + rest
    preamble = _PREAMBLE.pack(_MAGIC, _VERSION, len(header), size, zlib.crc32(header))
    return preamble + _CHECK.pack(zlib.crc32(preamble)) + header


def dayfly_version() -> str:
    """Which Dayfly this is."""
    try:
        return version("dayfly")
    except PackageNotFoundError:  # run from its source without being installed
        return "unknown"


def _write(file: BinaryIO, column: _Column, section: _Section) -> int:
    """Append a column; the answer is its checksum."""
    crc, step = 0, max(_BLOCK * len(column) // max(section.size, 1), 1)
    for first in range(0, len(column), step):
        # Rows that already lie as they must are not copied; others are, one block at a time.
        block = np.ascontiguousarray(column[first : first + step], _DTYPES[section.dtype]).data
        crc = zlib.crc32(block, crc)
        file.write(block)
    return crc


@contextmanager
def _opened(path: _Path) -> Iterator[io.FileIO]:
    with _told(path, "read"):
        if not stat.S_ISREG(os.stat(path).st_mode):  # opening a pipe would wait for its writer
            raise BadInput(f"{path}: is a folder or a device, not a snapshot; name the file")
        with open(path, "rb", buffering=0) as file:
            yield file


@contextmanager
def _told(path: _Path, done: str) -> Iterator[None]:
    """What the system refuses, told with the file that it is about."""
    if "\0" in os.fspath(path):
        raise BadInput(f"{path!r}: no file has a NUL in its name")
    try:
        yield
    except FileNotFoundError:
        raise BadInput(f"{path}: cannot be {done}: there is no such file or folder") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be {done}: {error.strerror or error}") from None


def _read_header(file: io.FileIO, path: _Path) -> _Header:
    """The header, if it describes just this file: nothing is allocated that is not there."""
    actual = os.fstat(file.fileno()).st_size
    preamble = file.read(_START)
    if not preamble or not _MAGIC.startswith(preamble[: len(_MAGIC)]):
        what = "is not a Dayfly snapshot" if preamble else "is empty"
        raise BadInput(f"{path}: {what}; {REMEDY}")
    if len(preamble) < _START:
        raise BadInput(f"{path}: is cut short after {actual} bytes; {REMEDY}")
    _, format, length, size, crc = _PREAMBLE.unpack_from(preamble)
    if zlib.crc32(preamble[: _PREAMBLE.size]) != _CHECK.unpack_from(preamble, _PREAMBLE.size)[0]:
        raise BadInput(f"{path}: its first {_START} bytes are damaged; {REMEDY}")
    if format != _VERSION:
        raise BadInput(
            f"{path}: has format {format}, this Dayfly ({dayfly_version()}) reads {_VERSION};"
            f" load it with the Dayfly that wrote it, or {REMEDY}"
        )
    if actual != size:
        what = "is cut short:" if actual < size else "goes on after its end:"
        raise BadInput(f"{path}: {what} {actual} bytes instead of {size}; {REMEDY}")
    text = file.read(min(length, actual))
    if len(text) != length or zlib.crc32(text) != crc:
        raise BadInput(f"{path}, header: is damaged; {REMEDY}")
    try:
        header = msgspec.json.decode(text, type=_Header)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(f"{path}, header: cannot be used: {error}; {REMEDY}") from None
    _check_layout(header, size - _START - length, path)
    return header


def _check_layout(header: _Header, room: int, path: _Path) -> None:
    """Refuse sections that overlap, leave gaps, bear one name or do not fill the file."""
    end = 0
    for section in (header.meta, *header.columns):
        if section.offset != end:
            raise BadInput(
                f"{path}, column {section.name}: starts at {section.offset} instead of {end};"
                f" {REMEDY}"
            )
        end += section.size
        if end > room:
            raise BadInput(
                f"{path}, column {section.name}: ends at {end}, after the {room} bytes that are"
                f" there; {REMEDY}"
            )
    if end != room or len({section.name for section in header.columns}) < len(header.columns):
        raise BadInput(f"{path}, header: does not describe this file; {REMEDY}")
    if header.meta.dtype != "uint8":
        raise BadInput(f"{path}, settings: are not text; {REMEDY}")


def _read(file: io.FileIO, section: _Section, where: str) -> _Column:
    """The next section, straight into its array."""
    column = aligned(tuple(section.shape), _DTYPES[section.dtype])
    raw = column.reshape(-1).view(np.uint8).data
    crc, done = 0, 0
    while done < len(raw):
        got = file.readinto(raw[done : done + _BLOCK])
        if not got:
            raise BadInput(f"{where}: the file became shorter while it was read; {REMEDY}")
        crc = zlib.crc32(raw[done : done + got], crc)
        done += got
    if f"{crc:08x}" != section.crc:
        raise BadInput(f"{where}: is damaged (its checksum differs); {REMEDY}")
    if section.dtype == "bool" and column.view(np.uint8).max(initial=0) > 1:
        raise BadInput(f"{where}: holds values that are neither true nor false; {REMEDY}")
    return column.astype(column.dtype.newbyteorder("="), copy=False)
