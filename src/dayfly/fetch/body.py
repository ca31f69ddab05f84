"""The body of an answer, unpacked as it arrives and never more than we asked for.

Only what zlib unpacks is offered to servers. Bytes are capped on the wire and once unpacked, and so
is what costs time without making bytes: layers of packing, and gzip files one after another.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterable
from itertools import chain

from dayfly.fetch.errors import FetchError

#: What we tell servers that we can unpack.
OFFERED = "gzip, deflate"
#: Packed twice at most. A gzip file may be many files one after another; honest servers send one.
_LAYERS, _MEMBERS = 2, 64
_GZIP = b"\x1f\x8b"
#: So many bytes are unpacked at a time: more at once would be held twice, in parts and whole.
_STEP = 1 << 18


class Unpacker:
    """Takes a body piece by piece, and gives it back whole."""

    def __init__(self, encoding: str, cap: int) -> None:
        names = [name.strip().lower() for name in encoding.split(",")] if encoding else []
        layers = [name for name in names if name not in ("", "identity")]
        if len(layers) > _LAYERS:
            raise FetchError("encoding", f"packed {len(layers)} times")
        for name in layers:
            if name not in ("gzip", "x-gzip", "deflate"):
                raise FetchError("encoding", f"{name} was not offered")
        self._cap = cap
        self._layers = [_Layer(name, cap) for name in reversed(layers)]
        # It hands over what it holds without a copy.
        self._whole = io.BytesIO()

    def feed(self, piece: bytes) -> None:
        """The next piece, as it came over the wire."""
        pieces: Iterable[bytes] = (piece,)
        for layer in self._layers:
            pieces = chain.from_iterable(map(layer.unpack, pieces))
        for part in pieces:
            if self._whole.tell() + len(part) > self._cap:
                raise FetchError("too large", "unpacked" if self._layers else "")
            self._whole.write(part)

    def so_far(self) -> bytes:
        """What has come, whether or not that is all."""
        return self._whole.getvalue()

    def finish(self) -> bytes:
        """All of it; raises `FetchError` where the end is missing."""
        for layer in self._layers:
            layer.finish()
        whole, self._whole = self._whole.getvalue(), io.BytesIO()
        if whole.startswith(_GZIP) and len(self._layers) < _LAYERS:
            # A file that is itself packed, such as sitemap.xml.gz.
            inside = _Layer("gzip", self._cap)
            for start in range(0, len(whole), _STEP):
                self._whole.writelines(inside.unpack(whole[start : start + _STEP]))
            inside.finish()
            whole = self._whole.getvalue()
        return whole


class _Layer:
    """One layer of packing."""

    def __init__(self, name: str, cap: int) -> None:
        self._gzip = name != "deflate"
        self._cap, self._made, self._members = cap, 0, 0
        self._decoder: zlib._Decompress | None = None
        #: A first byte that waits for the second: both together tell what follows.
        self._start = b""
        #: Whether the end has been seen; what follows is padding or rubbish.
        self._ended = False

    def unpack(self, piece: bytes) -> Iterable[bytes]:
        """What this piece adds."""
        more = False
        while (piece or more) and not self._ended:
            if self._decoder is None:
                piece, self._start = self._start + piece, b""
                if len(piece) < 2:
                    self._start = piece
                    return
                self._decoder = self._begin(piece)
                if self._decoder is None:
                    return
            # One byte over the cap is enough to know.
            most = min(_STEP, self._cap - self._made + 1)
            try:
                out = self._decoder.decompress(piece, most)
            except zlib.error:
                raise FetchError("encoding", "broken packing") from None
            if out:
                self._made += len(out)
                if self._made > self._cap:
                    raise FetchError("too large", "unpacked")
                yield out
            # What filled the step may have more behind it, although all of the piece was taken.
            more = len(out) == most and not self._decoder.eof
            if self._decoder.eof:
                piece, self._decoder = self._decoder.unused_data, None
                self._ended = not self._gzip
            else:
                piece = self._decoder.unconsumed_tail

    def _begin(self, piece: bytes) -> zlib._Decompress | None:
        """A decoder for what begins here; None if the end was before it."""
        if not self._gzip:
            # Some servers leave the frame away that the standard asks for.
            framed = piece[0] & 15 == 8 and (piece[0] << 8 | piece[1]) % 31 == 0
            return zlib.decompressobj(15 if framed else -15)
        if self._members and not piece.startswith(_GZIP):
            self._ended = True
            return None
        self._members += 1
        if self._members > _MEMBERS:
            raise FetchError("encoding", f"more than {_MEMBERS} gzip members")
        return zlib.decompressobj(31)

    def finish(self) -> None:
        """Raise `FetchError` unless the end was reached; an empty body has none."""
        if self._decoder is not None or (self._start and not self._members):
            raise FetchError("cut short", "packed body")
