"""Who we are to those who are visited, and a guard for those who have not said it."""

from __future__ import annotations

import ipaddress
import re

from dayfly.errors import BadInput
from dayfly.fetch import Forbidden, Guard, user_agent

_CONTACT = re.compile(r"https?://[^\s/]+(/\S*)?|(mailto:)?[^\s@]+@[^\s@]+")


def check_contact(text: str) -> str:
    """Somewhere that a site's owner can turn to, or nothing; `BadInput` where it is neither.

    >>> check_contact("https://example.org/crawler"), check_contact("crawler@example.org")
    ('https://example.org/crawler', 'crawler@example.org')
    """
    user_agent(text)
    if text and not _CONTACT.fullmatch(text):
        raise BadInput(
            f"not a contact: {text[:64]!r}; give a page (https://…) or a mail address, so that"
            " sites can reach you"
        )
    return text


class Indoors(Guard):
    """Lets through only what is allowed by name, however public another address may be."""

    def check(self, address: str, port: int) -> None:
        """Raise `Forbidden` unless this address is allowed by name."""
        super().check(address, port)
        if not self._named(address, port):
            raise Forbidden("no contact is set, so only allowed addresses are visited")

    def permits(self, address: str, port: int) -> bool:
        """Whether this address may be dialled."""
        return super().permits(address, port) and self._named(address, port)

    def _named(self, address: str, port: int) -> bool:
        ip = ipaddress.ip_address(address)
        return any(port == door and ip in block for block, door in self._allowed)
