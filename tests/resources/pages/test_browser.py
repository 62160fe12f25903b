"""Drawing pages in a real Chromium: its scripts run, and nothing leads past the guard."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import httpx
import pytest
import pytest_asyncio

from resources.http import HttpClient, OutageError, Response, RetryPolicy
from resources.network_guard import NetworkGuard
from resources.pages import browser as browsing
from resources.pages.browser import Browser
from resources.pages.scraper import PageFetcher
from tests.chromium import needs_browser
from tests.resources.pages.browsers import CHROMIUM, SENTENCE, SHELL, SITE, shell, writing
from tests.servers import Behaviour, Exchange, MisbehavingServer, hang, redirect, reset, respond

# One loop for all tests, so that the browser starts once.
pytestmark = [needs_browser, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with Browser(NetworkGuard(), CHROMIUM) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def server() -> AsyncIterator[MisbehavingServer]:
    async with MisbehavingServer() as running:
        yield running


@asynccontextmanager
async def fetching(
    browser: Browser, server: MisbehavingServer, load_seconds: float = 20, wait_seconds: float = 12
) -> AsyncIterator[PageFetcher]:
    browser.guard = NetworkGuard(server.names)
    browser.load_seconds, browser.wait_seconds = load_seconds, wait_seconds
    async with HttpClient(guard=browser.guard, retry=RetryPolicy(attempts=1)) as http:
        yield PageFetcher(http, browser=browser)


@pytest_asyncio.fixture(loop_scope="module")
async def fetcher(browser: Browser, server: MisbehavingServer) -> AsyncIterator[PageFetcher]:
    """As patient as the pipeline, so that a busy machine changes no outcome."""
    async with fetching(browser, server) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def impatient(browser: Browser, server: MisbehavingServer) -> AsyncIterator[PageFetcher]:
    """For tests that wait for the limits."""
    async with fetching(browser, server, load_seconds=4, wait_seconds=2) as opened:
        yield opened


async def test_a_script_drawn_page_is_read_as_drawn_asked_for_once_and_without_pictures(
    server: MisbehavingServer, fetcher: PageFetcher
) -> None:
    server.on("/app.js", respond("fetch('/data').then(r => r.text()).then(show)"))
    server.on("/data", respond(SENTENCE * 3, content_type="text/plain", after=0.3))
    show = "function show(t) { document.getElementById('root').innerHTML = `<p>${t}</p>`; }"
    decoration = (
        '<img src="/picture.png"><video src="/film.mp4"></video>'
        "<style>@font-face{font-family:F;src:url(/letters.woff2)} body{font-family:F}</style>"
    )
    server.on("/page", respond(f'{shell(show)}{decoration}<script src="/app.js"></script>'))
    page = await fetcher.fetch(f"{SITE}/page?n=1")
    assert (page.outcome, page.via, page.final_url) == ("ok", "browser", f"{SITE}/page?n=1")
    assert page.text == (SENTENCE * 3).strip()
    assert (page.title, page.http_status) == ("App", 200)
    assert (page.reason or "").startswith("needs a browser")
    assert server.count("/page") == 1
    loaded = {"/robots.txt", "/page", "/app.js", "/data", "/favicon.ico"}
    assert {asked.path for asked in server.asked} <= loaded


async def test_a_notice_before_the_text_is_not_the_page(
    server: MisbehavingServer, fetcher: PageFetcher
) -> None:
    notice = "This site keeps cookies and asks you to agree before you go on reading. " * 3
    later = f"fetch('/slow').then(r => r.text()).then(t => {{ {writing(SENTENCE * 3)} }})"
    server.on("/slow", respond("data", after=1.2))
    server.on("/", respond(shell(f"{writing(notice)} {later}")))
    page = await fetcher.fetch(f"{SITE}/")
    assert page.text == (SENTENCE * 3).strip()


async def test_text_in_open_shadow_trees_is_read_and_text_hidden_by_any_style_sheet_is_not(
    server: MisbehavingServer, fetcher: PageFetcher
) -> None:
    ways = (
        "display: none",
        "visibility: hidden",
        "opacity: 0",
        "font-size: 0",
        "position: absolute; left: -9999px",
        "text-indent: -9999px",
        "height: 0; overflow: hidden",
        "clip-path: inset(50%)",
        "transform: translateX(-9999px)",
        "color: #fdfdfd",
        "color: transparent",
        "text-decoration: line-through",
    )
    sheet = "".join(f".way{at} {{ {way} }}" for at, way in enumerate(ways))
    seen = ".dark { background: #111; color: #fff } .fine { opacity: .8; text-indent: 1em }"
    server.on("/style.css", respond(sheet + seen, content_type="text/css"))
    planted = "".join(f"<p class=way{at}>Planted {at}.</p>" for at in range(len(ways)))
    kept = f"<p class=dark>Light on dark.</p><p class=fine>{SENTENCE * 3}</p>"
    page = f"{planted}{kept}<details><summary>More</summary><p>Folded words.</p></details>"
    article = f"<article>{page}<div id=host></div></article>"
    write = (
        f"document.getElementById('root').innerHTML = `{article}`;"
        "const tree = document.getElementById('host').attachShadow({mode: 'open'});"
        "tree.innerHTML = `<p>Words of a shadow tree.</p>`;"
    )
    server.on("/", respond(f'<link rel=stylesheet href="/style.css">{shell(write)}'))
    text = (await fetcher.fetch(f"{SITE}/")).text
    assert "Planted" not in text
    assert "Folded words." not in text
    for words in (SENTENCE.strip(), "Light on dark.", "Words of a shadow tree."):
        assert words in text


async def test_a_redirecting_page_has_the_address_and_title_of_its_target_not_of_a_canonical_link(
    server: MisbehavingServer, fetcher: PageFetcher
) -> None:
    server.on("/old", respond(shell("location.replace('http://other.example/hop')")))
    server.on("/hop", redirect("/refresh"))
    refresh = '<meta http-equiv="refresh" content="0;url=http://other.example/new">'
    server.on("/refresh", respond(f"{refresh}<script>1</script>"))
    canonical = (
        f'<link rel="canonical" href="{SITE}/good"><meta property="og:url" content="{SITE}">'
    )
    article = f"<title>New</title>{canonical}<article><p>{SENTENCE * 3}</p></article>"
    server.on("/new", respond(article))
    page = await fetcher.fetch(f"{SITE}/old")
    assert (page.outcome, page.final_url) == ("ok", "http://other.example/new")
    assert (page.url, page.title) == (f"{SITE}/old", "New")


async def test_of_three_pages_at_once_every_text_belongs_to_its_url(
    server: MisbehavingServer, fetcher: PageFetcher
) -> None:
    chance = random.Random(7)

    async def own(exchange: Exchange) -> None:
        owner = f"{exchange.asked.host}{exchange.asked.target}"
        if exchange.asked.path.startswith("/data"):
            await respond(f"This belongs to {owner} alone. {SENTENCE}", after=chance.random() / 5)(
                exchange
            )
        else:
            script = (
                "document.cookie = 'seen=' + location.pathname;"
                "localStorage.setItem('seen', (localStorage.getItem('seen') || '') + '!');"
                "fetch('/data' + location.pathname).then(r => r.text()).then(t => {"
                "document.getElementById('root').innerHTML = `<p>${t}</p><p>Visited"
                " ${localStorage.getItem('seen')} and ${document.cookie}</p>`; })"
            )
            await respond(shell(script))(exchange)

    server.on("*", own)
    urls = [f"http://host{n % 2}.example/page{n}" for n in range(3)]
    pages = await asyncio.gather(*(fetcher.fetch(url) for url in urls))
    for page, url in zip(pages, urls, strict=True):
        host, path = url.removeprefix("http://").split("/")
        assert page.final_url == url
        assert page.text.count("This belongs to") == 1
        assert f"This belongs to {host}/data/{path} alone." in page.text
        assert f"Visited ! and seen=/{path}" in page.text


async def test_a_page_without_text_even_with_scripts_says_so(
    server: MisbehavingServer, impatient: PageFetcher
) -> None:
    server.on("/", respond(shell("1 + 1")))
    page = await impatient.fetch(f"{SITE}/")
    assert (page.outcome, page.text, page.via) == ("unavailable", "", None)
    assert "browser: the page has no text even with its scripts" in (page.reason or "")


@pytest.mark.parametrize("behaviour", [respond(status=503), reset()])
async def test_scripts_that_did_not_load_are_an_outage(
    server: MisbehavingServer, fetcher: PageFetcher, behaviour: Behaviour
) -> None:
    excuse = f"{writing('Something went wrong. Please try again in some minutes. ' * 3)}"
    server.on("/app.js", behaviour)
    server.on("/", respond(f'{shell(excuse)}<script src="/app.js"></script>'))
    page = await fetcher.fetch(f"{SITE}/")
    assert (page.outcome, page.text) == ("outage", "")
    assert "site.example" in (page.reason or "")


async def test_an_endless_script_ends_at_the_time_limit_and_harms_no_other_page(
    browser: Browser, server: MisbehavingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browsing, "_GRACE_SECONDS", 0.5)
    endless = shell("setTimeout(() => { while (true) {} }, 50)").encode()
    server.on("/next", respond(shell(writing(SENTENCE * 3))))
    response = Response(f"{SITE}/", 200, httpx.Headers({"content-type": "text/html"}), endless)
    async with fetching(browser, server, load_seconds=0.5, wait_seconds=0.5):
        with pytest.raises(OutageError):
            await browser.draw(response)
    async with fetching(browser, server) as fetcher:
        assert (await fetcher.fetch(f"{SITE}/next")).outcome == "ok"


async def test_a_document_that_waits_for_a_script_ends_at_the_time_limit(
    server: MisbehavingServer, impatient: PageFetcher
) -> None:
    server.on("/slow.js", hang())
    server.on("/", respond(f'{SHELL}<script src="/slow.js"></script>'))
    page = await impatient.fetch(f"{SITE}/")
    assert page.outcome == "outage"
    assert "was not there after 4 seconds" in (page.reason or "")


# --- The guard ----------------------------------------------------------------------------------

ESCAPES = {
    "fetch": "fetch('{target}', {{mode: 'no-cors'}})",
    "a request with preflight": "fetch('{target}', {{method: 'PUT', headers: {{'x-a': 'b'}}}})",
    "an XMLHttpRequest": "const x = new XMLHttpRequest(); x.open('GET', '{target}'); x.send()",
    "a beacon": "navigator.sendBeacon('{target}', 'data')",
    "a web socket": "new WebSocket('{target}'.replace('http', 'ws'))",
    "an event stream": "new EventSource('{target}')",
    "a frame": "document.body.innerHTML += `<iframe src='{target}'></iframe>`",
    "a script": "const s = document.createElement('script'); s.src = '{target}';"
    "document.body.append(s)",
    "a style sheet": "document.body.innerHTML += `<link rel=stylesheet href='{target}'>`",
    "a prefetch": "document.head.innerHTML += `<link rel=prefetch href='{target}'>`",
    "a preconnect": "document.head.innerHTML += `<link rel=preconnect href='{target}'>`",
    "a redirect": "fetch('/redirect?{target}', {{mode: 'no-cors'}})",
    "a window": "window.open('{target}')",
    "a form": "document.body.innerHTML += `<form target=f method=post action='{target}'></form>"
    "<iframe name=f></iframe>`; [...document.forms].at(-1).submit()",
    "a worker": "new Worker(URL.createObjectURL(new Blob(["
    "`fetch('{target}', {{mode: 'no-cors'}})`])))",
    "a shared worker": "new SharedWorker(URL.createObjectURL(new Blob(["
    "`fetch('{target}', {{mode: 'no-cors'}})`])))",
    "a service worker": "navigator.serviceWorker && navigator.serviceWorker.register('/worker.js')",
    "a peer connection": "const p = new RTCPeerConnection({{iceServers: [{{urls: "
    "['stun:127.0.0.1:{port}', 'turn:127.0.0.1:{port}?transport=tcp'], username: 'u', "
    "credential: 'c'}}]}}); p.createDataChannel('d');"
    "p.createOffer().then(o => p.setLocalDescription(o))",
    "web transport": "new WebTransport('https://127.0.0.1:{port}/')",
}


class Secret:
    """A service on loopback that must stay unreachable, by TCP or by UDP."""

    def __init__(self) -> None:
        self.reached = 0
        self.port = 0

    async def __aenter__(self) -> Secret:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        secret = self

        class Datagrams(asyncio.DatagramProtocol):
            def datagram_received(self, data: bytes, address: object) -> None:
                secret.reached += 1

        self._udp, _ = await asyncio.get_running_loop().create_datagram_endpoint(
            Datagrams, local_addr=("127.0.0.1", self.port)
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self._udp.close()

    def _accept(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reached += 1
        writer.close()


PRIVATE_HOSTS = ("127.0.0.1", "localhost", "2130706433", "[::ffff:127.0.0.1]")

# Attempts that the browser denies for every target.
DENIED = frozenset(
    {
        "a beacon",
        "a peer connection",
        "a preconnect",
        "a prefetch",
        "a service worker",
        "a web socket",
        "a window",
        "web transport",
    }
)


def attempts(targets: Iterable[tuple[str, str]], port: int) -> str:
    """A page that tries each named means on its target, and then has something to say."""
    steps = "".join(
        f"try {{ {ESCAPES[name].format(target=target, port=port)} }} catch (e) {{}}\n"
        for name, target in targets
    )
    steps = steps.replace("</", "<\\/")
    return shell(f"{{ {steps} }}\nsetTimeout(() => {{ {writing(SENTENCE * 3)} }}, 700)")


async def redirect_to_the_query(exchange: Exchange) -> None:
    await redirect(exchange.asked.target.partition("?")[2])(exchange)


async def test_no_browser_feature_reaches_a_private_service(
    server: MisbehavingServer, fetcher: PageFetcher
) -> None:
    async with Secret() as secret:
        first, *others = (f"http://{host}:{secret.port}/secret" for host in PRIVATE_HOSTS)
        # The guard judges an address, however the page asks for it.
        means = "fetch", "a frame", "a redirect", "a worker"
        targets = [(name, first) for name in ESCAPES]
        targets += ((name, other) for other in others for name in means)
        fetches = "".join(f"fetch('{target}');" for target in (first, *others))
        server.on("/redirect", redirect_to_the_query)
        server.on("/worker.js", respond(fetches, content_type="text/javascript"))
        server.on("/", respond(attempts(targets, secret.port)))
        answer = await fetcher.fetch(f"{SITE}/")
        assert answer.outcome == "ok", answer.reason
        assert secret.reached == 0
        assert server.count("/redirect") == len(PRIVATE_HOSTS)


async def test_the_same_means_do_reach_a_public_service(
    server: MisbehavingServer, fetcher: PageFetcher
) -> None:
    """Otherwise the test above would show nothing."""
    paths = {f"/public/{n}": name for n, name in enumerate(ESCAPES) if name not in DENIED}
    server.on("/redirect", redirect_to_the_query)
    targets = [(name, f"http://public.example{path}") for path, name in paths.items()]
    server.on("/", respond(attempts(targets, port=9)))
    assert (await fetcher.fetch(f"{SITE}/")).outcome == "ok"
    assert [name for path, name in paths.items() if server.count(path) == 0] == []


async def test_a_page_that_redirects_into_a_private_network_is_refused(
    server: MisbehavingServer, impatient: PageFetcher
) -> None:
    async with Secret() as secret:
        server.on("/", respond(shell(f"location = 'http://127.0.0.1:{secret.port}/'")))
        page = await impatient.fetch(f"{SITE}/")
        assert page.outcome != "ok"
        assert secret.reached == 0


async def test_a_name_that_changes_its_address_is_checked_at_every_connection(
    browser: Browser, server: MisbehavingServer
) -> None:
    async with Secret() as secret:
        asked: list[str] = []

        async def resolver(host: str, port: int) -> list[str]:
            asked.append(host)
            return ["127.0.0.1"]

        browser.wait_seconds = 1
        browser.guard = NetworkGuard(
            server.names, resolver=resolver, allowed_ports=frozenset({80, secret.port})
        )
        script = f"fetch('http://rebinding.test:{secret.port}/', {{mode: 'no-cors'}});"
        response = Response(
            f"{SITE}/", 200, httpx.Headers({"content-type": "text/html"}), shell(script).encode()
        )
        await browser.draw(response)
        assert "rebinding.test" in asked
        assert secret.reached == 0
