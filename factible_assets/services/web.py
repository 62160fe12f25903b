"""Opens the web of a run: search, pages, archive, domain registries and caches.

Services and pages have separate HTTP clients. The network guard lets the client of services reach
private addresses of the settings, such as a local SearXNG; addresses in pages and search results
never get that permission.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from factible_assets.corpora.format import ClaimEntry
from factible_assets.services import search
from factible_assets.services.annotated import GivenPages, annotated_pages
from factible_assets.settings import TRANSLATED, Settings
from factible_assets.stages.ports import DomainAges, Fetcher
from factible_assets.stages.urls import canonical_url, registrable_domain
from resources.errors import SetupError
from resources.http import HttpClient, HttpLimits, RetryPolicy
from resources.miniature_web import SEARCH_BASE_URL, miniature_web
from resources.network_guard import NameTable, NetworkGuard
from resources.pages.browser import Browser, find_browser
from resources.pages.scraper import PAGE_SERVICES, PageFetcher, PageSource, Wayback
from resources.ratings import registries
from resources.search.base import FactCheckLookup, SearchProvider
from resources.search.providers import GoogleFactChecks, MergedSearch, SerperSearch
from resources.storage.answers import DiskCache
from resources.storage.archive import Archive, ArchivedWeb
from resources.storage.caching import CachingAges, CachingFactChecks, CachingFetcher, CachingSearch

if TYPE_CHECKING:
    from resources.transcripts.youtube import YouTubeTranscripts

_SLOW_PAGES = HttpLimits(read_seconds=30.0)
"""The first byte of a page may take this long, without a retry. One long wait finds more pages than
three short ones, in two thirds of the time."""


@dataclass(frozen=True, slots=True)
class OpenWeb:
    """The clients of one web, open until their stack closes."""

    searcher: SearchProvider
    fetcher: Fetcher
    ages: DomainAges
    fact_checks: FactCheckLookup | None = None
    """None except on the live web."""


def choose_web(*options: str | None, live_ready: bool) -> str:
    """Return the first option that is not auto; else live if it is set up, else the archive.

    Pass the options of the run, the corpus and the machine, in this order.
    """
    for option in options:
        if option and option != "auto":
            return option
    return "live" if live_ready else "archive"


async def open_web(
    chosen: str,
    settings: Settings,
    stack: AsyncExitStack,
    cache: DiskCache,
    annotated: Sequence[ClaimEntry] = (),
) -> OpenWeb:
    """Open live, miniature, annotated, archive, or archive:NAME; the stack closes it.

    Raises SetupError: The live web is not set up, the archive lacks the collection, or the
    `annotated` claims name no evidence.
    """
    # Load the list of public suffixes (.2 s) in the background.
    asyncio.get_running_loop().run_in_executor(None, registrable_domain, "host.example")
    if chosen == "live":
        return await _live(settings, stack, cache)
    if chosen == "miniature":
        names = stack.enter_context(miniature_web(settings.project_corpora / "miniature_web"))
        http = await stack.enter_async_context(HttpClient(guard=NetworkGuard(names=names)))
        serper = SerperSearch(http, api_key="none", base_url=SEARCH_BASE_URL)
        serper.provider = "miniature"
        return OpenWeb(MergedSearch([serper]), PageFetcher(http), registries.RegistryAges(()))
    if chosen == "annotated":
        pages = annotated_pages(annotated)
        if not pages:
            raise SetupError(
                "The corpus names no evidence for the claims of this video. Add passages or "
                "questions with answers to its claims, or choose another web."
            )
        given = GivenPages(pages, ranked=len(annotated) > 1)
        return OpenWeb(given, given, registries.RegistryAges(()))
    archive = Archive(settings.archive, canonicalise=canonical_url)
    collection = chosen.partition(":")[2]
    if collection and collection not in (known := await asyncio.to_thread(archive.collections)):
        content = f"It has {', '.join(sorted(known))}." if known else "It is empty."
        raise SetupError(
            f"The archive has no collection {collection}. {content} Name an existing one, or "
            f"import pages: factible archive import FOLDER --collection {collection}"
        )
    stored = ArchivedWeb(archive, (collection,) if collection else None)
    return OpenWeb(stored, stored, registries.RegistryAges(()))


async def _live(settings: Settings, stack: AsyncExitStack, cache: DiskCache) -> OpenWeb:
    names = search.search_names(settings)
    if not names:
        raise SetupError(f"The run needs the live web, but {search.NO_LIVE_SEARCH}")
    http = await stack.enter_async_context(search.service_client(settings))
    providers = [search.search_service(name, http, settings) for name in names]
    fetcher, identity = await _page_fetcher(settings, http, stack)
    archive = Archive(settings.archive, canonicalise=canonical_url)
    rdap, whois = domain_registry(settings, http), registries.WhoisRegistry()
    ages = registries.RegistryAges([rdap.registered_at, whois.registered_at])
    fact_checks = None
    if settings.google_fact_check_api_key is not None:
        google = search.open_service(GoogleFactChecks, http, settings)
        fact_checks = CachingFactChecks(google, cache, identity=google.identity)
    return OpenWeb(
        MergedSearch(
            [CachingSearch(provider, cache, identity=provider.identity) for provider in providers]
        ),
        CachingFetcher(fetcher.fetch, cache, archive, identity=identity),
        CachingAges(ages.age, cache, identity=f"rdap {rdap.bootstrap_url}, whois"),
        fact_checks,
    )


async def _page_fetcher(
    settings: Settings, services: HttpClient, stack: AsyncExitStack
) -> tuple[PageSource, str]:
    """Return the fetcher, and its identity for the cache."""
    if settings.pages in PAGE_SERVICES:
        reader = search.open_service(PAGE_SERVICES[settings.pages], services, settings)
        return reader, reader.identity
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
        browser=browser,
        wayback=search.open_service(Wayback, services, settings)
        if "wayback" in settings.pages
        else None,
    )
    identity = f"{settings.pages} browser={browser is not None} {sorted(settings.hosts.items())}"
    return fetcher, identity


def browser_executable(settings: Settings) -> str | None:
    """Return the browser that renders pages; None if it is missing or switched off."""
    if settings.browser == "off" or find_spec("playwright") is None:
        return None
    return find_browser("" if settings.browser == "auto" else settings.browser)


def domain_registry(settings: Settings, http: HttpClient) -> registries.RdapRegistry:
    return registries.RdapRegistry(
        http, bootstrap_url=settings.endpoints.get("rdap", registries.BOOTSTRAP_URL)
    )


def youtube_transcripts(settings: Settings) -> YouTubeTranscripts:
    """Return a YouTube client, which needs no closing."""
    # The library loads slowly, and few runs ask YouTube.
    from youtube_transcript_api.proxies import GenericProxyConfig

    from resources.transcripts.youtube import ORIGIN, YouTubeTranscripts

    address = settings.secret("youtube_proxy")
    return YouTubeTranscripts(
        languages=tuple(language for language in settings.languages if language != TRANSLATED),
        translate=TRANSLATED in settings.languages,
        proxy=GenericProxyConfig(http_url=address) if address else None,
        origin=settings.endpoints.get("youtube", ORIGIN),
    )
