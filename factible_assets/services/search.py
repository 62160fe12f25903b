"""Chooses and opens the search providers of the live web, and reports defaults that apply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, TypeVar, cast

from factible_assets.config import FactCheckConfig
from factible_assets.services.reasoning import choose_reasoners
from factible_assets.settings import Endpoint, SearchProvider, Settings, unknown_variables, variable
from resources.errors import SetupError

if TYPE_CHECKING:  # `factible status` names the providers, and asks none
    from resources.http import HttpClient, RetryPolicy
    from resources.search.providers import SearchService
    from resources.service import Service

Client = TypeVar("Client", bound="Service")

_SERPER_AT_ONCE = 16
"""Concurrent requests: its plans allow fifty a second and more (https://serper.dev). Other
providers get as few as web sites."""

_NO_SEARCH = (
    "No search provider is set up, so factible searches the archive of stored pages. Set "
    "SERPER_API_KEY, FACTIBLE_SEARXNG_URL or FACTIBLE_SEARCH to search the live web."
)
NO_LIVE_SEARCH = (
    "no search provider is set up. Set SERPER_API_KEY or FACTIBLE_SEARXNG_URL, name one without "
    "a key (FACTIBLE_SEARCH=wikipedia), or choose another web: archive or miniature."
)
"""The end of a sentence that begins with the option or setting that asks for the live web."""


@dataclass(frozen=True, slots=True)
class Provider:
    """One search provider. Its key in PROVIDERS is its name in settings and rows."""

    class_name: str
    """A class of resources.search.providers, as a name because that module loads slowly."""
    setting: str | None
    """The setting with its key, or with SearXNG's address."""
    remedy: str
    """How to enable it."""
    needed: bool = True
    """Whether it needs that setting."""
    by_default: bool = True
    """Whether that setting enables it without FACTIBLE_SEARCH."""

    @property
    def client(self) -> type[SearchService]:
        from resources.search import providers

        client: type[SearchService] = getattr(providers, self.class_name)
        return client

    def value(self, settings: Settings) -> str:
        return settings.secret(self.setting) if self.setting else ""


PROVIDERS: Mapping[SearchProvider, Provider] = {
    "serper": Provider("SerperSearch", "serper_api_key", "For web search: set SERPER_API_KEY."),
    "searxng": Provider(
        "SearxngSearch",
        "searxng_url",
        "For web search by a SearXNG of your own: set FACTIBLE_SEARXNG_URL.",
    ),
    "semantic_scholar": Provider(
        "SemanticScholarSearch",
        "semantic_scholar_api_key",
        "For papers: set SEMANTIC_SCHOLAR_API_KEY, or name it in FACTIBLE_SEARCH.",
        needed=False,
    ),
    "wikipedia": Provider(
        "WikipediaSearch", None, "Needs no key: name it in FACTIBLE_SEARCH.", needed=False
    ),
    "perplexity": Provider(
        "PerplexityExpert",
        "perplexity_api_key",
        "Set PERPLEXITY_API_KEY and name it in FACTIBLE_SEARCH.",
        by_default=False,
    ),
}
"""All providers, in the order of their results."""


def search_names(settings: Settings) -> tuple[SearchProvider, ...]:
    """Return the providers of the live web: those of FACTIBLE_SEARCH, else those with a key.

    Serper, SearXNG and Semantic Scholar are enabled by their key or address. Wikipedia, and
    Semantic Scholar without a key, must be named: a failed search makes a verdict incomplete, so
    nobody should get a provider unasked. Perplexity must be named because each question costs
    money.
    """
    if settings.search:
        return tuple(name for name in PROVIDERS if name in settings.search)
    return tuple(
        name
        for name, provider in PROVIDERS.items()
        if provider.by_default and provider.value(settings)
    )


def search_remark(settings: Settings, run_web: str | None, corpus_web: str | None) -> str | None:
    """Return a remark if no live search is set up, or if the corpus overrides FACTIBLE_WEB."""
    chosen = [web for web in (run_web, corpus_web, settings.web) if web not in {None, "", "auto"}]
    if not chosen:
        return None if search_names(settings) else _NO_SEARCH
    if run_web in {None, "", "auto"} and settings.web in chosen and chosen[0] != settings.web:
        return (
            f"FACTIBLE_WEB={settings.web} does not apply, because the video's corpus names the web "
            f"{chosen[0]}. To override it once: --web {settings.web}, or search.web in the "
            "launchpad."
        )
    return None


def default_remarks(settings: Settings, config: FactCheckConfig, corpus_web: str | None) -> str:
    """Return one line on unknown variables, and on defaults for services that are not set up.

    `corpus_web` is the web that the video's corpus names.
    """
    try:
        on_reasoners = choose_reasoners(config, settings).remark
    except SetupError:  # The run will report it with the remedy.
        on_reasoners = None
    on_search = search_remark(settings, config.search.web, corpus_web)
    return " ".join(filter(None, (unknown_variables(), on_reasoners, on_search)))


def service_client(settings: Settings, *, retry: RetryPolicy | None = None) -> HttpClient:
    """Return the HTTP client for services, which may reach private addresses of the settings."""
    from resources.http import HttpClient, HttpLimits, parse_url
    from resources.network_guard import NameTable, NetworkGuard, host_of
    from resources.pages.scraper import PAGE_SERVICES

    addresses = [*settings.endpoints.values(), *filter(None, [settings.searxng_url])]
    tables = (NameTable.for_service(address) for address in addresses)
    # Perplexity searches before it answers, and the services for pages render them.
    is_slow = settings.pages in PAGE_SERVICES or "perplexity" in settings.search
    limits = HttpLimits(read_seconds=45.0, attempt_seconds=90.0) if is_slow else HttpLimits()
    serper = parse_url(settings.endpoints.get("serper", PROVIDERS["serper"].client.address))
    return HttpClient(
        guard=NetworkGuard(names=reduce(or_, tables, NameTable())),
        limits=replace(limits, at_once={host_of(serper): _SERPER_AT_ONCE}),
        retry=retry,
    )


def search_service(name: SearchProvider, http: HttpClient, settings: Settings) -> SearchService:
    """Return one search provider.

    Raises SetupError: Its key or address is missing or invalid.
    """
    provider = PROVIDERS[name]
    value = provider.value(settings)
    if provider.needed and not value:
        missing = variable(provider.setting or "")
        raise SetupError(
            f"FACTIBLE_SEARCH names {name}, but {missing} is not set. Set it in .env, or remove "
            f"{name} from FACTIBLE_SEARCH."
        )
    address = value if name == "searxng" else None
    return open_service(provider.client, http, settings, address)


def open_service(
    kind: type[Client], http: HttpClient, settings: Settings, address: str | None = None
) -> Client:
    """Open a service with its key, its language, and its address in the settings.

    Raises SetupError: Its key is missing or invalid.
    """
    key = settings.secret(f"{kind.provider}_api_key") if kind.setting else ""
    return kind(
        http,
        api_key=key or None,
        base_url=address or settings.endpoints.get(cast("Endpoint", kind.provider), ""),
        language=settings.languages[0].partition("-")[0].lower(),
    )
