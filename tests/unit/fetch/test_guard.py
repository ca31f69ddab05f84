"""Where we may go, and how addresses are read."""

import ipaddress
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from dayfly.errors import BadInput
from dayfly.fetch import Forbidden, Guard, check_url

CLOSED = [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255",
    "127.0.0.1", "127.255.255.254", "169.254.169.254", "172.16.0.1", "172.31.255.255",
    "192.0.0.9", "192.0.2.1", "192.31.196.1", "192.52.193.1", "192.88.99.1", "192.168.0.1",
    "192.175.48.1", "198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.9", "224.0.0.1",
    "239.255.255.255", "240.0.0.1", "255.255.255.255",
    "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "64:ff9b::7f00:1",
    "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::1", "2002:a9fe:a9fe::1",
    "2620:4f:8000::1", "3fff::1", "5f00::1", "fc00::1", "fd12:3456::1", "fe80::1",
    "fe80::1%eth0", "fec0::1", "ff02::1",
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


#: First and last of every block that is closed; the one before and the one after are open.
BLOCKS = [
    ("0.0.0.0", "0.255.255.255"), ("10.0.0.0", "10.255.255.255"),
    ("100.64.0.0", "100.127.255.255"), ("127.0.0.0", "127.255.255.255"),
    ("169.254.0.0", "169.254.255.255"), ("172.16.0.0", "172.31.255.255"),
    ("192.0.0.0", "192.0.0.255"), ("192.0.2.0", "192.0.2.255"), ("192.31.196.0", "192.31.196.255"),
    ("192.52.193.0", "192.52.193.255"), ("192.88.99.0", "192.88.99.255"),
    ("192.168.0.0", "192.168.255.255"), ("192.175.48.0", "192.175.48.255"),
    ("198.18.0.0", "198.19.255.255"), ("198.51.100.0", "198.51.100.255"),
    ("203.0.113.0", "203.0.113.255"), ("224.0.0.0", "255.255.255.255"),
    ("::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("2620:4f:8000::", "2620:4f:8000:ffff:ffff:ffff:ffff:ffff"),
    ("3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff"),
    # All that is not global unicast.
    ("4000::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
]  # fmt: skip


@pytest.mark.parametrize(("first", "last"), BLOCKS)
def test_F01_a_block_is_closed_from_its_first_address_to_its_last(first, last):
    guard = Guard()
    low, high = ipaddress.ip_address(first), ipaddress.ip_address(last)
    middle = low + (int(high) - int(low)) // 2
    for inside in (low, low + 1, middle, high - 1, high):
        assert not guard.permits(str(inside), 443), inside
    for beyond in (int(low) - 1, int(high) + 1):
        if 0 <= beyond < 1 << low.max_prefixlen:
            assert guard.permits(str(type(low)(beyond)), 443), type(low)(beyond)


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


def test_doors_of_other_services_are_closed_unless_allowed():
    for port in (0, 22, 25, 53, 110, 445, 3306, 5432, 6379, 9200, 11211, 27017, 50070):
        assert not Guard().permits("8.8.8.8", port)
    for port in (80, 443, 8000, 8080, 8443, 3000, 5000):
        assert Guard().permits("8.8.8.8", port)
    assert Guard(["8.8.8.8/32:6379"]).permits("8.8.8.8", 6379)


def test_what_is_forbidden_stays_so_even_if_it_is_allowed():
    guard = Guard(["127.0.0.0/8:8000"], ["127.0.0.1/32:8000", "8.8.8.8/32:80"])
    assert guard.permits("127.0.0.2", 8000)
    assert not guard.permits("127.0.0.1", 8000)
    assert not guard.permits("8.8.8.8", 80)
    with pytest.raises(Forbidden, match="our own"):
        guard.check_url("http://127.0.0.1:8000/")


@pytest.mark.parametrize(
    "text",
    ["", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:99999", "10.1.2.3/8:80", "a:80",
     "127.0.0.1/32:８０", "127.0.0.1/32:+80"],
)  # fmt: skip
def test_an_allowance_that_cannot_be_meant_is_refused(text):
    with pytest.raises(BadInput, match="CIDR:PORT"):
        Guard([text])


def test_a_socket_is_made_for_permitted_addresses_only():
    guard = Guard(["127.0.0.2/32:8080", "[::1]/128:8080"])
    for address, family in (("127.0.0.2", socket.AF_INET), ("::1", socket.AF_INET6)):
        with guard.open_socket(address, 8080) as made:
            assert (made.family, made.getblocking()) == (family, False)
    with pytest.raises(Forbidden, match="not public"):
        guard.open_socket("127.0.0.3", 8080)


def test_known_refusals_come_before_a_name_is_looked_up():
    guard = Guard(["127.0.0.2/32:6379"])
    with pytest.raises(Forbidden, match="not public"):
        guard.check_url("http://127.0.0.1/")
    with pytest.raises(Forbidden, match="port 25"):
        guard.check_url("http://example.org:25/")
    # Only the address of the name can tell whether this one is meant.
    assert guard.check_url("http://example.org:6379/").port == 6379
    assert guard.check_url("http://host1/").host == "host1"


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("http://example.org", "http://example.org"),
        ("HTTPS://EXAMPLE.org:443/A?b=c#d", "https://example.org/A?b=c"),
        ("http://example.org:8443/a%2Fb", "http://example.org:8443/a%2Fb"),
        ("http://bücher.example/ü", "http://xn--bcher-kva.example/%C3%BC"),
        ("http://under_score.example/", "http://under_score.example/"),
        ("http://xn--bcher-kva.example/", "http://xn--bcher-kva.example/"),
        ("http://example.org/#@127.0.0.3/", "http://example.org/"),
        ("http://example.org/@127.0.0.3", "http://example.org/@127.0.0.3"),
        ("http://[2606:4700::1111]:8080/", "http://[2606:4700::1111]:8080/"),
        ("http://1.1.1.1/", "http://1.1.1.1/"),
        ("http://1.1.1.1.example/", "http://1.1.1.1.example/"),
        ("http://4chan/", "http://4chan/"),
    ],
)
def test_plain_addresses_pass(text, asked):
    assert str(check_url(text)) == asked


@pytest.mark.parametrize(
    "url",
    [
        "", "http", "http:", "http:/", "http://", "http:///x", "http://?x", "//example.org/",
        "/feed", "http:example.org", "http:/example.org", "file:///etc/passwd", "ftp://example.org/",
        "data:text/plain,x", "javascript:alert(1)", "source:http://example.org/",
        "view-source:http://example.org/", "httpx://example.org/",
        " http://example.org/", "http://example.org/ ", "http://example.org/a b",
        "http://example.org/\x85", "http://exam\u2028ple.org/",
        "http://example.org/\ud800", "http://[::1/", "http://[::1]x/", "http://x[::1]/", "http://[]/",
        "http://[g::1]/", "http://[1.2.3.4]/", "http://-a.example/", "http://a..b/", "http://.a/",
        "http://a!b/", "http://a,b/", "http://a|b/", "http://a<b/", "http://a*b/", "http://xn--/",
        "http://xn--a/", "http://" + "a" * 64 + ".example/", "http://" + "a." * 127 + "example/",
        "http://example.org:80:80/", "http://example.org:+80/", "http://example.org:８０/",
        "http://example.org:080000/",
    ],
)  # fmt: skip
def test_addresses_on_which_parsers_could_disagree_are_refused(url):
    with pytest.raises(Forbidden):
        check_url(url)


@pytest.mark.parametrize(
    "host", ["１.1.1.1", "1。1。1。1", "0x1.0x1", "1.1.0x101", "0x01010101", "1.1", "16843009"]
)
def test_F02_a_public_address_in_unusual_writing_is_refused_before_it_is_looked_up(host):
    """Where the address is open the guard has no objection: it is the writing that is refused."""
    with pytest.raises(Forbidden):
        check_url(f"http://{host}/")


def test_F03_a_name_may_be_so_long_and_no_longer():
    name = ".".join(["a" * 63] * 3 + ["a" * 61])
    assert check_url(f"http://{name}/").raw_host == name
    with pytest.raises(Forbidden, match="not a host name"):
        check_url(f"http://{name}a/")


def test_F03_an_address_may_be_so_long_and_no_longer():
    place = "http://example.org/"
    assert len(str(check_url(place + "a" * (8192 - len(place))))) == 8192
    with pytest.raises(Forbidden, match="more than 8192 characters"):
        check_url(place + "a" * (8193 - len(place)))


_pieces = st.sampled_from(
    ["http://", "https://", "HTTP://", "//", "example.org", "127.0.0.3", "127.3", "[::1]", "[", "]",
     "@", ":", "/", "\\", "?", "#", "%2f", "%40", "%", ".", "。", "１", "0x7f", "2130706435", "80",
     "user", "\t", "\n", "\0", " ", "é", "xn--", "-", "_", ";", ",", "&", "=", "a", "\u202e"]
)  # fmt: skip


@given(st.lists(_pieces, max_size=8).map("".join), st.booleans())
def test_F03_the_host_that_is_checked_is_the_host_that_is_dialled(rest, web):
    """Whatever passes, two other readings of it and the one we use name the same host."""
    from urllib.parse import urlsplit

    text = ("http://" if web else "") + rest
    try:
        url = check_url(text)
    except Forbidden:
        return
    # Dialled is what the client takes from the object that was checked.
    dialled = str(url.raw_host), url.port
    assert url.user is None
    assert (URL(str(url)).raw_host, URL(str(url)).port) == dialled
    second = urlsplit(text)
    host = (second.hostname or "").lower()
    if host.isascii() and ":" not in host:
        assert host == dialled[0]
    assert (second.port or {"http": 80, "https": 443}[second.scheme]) == dialled[1]
    third = urlsplit(text.replace("\\", "/"))
    assert third.hostname == second.hostname


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("127.0.0.1", "no port"),
        ("127.0.0.1/32:0", "no port"),
        ("127.0.0.1/99:80", "no network"),
        ("localhost:80", "no network"),
        ("127.0.0.1:" + "9" * 5000, "no port"),
        ("127.0.0.1/8:80", "the network that this address is in is 127.0.0.0/8"),
        ("[fd00::1/64]:80", "the network that this address is in is fd00::/64"),
    ],
)
def test_what_is_wrong_with_an_address_is_told(text, wrong):
    with pytest.raises(BadInput) as caught:
        Guard([text])
    assert f"({wrong})" in str(caught.value)
