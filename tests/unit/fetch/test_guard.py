"""Where we may go."""

import ipaddress

import pytest

from dayfly.errors import BadInput
from dayfly.fetch import Forbidden, Guard

CLOSED = [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255",
    "127.0.0.1", "127.255.255.254", "169.254.169.254", "172.16.0.1", "172.31.255.255",
    "192.0.0.9", "192.0.2.1", "192.88.99.1", "192.168.0.1", "198.18.0.1", "198.19.255.255",
    "198.51.100.7", "203.0.113.9", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
    "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "64:ff9b::7f00:1",
    "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::1", "2002:a9fe:a9fe::1",
    "3fff::1", "5f00::1", "fc00::1", "fd12:3456::1", "fe80::1", "fe80::1%eth0", "fec0::1",
    "ff02::1",
]  # fmt: skip

OPEN = [
    "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "93.184.215.14", "100.63.255.255",
    "100.128.0.0", "126.255.255.255", "128.0.0.1", "172.15.255.255", "172.32.0.0", "192.0.1.1",
    "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255",
    "2001:4860:4860::8888", "2606:4700:4700::1111", "2a00:1450::1",
]  # fmt: skip


@pytest.mark.parametrize("address", CLOSED)
def test_addresses_that_are_not_public_are_closed(address):
    assert not Guard().permits(address, 80)


@pytest.mark.parametrize("address", OPEN)
def test_public_addresses_are_open(address):
    assert Guard().permits(address, 80)


@pytest.mark.parametrize("text", ["", "localhost", "127.1", "2130706433", "0x7f.1", "１２７.0.0.1"])
def test_what_is_not_an_address_is_closed(text):
    assert not Guard().permits(text, 80)


def test_everything_the_standard_library_calls_private_is_closed():
    """A second opinion: its list is shorter than ours in places, never longer."""
    for block in (
        *ipaddress._IPv4Constants._private_networks,
        *ipaddress._IPv6Constants._private_networks,
    ):
        for address in (block.network_address, block.broadcast_address):
            assert not Guard().permits(str(address), 443), address


def test_an_allowed_network_is_open_at_its_port_only():
    guard = Guard(["127.0.0.2/32:8080", "[fd00::]/8:80", "10.1.0.0/16:443"])
    assert guard.permits("127.0.0.2", 8080)
    assert guard.permits("fd00::7", 80)
    assert guard.permits("10.1.2.3", 443)
    for address, port in (("127.0.0.2", 8081), ("127.0.0.3", 8080), ("fd00::7", 81)):
        assert not guard.permits(address, port)


@pytest.mark.parametrize(
    "text",
    ["", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:99999", "10.1.2.3/8:80", "a:80"],
)
def test_an_allowance_that_cannot_be_meant_is_refused(text):
    with pytest.raises(BadInput, match="CIDR:PORT"):
        Guard([text])


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://example.org/",
        "data:text/plain,x",
        "javascript:alert(1)",
        "//example.org/",
        "/feed",
        "http://",
        "http://user:secret@example.org/",
        "http://127.0.0.3:80\\@example.org/",
        "http://exa\tmple.org/",
        "http://example.org/\r\nX: y",
        " http://example.org/",
        "http://[::1/",
        "http://example.org:99999/",
        "http://example.org/" + "x" * 9000,
    ],
)
def test_addresses_on_which_parsers_could_disagree_are_refused(url):
    with pytest.raises(Forbidden):
        Guard().check_url(url)


def test_a_plain_url_passes():
    assert Guard().check_url("https://example.org:8443/a?b=c").host == "example.org"
