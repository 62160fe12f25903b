"""Who is searched on the live web, and with which key and address.

What belongs here: the choice of providers, the lane of prior fact checks beside them, and the
client that services are asked with. What does not: the providers (resources/search), merging what
they find (stages/search.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_

from pydantic import SecretStr

from factible_assets.services.setup import SetupError
from factible_assets.settings import SEARCH_PROVIDERS, SearchProvider, Settings
from resources.cache import DiskCache
from resources.cache.search import CachingFactChecks, CachingSearch
from resources.http import HttpClient, HttpLimits, RetryPolicy
from resources.network_guard import NameTable, NetworkGuard
from resources.search import fact_checks, perplexity, semantic_scholar, serper, wikipedia
from resources.search.searxng import SearxngSearch
from resources.search.service import SearchService

_PATIENT = HttpLimits(read_seconds=45.0, attempt_seconds=90.0)
"""For Perplexity, which answers after it has searched, and for Jina, which draws pages."""


def search_names(settings: Settings) -> tuple[SearchProvider, ...]:
    """Return who is asked on the live web; empty if it is not set up.

    FACTIBLE_SEARCH decides. Without it, all run that were given a key or an address: Serper,
    SearXNG and Semantic Scholar. Wikipedia and Semantic Scholar without a key run only when they
    are named, because what is not asked for should not be able to fail: a search that fails makes
    a verdict incomplete. Perplexity too, because every question to it is paid for.
    """
    if settings.search:
        return tuple(name for name in SEARCH_PROVIDERS if name in settings.search)
    given: Mapping[SearchProvider, object] = {
        "serper": settings.serper_api_key,
        "searxng": settings.searxng_url,
        "semantic_scholar": settings.semantic_scholar_api_key,
    }
    return tuple(name for name in SEARCH_PROVIDERS if given.get(name))


def service_client(settings: Settings, *, retry: RetryPolicy | None = None) -> HttpClient:
    """Return the client for services: public ones, and those at the addresses in the settings."""
    addresses = [*settings.endpoints.values(), *filter(None, [settings.searxng_url])]
    tables = (NameTable.for_service(address) for address in addresses)
    patient = settings.pages == "jina" or "perplexity" in settings.search
    return HttpClient(
        guard=NetworkGuard(names=reduce(or_, tables, NameTable())),
        limits=_PATIENT if patient else None,
        retry=retry,
    )


def search_service(name: SearchProvider, http: HttpClient, settings: Settings) -> SearchService:
    """Return one search provider.

    Raises:
        SetupError: Its key or address is missing, or cannot be used.
    """
    try:
        return _search_service(name, http, settings, search_address(name, settings))
    except ValueError as error:
        raise SetupError(f"{name} cannot be asked: {error}.") from error


def search_address(name: SearchProvider, settings: Settings) -> str:
    """Return where a provider is asked; empty for a SearXNG without an address."""
    usual: Mapping[SearchProvider, str] = {
        "serper": serper.DEFAULT_BASE_URL,
        "semantic_scholar": semantic_scholar.DEFAULT_BASE_URL,
        "wikipedia": wikipedia.DEFAULT_BASE_URL,
        "perplexity": perplexity.DEFAULT_BASE_URL,
    }
    if name == "searxng":
        return settings.searxng_url or ""
    return settings.endpoints.get(name, usual[name])


def _search_service(
    name: SearchProvider, http: HttpClient, settings: Settings, address: str
) -> SearchService:
    match name:
        case "serper":
            key = _required(settings.serper_api_key, name, "SERPER_API_KEY")
            return serper.SerperSearch(http, api_key=key, base_url=address)
        case "searxng":
            url = _required(settings.searxng_url, name, "FACTIBLE_SEARXNG_URL")
            return SearxngSearch(http, base_url=url)
        case "semantic_scholar":
            secret = settings.semantic_scholar_api_key
            return semantic_scholar.SemanticScholarSearch(
                http, api_key=secret.get_secret_value() if secret else None, base_url=address
            )
        case "wikipedia":
            return wikipedia.WikipediaSearch(
                http, base_url=address, language=_first_language(settings)
            )
        case "perplexity":
            key = _required(settings.perplexity_api_key, name, "PERPLEXITY_API_KEY")
            return perplexity.PerplexityExpert(http, api_key=key, base_url=address)


def _required(value: SecretStr | str | None, name: str, variable: str) -> str:
    if not value:
        raise SetupError(
            f"FACTIBLE_SEARCH names {name}, and {variable} is not set. Set it in .env, or leave "
            f"{name} out."
        )
    return value.get_secret_value() if isinstance(value, SecretStr) else value


def cached_search(
    name: SearchProvider,
    http: HttpClient,
    settings: Settings,
    cache: DiskCache,
    *,
    renew: bool = False,
) -> CachingSearch:
    """Return one search provider that is asked the same only once while the cache keeps it.

    Raises:
        SetupError: Its key or address is missing, or cannot be used.
    """
    parts = (name, search_address(name, settings), _first_language(settings))
    return CachingSearch(
        search_service(name, http, settings), cache, identity=" ".join(parts), renew=renew
    )


# --- Prior fact checks --------------------------------------------------------------------------


def asks_fact_checkers(settings: Settings) -> bool:
    """Tell whether prior fact checks are looked up on the live web."""
    return settings.fact_checks == "auto" and settings.google_fact_check_api_key is not None


def fact_check_lane(settings: Settings, http: HttpClient) -> fact_checks.GoogleFactChecks:
    """Return who knows what fact-checkers have published.

    Raises:
        SetupError: Its key is missing, or cannot be used.
    """
    key = settings.google_fact_check_api_key
    try:
        return fact_checks.GoogleFactChecks(
            http,
            api_key=key.get_secret_value() if key else "",
            base_url=_fact_check_address(settings),
        )
    except ValueError as error:
        raise SetupError(f"Prior fact checks cannot be looked up: {error}.") from error


def cached_fact_checks(
    http: HttpClient, settings: Settings, cache: DiskCache, *, renew: bool = False
) -> CachingFactChecks | None:
    """Return the lane of prior fact checks; None if it is off.

    Raises:
        SetupError: Its key cannot be used.
    """
    if not asks_fact_checkers(settings):
        return None
    identity = f"google_fact_check {_fact_check_address(settings)}"
    return CachingFactChecks(fact_check_lane(settings, http), cache, identity=identity, renew=renew)


def _fact_check_address(settings: Settings) -> str:
    return settings.endpoints.get("google_fact_check", fact_checks.DEFAULT_BASE_URL)


def _first_language(settings: Settings) -> str:
    return settings.languages[0].partition("-")[0].lower()
