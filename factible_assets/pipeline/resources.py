"""Dagster resources: the services of a step, the corpora, and the reports.

Writing a report never fails a run: errors go to the log and the metadata, and `factible report`
writes the report again. The UI shows the docstrings of resources, so these have one line.
"""

# No `from __future__ import annotations`: Dagster reads the annotations of resources as types.

import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import dagster as dg
from pydantic import Field

from factible_assets.config import Reasoners
from factible_assets.corpora.reading import CorporaReading, CorpusVideo, load_corpora
from factible_assets.pipeline.cancellation import CANCELLATIONS
from factible_assets.records.tables import Rating
from factible_assets.services import reasoning
from factible_assets.services.models import BUDGETS
from factible_assets.services.ratings import CollectionRatings, rating_directory, rating_files
from factible_assets.settings import Settings, SettingsError, load_settings
from factible_assets.stages.ports import Observer, RatingDirectory, Services
from resources.errors import SetupError
from resources.storage.answers import DiskCache
from resources.storage.imports import ArchiveError
from warehouse.store import Warehouse


@dataclass(frozen=True, slots=True)
class RunContext:
    """The run that opens services. Its steps share a budget for model calls."""

    run_id: str
    video_id: str
    log: logging.Logger


class FactCheckServices(dg.ConfigurableResource):  # type: ignore[type-arg]
    """The services of a fact-check: search, pages, ratings, and the reasoner."""

    home: str

    def settings(self) -> Settings:
        """Load the settings for this data folder.

        Raises dagster.Failure: A variable has an invalid value. Never retried.
        """
        with setup_errors_are_final():
            return load_settings(Path(self.home))

    @asynccontextmanager
    async def open(self, *, run: RunContext, **options: Any) -> AsyncIterator[Services]:
        """Open the services of one step, and close them with the block or a cancellation.

        `open_services` describes the options.

        Raises dagster.Failure: A requested service is not set up. Never retried.
        """
        settings = self.settings()
        async with AsyncExitStack() as stack:
            stack.enter_context(CANCELLATIONS.cancellable(run.run_id))
            with setup_errors_are_final():
                opening = open_services(settings, run=run, **options)
                opened = await stack.enter_async_context(opening)
            yield opened


@asynccontextmanager
async def open_services(
    settings: Settings,
    *,
    run: RunContext,
    observer: Observer,
    reasoners: Reasoners | None = None,
    web: str = "auto",
    listed: CorpusVideo | None = None,
    pages_rating: Rating | None = None,
    renew: bool = False,
) -> AsyncIterator[Services]:
    """Open services without Dagster, for any settings.

    `web` and `pages_rating` default to those of the video's corpus entry, if it is `listed`.
    `renew` bypasses the cache.

    Raises SetupError: A requested service is not set up.
    Raises ArchiveError: The archive of stored pages is unusable.
    """
    # The clients load slowly, and loading the definitions must not need them.
    from factible_assets.services.search import search_names, search_remark
    from factible_assets.services.web import choose_web, open_web

    corpus_web = listed.web if listed else None
    rating = pages_rating or (listed.entry.pages_rating if listed else None)
    async with AsyncExitStack() as stack:
        cache = DiskCache(settings.cache, settings.cache_policy)
        if renew:
            cache.renew()
        live_ready = bool(search_names(settings))
        web_name = choose_web(web, corpus_web, settings.web, live_ready=live_ready)
        annotated = (listed.claims if listed else None) or ()
        clients = await open_web(web_name, settings, stack, cache, annotated)
        ratings: RatingDirectory = rating_directory(rating_files(settings))
        if web_name == "annotated":
            rating = rating or "medium"
        if rating is not None and web_name.startswith(("archive:", "annotated")):
            ratings = CollectionRatings(ratings, rating)
        choices = reasoning.choose_reasoners(reasoners or Reasoners(), settings)
        for remark in (search_remark(settings, web, corpus_web), choices.remark):
            if remark is not None:
                run.log.info(remark)
        budget = BUDGETS.of(run.run_id, run.video_id, settings)
        reasoner = await reasoning.open_reasoner(
            settings, choices, stack, cache, budget, renew=renew
        )
        yield Services(
            reasoner=reasoner,
            searcher=clients.searcher,
            fetcher=clients.fetcher,
            ratings=ratings,
            ages=clients.ages,
            observer=observer,
            fact_checks=clients.fact_checks,
            web=web_name,
        )


@contextmanager
def setup_errors_are_final() -> Iterator[None]:
    """Turn errors in the settings into failures that Dagster does not retry."""
    try:
        yield
    except (SetupError, SettingsError, ArchiveError) as error:
        raise dg.Failure(str(error), allow_retries=False) from error


class CorporaResource(dg.ConfigurableResource):  # type: ignore[type-arg]
    """The corpus files of some folders, read anew each time."""

    folders: list[str]

    def read(self) -> CorporaReading:
        return load_corpora([Path(folder) for folder in self.folders])


class ReportsResource(dg.ConfigurableResource):  # type: ignore[type-arg]
    """The folder of the HTML reports, and the address of the service that shows them."""

    folder: str
    published: str = Field(
        default="", description="The copy of the warehouse that the service at public_url reads."
    )
    public_url: str | None = Field(
        default=None, description="The address of `factible serve`, without a slash at the end."
    )
    launcher_writes: bool = Field(
        default=False, description="Whether the launcher of the run writes the report at its end."
    )

    @classmethod
    def of(cls, settings: Settings, *, launcher_writes: bool = False) -> "ReportsResource":
        address = settings.public_url
        return cls(
            folder=str(settings.reports),
            published=str(settings.published),
            public_url=address.rstrip("/") if address else None,
            launcher_writes=launcher_writes,
        )

    def publish(
        self, store: Warehouse, video_id: str, log: logging.Logger
    ) -> dict[str, dg.MetadataValue[Any]]:
        """Write the report of a video, refresh the index, and return the metadata, links first.

        Blocks for about 0.3 s. Never raises: an error becomes metadata and a warning in the log.
        """
        # Templates load slowly.
        from factible_assets.report.writing import publish_report
        from resources.files import INDEX, report_name

        folder = Path(self.folder)
        path: Path | None = folder / report_name(video_id)
        try:
            if not self.launcher_writes:
                path = publish_report(store, folder, video_id)
            if self.public_url is not None:
                # Publish now, so that the links work before publish_sensor ticks.
                store.publish(Path(self.published))
        except Exception as error:  # noqa: BLE001 - a report must not fail the run
            sentence = f"The report could not be written: {str(error) or type(error).__name__}"
            log.warning("%s Write it with: factible report -- %s", sentence, video_id)
            return {"report": dg.MetadataValue.text(sentence)}
        if path is None:
            return {}
        files: dict[str, dg.MetadataValue[Any]] = {
            "report file": dg.MetadataValue.path(str(path)),
            "index of reports": dg.MetadataValue.path(str(folder / INDEX)),
        }
        links = self.links(video_id)
        return {**links, **files} if links else {"report": files.pop("report file"), **files}

    def links(self, video_id: str) -> dict[str, dg.MetadataValue[Any]]:
        """Return links to a video's report and its page at the desk, if public_url is set."""
        if self.public_url is None:
            return {}
        name = quote(video_id, safe="")
        return {
            "report": dg.MetadataValue.url(f"{self.public_url}/reports/{name}"),
            "desk": dg.MetadataValue.url(f"{self.public_url}/desk/videos/{name}"),
        }
