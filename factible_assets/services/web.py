"""Which web a run reads: who is searched, how pages are fetched, who knows how old domains are.

What belongs here: the choice of web, putting search, pages, archive, registries and caches
together, and the YouTube client as the settings want it. What does not: the choice of search
providers (search.py), the clients (resources/), what is read in a page (stages/).

Services and pages have a client each. What the settings allow for a service, such as a SearXNG on
this machine, is thereby never open to an address that stands in a page or in a search result.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from factible_assets.services import search
from factible_assets.settings import Settings
from factible_assets.stages.ports import DomainAges, Fetcher
from factible_assets.stages.urls import canonical_url, is_fictional, registrable_domain
from resources.archive.store import Archive, ArchivedWeb, ArchivingFetcher
from resources.cache.answers import CachingAges, CachingFactChecks, CachingFetcher, CachingSearch
from resources.cache.store import DiskCache
from resources.errors import SetupError
from resources.http import HttpClient, HttpLimits, RetryPolicy
from resources.miniature_web import SEARCH_BASE_URL, miniature_web
from resources.network_guard import NameTable, NetworkGuard
from resources.pages.browser import Browser, find_browser
from resources.pages.scraper import JINA_URL, JinaReader, PageFetcher, PageSource, Wayback
from resources.ratings import registries
from resources.search.base import FactCheckLane, SearchProvider
from resources.search.providers import SerperSearch
from resources.search.service import MergedSearch

if TYPE_CHECKING:
    from resources.transcripts.youtube import YouTubeTranscripts

_SLOW_PAGES = HttpLimits(read_seconds=30.0)
"""A page may take this long for its first byte, and is then not asked again: one long wait finds
more than three short ones, and costs two thirds of their time."""

FETCHED_COLLECTION = "fetched"
"""The archive collection of everything that runs fetched from the live web."""


@dataclass(frozen=True, slots=True)
class OpenWeb:
    """The doors to one web, open until their stack is closed."""

    searcher: SearchProvider
    fetcher: Fetcher
    ages: DomainAges
    fact_checks: FactCheckLane | None = None
    """Only the live web has them: a stored or fictional one asks nobody outside."""


def choose_web(*wishes: str | None, live_ready: bool) -> str:
    """Return the first wish that is not auto; else live if it is set up, else the archive.

    Wishes come in order of precedence: the run's, the corpus's, the machine's.
    """
    for wish in wishes:
        if wish and wish != "auto":
            return wish
    return "live" if live_ready else "archive"


async def open_web(
    chosen: str, settings: Settings, stack: AsyncExitStack, cache: DiskCache
) -> OpenWeb:
    """Open the web of a run: live, miniature, archive, or archive:NAME; the stack closes it.

    Raises SetupError: The live web was asked for, and is not set up or not correctly, or a
    collection that the archive does not have.
    """
    # Reads the list of public suffixes, which takes .2 s, beside what the run does first.
    asyncio.get_running_loop().run_in_executor(None, registrable_domain, "host.example")
    if chosen == "live":
        return await _live(settings, stack, cache)
    if chosen == "miniature":
        names = stack.enter_context(miniature_web(settings.project_corpora / "miniature_web"))
        http = await stack.enter_async_context(HttpClient(guard=NetworkGuard(names=names)))
        serper = SerperSearch(http, api_key="none", base_url=SEARCH_BASE_URL)
        serper.provider = "miniature"
        return OpenWeb(MergedSearch([serper]), PageFetcher(http), registries.RegistryAges(()))
    archive = Archive(settings.archive, canonicalise=canonical_url)
    collection = chosen.partition(":")[2]
    if collection and collection not in (there := await asyncio.to_thread(archive.collections)):
        known = f"It has {', '.join(sorted(there))}." if there else "It is empty."
        raise SetupError(
            f"The archive has no collection {collection}. {known} Name one that is there, or bring "
            f"pages in with: factible archive import FOLDER --collection {collection}"
        )
    collections = (collection,) if collection else None
    stored = ArchivedWeb(archive, collections)
    return OpenWeb(stored, stored, registries.RegistryAges(()))


async def _live(settings: Settings, stack: AsyncExitStack, kept: DiskCache) -> OpenWeb:
    names = search.search_names(settings)
    if not names:
        raise SetupError(f"The live web was asked for, and {search.NO_LIVE_SEARCH}")
    services = await stack.enter_async_context(search.service_client(settings))
    fetcher, identity = await _page_fetcher(settings, services, stack)
    ages: DomainAges = registries.RegistryAges(())
    if settings.domain_ages:
        whois = registries.WhoisRegistry(server=settings.whois)
        rdap = domain_registry(settings, services)
        known = registries.RegistryAges([rdap.registered_at, whois.registered_at])
        asked = f"rdap {settings.endpoints.get('rdap', registries.BOOTSTRAP_URL)}, whois"
        asked = f"{asked} {settings.whois}" if settings.whois else asked
        ages = CachingAges(known.age, kept, identity=asked)
    asked_live = [search.search_service(name, services, settings) for name in names]
    lane = None
    if settings.google_fact_check_api_key is not None:
        checks = search.fact_check_lane(settings, services)
        lane = CachingFactChecks(checks, kept, identity=checks.identity)
    return OpenWeb(
        MergedSearch([CachingSearch(each, kept, identity=each.identity) for each in asked_live]),
        ArchivingFetcher(
            CachingFetcher(fetcher.fetch, kept, identity=identity).fetch,
            Archive(settings.archive, canonicalise=canonical_url),
            FETCHED_COLLECTION,
            leave_out=is_fictional,
        ),
        ages,
        lane,
    )


async def _page_fetcher(
    settings: Settings, services: HttpClient, stack: AsyncExitStack
) -> tuple[PageSource, str]:
    """Return who fetches pages, and what the cache must know of it."""
    if settings.pages == "jina":
        reader = jina_reader(settings, services)
        return reader, f"jina {reader.base_url}"
    guard = NetworkGuard(names=NameTable(settings.hosts))
    http = await stack.enter_async_context(
        HttpClient(guard=guard, limits=_SLOW_PAGES, retry=RetryPolicy(after_silence=False))
    )
    executable = browser_executable(settings)
    browser = Browser(guard, executable=executable) if executable else None
    if browser is not None:
        await stack.enter_async_context(browser)
    fetcher = PageFetcher(
        http,
        respect_robots=settings.robots,
        browser=browser,
        wayback=wayback_machine(settings, services) if settings.wayback else None,
    )
    ways = f"robots={settings.robots} browser={browser is not None} wayback={settings.wayback}"
    return fetcher, f"direct {ways} {sorted(settings.hosts.items())}"


def browser_executable(settings: Settings) -> str | None:
    """Return the browser that draws pages, None if there is none or it is switched off."""
    if settings.browser == "off" or find_spec("playwright") is None:
        return None
    return find_browser("" if settings.browser == "auto" else settings.browser)


def jina_reader(settings: Settings, http: HttpClient) -> JinaReader:
    """Return Jina's reader in the place of an own fetcher."""
    key = settings.secret("jina_api_key") or None
    address = settings.endpoints.get("jina", JINA_URL)
    return JinaReader(http, api_key=key, base_url=address)


def wayback_machine(settings: Settings, http: HttpClient) -> Wayback:
    """Return who has copies of pages that are gone."""
    return Wayback(http, settings.endpoints.get("wayback", "").rstrip("/"))


def domain_registry(settings: Settings, http: HttpClient) -> registries.RdapRegistry:
    """Return the registry that is asked first how old a domain is."""
    return registries.RdapRegistry(
        http, bootstrap_url=settings.endpoints.get("rdap", registries.BOOTSTRAP_URL)
    )


def youtube_transcripts(settings: Settings) -> YouTubeTranscripts:
    """Return a YouTube client; it holds nothing open.

    Where YouTube refuses this address, a plain proxy is asked before Webshare's.
    """
    # Imported late: few runs ask YouTube, and its library takes a while to load.
    from youtube_transcript_api.proxies import GenericProxyConfig, ProxyConfig, WebshareProxyConfig

    from resources.transcripts.youtube import ORIGIN, YouTubeTranscripts

    name, password = (
        settings.secret(f"webshare_proxy_{part}") for part in ("username", "password")
    )
    proxy: ProxyConfig | None = None
    if settings.youtube_proxy is not None:
        proxy = GenericProxyConfig(http_url=settings.secret("youtube_proxy"))
    elif name and password:
        # The library's own ten retries are left out: one retry is what is recorded.
        proxy = WebshareProxyConfig(name, password, retries_when_blocked=0)
    return YouTubeTranscripts(
        languages=settings.languages,
        translate=settings.translate,
        proxy=proxy,
        origin=settings.endpoints.get("youtube", ORIGIN),
    )
