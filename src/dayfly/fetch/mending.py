"""Small faults of a document that can be mended without a guess about its structure.

Most feeds that are not well-formed have one of four faults: something before the first tag, bytes
of another encoding, control characters, or ampersands that nobody escaped. What is done about
them leaves tags alone, and everything else as it was; then the strict parser decides. A parser that
repairs, or a tolerant one, would change links and ids in the process.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.entities import html5

#: Larger bodies are left as they are: each fault takes its time.
_LARGEST = 2 << 20
#: So many characters at a time: each reference that is mended is a text of its own until they are
#: put together. None is as long as the second.
_PIECE, _REACH = 1 << 16, 40
#: Bytes that XML does not allow and feeds contain all the same.
_CONTROL = bytes(c for c in range(32) if c not in (9, 10, 13))
#: What stands for a byte that is not UTF-8, and two characters that XML forbids.
_ODD = {0xDC00 + byte: bytes([byte]).decode("cp1252", "replace") for byte in range(128, 256)}
_ODD |= {0xFFFE: "\ufffd", 0xFFFF: "\ufffd"}
_REFERENCE = re.compile(
    r"&(?:(amp|lt|gt|quot|apos);|#(?:[xX]([0-9a-fA-F]{1,6})|([0-9]{1,7}));|([A-Za-z][A-Za-z0-9]{1,31};))?"
)


def mend(body: bytes) -> bytes:
    """A body in UTF-8 without such faults.

    Leading space and control characters go. Bytes that are not UTF-8 are read as Windows-1252: most
    feeds with such bytes were pasted together from both. Ampersands that begin nothing are escaped,
    and names that HTML has and XML has not become their characters.

    >>> mend(b" <a>caf\\xe9 &nbsp;&amp; AT&T\\x0b</a>").decode()
    '<a>café &#160;&amp; AT&amp;T</a>'
    """
    if len(body) > _LARGEST:
        return body
    text = body.lstrip().translate(None, _CONTROL).decode("utf-8", "surrogateescape")
    if not text.isascii():
        text = text.translate(_ODD)
    # A document that declares its own names knows what they mean.
    return (text if "<!ENTITY" in text else _escaped(text)).encode()


def _escaped(text: str) -> str:
    """References mended everywhere but in CDATA, where an ampersand is only that."""
    parts: list[str] = []
    at = 0
    while (start := text.find("<![CDATA[", at)) >= 0:
        end = text.find("]]>", start)
        end = len(text) if end < 0 else end
        parts += (*_mended(text, at, start), text[start:end])
        at = end
    return "".join([*parts, *_mended(text, at, len(text))])


def _mended(text: str, at: int, end: int) -> Iterator[str]:
    while at < end:
        stop = min(at + _PIECE, end)
        if stop < end:
            # No reference is cut in two.
            stop = max(text.rfind("&", stop - _REACH, stop), stop - _REACH)
        yield _REFERENCE.sub(_reference, text[at:stop])
        at = stop


def _reference(found: re.Match[str]) -> str:
    known, hexadecimal, decimal, named = found.groups()
    if known:
        return found[0]
    if hexadecimal or decimal:
        number = int(hexadecimal, 16) if hexadecimal else int(decimal)
        return f"&#{number};" if _is_character(number) else "\ufffd"
    if named and named in html5:
        return "".join(f"&#{ord(character)};" for character in html5[named])
    return "&amp;" + found[0][1:]


def _is_character(number: int) -> bool:
    """Whether XML has a character of that number."""
    return (
        number in (9, 10, 13)
        or 0x20 <= number <= 0xD7FF
        or 0xE000 <= number <= 0xFFFD
        or 0x10000 <= number <= 0x10FFFF
    )
