"""The process in the cage: feedparser and an HTML parser, with the doors shut.

Run as a script by `cage.py`, never imported. It imports nothing of ours, so that it starts quickly
and stays small. On standard input it gets the lengths of selectors and body (four bytes each), the
selectors as JSON, none for a feed, and the body. On standard output it gives the length of its
answer (four bytes) and the answer as JSON.
"""

import io
import json
import os
import resource
import struct
import sys
import warnings
from typing import Any

import feedparser
from selectolax.lexbor import LexborHTMLParser, LexborNode

#: Longer fields are cut: nobody looks at the rest.
_LONGEST = 8192


def main(memory: int, cpu_s: int, items: int) -> None:
    """Answer documents until the input ends."""
    warnings.simplefilter("ignore")
    asked, answers = sys.stdin.buffer, sys.stdout.buffer
    # Once through both of its parsers, so that whatever it imports late is there.
    for warm in (b"<rss><channel><item><title>a &amp; b", b"<feed><entry/></feed>"):
        read_feed(warm, items)
    read_page(b"<p><a href=b>a</a> <time>c</time>", items, {"item": "p"})
    shut_the_doors()
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    while len(head := asked.read(8)) == 8:
        used = resource.getrusage(resource.RUSAGE_SELF)
        limit = int(used.ru_utime + used.ru_stime) + cpu_s + 1
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
        first, second = struct.unpack(">II", head)
        try:
            select = json.loads(asked.read(first))
            body = asked.read(second)
            answer = read_page(body, items, select) if select else read_feed(body, items)
            said = json.dumps(answer).encode()
        except MemoryError:
            os._exit(3)
        except Exception:  # its faults are not ours to sort out: no answer is one
            said = b"{}"
        answers.write(struct.pack(">I", len(said)) + said)
        answers.flush()


def read_feed(body: bytes, items: int) -> dict[str, Any]:
    """What feedparser makes of a document."""
    # A stream, never text: text that looks like an address or a file would be opened.
    # No markup is cleaned, because no markup is kept.
    found = feedparser.parse(
        io.BytesIO(body),
        response_headers={"content-type": "application/xml; charset=utf-8"},
        sanitize_html=False,
        resolve_relative_uris=False,
    )
    entries = found["entries"]
    return {
        "title": _text(found["feed"], "title"),
        "ttl": _text(found["feed"], "ttl"),
        "truncated": len(entries) > items,
        "entries": [_entry(entry) for entry in _both_ends(entries, items)],
    }


def read_page(body: bytes, items: int, select: dict[str, str]) -> dict[str, Any]:
    """The parts of a page that match, each with its link, title and date."""
    page = LexborHTMLParser(body.decode("utf-8", "replace"))
    found = page.css(select["item"])
    title = page.css_first("title")
    return {
        "title": title.text()[:_LONGEST] if title is not None else "",
        "truncated": len(found) > items,
        "entries": [_part(node, select) for node in _both_ends(found, items)],
    }


def _both_ends(found: list[Any], items: int) -> list[Any]:
    """Of very many the first and the last: some lists have the newest first, some last."""
    half = items // 2
    return found if len(found) <= items else found[:half] + found[-half:]


def _part(node: LexborNode, select: dict[str, str]) -> dict[str, str]:
    # The part may itself be the link.
    own = node if node.tag == "a" and "link" not in select else None
    link = own or node.css_first(select.get("link", "a[href]"))
    title = node.css_first(select["title"]) if "title" in select else link
    when = node.css_first(select.get("date", "time"))
    said = {
        "link": (link.attributes.get("href") or "") if link is not None else "",
        "title": (title if title is not None else node).text(),
    }
    if when is not None:
        said["published"] = (when.attributes.get("datetime") or when.text()).strip()
    return {name: text[:_LONGEST] for name, text in said.items()}


def _entry(entry: dict[str, Any]) -> dict[str, Any]:
    said: dict[str, Any] = {
        name: _text(entry, name) for name in ("id", "link", "title", "published", "updated")
    }
    if not (said["id"] or said["link"] or said["title"]):
        said["text"] = _text(entry, "summary")
    return said


def _text(entry: dict[str, Any], name: str) -> str:
    value = dict.get(entry, name)
    return value[:_LONGEST] if isinstance(value, str) else ""


def shut_the_doors() -> None:
    """From here on no file is opened but Python's own, and nothing else is reached at all."""
    own = tuple({os.path.realpath(path) + os.sep for path in sys.path if os.path.isdir(path)})
    forbidden = ("socket.", "subprocess.", "os.", "shutil.", "ctypes.", "urllib.", "ftplib.")

    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode = arguments[0], arguments[1]
            own_file = isinstance(path, str) and os.path.realpath(path).startswith(own)
            if not own_file or (mode and mode not in ("r", "rb")):
                raise PermissionError("the cage is shut")
        elif event.startswith(forbidden) and event not in ("os.listdir", "os.scandir"):
            raise PermissionError("the cage is shut")

    sys.addaudithook(refuse)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]))
