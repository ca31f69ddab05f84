"""Bytes of any encoding as UTF-8, so that everything behind sees one encoding.

The rule, in this order: a byte order mark; UTF-16 or UTF-32 without one, seen by zero bytes; what
the document says of itself; what the header says; UTF-8. What the document says comes before the
header because it travels with the document, and servers add a header without looking. The header
wins only where it says UTF-8 and the bytes are. Latin-1 means Windows-1252, as in browsers. An
encoding that is unknown, or that does not contain ASCII, counts as not said. A web page can say it
in a `meta` element of its head.

A body is read piece by piece: as text, all of it at once may take four times its bytes.
"""

from __future__ import annotations

import codecs
import functools
import io
import re

from dayfly.fetch.gate import Unreadable

_DECLARED = re.compile(rb"""^[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']""")
_CHARSET = re.compile(r"""charset\s*=\s*["']?([A-Za-z0-9._:-]{1,40})""", re.IGNORECASE)
_META = re.compile(
    rb"""<meta\b[^>]{0,200}?\bcharset\s*=\s*["']?([A-Za-z0-9._:-]{1,40})""", re.IGNORECASE
)
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
#: Web pages say it within so many bytes, or not at all.
_HEAD = 1024
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip
#: Encodings by the name that Python gives them, and what we take them for; empty for UTF-8.
_KNOWN = {
    "utf-8": "", "ascii": "", "utf-16": "", "utf-16-le": "", "utf-16-be": "",
    "iso8859-1": "cp1252", "iso8859-9": "cp1254", "shift_jis": "cp932", "cp932": "cp932",
    "euc_jp": "euc_jp", "iso2022_jp": "iso2022_jp", "euc_kr": "cp949", "cp949": "cp949",
    "gb2312": "gb18030", "gbk": "gb18030", "gb18030": "gb18030", "big5": "big5hkscs",
    "cp950": "big5hkscs", "big5hkscs": "big5hkscs",
}  # fmt: skip
_PIECE = 1 << 18
#: A body and the same in UTF-8, together: both are held while it is read.
_BOTH = 30 << 20
#: Families of encodings with one byte for each character.
_NARROW = ("cp", "iso8859-", "koi8-", "mac-", "tis-620", "kz1048", "ptcp154", "hp-roman8")


def as_utf8(body: bytes, content_type: str = "") -> bytes:
    """A body in UTF-8 without a mark; what is not valid in its encoding becomes U+FFFD.

    A body that is taken for UTF-8 is handed back as it is: the parser finds out whether it is.
    Raises `Unreadable` where the result would be too long: one byte can become three.

    >>> as_utf8('<?xml version="1.0" encoding="latin-1"?><a>é</a>'.encode("latin-1")).decode()
    '<?xml version="1.0" encoding="latin-1"?><a>é</a>'
    """
    if body.startswith(codecs.BOM_UTF8):
        return body[3:]
    for mark, encoding in _MARKS:
        if body.startswith(mark):
            return _transcoded(body, encoding)
    if b"\0" in body[:4]:
        width = "32" if b"\0\0" in body[:4] else "16"
        return _transcoded(body, f"utf-{width}-{'be' if body[:1] == bytes(1) else 'le'}")
    found = _DECLARED.match(body[: _HEAD + 300].lstrip()[:300])
    declared = _known(found[1].decode()) if found else None
    if declared is None or declared:
        said = _CHARSET.search(content_type[:300])
        header = _known(said[1]) if said else None
        if header is not None and (declared is None or (not header and _is_utf8(body))):
            declared = header
    return _transcoded(body, declared) if declared else body


def page_as_utf8(body: bytes, content_type: str = "") -> bytes:
    """A web page in UTF-8: where the header says nothing, a `meta` element may.

    >>> page_as_utf8('<meta charset="iso-8859-1"><p>é</p>'.encode("latin-1")).decode()
    '<meta charset="iso-8859-1"><p>é</p>'
    """
    said = _CHARSET.search(content_type[:300])
    if not (said and _known(said[1]) is not None) and (
        found := _META.search(_COMMENT.sub(b"", body[:_HEAD]))
    ):
        content_type = f"text/html; charset={found[1].decode()}"
    return as_utf8(body, content_type)


@functools.lru_cache(maxsize=256)
def _known(name: str) -> str | None:
    """What to decode with, empty for UTF-8; None for an encoding that nobody should use."""
    try:
        python = codecs.lookup(name).name
        if python in _KNOWN:
            return _KNOWN[python]
        # What looks like ASCII must be ASCII, or a document could hide from the checks behind.
        ascii_bytes = bytes(range(128))
        if python.startswith(_NARROW) and ascii_bytes.decode(python) == ascii_bytes.decode():
            return python
    except (LookupError, ValueError):
        pass
    return None


def _is_utf8(body: bytes) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(body), _PIECE):
            decoder.decode(body[start : start + _PIECE])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _transcoded(body: bytes, encoding: str) -> bytes:
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    text = io.BytesIO()
    for start in range(0, len(body), _PIECE):
        end = start + _PIECE
        text.write(decoder.decode(body[start:end], final=end >= len(body)).encode())
        if len(body) + text.tell() > _BOTH:
            raise Unreadable(f"too large: more than {_BOTH} bytes in its encoding and in UTF-8")
    return text.getvalue()
