"""Fetching pages from a real server: each outcome has its name, and each text its URL."""

from __future__ import annotations

import asyncio
import gzip
import random
import time
from datetime import UTC, date, datetime

import pytest

from factible_assets.stages.ports import Fetcher
from resources.http import HttpClient, RetryPolicy
from resources.network_guard import NetworkGuard
from resources.pages.base import FetchedPage
from resources.pages.scraper import PageFetcher
from resources.promises import Promise
from tests.servers import (
    Behaviour,
    Exchange,
    MisbehavingServer,
    head,
    redirect,
    reset,
    respond,
    truncate,
)

SITE = "http://site.example"
PARAGRAPH = "Water boils at a lower temperature on a mountain, because the air there presses less. "


def article(body: str, *, head: str = "") -> str:
    return (
        f"<!doctype html><html><head><title>An article</title>{head}</head>"
        f"<body><nav>Home | About</nav><article><h1>An article</h1>{body}</article></body></html>"
    )


@pytest.fixture
def fetcher(http: HttpClient) -> PageFetcher:
    return PageFetcher(http)


async def test_a_page_has_its_text_and_metadata(
    server: MisbehavingServer, fetcher: PageFetcher
) -> None:
    head = (
        '<meta name="author" content="Ada Lovelace">'
        '<meta property="article:published_time" content="2021-03-05T08:00:00Z">'
    )
    html = article(f"<p>{PARAGRAPH * 5}</p><p>{PARAGRAPH}</p>", head=head)
    server.on("/old", redirect("/new"))
    server.on("/new", respond(html, headers={"ETag": '"v1"', "Last-Modified": "yesterday"}))
    port: Fetcher = fetcher
    page = await port.fetch(f"{SITE}/old")
    assert (page.outcome, page.reason, page.http_status, page.via) == ("ok", None, 200, "scraped")
    assert (page.url, page.final_url) == (f"{SITE}/old", f"{SITE}/new")
    assert (page.title, page.author) == ("An article", "Ada Lovelace")
    assert page.published_on == date(2021, 3, 5)
    assert PARAGRAPH.strip() in page.text
    assert "Home | About" not in page.text
    assert (page.etag, page.last_modified) == ('"v1"', "yesterday")
    assert page.byte_count == len(html.encode())
    assert (datetime.now(UTC) - page.retrieved_at).total_seconds() < 60
    assert 0 < page.latency_seconds < 60


@pytest.mark.parametrize(
    "landing",
    [respond(status=404), respond(status=503), reset(), truncate(), respond(status=302)],
    ids=["gone", "down", "reset", "cut off", "nowhere"],
)
async def test_a_failure_after_a_redirect_has_the_final_url(
    server: MisbehavingServer, fetcher: PageFetcher, landing: Behaviour
) -> None:
    server.on("/short", redirect("http://behind.example/page"))
    server.on("/page", landing)
    page = await fetcher.fetch(f"{SITE}/short")
    assert page.outcome != "ok"
    assert page.final_url == "http://behind.example/page"


async def test_a_page_that_fails_at_once_has_no_final_url(
    server: MisbehavingServer, fetcher: PageFetcher
) -> None:
    server.on("/short", reset())
    assert (await fetcher.fetch(f"{SITE}/short")).final_url is None


@pytest.mark.parametrize(
    ("behaviour", "outcome", "reason"),
    [
        (respond(status=404), "absent", "answered 404 Not Found"),
        (respond(status=403), "unavailable", "answered 403 Forbidden"),
        (respond(b"%PDF-1.7", content_type="application/pdf"), "unavailable", "broken"),
        (respond(b"Hello", content_type="application/pdf"), "unavailable", "and no PDF"),
        (respond(b"MZ", content_type="application/octet-stream"), "unavailable", "and no PDF"),
        (respond(b"\x89PNG\0\0", content_type=None), "unavailable", "binary data"),
        (respond("{}", content_type="application/json"), "unavailable", "application/json"),
        (redirect("http://169.254.169.254/"), "unavailable", "not a public address"),
        (respond(status=503), "outage", "answered 503"),
        (truncate(), "outage", "broke off"),
    ],
)
async def test_every_failure_has_its_name_and_no_text(
    server: MisbehavingServer, fetcher: PageFetcher, behaviour: Behaviour, outcome: str, reason: str
) -> None:
    server.on("/", behaviour)
    page = await fetcher.fetch(f"{SITE}/?session=sesame")
    assert page.outcome == outcome
    assert page.reason is not None
    assert reason in page.reason
    assert "sesame" not in page.reason
    assert (page.text, page.via) == ("", None)


def unframed(body: bytes | str, content_type: str = "text/html") -> Behaviour:
    """Say nothing of where the body ends, and close."""
    content = body.encode() if isinstance(body, str) else body

    async def behave(exchange: Exchange) -> None:
        exchange.keep_alive = False
        await exchange.send(head(200, {"Content-Type": content_type, "Connection": "close"}))
        await exchange.send(content)

    return behave


WHOLE = article(f"<p>{PARAGRAPH * 5}</p>")
HALF = WHOLE[: len(WHOLE) // 2].encode()
CYRILLIC = "".join(map(chr, range(0x430, 0x450)))
RUSSIAN = f"{CYRILLIC[:6]} {CYRILLIC[6:14]} {CYRILLIC[14:]}. " * 8
STUB = f"<p>{PARAGRAPH * 6}"


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (respond(""), "empty body"),
        (respond(" \r\n\r\n ", content_type="text/plain"), "empty body"),
        (respond("<html><body></body></html>"), "without any text"),
        (
            respond(f"<html><body>{'<div class=row></div>' * 3_000}</body></html>"),
            "without any text",
        ),
        (respond(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" * 99), "binary data"),
        (respond(random.Random(1).randbytes(9_000)), "binary data"),
        (respond(gzip.compress(WHOLE.encode())), "binary data"),
        (respond('{"error": "upstream timed out"}'), "data instead of the page"),
        (respond('answered({"error": {"code": 500}});'), "data instead of the page"),
        (respond("<?xml version='1.0'?><Error><Code>SlowDown</Code></Error>"), "data instead"),
        (respond("<?xml version='1.0'?><rss><item>News of today</item></rss>"), "data instead"),
        (respond(WHOLE[:400], status=206), "a part of the page"),
        (respond("<title>Sugar calms | News</title><h1>Sugar calms</h1>"), "without any text"),
        (respond(f"<html><body><p>{PARAGRAPH * 3} Cut by who"), "broke off"),
        (unframed(HALF), "broke off"),
        (unframed(HALF, "text/plain"), "broke off"),
        (respond(HALF[: HALF.rfind(b"<article") + 4]), "broke off"),
        (unframed(b"%PDF-1.7 and then nothing", "application/pdf"), "broke off"),
        (respond(article("<p>La temp�rature est tr�s �lev�e. " * 9)), "characters"),
    ],
)
async def test_an_outage_that_answers_200_is_an_outage(
    server: MisbehavingServer, fetcher: PageFetcher, behaviour: Behaviour, reason: str
) -> None:
    server.on("/", behaviour)
    page = await fetcher.fetch(f"{SITE}/")
    assert (page.outcome, page.text) == ("outage", "")
    assert reason in (page.reason or "")


@pytest.mark.parametrize(
    ("html", "reason"),
    [
        (
            f"<div id=app>Loading</div><p>{'© Acme. ' * 40}<script src=a.js></script>",
            "needs a brow",
        ),
        ("<meta http-equiv=Refresh content='0;url=/b'><p>Follow this link to it.", "needs a brow"),
        (f"<meta http-equiv=refresh content='3; /b'>{STUB}", "needs a browser"),
        (
            f"<script>setTimeout(() => {{ location.href = '/b' }}, 99)</script>{STUB}",
            "needs a brow",
        ),
        (f"<script>top.location.replace(to)</script>{STUB}", "needs a browser"),
        (f"<body onload='document.forms[0].submit()'>{STUB}", "needs a browser"),
    ],
)
async def test_script_drawn_and_redirecting_pages_need_a_browser(
    server: MisbehavingServer, fetcher: PageFetcher, html: str, reason: str
) -> None:
    server.on("/", respond(html))
    page = await fetcher.fetch(f"{SITE}/")
    assert (page.outcome, page.text) == ("unavailable", "")
    assert (page.reason or "").startswith(reason)


@pytest.mark.parametrize(
    "head",
    [
        "<meta http-equiv=refresh content=5>",
        "<meta http-equiv=refresh content='300; url=/next'>",
        "<meta http-equiv=refresh content='5; url=/#live'>",
        "<noscript><meta http-equiv=refresh content='0; url=/plain'></noscript>",
        f"<script>if (bad) location.href = '/b'; {'more();' * 60}</script>",
    ],
)
async def test_a_page_that_may_lead_on_but_is_one_is_read(
    server: MisbehavingServer, fetcher: PageFetcher, head: str
) -> None:
    server.on("/", respond(article(f"<p>{PARAGRAPH * 5}</p>", head=head)))
    page = await fetcher.fetch(f"{SITE}/")
    assert (page.outcome, page.reason) == ("ok", None)


@pytest.mark.parametrize(
    "behaviour",
    [
        unframed(WHOLE),
        unframed(f"<title>T</title><p>{PARAGRAPH * 5}</p>"),
        unframed(f"{PARAGRAPH * 5}\nHome\n", "text/plain"),
        respond(f"<title>T</title><p>{PARAGRAPH * 5}"),
        respond(WHOLE, content_type="text/plain"),
        respond(f"<html><body><p>{PARAGRAPH * 5}<hr>Changed on 3 May 2004 by Ann"),
        respond(article(f"<h2>Please wait</h2><p>{PARAGRAPH * 5}")),
        respond(article(f"<h2>Maintenance</h2><p>{PARAGRAPH * 20}")),
        respond(article(f"<p>{PARAGRAPH * 3}</p><p>Subscribe to continue reading.")),
        respond(WHOLE, content_type="text/html; charset=utf-16"),
        respond(WHOLE.encode("utf-16"), content_type="text/html"),
        respond(article(f"<p>{RUSSIAN}").encode("koi8-r"), content_type="text/html;charset=koi8-r"),
        respond(article(f"<p>{RUSSIAN}").encode(), content_type="text/html;charset=iso-8859-1"),
    ],
)
async def test_odd_answers_that_are_whole_are_read(
    server: MisbehavingServer, fetcher: PageFetcher, behaviour: Behaviour
) -> None:
    server.on("/", behaviour)
    page = await fetcher.fetch(f"{SITE}/")
    assert (page.outcome, page.reason) == ("ok", None)
    assert PARAGRAPH.strip() in page.text or RUSSIAN.strip() in page.text


async def test_a_page_that_breaks_the_promise_of_its_search_is_an_outage(
    server: MisbehavingServer, fetcher: PageFetcher
) -> None:
    server.on("/", respond(article(f"<p>{PARAGRAPH * 5}</p>")))
    kept = Promise("Why water boils early", PARAGRAPH)
    broken = Promise(
        "How the glaciers of the Alps melt", "Half of their volume is lost since 1900."
    )
    assert (await fetcher.fetch(f"{SITE}/", promise=kept)).outcome == "ok"
    page = await fetcher.fetch(f"{SITE}/", promise=broken)
    assert (page.outcome, page.text, page.http_status) == ("outage", "", 200)


async def test_plain_text_is_read_as_it_stands(
    server: MisbehavingServer, fetcher: PageFetcher
) -> None:
    server.on("/", respond("A <b>plain</b> text.\n", content_type="text/plain"))
    page = await fetcher.fetch(f"{SITE}/")
    assert (page.outcome, page.text, page.title) == ("ok", "A <b>plain</b> text.", None)


@pytest.mark.parametrize(
    ("charset", "content_type", "head"),
    [
        ("latin-1", "text/html; charset=iso-8859-1", ""),
        ("latin-1", "text/html", '<meta charset="iso-8859-1">'),
        (
            "latin-1",
            "text/html",
            '<meta http-equiv="Content-Type" content="text/html; charset=ISO-8859-1">',
        ),
        ("latin-1", "text/html; charset=utf-8", ""),
        ("utf-8-sig", "text/html; charset=latin-1", ""),
        ("cp1252", "text/html; charset=iso-8859-1", ""),
        ("utf-8", "text/html; charset=no-such-charset", ""),
        ("utf-8", "text/html; charset=hex", ""),
    ],
)
async def test_letters_survive_every_charset(
    server: MisbehavingServer, fetcher: PageFetcher, charset: str, content_type: str, head: str
) -> None:
    sentence = "Les élèves ont mangé à la forêt près de l'hôtel, où naît la rivière. " * 6
    html = article(f"<p>{sentence}</p>", head=head)
    server.on("/", respond(html.encode(charset), content_type=content_type))
    page = await fetcher.fetch(f"{SITE}/")
    assert sentence.strip() in page.text


async def test_sixty_pages_at_once_and_every_text_belongs_to_its_url(
    server: MisbehavingServer, fetcher: PageFetcher
) -> None:
    chance = random.Random(7)

    async def own_page(exchange: Exchange) -> None:
        owner = f"{exchange.asked.host}{exchange.asked.target}"
        text = f"<p>This text belongs to {owner} and to nobody else. {PARAGRAPH * 4}</p>"
        html = article(text).replace("An article", f"Page of {owner}")
        await respond(html, after=chance.uniform(0, 0.05))(exchange)

    server.on("*", own_page)
    urls = [f"http://host{n % 13}.example/page{n}?n={n}" for n in range(60)]
    pages = await asyncio.gather(*(fetcher.fetch(url) for url in urls))
    wrong = [
        page.url
        for page, url in zip(pages, urls, strict=True)
        if page.url != url
        or f"This text belongs to {url.removeprefix('http://')} and to nobody else" not in page.text
        or page.text.count("This text belongs to") != 1
        or page.title != f"Page of {url.removeprefix('http://')}"
    ]
    assert wrong == []
    assert len([asked for asked in server.asked if asked.path != "/robots.txt"]) == 60


async def test_tangled_markup_is_given_up_in_bounded_time(
    server: MisbehavingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resources.pages.reading._SECONDS", 0.05)
    async with HttpClient(guard=NetworkGuard(server.names)) as http:
        fetcher = PageFetcher(http)
        server.on("/", respond(article("<p><b><i>text " * 120_000)))
        started = time.process_time()
        page = await fetcher.fetch(f"{SITE}/")
        assert page.outcome == "unavailable"
        assert "too tangled" in (page.reason or "")
        assert time.process_time() - started < 30


async def test_reading_leaves_the_event_loop_free(
    server: MisbehavingServer, fetcher: PageFetcher
) -> None:
    server.on("/", respond(article(f"<p>{PARAGRAPH}</p>" * 500)))
    await fetcher.fetch(f"{SITE}/")
    # Seconds of CPU, not of the clock: on a busy machine the loop waits for its turn too.
    loop_before, all_before = time.thread_time(), time.process_time()
    pages = await asyncio.gather(*(fetcher.fetch(f"{SITE}/") for _ in range(4)))
    on_the_loop, altogether = time.thread_time() - loop_before, time.process_time() - all_before
    assert all(page.outcome == "ok" for page in pages)
    assert on_the_loop < altogether / 4


async def test_a_pause_applies_to_all_pages_of_the_site_and_to_no_other_site(
    server: MisbehavingServer,
) -> None:
    server.on("/busy", respond(status=429, headers={"Retry-After": "600"}))
    server.on("/page", respond(article(f"<p>{PARAGRAPH * 5}</p>")))
    patient = RetryPolicy(max_retry_after_seconds=3_600)
    async with HttpClient(guard=NetworkGuard(server.names), retry=patient) as http:
        fetcher = PageFetcher(http)
        held = [asyncio.create_task(fetcher.fetch(f"{SITE}/busy"))]
        while not http._closed_until:  # noqa: ASYNC110 - until it has read the answer
            await asyncio.sleep(0.01)
        held.append(asyncio.create_task(fetcher.fetch(f"{SITE}/page")))
        elsewhere = await fetcher.fetch("http://other.example/page")
        assert elsewhere.outcome == "ok"
        assert not any(task.done() for task in held)
        asked = [request.path for request in server.asked if request.path != "/robots.txt"]
        assert asked == ["/busy", "/page"]
        for task in held:
            task.cancel()
        await asyncio.gather(*held, return_exceptions=True)


async def test_a_long_pause_makes_the_other_pages_of_the_site_outages(
    server: MisbehavingServer,
) -> None:
    server.on("/busy", respond(status=503, headers={"Retry-After": "3600"}))
    async with HttpClient(guard=NetworkGuard(server.names)) as http:
        fetcher = PageFetcher(http)
        assert (await fetcher.fetch(f"{SITE}/busy")).outcome == "outage"
        page = await fetcher.fetch(f"{SITE}/page")
    assert page.outcome == "outage"
    assert "asked to be left alone for" in (page.reason or "")
    assert server.count("/page") == 0


def test_a_fetched_page_shows_no_text_when_it_is_printed() -> None:
    page = FetchedPage("u", "ok", datetime.now(UTC), text="a secret text")
    assert "a secret text" not in repr(page)
