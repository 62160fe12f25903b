"""The services that a run is handed: which implementation stands behind each door.

What belongs here: the choice of web and reasoner, opening and closing clients, and the Dagster
resource that does so for assets. What does not: the clients (resources/), what they are used for
(stages/).
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import lru_cache
from pathlib import Path

import dagster as dg

from factible_assets.reasoners.embedded.engine import EmbeddedReasoner
from factible_assets.settings import Settings
from factible_assets.stages.ports import Fetcher, Observer, Searcher, Services
from factible_assets.stages.urls import canonical_url, is_fictional
from resources.archive import Archive, ArchiveFetcher, ArchiveSearcher, ArchivingFetcher
from resources.http import HttpClient
from resources.miniature_web import MiniatureWeb
from resources.network_guard import NetworkGuard
from resources.reliability.ages import UnknownAges
from resources.reliability.datasets import (
    RatingDirectory,
    RatingSet,
    load_mbfc_json,
    load_rating_yaml,
)
from resources.scraping.pages import PageFetcher
from resources.search.merged import MergedSearch
from resources.search.serper import SerperSearch

FETCHED_COLLECTION = "fetched"
"""The archive collection of everything that runs fetched from the live web."""


def choose_web(*wishes: str | None, live_ready: bool) -> str:
    """Return the first wish that is not auto; else live if it is set up, else the archive.

    Wishes come in order of precedence: the run's, the corpus's, the machine's.
    """
    for wish in wishes:
        if wish and wish != "auto":
            return wish
    return "live" if live_ready else "archive"


def rating_directory(files: Sequence[Path]) -> RatingDirectory:
    """Load rating sets, in order of precedence; a file is read again only when it changed.

    Raises:
        RatingFileError: a file is malformed; the message names the line.
    """
    return RatingDirectory([_rating_set(file, file.stat().st_mtime_ns) for file in files])


@lru_cache(maxsize=32)
def _rating_set(file: Path, changed_at: int) -> RatingSet:
    return load_mbfc_json(file) if file.suffix == ".json" else load_rating_yaml(file)


class FactCheckServices(dg.ConfigurableResource):  # type: ignore[type-arg]
    """Opens what a fact-check needs from outside: search, pages, ratings, a reasoner.

    With no key: the archive or the demo's miniature web, and the embedded engine.
    """

    home: str

    def settings(self) -> Settings:
        """Return the machine's settings for this data folder."""
        return Settings(home=Path(self.home))

    @asynccontextmanager
    async def open(
        self, *, observer: Observer, web: str = "auto", corpus_web: str | None = None
    ) -> AsyncIterator[Services]:
        """Open the services of one run and close them again, whatever happens in between.

        Args:
            observer: Hears what happens.
            web: The run's wish, as in SearchConfig.web.
            corpus_web: The wish of the video's corpus.
        """
        settings = self.settings()
        chosen = choose_web(
            web, corpus_web, settings.web, live_ready=settings.serper_api_key is not None
        )
        async with AsyncExitStack() as stack:
            searcher, fetcher = await self._web(chosen, settings, stack)
            yield Services(
                reasoner=EmbeddedReasoner(),
                searcher=searcher,
                fetcher=fetcher,
                ratings=rating_directory(settings.rating_sets),
                ages=UnknownAges(),
                observer=observer,
            )

    async def _web(
        self, chosen: str, settings: Settings, stack: AsyncExitStack
    ) -> tuple[Searcher, Fetcher]:
        if chosen == "miniature":
            return await self._miniature(settings, stack)
        archive = Archive(settings.archive, canonicalise=canonical_url)
        if chosen == "live":
            return await self._live(settings, archive, stack)
        collection = chosen.partition(":")[2]
        collections = (collection,) if collection else None
        return ArchiveSearcher(archive, collections), ArchiveFetcher(archive, collections)

    async def _miniature(
        self, settings: Settings, stack: AsyncExitStack
    ) -> tuple[Searcher, Fetcher]:
        web = stack.enter_context(MiniatureWeb(settings.project_corpora / "miniature_web"))
        http = await stack.enter_async_context(HttpClient(guard=NetworkGuard(names=web.names)))
        search = SerperSearch(
            http, api_key="none", base_url="http://search.example", provider="miniature"
        )
        return MergedSearch([search]), PageFetcher(http)

    async def _live(
        self, settings: Settings, archive: Archive, stack: AsyncExitStack
    ) -> tuple[Searcher, Fetcher]:
        if settings.serper_api_key is None:
            raise dg.Failure(
                "The live web was asked for, and no search provider has a key. Set SERPER_API_KEY "
                "in .env, or choose another web: archive or miniature.",
                allow_retries=False,
            )
        http = await stack.enter_async_context(HttpClient())
        search = SerperSearch(http, api_key=settings.serper_api_key.get_secret_value())
        fetcher = ArchivingFetcher(
            PageFetcher(http), archive, FETCHED_COLLECTION, leave_out=is_fictional
        )
        return MergedSearch([search]), fetcher
