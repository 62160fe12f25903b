"""Who is searched on the live web, and with which key and address.

What belongs here: the choice of providers, the lane of prior fact checks beside them, the client
that services are asked with, and what is said when a default takes the place of what nobody set up.
What does not: the providers (resources/search), merging what they find (stages/search.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from factible_assets.config import FactCheckConfig
from factible_assets.corpora.reading import load_corpora
from factible_assets.services.reasoning import choose_reasoners
from factible_assets.settings import SearchProvider, Settings, unknown_variables, variable
from resources.errors import SetupError

if TYPE_CHECKING:  # `factible status` names the providers, and asks none
    from resources.http import HttpClient, RetryPolicy
    from resources.search.providers import GoogleFactChecks
    from resources.search.service import SearchService

_SERPER_AT_ONCE = 16
"""Requests: its plans take fifty a second and more (https://serper.dev). Others are asked as
gently as sites are."""

_NO_SEARCH = (
    "No search provider is set up, so evidence is looked for in the archive of stored pages. Set "
    "SERPER_API_KEY, FACTIBLE_SEARXNG_URL or FACTIBLE_SEARCH to search the live web."
)
NO_LIVE_SEARCH = (
    "no search provider is set up. Set SERPER_API_KEY or FACTIBLE_SEARXNG_URL in .env, name one "
    "that needs no key (FACTIBLE_SEARCH=wikipedia), or choose another web: archive or miniature."
)
"""Ends the sentence that says who asked for the live web."""


@dataclass(frozen=True, slots=True)
class Provider:
    """One search provider, as FACTIBLE_SEARCH, endpoints and rows name it in PROVIDERS."""

    class_name: str
    """Its class in resources.search.providers, which loads an HTTP client."""
    given: str | None
    """The setting that holds its key, or SearXNG's address; None for none."""
    remedy: str
    """What to do to have it asked."""
    needed: bool = True
    """Whether it cannot be asked without what is given."""
    unbidden: bool = True
    """Whether it is asked as soon as that is given, without being named."""

    @property
    def client(self) -> type[SearchService]:
        """Its class, which knows where it is asked if the settings do not say otherwise."""
        from resources.search import providers

        found: type[SearchService] = getattr(providers, self.class_name)
        return found

    def value(self, settings: Settings) -> str:
        """Return the key, or the address, that the settings give; nothing if they give none."""
        return settings.secret(self.given) if self.given else ""


PROVIDERS: Mapping[SearchProvider, Provider] = {
    "serper": Provider("SerperSearch", "serper_api_key", "For web search: set SERPER_API_KEY."),
    "searxng": Provider(
        "SearxngSearch",
        "searxng_url",
        "For web search by an own instance: set FACTIBLE_SEARXNG_URL.",
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
        unbidden=False,
    ),
}
"""All of them, in the order in which their answers are listed."""


def search_names(settings: Settings) -> tuple[SearchProvider, ...]:
    """Return who is asked on the live web; empty if it is not set up.

    FACTIBLE_SEARCH decides. Without it, all run that were given a key or an address: Serper,
    SearXNG and Semantic Scholar. Wikipedia and Semantic Scholar without a key run only when they
    are named, because what is not asked for should not be able to fail: a search that fails makes
    a verdict incomplete. Perplexity too, because every question to it is paid for.
    """
    return tuple(
        name
        for name, each in PROVIDERS.items()
        if (name in settings.search if settings.search else each.unbidden and each.value(settings))
    )


def search_remark(settings: Settings, *wishes: str | None) -> str | None:
    """Say which web is not searched: the live one for want of a provider, or the machine's choice.

    `wishes` are the run's and the corpus's; the machine's is known.
    """
    wished = [wish for wish in (*wishes, settings.web) if wish not in {None, "", "auto"}]
    if not wished:
        return None if search_names(settings) else _NO_SEARCH
    run = wishes[0] if wishes else None
    if run in {None, "", "auto"} and settings.web in wished and wished[0] != settings.web:
        return (
            f"FACTIBLE_WEB={settings.web} is not followed here, as the video's corpus names its "
            f"own web, {wished[0]}. To look elsewhere for once: --web {settings.web}, or "
            "search.web in the launchpad."
        )
    return None


def default_remarks(video_id: str, *, settings: Settings, config: FactCheckConfig) -> str:
    """Say in one line which defaults take the place of what nobody set up, refused or spelt."""
    listed = load_corpora(settings.corpus_folders).find(video_id)
    try:
        who = choose_reasoners(config, settings).remark
    except SetupError:  # the run says so, with its remedy
        who = None
    where = search_remark(settings, config.search.web, listed.web if listed else None)
    return " ".join(filter(None, (unknown_variables(), who, where)))


def service_client(settings: Settings, *, retry: RetryPolicy | None = None) -> HttpClient:
    """Return the client for services: public ones, and those at the addresses in the settings."""
    from resources.http import HttpClient, HttpLimits, parse_url
    from resources.network_guard import NameTable, NetworkGuard, host_of

    addresses = [*settings.endpoints.values(), *filter(None, [settings.searxng_url])]
    tables = (NameTable.for_service(address) for address in addresses)
    # Perplexity answers after it has searched, and Jina draws pages.
    is_slow = settings.pages == "jina" or "perplexity" in settings.search
    limits = HttpLimits(read_seconds=45.0, attempt_seconds=90.0) if is_slow else HttpLimits()
    serper = parse_url(settings.endpoints.get("serper", PROVIDERS["serper"].client.address))
    return HttpClient(
        guard=NetworkGuard(names=reduce(or_, tables, NameTable())),
        limits=replace(limits, at_once={host_of(serper): _SERPER_AT_ONCE}),
        retry=retry,
    )


def search_service(name: SearchProvider, http: HttpClient, settings: Settings) -> SearchService:
    """Return one search provider.

    Raises SetupError: Its key or address is missing, or cannot be used.
    """
    provider = PROVIDERS[name]
    value = provider.value(settings)
    if provider.needed and not value:
        missing = variable(provider.given or "")
        raise SetupError(
            f"FACTIBLE_SEARCH names {name}, and {missing} is not set. Set it in .env, or leave "
            f"{name} out."
        )
    return provider.client(
        http,
        api_key=value if value and provider.client.setting else None,
        base_url=value if name == "searxng" else settings.endpoints.get(name, ""),
        language=settings.languages[0].partition("-")[0].lower(),
    )


def fact_check_lane(settings: Settings, http: HttpClient) -> GoogleFactChecks:
    """Return who knows what fact-checkers have published.

    Raises SetupError: Its key is missing, or cannot be used.
    """
    from resources.search.providers import GoogleFactChecks

    key = settings.secret("google_fact_check_api_key")
    address = settings.endpoints.get("google_fact_check", "")
    return GoogleFactChecks(http, api_key=key, base_url=address)
