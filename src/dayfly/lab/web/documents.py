"""What sites publish, written out: RSS, Atom, JSON Feed and sitemaps, some of them broken.

Items are written once and kept as long as they are shown: a large page is then joined from pieces,
so that a server costs less than those who read it.
"""

from __future__ import annotations

import datetime
import email.utils
import json

from dayfly.lab.web.sites import Format, Habit, Site

_HEADS = {
    Format.RSS: '<?xml version="1.0" encoding="utf-8"?>\n<rss version="2.0"><channel>'
    "<title>{name}</title><link>{home}</link><description>Simulated</description>",
    Format.ATOM: '<?xml version="1.0" encoding="utf-8"?>\n'
    '<feed xmlns="http://www.w3.org/2005/Atom"><title>{name}</title><id>{home}</id>'
    "<updated>{newest}</updated>",
    Format.JSON: '{{"version":"https://jsonfeed.org/version/1.1","title":"{name}",'
    '"home_page_url":"{home}","items":[',
    Format.SITEMAP: '<?xml version="1.0" encoding="utf-8"?>\n'
    '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">',
}
_TAILS = {
    Format.RSS: "</channel></rss>",
    Format.ATOM: "</feed>",
    Format.JSON: "]}",
    Format.SITEMAP: "</urlset>",
}
#: How each document calls itself.
TYPES = {
    Format.RSS: "application/rss+xml",
    Format.ATOM: "application/atom+xml",
    Format.JSON: "application/feed+json",
    Format.SITEMAP: "application/xml",
}
#: So much is said about each item.
_TEXT = "What happened, where, and why it matters to those who read it today. " * 2


class Writer:
    """Writes the documents of one site."""

    def __init__(self, site: Site, home: str) -> None:
        self._site, self._home = site, home
        self._between = b"," if site.format == Format.JSON else b""
        #: Items as they were written, by number; only those that are shown.
        self._written: dict[int, bytes] = {}

    def document(self, first: int, times: list[float]) -> bytes:
        """The items numbered from `first` on, which appeared at these times; newest first."""
        site, kept = self._site, {}
        for number, time in enumerate(times, first):
            kept[number] = self._written.get(number) or self._item(number, time).encode()
        self._written = kept
        head = _HEADS[site.format].format(
            name=f"Feed {site.row}", home=self._home, newest=iso(times[-1] if times else 0.0)
        )
        tail = _TAILS[site.format].encode()
        return head.encode() + self._between.join(reversed(kept.values())) + tail

    def _item(self, number: int, time: float) -> str:
        site = self._site
        link, title = f"{self._home}items/{number}", f"Item {number} of feed {site.row}"
        if site.habit == Habit.MALFORMED:
            # An ampersand and an entity that nobody declared: many real feeds have them.
            title += " & more&nbsp;news"
        if site.format == Format.RSS:
            return (
                f"<item><title>{title}</title><link>{link}</link><guid>{link}</guid>"
                f"<pubDate>{email.utils.formatdate(time, usegmt=True)}</pubDate>"
                f"<description>{_TEXT}</description></item>"
            )
        if site.format == Format.ATOM:
            return (
                f"<entry><title>{title}</title><id>{link}</id><link href='{link}'/>"
                f"<updated>{iso(time)}</updated><published>{iso(time)}</published>"
                f"<summary>{_TEXT}</summary></entry>"
            )
        if site.format == Format.JSON:
            return json.dumps(
                {"id": link, "url": link, "title": title, "content_text": _TEXT,
                 "date_published": iso(time)}
            )  # fmt: skip
        return f"<url><loc>{link}</loc><lastmod>{iso(time)}</lastmod></url>"


def item_of(link: str) -> tuple[int, int]:
    """The row and the number of the item behind a link.

    >>> item_of("http://127.0.0.2:8000/12/items/345")
    (12, 345)
    """
    row, _, number = link.split("/")[-3:]
    return int(row), int(number)


def iso(seconds: float) -> str:
    """A date as Atom writes it."""
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat()
