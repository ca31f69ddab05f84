"""Cases F01 to F08: where requests may go. The guard is on, and the canary hears nobody."""

import ast
import asyncio
import contextlib
import random
import socket
import sys
from pathlib import Path

import pytest
from tests.origin import CANARY, ORIGIN, Canary, Origin, Place, Told, redirect, reply
from tests.unit.fetch.dialling import written_down
from tests.unit.fetch.test_guard import CLOSED

import dayfly
from dayfly.fetch import Deadlines, FetchError, Forbidden, Guard, HttpFetcher, Web, check_url
from dayfly.fetch.names import TRIED, SystemNames
from dayfly.model import Status

QUICK = Deadlines(dns=0.2, connect=1.0, tls=1.0, first_byte=1.0, idle=1.0, total=3.0)


def ask(urls, *, setup=None, resolver=None, allow=()):
    """What came of asking for these, one after another; a function of both ports makes each."""

    async def run():
        async with Origin() as origin, Canary() as canary:
            if setup is not None:
                setup(origin, canary)
            guard = Guard([origin.allowance, *(text.format(origin.port) for text in allow)])
            told = []
            with written_down() as dialled:
                async with Web(guard, agent="t", deadlines=QUICK, resolver=resolver) as web:
                    for url in urls:
                        asked = url(origin, canary) if callable(url) else url
                        try:
                            told.append(await web.get(asked))
                        except (Forbidden, FetchError) as error:
                            told.append(error)
            assert {*dialled} <= {(ORIGIN, origin.port)}
        return told, origin, canary

    return asyncio.run(run())


def refused(told, canary) -> None:
    assert canary.accepts == 0
    for each in told:
        assert isinstance(each, Forbidden), each


def test_the_canary_hears_whoever_comes():
    """Else its silence would prove nothing."""

    async def run():
        async with Canary() as canary:
            guard = Guard([f"{CANARY}/32:{canary.port}", f"[::1]/128:{canary.port}"])
            async with Web(guard, agent="t", deadlines=QUICK) as web:
                for url in (canary.url(), f"http://[::1]:{canary.port}/"):
                    with pytest.raises(FetchError):
                        await web.get(url)
        return canary.accepts, len(canary._servers)

    accepts, doors = asyncio.run(run())
    assert accepts == doors


def test_F01_no_special_address_is_dialled():
    hosts = [f"[{a}]" if ":" in a else a for a in CLOSED if "%" not in a]
    hosts += ["127.0.0.3", "[::ffff:127.0.0.3]", "[::127.0.0.3]", "[64:ff9b::127.0.0.3]"]
    assert len(hosts) >= 40
    told, _, canary = ask(
        [lambda o, c, host=host: f"http://{host}:{c.port}/" for host in hosts]
        + [f"http://{host}/" for host in hosts]
        + [f"https://{host}/" for host in hosts]
    )
    refused(told, canary)


def test_F01_our_own_listening_address_can_be_closed():
    async def run():
        async with Origin() as origin:
            guard = Guard([origin.allowance], [origin.allowance])
            async with Web(guard, agent="t") as web:
                with pytest.raises(Forbidden, match="our own"):
                    await web.get(origin.url())
        return origin.accepts

    assert asyncio.run(run()) == 0


ODD_HOSTS = [
    "127.3", "2130706435", "0x7f.3", "0177.0.0.3", "0x7f000003", "127.0.0.03", "127.0.3",
    "１２７.0.0.3", "127。0。0。3", "127.0.0.3.", "%31%32%37.0.0.3", "127.0.0.%33", "1２7.0.0.3",
    "[fe80::1%25lo]", "[::1%25lo]", "[::1%lo]", "[0:0:0:0:0:0:0:1]", "[::ffff:7f00:3]",
]  # fmt: skip


def test_F02_unusual_ways_to_write_an_address_are_refused():
    told, _, canary = ask(
        [lambda o, c, host=host: f"http://{host}:{c.port}/" for host in ODD_HOSTS]
    )
    refused(told, canary)


ODD_URLS = [
    "http://127.0.0.3:{c}\\@127.0.0.2:{o}/", "http://127.0.0.2:{o}\\@127.0.0.3:{c}/",
    "http://127.0.0.2:{o}@127.0.0.3:{c}/", "http://a@127.0.0.2:{o}@127.0.0.3:{c}/",
    "http://127.0.0.2:{o}%2f@127.0.0.3:{c}/", "http://127.0.0.2:{o}#@127.0.0.3:{c}\\/",
    "http://127.0.0.2\t:{o}/", "http://127.0.0.\r\n2:{o}/", "http://127.0.0.2\0:{o}/",
    "http://127.0.0.2\n@127.0.0.3:{c}/", "http://127.0.0.3:{c}\t/", "http://127.0.0.2:/",
    "http://127.0.0.2:0/", "http://127.0.0.2:65536/", "http://127.0.0.2:-1/",
    "http://127.0.0.2:{o}{o}/", "http://user:secret@127.0.0.2:{o}/",
    "http://127.0.0.2:{o}/" + "x" * 100_000,
]  # fmt: skip


def test_F03_addresses_that_two_parsers_read_differently_are_refused():
    told, origin, canary = ask(
        [lambda o, c, url=url: url.format(o=o.port, c=c.port) for url in ODD_URLS]
    )
    refused(told, canary)
    assert origin.accepts == 0


def test_F03_a_fragment_names_no_host_and_is_not_sent():
    told, origin, canary = ask([lambda o, c: f"http://127.0.0.2:{o.port}/a#@127.0.0.3:{c.port}/"])
    assert (told[0].status, canary.accepts) == (404, 0)
    assert origin.requests[0].path == "/a"


def test_F03_the_host_that_is_checked_is_the_host_that_is_looked_up():
    """Random addresses through the whole client; nobody is dialled, as no name is known."""
    pieces = [
        "a", "b.example", "127.0.0.2", "[::1]", ":80", ":8080", "@", "\\", "/", "?", "#", "%40",
        ".", "。", "é", "//", "\t", "x@", "http://", "-", "_", "0x7f", "1",
    ]  # fmt: skip
    seed = 3
    print("seed", seed)
    rng = random.Random(seed)

    async def run():
        names, passed = Told(), 0
        async with Web(agent="t", resolver=names) as web:
            for _ in range(1500):
                text = "http://" + "".join(rng.choices(pieces, k=rng.randrange(1, 6)))
                names.asked.clear()
                with contextlib.suppress(Forbidden, FetchError):
                    await web.get(text)
                if names.asked:
                    passed += 1
                    assert names.asked == [check_url(text).raw_host], text
        return passed

    assert asyncio.run(run()) > 50


def test_F04_one_forbidden_address_among_many_is_enough():
    names = Told(mixed_example=[[ORIGIN, CANARY]], other_example=[[CANARY, ORIGIN]])
    names._answers["v6.example"] = [["::1"]]
    names._answers["many.example"] = [[ORIGIN] * 999 + [CANARY]]
    hosts = ("mixed.example", "other.example", "v6.example", "many.example")
    told, origin, canary = ask(
        [lambda o, c, host=host: f"http://{host}:{c.port}/" for host in hosts]
        + [lambda o, c, host=host: f"http://{host}:{o.port}/" for host in hosts],
        resolver=names,
        allow=["127.0.0.2/32:{}"],
    )
    refused(told, canary)
    assert origin.accepts == 0


def test_F04_no_answer_is_an_error_and_no_permission():
    class Silent:
        async def resolve(self, host):
            await asyncio.sleep(60)

    names = Told(empty_example=[[]])
    told, origin, canary = ask(
        [
            lambda o, c: f"http://empty.example:{o.port}/",
            lambda o, c: f"http://no.example:{o.port}/",
        ],
        resolver=names,
    )
    assert [error.kind for error in told] == ["dns", "dns"]
    slow, _, _ = ask([lambda o, c: f"http://slow.example:{o.port}/"], resolver=Silent())
    assert str(slow[0]) == "timeout: dns"
    assert (origin.accepts, canary.accepts) == (0, 0)


def test_F04_at_most_four_addresses_of_a_name_are_tried():
    tried = []

    class Watching(Guard):
        def open_socket(self, address, port):
            tried.append(address)
            return super().open_socket(address, port)

    async def run():
        closed = [f"127.0.1.{n}" for n in range(1, 251)] * 4
        guard = Watching(["127.0.1.0/24:9"])
        names = Told(many_example=[closed])
        async with Web(guard, agent="t", deadlines=QUICK, resolver=names) as web:
            with pytest.raises(FetchError, match="connect: "):
                await web.get("http://many.example:9/")

    asyncio.run(run())
    assert tried == ["127.0.1.1", "127.0.1.2", "127.0.1.3", "127.0.1.4"]
    assert len(tried) == TRIED


def test_F04_the_next_address_is_tried_where_the_first_is_closed():
    async def run():
        async with Origin() as origin:
            guard = Guard([origin.allowance, f"127.0.0.4/32:{origin.port}"])
            names = Told(two_example=[["127.0.0.4", ORIGIN]])
            async with Web(guard, agent="t", deadlines=QUICK, resolver=names) as web:
                return (await web.get(f"http://two.example:{origin.port}/")).status

    assert asyncio.run(run()) == 404


def test_F04_version_6_is_dialled_where_it_is_allowed():
    async def run():
        async def hello(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(reply(b"six", 200, Connection="close"))
            await writer.drain()
            writer.close()

        try:
            server = await asyncio.start_server(hello, "::1", 0)
        except OSError:
            pytest.skip("no version 6 on this machine")
        async with server:
            port = server.sockets[0].getsockname()[1]
            guard = Guard([f"[::1]/128:{port}"])
            names = Told(six_example=[["::1"]])
            async with Web(guard, agent="t", deadlines=QUICK, resolver=names) as web:
                hosts = ("[::1]", "six.example")
                bodies = [(await web.get(f"http://{host}:{port}/")).body for host in hosts]
            await asyncio.sleep(0.01)
        return bodies

    assert asyncio.run(run()) == [b"six", b"six"]


def test_F05_a_name_that_answers_differently_is_resolved_once():
    names = Told(turncoat_example=[[ORIGIN], [CANARY]])
    url = lambda o, c: f"http://turncoat.example:{o.port}/close"  # noqa: E731

    def setup(origin, canary):
        origin.on("/close", reply(b"", 404, Connection="close"))

    told, origin, canary = ask([url, url], setup=setup, resolver=names)
    assert told[0].status == 404
    assert isinstance(told[1], Forbidden)
    assert (origin.accepts, canary.accepts) == (1, 0)
    # Once for each connection: what was checked is what was dialled.
    assert names.asked == ["turncoat.example"] * 2


def test_F05_the_system_looks_a_name_up_once_for_each_connection(monkeypatch):
    asked = []

    def look_up(host, *rest, **more):
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ([ORIGIN, CANARY][len(asked) > 1], 0))]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)

    async def run():
        async with Origin() as origin, Canary() as canary:
            guard = Guard([origin.allowance])
            async with Web(guard, agent="t", deadlines=QUICK, resolver=SystemNames()) as web:
                url = f"http://turncoat.example:{origin.port}/"
                kept = [(await web.get(url)).status for _ in range(3)]
        return kept, origin.accepts, canary.accepts

    assert asyncio.run(run()) == ([404] * 3, 1, 0)
    assert asked == ["turncoat.example"]


def test_F06_redirects_to_places_that_are_not_for_us_are_refused(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("nobody reads this")
    opened = []
    sys.addaudithook(lambda event, args: opened.append(args[0]) if event == "open" else None)
    places = [
        "http://127.0.0.3:{c}/", "//127.0.0.3:{c}/", "http://[::1]:{c}/", "https://127.0.0.3:{c}/",
        f"file://{secret}", f"source:file://{secret}", "ftp://127.0.0.3:{c}/",
        "data:text/xml,<rss/>", "gopher://127.0.0.3:{c}/", "javascript:alert(1)", "view-source:http://127.0.0.3:{c}/",
        "http://127.0.0.3:{c}\\@127.0.0.2:{o}/", "\\\\127.0.0.3:{c}/", "/\\127.0.0.3:{c}/",
        "http:127.0.0.3:{c}/", "http:///127.0.0.3:{c}/", "http://127.3:{c}/",
        "http://u:p@127.0.0.2:{o}/", "http://127.0.0.2:{o}@127.0.0.3:{c}/",
    ]  # fmt: skip

    def setup(origin, canary):
        for n, place in enumerate(places):
            for status in (301, 302, 303, 307, 308):
                place_ = place.format(o=origin.port, c=canary.port)
                origin.on(f"/{n}/{status}", redirect(place_, status))

    told, _, canary = ask(
        [
            lambda o, c, path=f"/{n}/{status}": o.url(path)
            for n in range(len(places))
            for status in (301, 302, 303, 307, 308)
        ],
        setup=setup,
    )
    refused(told, canary)
    assert str(secret) not in opened


def test_F06_refresh_in_a_header_or_a_page_is_not_followed():
    def setup(origin, canary):
        page = f'<meta http-equiv="refresh" content="0;url={canary.url()}">'.encode()
        origin.on("/", reply(page, 200, Refresh=f"0; url={canary.url()}"))

    told, origin, canary = ask([lambda o, c: o.url("/")], setup=setup)
    assert (told[0].status, len(origin.requests), canary.accepts) == (200, 1, 0)


def test_F06_a_redirect_on_the_way_of_a_visit_is_refused():
    async def run():
        async with Origin() as origin, Canary() as canary:
            origin.on("/ip", redirect(canary.url()))
            origin.on("/file", redirect("file:///etc/passwd"))
            origin.on("/robots.txt", redirect(canary.url("/robots.txt")))
            async with HttpFetcher(origin.guard, deadlines=QUICK) as fetcher:
                crawls = [
                    await fetcher.fetch(Place(url=url, obey_robots=obey))
                    for url in (origin.url("/ip"), origin.url("/file"), canary.url())
                    for obey in (True, False)
                ]
        return crawls, canary.accepts

    crawls, accepts = asyncio.run(run())
    assert accepts == 0
    for crawl in crawls:
        assert crawl.status is Status.REFUSED, crawl


def test_F07_a_webhook_passes_the_same_guard():
    async def run():
        async with Origin() as origin, Canary() as canary:
            origin.on("/hook", reply(b"", 204))
            origin.on("/away", redirect(canary.url(), 307))
            async with Web(origin.guard, agent="t", deadlines=QUICK) as web:
                sent = await web.post(origin.url("/hook"), b"{}", {"Content-Type": "x/y"})
                away = await web.post(origin.url("/away"), b"{}", {})
                with pytest.raises(Forbidden):
                    await web.post(canary.url(), b"{}", {})
        return sent, away, origin.requests[0], canary.accepts

    sent, away, request, accepts = asyncio.run(run())
    assert (sent, away, accepts) == (204, 307, 0)
    assert (request.method, request.body, request.headers["content-type"]) == ("POST", b"{}", "x/y")


#: What can open a connection.
CLIENTS = {
    "socket", "urllib.request", "urllib3", "http.client", "requests", "httpx", "ftplib", "smtplib",
    "telnetlib", "xmlrpc.client", "poplib", "imaplib", "nntplib", "aiohttp", "curl_cffi", "scrapy",
}  # fmt: skip
CALLS = (
    "open_connection(", "create_connection(", "create_datagram_endpoint(", "sock_connect(",
    "ClientSession", "AF_INET", "getaddrinfo(", "proxy_url", "trust_env=True",
)  # fmt: skip


def imports(text: str) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def test_F07_only_the_fetch_room_can_open_a_connection():
    """Others may wait for callers: a web server, and the owner's door in the file system."""
    root = Path(dayfly.__file__).parent
    offenders = []
    for path in sorted(root.rglob("*.py")):
        where, text = path.relative_to(root), path.read_text()
        if where.parts[0] == "fetch":
            continue
        offenders += [f"{where}: {call}" for call in CALLS if call in text]
        if not any(f"import {name}" in text or f"from {name}" in text for name in CLIENTS):
            continue
        named = imports(text)
        allowed = {"socket"} if where.parts[0] == "serve" else set()
        if "aiohttp.web" in named and where.parts[0] in ("cli", "lab", "serve"):
            allowed.add("aiohttp")
        offenders += [f"{where}: {name}" for name in sorted((named & CLIENTS) - allowed)]
    assert not offenders


def test_F08_other_services_offered_by_an_answer_are_ignored():
    def setup(origin, canary):
        offer = f'h2="127.0.0.3:{canary.port}", h3=":{canary.port}"; ma=86400'
        link = f'<{canary.url()}>; rel="alternate"'
        origin.on("/", reply(b"", 200, Alt_Svc=offer, Link=link, Content_Location=canary.url()))

    told, origin, canary = ask([lambda o, c: o.url("/")] * 3, setup=setup)
    assert [answer.status for answer in told] == [200] * 3
    # One connection for all three; none of it to anywhere else.
    assert (origin.accepts, canary.accepts) == (1, 0)


def test_F08_a_connection_is_reused_for_its_own_host_and_port_only():
    """Two names may share an address; each has its own connection."""
    names = Told(a_example=[[ORIGIN]], b_example=[[ORIGIN]])
    told, origin, _ = ask(
        [
            lambda o, c, h=h: f"http://{h}:{o.port}/"
            for h in ("a.example", "b.example", "a.example")
        ],
        resolver=names,
    )
    assert [answer.status for answer in told] == [404] * 3
    assert [request.connection for request in origin.requests] == [1, 2, 1]


def test_F08_a_guard_never_changes_and_another_one_shares_no_connection():
    async def run():
        async with Origin() as origin, Web(origin.guard, agent="t") as web:
            await web.get(origin.url())
            async with Web(Guard(), agent="t") as other:
                with pytest.raises(Forbidden):
                    await other.get(origin.url())
        return origin.accepts

    assert asyncio.run(run()) == 1
    assert isinstance(Guard(["127.0.0.2/32:80"])._allowed, tuple)


@pytest.mark.parametrize("port", [22, 25, 6379])
def test_F08_doors_of_other_services_are_closed(port):
    names = Told(example_example=[["93.184.215.14"]])
    told, _, _ = ask(
        [f"http://93.184.215.14:{port}/", f"http://example.example:{port}/"], resolver=names
    )
    for error in told:
        assert isinstance(error, Forbidden)
        assert f"port {port}" in str(error)
