"""Bodies unpacked piece by piece."""

import gzip
import random
import zlib

import pytest

from dayfly.fetch import FetchError
from dayfly.fetch.body import _STEP, Unpacker

TEXT = b"All that is visible, " * 500


def unpack(packed: bytes, encoding: str, *, cap: int = 1 << 20, step: int = 1 << 16) -> bytes:
    unpacker = Unpacker(encoding, cap)
    for at in range(0, len(packed), step):
        unpacker.feed(packed[at : at + step])
    return unpacker.finish()


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


PACKED = {
    "": TEXT,
    "identity": TEXT,
    "gzip": gzip.compress(TEXT),
    "x-gzip": gzip.compress(TEXT),
    " GZip ": gzip.compress(TEXT),
    "deflate": zlib.compress(TEXT),
    "gzip, gzip": gzip.compress(gzip.compress(TEXT)),
    "deflate, gzip": gzip.compress(zlib.compress(TEXT)),
    "gzip, deflate": zlib.compress(gzip.compress(TEXT)),
    "gzip,identity": gzip.compress(TEXT),
}


@pytest.mark.parametrize("step", [1, 2, 7, 1 << 16])
@pytest.mark.parametrize("encoding", PACKED)
def test_what_we_offer_is_unpacked_however_it_is_cut(encoding, step):
    assert unpack(PACKED[encoding], encoding, step=step) == TEXT


@pytest.mark.parametrize("step", [1, 1 << 16])
def test_deflate_without_its_frame_is_unpacked(step):
    assert unpack(raw_deflate(TEXT), "deflate", step=step) == TEXT


@pytest.mark.parametrize("step", [1, 3, 1 << 16])
def test_several_gzip_members_are_one_body(step):
    packed = gzip.compress(TEXT[:50]) + gzip.compress(b"") + gzip.compress(TEXT[50:])
    assert unpack(packed, "gzip", step=step) == TEXT


@pytest.mark.parametrize("step", [1, 1 << 16])
def test_a_file_that_is_packed_itself_is_unpacked(step):
    assert unpack(gzip.compress(TEXT), "", step=step) == TEXT
    assert unpack(gzip.compress(gzip.compress(TEXT)), "gzip", step=step) == TEXT


@pytest.mark.parametrize("step", [1, 1 << 16])
def test_a_body_is_whole_wherever_it_is_cut_while_it_is_unpacked(step):
    """The last bytes before a cut may come out although nothing more goes in."""
    for length in (*range(_STEP - 3, _STEP + 300, 7), 2 * _STEP, 3 * _STEP + 1):
        text = bytes(length)
        for packed, encoding in (
            (gzip.compress(text), "gzip"),
            (raw_deflate(text), "deflate"),
            (gzip.compress(gzip.compress(text)), "gzip, gzip"),
            (gzip.compress(text), ""),
        ):
            assert unpack(packed, encoding, step=step) == text


def test_an_empty_body_is_empty_however_it_is_packed():
    for encoding in PACKED:
        assert unpack(b"", encoding) == b""


@pytest.mark.parametrize(
    ("packed", "encoding", "kind"),
    [
        (TEXT, "gzip", "encoding"),
        (TEXT, "deflate", "encoding"),
        (gzip.compress(TEXT)[:-9], "gzip", "cut short"),
        (gzip.compress(TEXT)[:1], "gzip", "cut short"),
        (zlib.compress(TEXT)[:-5], "deflate", "cut short"),
        (gzip.compress(TEXT)[:-8] + b"12345678", "gzip", "encoding"),
        (gzip.compress(TEXT) + gzip.compress(TEXT)[:-9], "gzip", "cut short"),
        (TEXT, "br", "encoding"),
        (TEXT, "zstd", "encoding"),
        (TEXT, "compress", "encoding"),
        (TEXT, "gzip, br", "encoding"),
        (TEXT, "gzip, gzip, gzip", "encoding"),
        (TEXT, ", ".join(["gzip"] * 20), "encoding"),
        (TEXT, "\udcff\udcfe", "encoding"),
    ],
    # gzip writes the time down, so the bytes are others each time.
    ids=range(14),
)
def test_anything_else_is_an_error(packed, encoding, kind):
    with pytest.raises(FetchError) as caught:
        unpack(packed, encoding)
    assert caught.value.kind == kind
    assert str(caught.value).isascii()


@pytest.mark.parametrize("rubbish", [b"\0" * 1000, b"rubbish", b"\x1f", b"\x1frubbish"])
def test_what_follows_the_end_is_left_alone(rubbish):
    for step in (1, 1 << 16):
        assert unpack(gzip.compress(TEXT) + rubbish, "gzip", step=step) == TEXT
        assert unpack(zlib.compress(TEXT) + rubbish, "deflate", step=step) == TEXT


def test_the_cap_is_exact():
    for encoding in ("", "gzip", "deflate", "gzip, gzip"):
        assert unpack(PACKED[encoding], encoding, cap=len(TEXT)) == TEXT
        with pytest.raises(FetchError, match="too large"):
            unpack(PACKED[encoding], encoding, cap=len(TEXT) - 1)


def test_no_bytes_make_it_raise_anything_else():
    seed = 5
    print("seed", seed)
    rng = random.Random(seed)
    for _ in range(2000):
        encoding = rng.choice(list(PACKED))
        damaged = bytearray(PACKED[encoding][: rng.randrange(1, 400)])
        for _ in range(rng.randrange(4)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        try:
            unpack(bytes(damaged), encoding, cap=5000, step=rng.choice([1, 10, 1000]))
        except FetchError:
            continue
