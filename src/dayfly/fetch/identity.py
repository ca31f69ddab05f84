"""What is the same item, and what of an item is kept.

The identity of an item is its id, else its link: so its title or text may be rewritten and it stays
the same item. Where it has neither, it is its title with its date, else a hash of date and text. An
id that several items of one document share although their links differ identifies nothing; there
id and link together do.

Texts are data. A title keeps its characters as they are once the format's own escaping is undone;
what looks like markup in it stays visible as text. Control characters and those that change the
direction of text go, white space is collapsed, lengths are capped.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from urllib.parse import urljoin, urlsplit

from msgspec import Struct

from dayfly.model import Item, compared

#: Longer identities are replaced by their hash, longer titles are cut; a cut link would be another
#: one, so longer links are left out.
_KEY, _TITLE, _LINK = 512, 1024, 4096

_SPACES = (9, 10, 11, 12, 13, 0x85)
_BIDI = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_CLEAN: dict[int, str | None] = {
    **dict.fromkeys((*range(32), *range(127, 160), *_BIDI, *range(0xD800, 0xE000), 0xFEFF)),
    **dict.fromkeys(_SPACES, " "),
}


#: A link that nothing has to be done to, as most are.
is_plain = re.compile(r"https?://[\w.~:/?#@!$'()*+,;=%-]{1,2000}(?<!://)", re.ASCII).fullmatch


class Entry(Struct, frozen=True, gc=False):
    """An item as its document has it."""

    id: str = ""
    link: str = ""
    title: str = ""
    #: As it is written, and as POSIX seconds.
    date: str = ""
    published: float | None = None
    #: Its text, only where there is nothing else to tell it by.
    text: str = ""


def items_of(entries: Iterable[Entry]) -> tuple[Item, ...]:
    """Items in the order of the document, each once; those with nothing to tell them by go.

    >>> [item.key for item in items_of([Entry(id="7"), Entry(id="7"), Entry(title="Hello")])]
    ['7', 'Hello']
    >>> [item.key for item in items_of([Entry(id="7", link="http://x/1"),
    ...                                 Entry(id="7", link="http://x/2")])]
    ['7 http://x/1', '7 http://x/2']
    >>> [item.key for item in items_of([Entry(link="http://x/1"), Entry(link="https://x/1")])]
    ['http://x/1']
    """
    listed = list(entries)
    shared: set[str] = set()
    links = {entry.id: entry.link for entry in listed}
    if len(links) < len(listed):
        shared = {entry.id for entry in listed if entry.id and links[entry.id] != entry.link}
    items: list[Item] = []
    # Numbers that stand for keys: a sitemap has fifty thousand of them, and long ones.
    seen: set[int] = set()
    for entry in listed:
        title, link = clean(entry.title), entry.link
        key = entry.id or link
        if shared and entry.id in shared:
            key = f"{entry.id} {link}"
        elif not key:
            key = f"{title} {entry.date}" if title else _hash(entry.date + entry.text)
            if not (title or entry.date or entry.text):
                continue
        key = kept_key(key)
        if key and (number := hash(compared(key))) not in seen:
            seen.add(number)
            items.append(Item(key=key, published=entry.published, title=title, link=link))
    return tuple(items)


def kept_key(key: str) -> str:
    """A key as it is stored."""
    return clean(key, _KEY) if len(key) <= _KEY else _hash(key)


def clean(text: str, longest: int = _TITLE) -> str:
    """One clean line of text that any store can hold and any page can show.

    >>> clean("  two\\n lines \\u202eand\\0 <b>tags</b>")
    'two lines and <b>tags</b>'
    """
    if len(text) > longest:
        # Markup may be mostly white space: look a little further than what is kept.
        text = text[: 8 * longest]
    elif text.isprintable() and (
        " " not in text or ("  " not in text and text[0] != " " != text[-1])
    ):
        return text  # mostly there is nothing to do: of white space, only blanks are printable
    if not text.isprintable():
        text = text.translate(_CLEAN)
    return " ".join(text.split())[:longest].rstrip()


def web_link(written: str, base: str) -> str:
    """An absolute http or https link; empty if it is none or not safe to hand on.

    >>> web_link("/a b", "https://example.org/feed")
    'https://example.org/a%20b'
    >>> web_link("java\\nscript:alert(1)", "https://example.org/feed")
    ''
    """
    if is_plain(written):
        return written
    # White space around a link is meant for the eye; browsers drop line ends inside of it.
    link = written.strip()
    if not (link.isascii() and link.isprintable()):
        link = link.translate(_CLEAN | dict.fromkeys((9, 10, 13)))
    if not link or len(link) > _LINK or "\\" in link:
        return ""
    if "&amp;" in link:
        link = link.replace("&amp;", "&")  # escaped twice, a common mistake
    if not link.startswith(("https://", "http://")) or "[" in link:
        try:
            link = urljoin(base, link)
            parts = urlsplit(link)
        except ValueError:
            return ""
        if parts.scheme not in ("http", "https") or not parts.netloc:
            return ""
    elif link.endswith("://"):
        return ""
    link = link.replace(" ", "%20")
    return link if len(link) <= _LINK else ""


def _hash(text: str) -> str:
    return "blake2b:" + hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=32).hexdigest()
