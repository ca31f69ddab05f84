"""Which addresses are dialled: written down, and none beyond this machine gets its connection.

Most forbidden addresses are nobody's on the machine that tests run on, and a canary cannot hear who
dials them. On another machine they may be somebody's, who shall hear nothing even if the guard is
broken.
"""

import contextlib
import ipaddress
import socket
import sys

_dialled: list[tuple[str, int]] | None = None


def _write_down(event: str, args: tuple) -> None:
    if event != "socket.connect" or _dialled is None:
        return
    dialling, address = args
    if dialling.family in (socket.AF_INET, socket.AF_INET6):
        _dialled.append(address[:2])
        if not ipaddress.ip_address(address[0]).is_loopback:
            raise PermissionError(f"a test dials {address[0]}")


sys.addaudithook(_write_down)  # for good: there is no way to take it away


@contextlib.contextmanager
def written_down():
    """The addresses and ports that are dialled within."""
    global _dialled
    _dialled = []
    try:
        yield _dialled
    finally:
        _dialled = None
