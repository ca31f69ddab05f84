"""The body of an answer, never more than we asked for: capped on the wire and once decoded."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aiohttp import ClientResponse

#: A gzip file may be many files one after another; honest servers send one.
_MEMBERS = 64


class BadBody(Exception):
    """Too long, cut short, or packed in a way we did not offer to unpack."""


async def read_body(response: ClientResponse, *, wire_cap: int, decoded_cap: int) -> bytes:
    """The decoded body; the client must have been told not to decode it."""
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip", "x-gzip", ""):
        raise BadBody(f"encoding {encoding[:40]}")
    unpack = _Gzip(decoded_cap) if "gzip" in encoding else _Plain(decoded_cap)
    received = 0
    async for chunk in response.content.iter_any():
        received += len(chunk)
        if received > wire_cap:
            raise BadBody("too large")
        unpack.feed(chunk)
    return unpack.finish()


class _Plain:
    def __init__(self, cap: int) -> None:
        self.cap = cap
        self.parts: list[bytes] = []
        self.size = 0

    def feed(self, chunk: bytes) -> None:
        self.size += len(chunk)
        if self.size > self.cap:
            raise BadBody("too large")
        self.parts.append(chunk)

    def finish(self) -> bytes:
        return b"".join(self.parts)


class _Gzip(_Plain):
    """Unpacks as it arrives: a bomb is noticed at the cap, not when it has gone off."""

    def __init__(self, cap: int) -> None:
        super().__init__(cap)
        self.members = 1
        self.decoder = zlib.decompressobj(wbits=31)

    def feed(self, chunk: bytes) -> None:
        while chunk:
            if self.decoder.eof:
                self.members += 1
                if self.members > _MEMBERS:
                    raise BadBody("too many gzip members")
                self.decoder = zlib.decompressobj(wbits=31)
            try:
                # One byte over the cap is enough to know.
                super().feed(self.decoder.decompress(chunk, self.cap - self.size + 1))
            except zlib.error:
                raise BadBody("broken gzip") from None
            chunk = self.decoder.unused_data or self.decoder.unconsumed_tail

    def finish(self) -> bytes:
        if not self.decoder.eof:
            raise BadBody("cut short")
        return super().finish()
