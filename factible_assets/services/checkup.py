"""Which parts are set up, which of them answer, and what to do about the others.

What belongs here: one cheap call to each service that is configured, and its outcome as a sentence.
What does not: printing them (cli/machine.py). No finding holds a key or a password.

A service that is not configured is not asked. What needs no configuration (YouTube, the domain
registries) is asked only when a caller wants the network tried.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from factible_assets.services import reasoning, search, web
from factible_assets.services.ratings import rating_directory
from factible_assets.settings import SearchProvider, Settings, unknown_variables
from resources.archive.sources import ArchiveError
from resources.archive.store import Archive
from resources.errors import SetupError
from resources.http import HttpClient, HttpFailureError, RetryPolicy
from resources.pages.browser import UNSANDBOXED, is_sandboxed
from resources.search.base import SearchRequest
from resources.transcripts.base import Outage
from warehouse.errors import WarehouseError
from warehouse.store import Warehouse

_SECONDS = 60.0
_LOCK_SECONDS = 3.0
_QUERY = "water boils at lower temperature at altitude"
_PAGE = "https://www.example.com/"
_DOMAIN = "iana.org"
_VIDEO = "jNQXAC9IVRw"
"""The first video on YouTube, which is likely to stay."""

_IMPATIENT = RetryPolicy(attempts=1)

_ON_THIS_MACHINE = {
    *("settings", "keys", "data folder", "warehouse", "archive", "cache"),
    *("rating sets", "browser", "stance model"),
}
_OFFLINE = (
    "What works offline: transcript files checked against pages of your own (--pages FOLDER), the "
    "archive (--web archive) or the demo's web (--web miniature), by the embedded engine "
    "(--reasoner embedded) or a model on this machine (FACTIBLE_MODEL)."
)


@dataclass(frozen=True, slots=True)
class PartStatus:
    """What is known of one part. `answers` is None where it was not asked."""

    service: str
    configured: bool
    answers: bool | None = None
    sentence: str = ""
    remedy: str = ""

    @property
    def is_broken(self) -> bool:
        """Whether it is set up and does not work."""
        return self.configured and self.answers is False


async def examine(settings: Settings, *, network: bool = False) -> list[PartStatus]:
    """Look at every part, at all at once; with `network` at what needs no configuration too."""
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(search.service_client(settings, retry=_IMPATIENT))
        found: list[Any] = await asyncio.gather(
            asyncio.to_thread(_kept_here, settings),
            asyncio.to_thread(_rating_sets, settings),
            _models(settings, stack),
            *_services(settings, http, network=network),
        )
    return _advised_offline(
        [one for each in found for one in (each if isinstance(each, list) else [each])]
    )


def _advised_offline(findings: list[PartStatus]) -> list[PartStatus]:
    """Say what helps a machine without a network: no key and no address does."""
    asked = [each for each in findings if each.service not in _ON_THIS_MACHINE]
    reached = any(each.answers and not each.service.startswith("model ") for each in asked)
    lost = [each for each in asked if each.is_broken]
    if reached or not any("could not be resolved" in each.sentence for each in lost):
        return findings
    return [
        *(
            replace(each, remedy="Check the network.") if each in lost else each
            for each in findings
        ),
        PartStatus(
            "network", True, False, "No name could be resolved: it seems offline.", _OFFLINE
        ),
    ]


async def _asked(
    idle: PartStatus, problem: Callable[[], Awaitable[str | None]], answer: str, *, asks: bool
) -> PartStatus:
    """Ask a service, if it is asked; `problem` becomes what is wrong, None if nothing is."""
    if not asks:
        return idle
    try:
        async with asyncio.timeout(_SECONDS):
            wrong = await problem()
    except TimeoutError:
        wrong = f"It did not answer within {_SECONDS:g} seconds."
    except (SetupError, HttpFailureError) as error:
        wrong = str(error)
    if wrong is None:
        return PartStatus(idle.service, True, True, answer)
    remedy = "Correct this, or take its settings out of .env."
    return PartStatus(idle.service, True, False, wrong, remedy)


# --- This machine -------------------------------------------------------------------------------


def _kept_here(settings: Settings) -> list[PartStatus]:
    unknown = unknown_variables()
    return [
        *([PartStatus("settings", False, None, unknown)] if unknown else []),
        _folder("data folder", settings.home, "Set FACTIBLE_HOME to a folder you may write to."),
        _warehouse(settings),
        *_archive(settings.archive),
        _folder("cache", settings.cache, "Correct its permissions, or remove it."),
    ]


def _folder(name: str, place: Path, remedy: str) -> PartStatus:
    """Try whether a folder can be written, or made; nothing is left behind."""
    existing = next(each for each in (place, *place.parents) if each.exists())
    try:
        if existing == place:
            with tempfile.TemporaryFile(dir=place):
                pass
            return PartStatus(name, True, True, f"{place} can be written.")
    except OSError as error:
        return PartStatus(
            name, True, False, f"{place} cannot be written: {error.strerror}.", remedy
        )
    if existing.is_dir() and os.access(existing, os.W_OK | os.X_OK):
        return PartStatus(name, True, True, f"{place} is made when it is needed.")
    return PartStatus(name, True, False, f"{place} cannot be made in {existing}.", remedy)


def _warehouse(settings: Settings) -> PartStatus:
    connector = settings.warehouse.waiting(_LOCK_SECONDS)
    if not connector.exists():
        return PartStatus("warehouse", True, None, "It is made by the first check.")
    try:
        with Warehouse(connector).snapshot():
            pass
        connector.refuse_damage(thoroughly=True)
        return PartStatus("warehouse", True, True, f"{connector} can be read.")
    except WarehouseError as error:
        return PartStatus("warehouse", True, False, str(error))


def _archive(path: Path) -> Iterator[PartStatus]:
    try:
        if path.exists():
            Archive(path).collections()
            yield PartStatus("archive", True, True, f"{path} can be opened.")
    except ArchiveError as error:
        yield PartStatus("archive", True, False, str(error))


def _rating_sets(settings: Settings) -> PartStatus:
    try:
        sets = rating_directory(settings.rating_sets).sets
    except SetupError as error:
        return PartStatus("rating sets", True, False, str(error), "Correct it, or remove the file.")
    named = []
    for each in sets:
        day = each.as_of.isoformat() if each.as_of else "undated"
        about = filter(None, (day, f"{len(each.ratings):,}", each.licence))
        named.append(f"{each.name} ({', '.join(about)})")
    return PartStatus("rating sets", True, True, f"In order of precedence: {', '.join(named)}.")


def _browser(settings: Settings) -> PartStatus:
    executable = web.browser_executable(settings)
    if settings.browser == "off":
        return PartStatus("browser", False, None, "Switched off (FACTIBLE_BROWSER).")
    if find_spec("playwright") is None:
        remedy = "For pages that need scripts: pip install 'factible-assets[browser]'."
        return PartStatus("browser", False, None, "The extra is not installed.", remedy)
    if executable is not None:
        drawn = f"{executable} draws pages that need scripts."
        return PartStatus("browser", True, True, drawn, "" if is_sandboxed() else UNSANDBOXED)
    if settings.browser != "auto":
        sentence = f"There is no browser at {settings.browser}."
        return PartStatus("browser", True, False, sentence, "Correct FACTIBLE_BROWSER.")
    remedy = "For pages that need scripts: apt-get install chromium, or set FACTIBLE_BROWSER."
    return PartStatus("browser", False, None, "No Chromium was found.", remedy)


def _reader(settings: Settings) -> PartStatus:
    here = reasoning.best_reader(settings)
    sentence = f"Without a large language model, pages are read by {reasoning.READERS[here]}."
    if here == "labels":
        return PartStatus("reader", True, True, sentence)
    remedy = "For a small language model that reads pages far better: factible models pull reader."
    return PartStatus("reader", here != "plain", here != "plain" or None, sentence, remedy)


# --- Services -----------------------------------------------------------------------------------


async def _models(settings: Settings, stack: AsyncExitStack) -> list[PartStatus]:
    if not reasoning.names_models(settings):
        remedy = "For verdicts by a language model: set OPENAI_API_KEY or FACTIBLE_MODEL."
        return [PartStatus("language model", False, None, "The embedded engine judges.", remedy)]
    try:
        plan = reasoning.plan_models(settings)
        if plan.missing is not None:
            remedy = f"Set {plan.missing}, or name another model."
            return [
                PartStatus("language model", False, None, f"{plan.missing} is not set.", remedy)
            ]
        clients = await stack.enter_async_context(reasoning.model_clients(settings, plan))
        made = [clients.model(each.name, provider=each.provider) for each in plan.models]
    except SetupError as error:
        return [PartStatus("language model", True, False, str(error), "Correct it in .env.")]
    probes = await asyncio.gather(*(model.probe() for model in made))
    return [
        PartStatus(
            f"model {model.model}",
            True,
            probe.ok,
            probe.sentence,
            "" if probe.ok else "Correct this, or name another model in FACTIBLE_MODEL.",
        )
        for model, probe in zip(made, probes, strict=True)
    ]


def _services(
    settings: Settings, http: HttpClient, *, network: bool
) -> Iterator[Awaitable[PartStatus]]:
    """Ask the services of the web, or say of each why it is not asked."""

    async def searched(name: SearchProvider) -> str | None:
        answers = await search.search_service(name, http, settings).search(SearchRequest(_QUERY, 1))
        return next((answer.reason for answer in answers if answer.outcome == "outage"), None)

    async def fact_checks() -> str | None:
        answer = await search.fact_check_lane(settings, http).prior_checks(SearchRequest(_QUERY, 1))
        return answer.reason if answer.outcome == "outage" else None

    async def jina() -> str | None:
        page = await web.jina_reader(settings, http).fetch(_PAGE)
        return None if page.outcome == "ok" else page.reason

    async def wayback() -> None:
        await web.wayback_machine(settings, http).fetch(_PAGE)

    async def youtube() -> str | None:
        answer = await web.youtube_transcripts(settings).transcript(_VIDEO)
        return answer.reason if isinstance(answer, Outage) else None

    async def registries() -> None:
        await web.domain_registry(settings, http).registered_at(_DOMAIN)

    live = search.search_names(settings)
    for name, provider in search.PROVIDERS.items():
        idle = PartStatus(name, False, remedy=provider.remedy)
        yield _asked(idle, partial(searched, name), "It answers a search.", asks=name in live)
    idle = PartStatus(
        "prior fact checks",
        False,
        remedy="For what fact-checkers have published: set GOOGLE_FACT_CHECK_API_KEY.",
    )
    answer = "Google's Fact Check Tools answer."
    yield _asked(idle, fact_checks, answer, asks=settings.google_fact_check_api_key is not None)
    yield asyncio.to_thread(_browser, settings)
    yield asyncio.to_thread(_reader, settings)
    idle = PartStatus("jina", False, None, "This machine fetches pages itself.")
    yield _asked(idle, jina, "It fetches pages.", asks=settings.pages == "jina")
    remedy = "For copies of pages that are gone: set FACTIBLE_WAYBACK=true."
    idle = PartStatus("wayback", False, remedy=remedy)
    yield _asked(idle, wayback, "It has copies.", asks=settings.wayback)
    idle = PartStatus("youtube", True, None, "It needs no key. To ask it: --network.")
    yield _asked(idle, youtube, "It gives captions.", asks=network)
    has_ages = bool(settings.domain_ages and live)
    words = "They are asked on the live web only, and if FACTIBLE_DOMAIN_AGES allows it."
    words = "They need no key. To ask one: --network." if has_ages else words
    idle = PartStatus("domain registries", has_ages, None, words)
    yield _asked(idle, registries, "RDAP answers.", asks=has_ages and network)
