"""Cases F19 to F21: certificates that are not good, answers that are not HTTP, and circles."""

import asyncio
import datetime
import ssl
import warnings

import pytest
import trustme
from tests.origin import ORIGIN, Origin, Place, Told, redirect, reply, then_close

from dayfly.fetch import Deadlines, FetchError, Guard, HttpFetcher, Web
from dayfly.model import Status

QUICK = Deadlines(connect=2.0, tls=2.0, first_byte=2.0, idle=2.0, total=5.0)
FEED = b"<rss version='2.0'><channel><title>t</title><item><guid>1</guid></item></channel></rss>"
HEAD = b"HTTP/1.1 200 OK\r\n"


@pytest.fixture(scope="module")
def ca():
    return trustme.CA()


def served(certificate) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    return context


def trusting(ca) -> ssl.SSLContext:
    context = ssl.create_default_context()
    ca.configure_trust(context)
    return context


def over_tls(server: ssl.SSLContext, trust: ssl.SSLContext | None, *, verify=True, host=""):
    """What came of one visit over TLS, and how many requests were heard."""

    async def run():
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)  # the server's side of it
        async with Origin(tls=server) as origin:
            origin.on("/feed", reply(FEED))
            names = Told(good_example=[[ORIGIN]], bad_example=[[ORIGIN]])
            async with HttpFetcher(
                origin.guard, deadlines=QUICK, resolver=names, trust=trust
            ) as fetcher:
                place = Place(url=origin.url("/feed", host=host), verify_tls=verify)
                crawl = await fetcher.fetch(place)
                unchecked = await fetcher.fetch(
                    Place(url=origin.url("/feed", host=host), verify_tls=verify, obey_robots=False)
                )
        return crawl, unchecked, len(origin.requests)

    return asyncio.run(run())


def test_F19_a_good_certificate_is_believed(ca):
    crawl, _, heard = over_tls(
        served(ca.issue_cert("good.example")), trusting(ca), host="good.example"
    )
    assert (crawl.status, crawl.visible, heard) == (Status.CHANGED, 1, 3)


def bad_ones(ca):
    past = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=2)
    return {
        "expired": (ca.issue_cert("good.example", not_after=past), "certificate has expired"),
        "wrong host": (ca.issue_cert("other.example"), "hostname mismatch"),
        "another issuer": (trustme.CA().issue_cert("good.example"), "unable to get local issuer"),
        "wildcard too wide": (ca.issue_cert("*.com"), "hostname mismatch"),
    }


@pytest.mark.parametrize("which", ["expired", "wrong host", "another issuer", "wildcard too wide"])
def test_F19_a_bad_certificate_ends_the_visit(ca, which):
    certificate, why = bad_ones(ca)[which]
    crawl, unchecked, heard = over_tls(served(certificate), trusting(ca), host="good.example")
    assert heard == 0
    assert not crawl.answered
    assert unchecked.status is Status.FAILED
    assert unchecked.reason.startswith("tls: ")
    assert why in unchecked.reason.lower()


def test_F19_a_certificate_that_nobody_vouches_for_ends_the_visit(ca):
    """With the certificates that the system believes, which do not include ours."""
    crawl, unchecked, heard = over_tls(
        served(ca.issue_cert("good.example")), None, host="good.example"
    )
    assert (heard, crawl.answered) == (0, False)
    assert unchecked.reason.startswith("tls: ")


def test_F19_an_address_needs_a_certificate_for_the_address(ca):
    crawl, _, _ = over_tls(served(ca.issue_cert(ORIGIN)), trusting(ca))
    assert crawl.visible == 1
    _, unchecked, heard = over_tls(served(ca.issue_cert("good.example")), trusting(ca))
    assert heard == 0
    assert "ip address mismatch" in unchecked.reason.lower()


def test_F19_the_override_of_one_source_is_explicit_and_only_its_own(ca):
    certificate, _ = bad_ones(ca)["expired"]

    async def run():
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        async with Origin(tls=served(certificate)) as origin:
            origin.on("/feed", reply(FEED))
            async with HttpFetcher(origin.guard, deadlines=QUICK, trust=trusting(ca)) as fetcher:
                places = [
                    Place(url=origin.url("/feed"), verify_tls=verify, obey_robots=False)
                    for verify in (False, True, False)
                ]
                return [(await fetcher.fetch(place)).status for place in places]

    assert asyncio.run(run()) == [Status.CHANGED, Status.FAILED, Status.CHANGED]


def test_F19_old_versions_of_tls_are_not_spoken(ca):
    server = served(ca.issue_cert("good.example"))
    server.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        server.minimum_version = ssl.TLSVersion.TLSv1
        server.maximum_version = ssl.TLSVersion.TLSv1
    for verify in (True, False):
        _, unchecked, heard = over_tls(server, trusting(ca), verify=verify, host="good.example")
        assert heard == 0
        assert unchecked.reason.startswith("tls: ")


@pytest.mark.parametrize("verified", [True, False])
def test_F19_our_own_contexts_speak_nothing_older_than_tls_1_2(monkeypatch, verified):
    """Whatever the system thinks is enough."""
    usual = ssl.create_default_context

    def lenient():
        context = usual()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            context.minimum_version = ssl.TLSVersion.TLSv1
        return context

    monkeypatch.setattr(ssl, "create_default_context", lenient)

    async def run():
        async with Web(agent="t") as web:
            return web._context(verified)

    context = asyncio.run(run())
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
    required = ssl.CERT_REQUIRED if verified else ssl.CERT_NONE
    assert (context.verify_mode, context.check_hostname) == (required, verified)


def test_F19_tls_1_1_is_refused_by_the_context_that_crawls_use(ca):
    server = served(ca.issue_cert("good.example"))
    server.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        server.minimum_version = server.maximum_version = ssl.TLSVersion.TLSv1_1
    for verify in (True, False):
        _, unchecked, heard = over_tls(server, None, verify=verify, host="good.example")
        assert heard == 0
        assert unchecked.reason.startswith("tls: ")
        assert "certificate" not in unchecked.reason  # it does not get that far


def test_F19_plain_text_where_tls_is_expected_is_an_error():
    async def run():
        async def plain(reader, writer):
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            await writer.drain()
            writer.close()

        async with await asyncio.start_server(plain, ORIGIN, 0) as server:
            port = server.sockets[0].getsockname()[1]
            async with Web(Guard([f"{ORIGIN}/32:{port}"]), agent="t", deadlines=QUICK) as web:
                with pytest.raises(FetchError) as caught:
                    await web.get(f"https://{ORIGIN}:{port}/")
            await asyncio.sleep(0.01)
        return caught.value.kind

    assert asyncio.run(run()) == "tls"


SECRETS = (("Authorization", "Bearer very-secret"), ("X-Api-Key", "very-secret"))


@pytest.mark.parametrize("code", [301, 302, 307, 308])
@pytest.mark.parametrize("where", ["other host", "other port", "plain"])
def test_F09_a_sources_secrets_go_to_its_own_origin_alone(ca, where, code):
    """Scheme, host and port: a redirect that changes any of them leads to somebody else."""

    async def run():
        tls = served(ca.issue_cert("good.example", "bad.example"))
        async with Origin(tls=tls) as one, Origin(tls=tls) as two, Origin() as plain:
            away = {
                "other host": one.url("/there", host="bad.example"),
                "other port": two.url("/there", host="good.example"),
                "plain": plain.url("/there", host="good.example"),
            }
            one.on("/feed", redirect("/near", code))
            one.on("/near", redirect(away[where], code))
            for origin in (one, two, plain):
                origin.on("/there", reply(FEED))
            names = Told(good_example=[[ORIGIN]], bad_example=[[ORIGIN]])
            guard = Guard([origin.allowance for origin in (one, two, plain)])
            async with HttpFetcher(guard, resolver=names, trust=trusting(ca)) as fetcher:
                source = Place(url=one.url("/feed", host="good.example"), headers=SECRETS)
                crawl = await fetcher.fetch(source)
            return crawl, [*one.requests, *two.requests, *plain.requests]

    crawl, requests = asyncio.run(run())
    assert crawl.status is Status.CHANGED
    assert "very-secret" not in repr(crawl)
    told = {request.path: b"very-secret" in request.raw for request in requests}
    assert told == {"/robots.txt": False, "/feed": True, "/near": True, "/there": False}
    for request in requests:
        if request.path == "/there":
            assert not {"authorization", "x-api-key"} & {*request.headers}


NOT_HTTP = {
    "length and chunks": HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"5\r\nhello\r\n0\r\n\r\n",
    "chunk size": HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n",
    "negative chunk": HEAD + b"Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n",
    "huge chunk": HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * 40 + b"\r\nhello",
    "long size": HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"0" * 70_000 + b"5\r\nhello",
    "negative length": HEAD + b"Content-Length: -5\r\n\r\nhello",
    "signed length": HEAD + b"Content-Length: +5\r\n\r\nhello",
    "length in words": HEAD + b"Content-Length: five\r\n\r\nhello",
    "two lengths": HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    "length twice": HEAD + b"Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
    "lengths in a list": HEAD + b"Content-Length: 5, 5\r\n\r\nhello",
    "HTTP/0.9": FEED,
    "HTTP/3.0": b"HTTP/3.0 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    "no version": b"200 OK\r\nContent-Length: 5\r\n\r\nhello",
    "no status": b"HTTP/1.1 OK\r\nContent-Length: 5\r\n\r\nhello",
    "long status": b"HTTP/1.1 2000 OK\r\nContent-Length: 5\r\n\r\nhello",
    "bare LF": b"HTTP/1.1 200 OK\nContent-Length: 5\n\nhello",
    "some bare LF": HEAD + b"X: y\nContent-Length: 5\r\n\r\nhello",
    "LF at the end": HEAD + b"Content-Length: 0\r\n\n",
    "LF before the body": HEAD + b"Content-Length: 5\r\n\nhello",
    "bare CR": HEAD + b"X: y\rContent-Length: 5\r\n\r\nhello",
    "NUL in a field": HEAD + b"X: y\0z\r\nContent-Length: 5\r\n\r\nhello",
    "space in a name": HEAD + b"X Y: z\r\nContent-Length: 5\r\n\r\nhello",
    "no colon": HEAD + b"Content-Length 5\r\n\r\nhello",
    "odd transfer encoding": HEAD + b"Transfer-Encoding: xchunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "packed transfer": HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "chunked, then packed": HEAD + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n\r\n"
    b"5\r\nhello\r\n0\r\n\r\n",
    "packed, then chunked": HEAD + b"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"5\r\nhello\r\n0\r\n\r\n",
    "chunked twice": HEAD + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"5\r\nhello\r\n0\r\n\r\n",
    "another protocol": b"SSH-2.0-OpenSSH_9.2\r\n",
    "rubbish": bytes(range(256)) * 4,
}


@pytest.mark.parametrize("which", NOT_HTTP)
@pytest.mark.parametrize("close", [True, False], ids=["closes", "stays"])
def test_F20_what_is_not_http_ends_the_connection(which, close):
    said = NOT_HTTP[which]

    async def run():
        async with Origin() as origin:
            origin.on("/", then_close(said) if close else said)
            origin.on("/fine", reply(b"fine"))
            async with Web(
                origin.guard, agent="t", deadlines=Deadlines(first_byte=0.3, total=1.0)
            ) as web:
                with pytest.raises(FetchError) as caught:
                    await web.get(origin.url())
                assert (await web.get(origin.url("/fine"))).body == b"fine"
        return caught.value, [request.connection for request in origin.requests]

    error, connections = asyncio.run(run())
    assert error.kind in ("protocol", "cut short", "too large", "timeout")
    if which not in ("huge chunk", "long size", "no version"):
        assert error.kind != "timeout"
    assert str(error).isprintable()
    assert connections == [1, 2]  # never used again


@pytest.mark.parametrize("which", ["chunk size", "two lengths", "bare LF", "rubbish"])
def test_F20_is_the_same_where_it_comes_byte_by_byte(which):
    async def slowly(request, reader, writer):
        for byte in NOT_HTTP[which]:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0)
        writer.close()

    async def run():
        async with Origin() as origin:
            origin.on("/", slowly)
            async with Web(origin.guard, agent="t", deadlines=QUICK) as web:
                with pytest.raises(FetchError) as caught:
                    await web.get(origin.url())
        return caught.value.kind

    assert asyncio.run(run()) in ("protocol", "cut short")


def test_F20_more_answers_than_requests_end_the_connection():
    """The second answer was not asked for; it must not be taken for the next one."""

    async def run():
        async with Origin() as origin:
            origin.on("/", reply(b"first") + reply(b"smuggled"))
            origin.on("/next", reply(b"next"))
            async with Web(origin.guard, agent="t", deadlines=QUICK) as web:
                bodies = [(await web.get(origin.url(path))).body for path in ("/", "/next")]
        return bodies, [request.connection for request in origin.requests]

    assert asyncio.run(run()) == ([b"first", b"next"], [1, 2])


@pytest.mark.parametrize("seen", [True, False], ids=["heard before", "waiting in the socket"])
def test_F20_an_answer_that_comes_late_is_not_taken_for_the_next_one(seen):
    late = asyncio.Event()

    async def twice(request, reader, writer):
        writer.write(reply(b"first"))
        await writer.drain()
        await asyncio.sleep(0.02)
        writer.write(reply(b"smuggled"))
        await writer.drain()
        late.set()

    async def run():
        async with Origin() as origin:
            origin.on("/", twice)
            origin.on("/next", reply(b"next"))
            async with Web(origin.guard, agent="t", deadlines=QUICK) as web:
                first = (await web.get(origin.url("/"))).body
                await late.wait()
                await asyncio.sleep(0.05 if seen else 0.0)
                second = (await web.get(origin.url("/next"))).body
        return first, second

    assert asyncio.run(run()) == (b"first", b"next")


def follow(script, **settings):
    async def run():
        async with Origin() as origin:
            script(origin)
            async with Web(origin.guard, agent="t") as web:
                try:
                    return await web.get(origin.url("/0"), **settings), origin
                except FetchError as error:
                    return error, origin

    return asyncio.run(run())


def chain(length, status=302):
    def script(origin):
        for n in range(length):
            origin.on(f"/{n}", redirect(f"/{n + 1}", status))
        origin.on(f"/{length}", reply(b"arrived"))

    return script


def test_F21_ten_redirects_are_followed_and_eleven_are_not():
    answer, _ = follow(chain(10))
    assert (answer.body, answer.url[-3:]) == (b"arrived", "/10")
    error, origin = follow(chain(11))
    assert str(error) == "redirects: more than 10"
    assert len(origin.requests) == 11


def test_F21_five_are_enough_for_robots():
    assert follow(chain(5), max_redirects=5)[0].body == b"arrived"
    assert follow(chain(6), max_redirects=5)[0].kind == "redirects"
    assert follow(chain(1), max_redirects=0)[0].kind == "redirects"


def test_F21_a_circle_is_noticed():
    def script(origin):
        origin.on("/0", redirect("/1"))
        origin.on("/1", redirect("/0"))

    error, origin = follow(script)
    assert str(error) == "redirects: in a circle"
    assert len(origin.requests) == 2
    error, origin = follow(lambda origin: origin.on("/0", redirect("#again")))
    assert str(error) == "redirects: in a circle"
    assert len(origin.requests) == 1


def test_F21_a_circle_that_grows_its_query_ends():
    async def grow(request, reader, writer):
        writer.write(redirect(f"{request.path}x"))

    class Growing(Origin):
        async def _answer(self, reader, writer, number):
            self._scripts = {path: [grow] for path in ["/0"]}
            self._scripts |= {f"/0{'x' * n}": [grow] for n in range(30)}
            return await super()._answer(reader, writer, number)

    async def run():
        async with Growing() as origin, Web(origin.guard, agent="t") as web:
            with pytest.raises(FetchError, match="more than 10"):
                await web.get(origin.url("/0"))
        return len(origin.requests)

    assert asyncio.run(run()) == 11
