"""Where we may go: the address that is checked is the address that is dialled.

The check sits in the socket factory of the connector, so that every connection passes it with the
very address it is about to use: literals, names, redirects, and names that answer differently the
second time. Nothing else in Dayfly opens sockets to the outside.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dayfly.errors import BadInput

if TYPE_CHECKING:
    from yarl import URL

_Network = ipaddress.IPv4Network | ipaddress.IPv6Network

#: Not public, by the registries of special addresses. Our own list, because what the standard
#: library calls private or global leaves out some of these.
_CLOSED_4 = tuple(
    ipaddress.IPv4Network(block)
    for block in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
        "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16",
        "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
    )
)  # fmt: skip
#: Of version 6 only global unicast is open; loopback, mapped, translated, local and multicast
#: addresses all lie outside it. Inside it: protocol assignments and Teredo, documentation, 6to4.
_OPEN_6 = ipaddress.IPv6Network("2000::/3")
_CLOSED_6 = tuple(
    ipaddress.IPv6Network(block)
    for block in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
)


class Forbidden(Exception):
    """This address is not for us to visit."""


class Guard:
    """Lets through public addresses, and what is allowed by name.

    Parameters
    ----------
    allowed
        Networks that may be visited although they are not public, each with its port, as
        CIDR:PORT: ``127.0.0.1/32:8080``, ``[fd00::]/8:80``.

    Examples
    --------
    >>> guard = Guard(["127.0.0.1/32:8080"])
    >>> guard.permits("127.0.0.1", 8080), guard.permits("127.0.0.1", 8081)
    (True, False)
    >>> guard.permits("93.184.215.14", 80), guard.permits("169.254.169.254", 80)
    (True, False)
    """

    def __init__(self, allowed: Sequence[str] = ()) -> None:
        self._allowed = [_allowance(text) for text in allowed]

    def permits(self, address: str, port: int) -> bool:
        """Whether this address may be dialled."""
        try:
            ip = ipaddress.ip_address(address)
        except ValueError:
            return False
        if isinstance(ip, ipaddress.IPv4Address):
            if not any(ip in block for block in _CLOSED_4):
                return True
        elif ip in _OPEN_6 and not any(ip in block for block in _CLOSED_6):
            return True
        return any(ip in block and port == door for block, door in self._allowed)

    def check_url(self, text: str) -> URL:
        """The address to ask, parsed by the very parser that the client uses.

        Raises `Forbidden` for anything but plain http and https, and for characters on which
        parsers disagree.
        """
        from yarl import URL

        if any(ord(c) <= 0x20 or ord(c) == 0x7F or c == "\\" for c in text) or len(text) > 8192:
            raise Forbidden("not a plain url")
        try:
            url = URL(text)
            fits = url.scheme in ("http", "https") and url.host and url.user is None
        except ValueError:
            raise Forbidden("not a url") from None
        if not fits:
            raise Forbidden("only http and https urls with a host and without a user")
        return url

    def open_socket(self, address: tuple[Any, ...]) -> socket.socket:
        """A socket for the address that is about to be dialled, as `getaddrinfo` describes it."""
        family, kind, protocol, _, place = address
        if not self.permits(str(place[0]), int(place[1])):
            # Not an OSError: those would make the client try the next address of the same name.
            raise Forbidden("address is not public")
        return socket.socket(family=family, type=kind, proto=protocol)


def _allowance(text: str) -> tuple[_Network, int]:
    """A network and a port from CIDR:PORT."""
    block, colon, port = text.rpartition(":")
    try:
        if not colon or not 0 < int(port) < 65536:
            raise ValueError
        return ipaddress.ip_network(block.replace("[", "").replace("]", "")), int(port)
    except ValueError:
        raise BadInput(
            f"not an allowed address: {text!r}; write CIDR:PORT, for example 127.0.0.1/32:8080"
        ) from None
