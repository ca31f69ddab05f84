"""Why nothing came back: one exception, with a kind for machines and a short text for people."""

from __future__ import annotations

import re

_ODD = re.compile(r"[^\x20-\x7e]+")


class FetchError(Exception):
    """A request that did not end with an answer.

    Kinds: "dns", "connect", "tls", "timeout", "protocol", "cut short", "too large", "encoding",
    "redirects". The text begins with the kind and is plain ASCII, whatever the other side said.
    """

    def __init__(self, kind: str, detail: str = "") -> None:
        self.kind = kind
        self.detail = plain(detail)
        super().__init__(f"{kind}: {self.detail}" if detail else kind)


def plain(text: str, longest: int = 120) -> str:
    """Text from outside as one short printable line."""
    return _ODD.sub("?", text[: 2 * longest])[:longest]
