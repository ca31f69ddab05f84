"""What the names in feeds mean: one vocabulary for RSS, Atom, RDF and their extensions."""

from __future__ import annotations

ID, LINK, TITLE = "id", "link", "title"
#: A title of pictures and films; counts where there is no other.
MEDIA = "media"
#: Dates by rank, the best first: when an item appeared comes before when it changed.
DATES = "123456"

_ATOM = "{http://www.w3.org/2005/Atom}"
_RSS = "{http://purl.org/rss/1.0/}"
_DC = "{http://purl.org/dc/elements/1.1/}"
_MRSS = "{http://search.yahoo.com/mrss/}"
#: Namespaces of the formats themselves, and of extensions with names of the same meaning.
_CORE = frozenset(
    (
        "", _ATOM, _RSS, "{http://purl.org/atom/ns#}", "{http://purl.org/net/rss1.1#}",
        "{http://my.netscape.com/rdf/simple/0.9/}", "{http://channel.netscape.com/rdf/simple/0.9/}",
        "{http://backend.userland.com/rss2}", "{http://blogs.law.harvard.edu/tech/rss}",
    )
)  # fmt: skip
_EXTRA = frozenset((_DC, "{http://purl.org/dc/terms/}"))
_LOCAL = {
    "guid": ID, "id": ID, "link": LINK, "title": TITLE, "pubdate": "1", "published": "1",
    "issued": "2", "date": "3", "created": "4", "updated": "5", "modified": "6",
}  # fmt: skip
_FOREIGN = {name: _LOCAL[name] for name in ("title", "date", "issued", "created", "modified")}
_UNUSED = (
    "description", f"{_RSS}description", f"{_ATOM}summary", f"{_ATOM}content",
    "category", "author", "comments", "enclosure", "source", f"{_ATOM}category", f"{_ATOM}author",
    f"{_ATOM}rights", f"{_DC}creator", f"{_DC}subject", f"{_MRSS}content", f"{_MRSS}thumbnail",
    f"{_MRSS}group", "{http://purl.org/rss/1.0/modules/content/}encoded",
    "{http://purl.org/rss/1.0/modules/slash/}comments",
    "{http://wellformedweb.org/CommentAPI/}commentRss",
)  # fmt: skip


def use_of(tag: str, root: str) -> str:
    """What a child of an item is for, in a document with that root; empty for nothing.

    Letters may be large or small, and a feed may put all its names into a namespace of its own.

    >>> use_of("PUBDATE", "rss"), use_of("{urn:a}guid", "{urn:a}rss"), use_of("{urn:a}id", "rss")
    ('1', 'id', '')
    """
    space, bracket, local = tag.rpartition("}")
    space, local = space + bracket, local.lower()
    if space in _CORE or root.startswith(space):
        return _LOCAL.get(local, "")
    if space == _MRSS and local == "title":
        return MEDIA
    return _FOREIGN.get(local, "") if space in _EXTRA else ""


#: The answers for the usual names, which need no thought then.
_USUAL = {
    tag: use_of(tag, "rss")
    for tag in (
        *(space + name for space in ("", _ATOM, _RSS) for name in (*_LOCAL, "pubDate")),
        f"{_DC}date",
        *_UNUSED,
    )
}


class Uses(dict[str, str]):
    """What the children of items are for, in a document with this root.

    >>> Uses("rss")["guid"]
    'id'
    """

    def __init__(self, root: str) -> None:
        super().__init__(_USUAL)
        self._root = root

    def __missing__(self, tag: str) -> str:
        use = self[tag] = use_of(tag, self._root)
        return use
