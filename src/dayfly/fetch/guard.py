"""Where we may go: the address that is checked is the address that is dialled.

The check sits where sockets are made, so that every connection passes it with the very address it
is about to use: literals, names, redirects, and names that answer differently the second time.
Nothing else in Dayfly opens sockets to the outside. A guard never changes: connections that are
kept open were dialled under the same rules.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from dayfly.errors import BadInput
from dayfly.fetch.urls import Forbidden, check_url, is_literal

if TYPE_CHECKING:
    from yarl import URL

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network

#: Not public, by the registries of special addresses. Our own list, because what the standard
#: library calls private or global leaves out some of these.
_CLOSED_4 = tuple(
    ipaddress.IPv4Network(block)
    for block in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
        "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24",
        "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15",
        "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
    )
)  # fmt: skip
#: Of version 6 only global unicast is open; loopback, mapped, translated, local and multicast
#: addresses all lie outside it. Inside it: protocol assignments and Teredo, documentation, 6to4,
#: and the sink for reverse look-ups of private addresses.
_OPEN_6 = ipaddress.IPv6Network("2000::/3")
_CLOSED_6 = tuple(
    ipaddress.IPv6Network(block)
    for block in ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")
)
#: Doors behind which something else than the web listens: mail, shells, files, names, databases,
#: queues, remote control. What we send could be read there as commands.
_CLOSED_PORTS = frozenset(
    (
        0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 70, 77, 79, 87, 95,
        101, 102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 138, 139, 143, 161,
        162, 179, 389, 427, 445, 465, 502, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554,
        556, 563, 587, 601, 623, 631, 636, 873, 989, 990, 992, 993, 994, 995, 1080, 1433, 1521,
        1719, 1720, 1723, 1883, 2049, 2375, 2376, 2379, 2380, 3128, 3268, 3306, 3389, 3659, 4045,
        4190, 4369, 5060, 5061, 5432, 5672, 5900, 5984, 6000, 6379, 6443, 6566, 6665, 6666, 6667,
        6668, 6669, 6679, 6697, 7000, 7001, 8125, 9042, 9092, 9100, 9160, 9200, 9300, 10080, 10250,
        11211, 15672, 25672, 27017, 27018, 28017, 50070,
    )
)  # fmt: skip


class Guard:
    """Lets through public addresses, and what is allowed by name.

    Parameters
    ----------
    allowed
        Networks that may be visited although they are not public, each with its port, as
        CIDR:PORT: ``127.0.0.1/32:8080``, ``[fd00::]/8:80``.
    forbidden
        The same for what may not be visited in any case: where we listen ourselves.

    Examples
    --------
    >>> guard = Guard(["127.0.0.1/32:8080"], ["93.184.215.14/32:8000"])
    >>> guard.permits("127.0.0.1", 8080), guard.permits("127.0.0.1", 8081)
    (True, False)
    >>> guard.permits("93.184.215.14", 80), guard.permits("93.184.215.14", 8000)
    (True, False)
    >>> guard.permits("169.254.169.254", 80), guard.permits("93.184.215.14", 25)
    (False, False)
    """

    def __init__(self, allowed: Sequence[str] = (), forbidden: Sequence[str] = ()) -> None:
        self._allowed = tuple(_door(text) for text in allowed)
        self._forbidden = tuple(_door(text) for text in forbidden)
        # A guard never changes its mind, so it need not think twice.
        self._objection = lru_cache(4096)(self._judge)

    def permits(self, address: str, port: int) -> bool:
        """Whether this address may be dialled."""
        return not self._objection(address, port)

    def check_url(self, text: str) -> URL:
        """The address to ask, parsed by the very parser that the client uses.

        Raises `Forbidden` for what could be misread, and for what would be refused when dialled
        as far as that is known before names are looked up.
        """
        url = check_url(text)
        host, port = str(url.raw_host), int(url.port or 0)
        if is_literal(host):
            self.check(host, port)
        elif port in _CLOSED_PORTS and all(port != door for _, door in self._allowed):
            raise Forbidden(f"port {port} is not for the web")
        return url

    def check(self, address: str, port: int) -> None:
        """Raise `Forbidden` unless this address may be dialled."""
        if objection := self._objection(address, port):
            raise Forbidden(objection)

    def open_socket(self, address: str, port: int) -> socket.socket:
        """A socket for the address that is about to be dialled."""
        self.check(address, port)
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        made.setblocking(False)
        return made

    def _judge(self, address: str, port: int) -> str:
        """Why this address may not be dialled; empty if it may."""
        try:
            ip = ipaddress.ip_address(address)
        except ValueError:
            return "not an address"
        if _among(ip, port, self._forbidden):
            return "address is our own or forbidden"
        if _among(ip, port, self._allowed):
            return ""
        if not _public(ip):
            return "address is not public"
        return f"port {port} is not for the web" if port in _CLOSED_PORTS else ""


def _public(ip: _Address) -> bool:
    if isinstance(ip, ipaddress.IPv4Address):
        return not any(ip in block for block in _CLOSED_4)
    return ip in _OPEN_6 and not any(ip in block for block in _CLOSED_6)


def _among(ip: _Address, port: int, doors: Sequence[tuple[_Network, int]]) -> bool:
    return any(port == door and ip in block for block, door in doors)


def _door(text: str) -> tuple[_Network, int]:
    """A network and a port from CIDR:PORT."""
    block, colon, port = text.rpartition(":")
    block = block.replace("[", "").replace("]", "")
    if not (
        colon and port.isascii() and port.isdigit() and len(port) < 6 and 0 < int(port) < 65536
    ):
        raise _no_door(text, "no port")
    try:
        return ipaddress.ip_network(block), int(port)
    except ValueError:
        pass
    try:
        meant = ipaddress.ip_network(block, strict=False)
    except ValueError:
        raise _no_door(text, "no network") from None
    raise _no_door(text, f"the network that this address is in is {meant}")


def _no_door(text: str, why: str) -> BadInput:
    return BadInput(
        f"not an allowed address: {text[:100]!r} ({why}); write CIDR:PORT, for example"
        " 127.0.0.1/32:8080"
    )
