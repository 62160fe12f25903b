"""The Dagster resources of a run: services, opened and closed again, the corpora, the reports.

What belongs here: the order in which things are opened, the failures that Dagster is told, what a
materialization says of a report. What does not: any choice (web.py, reasoning.py), reading and
checking corpus files (corpora/), the reports themselves (report/). The UI shows docstrings of
resources: theirs are one line.

A report shows what a run found and adds nothing to it. So nothing that goes wrong while one is
written fails a run: it is said in the log and in the metadata, and `factible report` repairs it.
"""

# No `from __future__ import annotations`: Dagster reads the annotations of resources as types.

import logging
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Required, TypedDict, Unpack
from urllib.parse import quote

import dagster as dg
from pydantic import Field

from factible_assets.config import Reasoners
from factible_assets.corpora.reading import CorporaReading, CorpusVideo, load_corpora
from factible_assets.pipeline.liveness import CANCELLATIONS
from factible_assets.records import Rating
from factible_assets.services import reasoning
from factible_assets.services.ratings import RatedPages, rating_directory
from factible_assets.settings import Settings, SettingsError, load_settings
from factible_assets.stages.ports import Observer, RatingDirectory, Services
from resources.archive.sources import ArchiveError
from resources.cache.store import DiskCache
from resources.errors import SetupError
from warehouse.store import Warehouse

_SAID: deque[tuple[str, str]] = deque(maxlen=1_000)
"""What was said in which run, so that each of its steps need not say it again."""


@dataclass(frozen=True, slots=True)
class Occasion:
    """What services are opened for: the run, whose steps share a budget, and its log."""

    run_id: str
    video_id: str
    log: logging.Logger

    def remark(self, words: str) -> None:
        """Log a sentence, once per run however many of its steps say it."""
        if (self.run_id, words) not in _SAID:
            _SAID.append((self.run_id, words))
            self.log.info(words)


class Wishes(TypedDict, total=False):
    """How services are opened; what is not said is as the machine's settings say.

    `reasoners`, `web` and `pages_rating` are the run's wishes, as in its knobs. Where it has none,
    the web and the rating of its pages are those of the video's corpus entry, if it is `listed`. To
    `renew` is to ask everything anew.
    """

    observer: Required[Observer]
    reasoners: Reasoners
    web: str
    listed: CorpusVideo | None
    pages_rating: Rating | None
    renew: bool


class FactCheckServices(dg.ConfigurableResource):  # type: ignore[type-arg]
    """What a fact-check needs from outside: search, pages, ratings, and who reasons."""

    home: str

    def settings(self) -> Settings:
        """Return the machine's settings for this data folder.

        Raises dagster.Failure: A variable has a value that cannot be used. Never retried.
        """
        with final():
            return load_settings(Path(self.home))

    @asynccontextmanager
    async def open(
        self, *, occasion: Occasion, **wishes: Unpack[Wishes]
    ) -> AsyncIterator[Services]:
        """Open the services of one step and close them again, whatever happens in between.

        Raises dagster.Failure: A service was asked for that is not set up. Never retried.
        """
        settings = self.settings()
        async with AsyncExitStack() as stack:
            stack.enter_context(CANCELLATIONS.cancellable(occasion.run_id))
            with final():
                opening = open_services(settings, occasion=occasion, **wishes)
                opened = await stack.enter_async_context(opening)
            yield opened


@asynccontextmanager
async def open_services(
    settings: Settings, *, occasion: Occasion, **wishes: Unpack[Wishes]
) -> AsyncIterator[Services]:
    """Open services, outside of Dagster by settings that need not be the machine's.

    Raises SetupError: A service was asked for that is not set up.
    Raises ArchiveError: The archive of stored pages cannot be used.
    """
    # The definitions load none of the clients: who opens services does.
    from factible_assets.services.search import search_names, search_remark
    from factible_assets.services.web import choose_web, open_web

    web, listed = wishes.get("web", "auto"), wishes.get("listed")
    corpus_web, rated = (listed.web, listed.entry.pages_rating) if listed else (None, None)
    rated, renew = wishes.get("pages_rating") or rated, wishes.get("renew", False)
    async with AsyncExitStack() as stack:
        cache = await stack.enter_async_context(DiskCache(settings.cache, settings.cache_policy))
        if renew:
            cache.renew()
        live_ready = bool(search_names(settings))
        chosen = choose_web(web, corpus_web, settings.web, live_ready=live_ready)
        opened = await open_web(chosen, settings, stack, cache)
        ratings: RatingDirectory = rating_directory(settings.rating_sets)
        if rated is not None and chosen.startswith("archive:"):
            ratings = RatedPages(ratings, rated)
        choices = reasoning.choose_reasoners(wishes.get("reasoners", Reasoners()), settings)
        for remark in (search_remark(settings, web, corpus_web), choices.remark):
            if remark is not None:
                occasion.remark(remark)
        budget = reasoning.BUDGETS.of(occasion.run_id, occasion.video_id, settings)
        reasoner = await reasoning.open_reasoner(
            settings, choices, stack, cache, budget, renew=renew
        )
        yield Services(
            reasoner=reasoner,
            searcher=opened.searcher,
            fetcher=opened.fetcher,
            ratings=ratings,
            ages=opened.ages,
            observer=wishes["observer"],
            fact_checks=opened.fact_checks,
        )


@contextmanager
def final() -> Iterator[None]:
    """Turn settings that cannot be used into failures that no retry cures."""
    try:
        yield
    except (SetupError, SettingsError, ArchiveError) as error:
        raise dg.Failure(str(error), allow_retries=False) from error


class CorporaResource(dg.ConfigurableResource):  # type: ignore[type-arg]
    """The corpus files of some folders, read anew each time."""

    folders: list[str]

    def read(self) -> CorporaReading:
        """Read all corpora; files with problems are told apart from files that list nothing."""
        return load_corpora([Path(folder) for folder in self.folders])


class ReportsResource(dg.ConfigurableResource):  # type: ignore[type-arg]
    """The folder of the HTML reports, and where a service shows them, if one does."""

    folder: str
    published: str = Field(
        default="", description="The copy of the warehouse that the service at public_url reads."
    )
    public_url: str | None = Field(
        default=None,
        description="The address at which `factible serve` is reached, without a slash at the end.",
    )
    waits: bool = Field(
        default=False,
        description="Whether who launched the run waits for its end, and writes the report then.",
    )

    @classmethod
    def of(cls, settings: Settings, *, waits: bool = False) -> "ReportsResource":
        """Return the resource of a data folder."""
        address = settings.public_url
        return cls(
            folder=str(settings.reports),
            published=str(settings.published),
            public_url=address.rstrip("/") if address else None,
            waits=waits,
        )

    def publish(
        self, store: Warehouse, video_id: str, log: logging.Logger
    ) -> dict[str, dg.MetadataValue[Any]]:
        """Write the report of a video, refresh the index, and return the metadata, links first.

        Blocks for some 0.3 s; where somebody `waits` to write it, it is named alone. Never raises:
        a report that cannot be written is a sentence in the metadata and a warning in the log.
        """
        # Templates load only where a report is written.
        from factible_assets.files import INDEX, report_name
        from factible_assets.report.writing import publish_report

        folder = Path(self.folder)
        path: Path | None = folder / report_name(video_id)
        try:
            if not self.waits:
                path = publish_report(store, folder, video_id)
            if self.public_url is not None:
                # The links open at once, not when the sensor has published the run.
                store.publish(Path(self.published))
        except Exception as error:  # noqa: BLE001 - a run must not fail over how it is shown
            words = f"The report could not be written: {str(error) or type(error).__name__}"
            log.warning("%s Write it with: factible report -- %s", words, video_id)
            return {"report": dg.MetadataValue.text(words)}
        if path is None:
            return {}
        files: dict[str, dg.MetadataValue[Any]] = {
            "report file": dg.MetadataValue.path(str(path)),
            "index of reports": dg.MetadataValue.path(str(folder / INDEX)),
        }
        links = self.links(video_id)
        return {**links, **files} if links else {"report": files.pop("report file"), **files}

    def links(self, video_id: str) -> dict[str, dg.MetadataValue[Any]]:
        """Return the addresses of a video's report and of its page in the desk, if known."""
        if self.public_url is None:
            return {}
        name = quote(video_id, safe="")
        return {
            "report": dg.MetadataValue.url(f"{self.public_url}/reports/{name}"),
            "desk": dg.MetadataValue.url(f"{self.public_url}/desk/videos/{name}"),
        }
