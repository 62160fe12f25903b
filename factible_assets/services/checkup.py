"""Checks which parts are set up, which of them work, and how to repair the others.

It makes one cheap call to each configured service. Services that need no configuration (YouTube,
the domain registries) are called only with `network`. No result contains a key or a password.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypeAlias

from factible_assets.services import reasoning, search, web
from factible_assets.services.models import model_clients, names_models, plan_models
from factible_assets.services.ratings import rating_directory, rating_files
from factible_assets.settings import SearchProvider, Settings, unknown_variables
from resources.errors import SetupError, install_command
from resources.http import HttpClient, HttpFailureError, RetryPolicy
from resources.pages.browser import UNSANDBOXED, is_sandboxed
from resources.pages.scraper import PAGE_SERVICES, Wayback
from resources.search.base import SearchRequest
from resources.search.providers import GoogleFactChecks
from resources.storage.archive import Archive
from resources.storage.imports import ArchiveError
from resources.transcripts.base import Outage
from warehouse.errors import WarehouseError
from warehouse.store import Warehouse

_SECONDS = 60.0
_LOCK_SECONDS = 3.0
_QUERY = "water boils at lower temperature at altitude"
_PAGE = "https://www.example.com/"
_DOMAIN = "iana.org"
_VIDEO = "jNQXAC9IVRw"
"""The first video on YouTube."""

_NO_RETRY = RetryPolicy(attempts=1)

_OFFLINE = (
    "Offline you can check transcript files against pages of your own (--pages FOLDER), the "
    "archive (--web archive) or the demo's web (--web miniature), with the embedded engine "
    "(--reasoner embedded) or a model on this machine (FACTIBLE_MODEL)."
)


State: TypeAlias = Literal["works", "fails", "set up", "not set up", "unknown"]
"""`set up` was not called; `unknown` is a name that no part has."""


@dataclass(frozen=True, slots=True)
class PartStatus:
    """The state of one part."""

    service: str
    state: State
    sentence: str = ""
    remedy: str = ""


async def examine(settings: Settings, *, network: bool = False) -> list[PartStatus]:
    """Check every part concurrently; with `network` also the services without configuration."""
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(search.service_client(settings, retry=_NO_RETRY))
        results: list[Any] = await asyncio.gather(
            asyncio.to_thread(_local_parts, settings),
            asyncio.to_thread(_rating_sets, settings),
            _models(settings, stack),
            *_services(settings, http, network=network),
        )
    parts: list[PartStatus] = []
    for result in results:
        parts += result if isinstance(result, list) else [result]
    if any("could not be resolved" in part.sentence for part in parts):
        sentence = "A name could not be resolved: this machine seems to be offline."
        parts.append(PartStatus("network", "fails", sentence, _OFFLINE))
    return parts


async def _probe(
    idle: PartStatus, call: Callable[[], Awaitable[str | None]], works: str, *, calls: bool
) -> PartStatus:
    """Return `idle`, or with `calls` the result of a call.

    `call` returns a problem, raises it, or returns None. `works` is the sentence for no problem.
    """
    if not calls:
        return idle
    try:
        async with asyncio.timeout(_SECONDS):
            problem = await call()
    except TimeoutError:
        problem = f"It did not answer within {_SECONDS:g} seconds."
    except (SetupError, HttpFailureError) as error:
        problem = str(error)
    if problem is None:
        return PartStatus(idle.service, "works", works)
    remedy = "Correct this, or remove its settings from .env."
    return PartStatus(idle.service, "fails", problem, remedy)


# --- This machine -------------------------------------------------------------------------------


def _local_parts(settings: Settings) -> list[PartStatus]:
    unknown = unknown_variables()
    return [
        *([PartStatus("settings", "unknown", unknown)] if unknown else []),
        _folder("data folder", settings.home, "Set FACTIBLE_HOME to a writable folder."),
        _warehouse(settings),
        *_archive(settings.archive),
        _folder("cache", settings.cache, "Correct its permissions, or remove it."),
    ]


def _folder(name: str, place: Path, remedy: str) -> PartStatus:
    """Test whether a folder is writable or can be created."""
    existing = next(folder for folder in (place, *place.parents) if folder.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        return PartStatus(name, "fails", f"{existing} is not writable: {error.strerror}.", remedy)
    words = f"{place} is writable." if existing == place else f"factible can create {place}."
    return PartStatus(name, "works", words)


def _warehouse(settings: Settings) -> PartStatus:
    connector = settings.warehouse.waiting(_LOCK_SECONDS)
    if not connector.exists():
        return PartStatus("warehouse", "set up", "The first check creates it.")
    try:
        with Warehouse(connector).snapshot():
            pass
        connector.refuse_damage(thoroughly=True)
        return PartStatus("warehouse", "works", f"{connector} is readable.")
    except WarehouseError as error:
        return PartStatus("warehouse", "fails", str(error))


def _archive(path: Path) -> Iterator[PartStatus]:
    try:
        if path.exists():
            Archive(path).collections()
            yield PartStatus("archive", "works", f"{path} is readable.")
    except ArchiveError as error:
        yield PartStatus("archive", "fails", str(error))


def _rating_sets(settings: Settings) -> PartStatus:
    try:
        sets = rating_directory(rating_files(settings)).sets
    except SetupError as error:
        return PartStatus("rating sets", "fails", str(error), "Correct it, or remove the file.")
    descriptions = []
    for stored in sets:
        day = stored.as_of.isoformat() if stored.as_of else "undated"
        details = filter(None, (day, f"{len(stored.ratings):,}", stored.licence))
        descriptions.append(f"{stored.name} ({', '.join(details)})")
    return PartStatus("rating sets", "works", f"In order of precedence: {', '.join(descriptions)}.")


def _browser(settings: Settings) -> PartStatus:
    executable = web.browser_executable(settings)
    if settings.browser == "off":
        return PartStatus("browser", "not set up", "Switched off (FACTIBLE_BROWSER).")
    if find_spec("playwright") is None:
        remedy = f"For pages that need scripts: {install_command('browser')}."
        return PartStatus("browser", "not set up", "The extra is not installed.", remedy)
    if executable is not None:
        works = f"{executable} renders pages that need scripts."
        return PartStatus("browser", "works", works, "" if is_sandboxed() else UNSANDBOXED)
    if settings.browser != "auto":
        sentence = f"There is no browser at {settings.browser}."
        return PartStatus("browser", "fails", sentence, "Correct FACTIBLE_BROWSER.")
    remedy = (
        "For pages that need scripts: apt-get install chromium-headless-shell, or set "
        "FACTIBLE_BROWSER."
    )
    return PartStatus("browser", "not set up", "No Chromium was found.", remedy)


def _reader(settings: Settings) -> PartStatus:
    reader = reasoning.best_reader(settings)
    sentence = (
        f"Without a large language model, pages are read by {reasoning.READERS[reader]}. "
        "Claims and pages must be in English."
    )
    if reader == "labels":
        return PartStatus("reader", "works", sentence)
    remedy = "A small language model reads pages far better: factible models pull reader."
    return PartStatus("reader", "not set up" if reader == "plain" else "works", sentence, remedy)


# --- Services -----------------------------------------------------------------------------------


async def _models(settings: Settings, stack: AsyncExitStack) -> list[PartStatus]:
    if not names_models(settings):
        remedy = "For verdicts by a language model: set OPENAI_API_KEY or FACTIBLE_MODEL."
        return [PartStatus("language model", "not set up", "The embedded engine judges.", remedy)]
    try:
        plan = plan_models(settings)
        if plan.missing is not None:
            remedy = f"Set {plan.missing}, or name another model."
            return [
                PartStatus("language model", "not set up", f"{plan.missing} is not set.", remedy)
            ]
        clients = await stack.enter_async_context(model_clients(settings, plan.registry))
        models = [clients.model(model.name, provider=model.provider) for model in plan.models]
    except SetupError as error:
        return [PartStatus("language model", "fails", str(error), "Correct it in .env.")]
    probes = await asyncio.gather(*(model.probe() for model in models))
    return [
        PartStatus(
            f"model {model.model}",
            "works" if probe.ok else "fails",
            probe.sentence,
            "" if probe.ok else "Correct this, or name another model in FACTIBLE_MODEL.",
        )
        for model, probe in zip(models, probes, strict=True)
    ]


def _services(
    settings: Settings, http: HttpClient, *, network: bool
) -> Iterator[Awaitable[PartStatus]]:
    """Yield a check of each service of the web; a service that is not set up is not called."""

    async def searched(name: SearchProvider) -> str | None:
        answers = await search.search_service(name, http, settings).search(SearchRequest(_QUERY, 1))
        return next((answer.reason for answer in answers if answer.outcome == "outage"), None)

    async def fact_checks() -> str | None:
        google = search.open_service(GoogleFactChecks, http, settings)
        answer = await google.prior_checks(SearchRequest(_QUERY, 1))
        return answer.reason if answer.outcome == "outage" else None

    async def fetched(name: str) -> str | None:
        page = await search.open_service(PAGE_SERVICES[name], http, settings).fetch(_PAGE)
        return None if page.outcome == "ok" else page.reason

    async def wayback() -> None:
        await search.open_service(Wayback, http, settings).fetch(_PAGE)

    async def youtube() -> str | None:
        answer = await web.youtube_transcripts(settings).transcript(_VIDEO)
        return answer.reason if isinstance(answer, Outage) else None

    async def registries() -> None:
        await web.domain_registry(settings, http).registered_at(_DOMAIN)

    live = search.search_names(settings)
    for name, provider in search.PROVIDERS.items():
        idle = PartStatus(name, "not set up", remedy=provider.remedy)
        yield _probe(idle, partial(searched, name), "It answers a search.", calls=name in live)
    remedy = "For published fact-checks: set GOOGLE_FACT_CHECK_API_KEY."
    idle = PartStatus("prior fact checks", "not set up", remedy=remedy)
    answer = "Google's Fact Check Tools answer."
    yield _probe(idle, fact_checks, answer, calls=settings.google_fact_check_api_key is not None)
    yield asyncio.to_thread(_browser, settings)
    yield asyncio.to_thread(_reader, settings)
    for service in PAGE_SERVICES:
        idle = PartStatus(service, "not set up", "This machine fetches pages itself.")
        yield _probe(
            idle, partial(fetched, service), "It fetches pages.", calls=settings.pages == service
        )
    remedy = "For copies of deleted pages: set FACTIBLE_PAGES=direct+wayback."
    idle = PartStatus("wayback", "not set up", remedy=remedy)
    yield _probe(idle, wayback, "It has copies.", calls="wayback" in settings.pages)
    idle = PartStatus("youtube", "set up", "It needs no key. To call it: --network.")
    yield _probe(idle, youtube, "It returns captions.", calls=network)
    words = "They need no key. To call one: --network." if live else "Only the live web uses them."
    idle = PartStatus("domain registries", "set up" if live else "not set up", words)
    yield _probe(idle, registries, "RDAP answers.", calls=bool(live) and network)
