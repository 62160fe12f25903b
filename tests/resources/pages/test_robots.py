"""robots.txt comes first, once per site, and its answers mean the same as in RFC 9309."""

from __future__ import annotations

import asyncio

import pytest

from resources.http import HttpClient, UnavailableError
from resources.pages.scraper import PageFetcher, Robots
from tests.servers import Behaviour, MisbehavingServer, redirect, reset, respond

SITE = "http://site.example"
ARTICLE = f"<title>T</title><article><p>{'Some words that make a page. ' * 12}</p></article>"


def rules(text: str) -> Behaviour:
    return respond(text, content_type="text/plain")


@pytest.fixture
def server(server: MisbehavingServer) -> MisbehavingServer:
    server.on("/page", respond(ARTICLE))
    return server


async def test_what_a_site_withholds_is_not_asked_for(
    server: MisbehavingServer, http: HttpClient
) -> None:
    server.on("/robots.txt", rules("User-agent: *\nDisallow: /page"))
    page = await PageFetcher(http).fetch(f"{SITE}/page")
    assert (page.outcome, page.http_status, page.via) == ("unavailable", None, None)
    assert page.reason == "site.example asks robots not to read this page (its robots.txt)"
    assert server.count("/page") == 0


@pytest.mark.parametrize(
    ("text", "path", "allowed"),
    [
        ("", "/page", True),
        ("User-agent: *\nDisallow:", "/page", True),
        ("User-agent: *\nDisallow: /", "/page", False),
        ("User-agent: factible-assets\nDisallow: /\n\nUser-agent: *\nAllow: /", "/page", False),
        ("User-agent: factible-assets\nAllow: /\n\nUser-agent: *\nDisallow: /", "/page", True),
        ("User-agent: other\nDisallow: /", "/page", True),
        ("User-agent: *\nDisallow: /a/\nAllow: /a/b/", "/a/b/c", True),
        ("User-agent: *\nAllow: /a/b/\nDisallow: /a/", "/a/c", False),
        ("User-agent: *\nDisallow: /*.php$", "/x.php", False),
        ("User-agent: *\nDisallow: /*.php$", "/x.php?a", True),
        ("User-agent: *\nDisallow: /*?session=", "/x?session=1", False),
        ("User-agent: *\nDisallow: /p%C3%A4", "/pä", False),
        ("<html><body>Disallow: /</body></html>", "/page", True),
        ("\ufeffUser-agent: *\nDisallow: /", "/page", False),
        ("User-agent: *\nCrawl-delay: 3600", "/page", True),
    ],
)
async def test_rules_are_read_as_the_rfc_says(
    server: MisbehavingServer, http: HttpClient, text: str, path: str, allowed: bool
) -> None:
    server.on("/robots.txt", rules(text))
    if allowed:
        await Robots(http).check(SITE + path)
    else:
        with pytest.raises(UnavailableError):
            await Robots(http).check(SITE + path)


@pytest.mark.parametrize(
    "behaviour",
    [respond(status=404), respond(status=403), respond(status=401), redirect("/robots.txt")],
)
async def test_no_rules_mean_that_all_is_allowed(
    server: MisbehavingServer, http: HttpClient, behaviour: Behaviour
) -> None:
    server.on("/robots.txt", behaviour)
    assert (await PageFetcher(http).fetch(f"{SITE}/page")).outcome == "ok"


@pytest.mark.parametrize("behaviour", [respond(status=500), respond(status=429), reset()])
async def test_unreadable_robots_rules_are_an_outage_not_a_refusal(
    server: MisbehavingServer, http: HttpClient, behaviour: Behaviour
) -> None:
    server.on("/robots.txt", behaviour)
    fetcher = PageFetcher(http)
    page = await fetcher.fetch(f"{SITE}/page?secret=1")
    assert page.outcome == "outage"
    assert "while robots.txt is unknown" in (page.reason or "")
    assert "secret" not in (page.reason or "")
    assert (await fetcher.fetch(f"{SITE}/other")).outcome == "outage"
    # The client asks twice, and does so for one of the pages alone.
    assert (server.count("/page"), server.count("/robots.txt")) == (0, 2)


async def test_robots_txt_is_fetched_once_per_site(
    server: MisbehavingServer, http: HttpClient
) -> None:
    server.on("/robots.txt", respond("User-agent: *\nDisallow: /no", after=0.05))
    robots = Robots(http)
    await asyncio.gather(*(robots.check(f"{SITE}/page{n}") for n in range(20)))
    await robots.check("http://other.example/page")
    hosts = [asked.host for asked in server.asked]
    assert sorted(hosts) == ["other.example", "site.example"]


async def test_a_redirect_is_judged_by_where_it_led(
    server: MisbehavingServer, http: HttpClient
) -> None:
    server.on("/robots.txt", rules("User-agent: *\nDisallow: /private"))
    server.on("/old", redirect("/private/page"))
    server.on("/private/page", respond(ARTICLE))
    page = await PageFetcher(http).fetch(f"{SITE}/old")
    assert (page.outcome, page.text) == ("unavailable", "")
    assert page.final_url == f"{SITE}/private/page"
    assert "asks robots not to read" in (page.reason or "")


@pytest.mark.parametrize("url", ["", "nonsense", "ftp://site.example/", "http://"])
async def test_other_urls_pass_the_robots_check(http: HttpClient, url: str) -> None:
    await Robots(http).check(url)
    assert (await PageFetcher(http).fetch(url)).outcome == "unavailable"
