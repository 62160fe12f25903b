"""A small corpus of plain transcripts, and a world that counts its questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from factible_assets.config import Reasoners
from factible_assets.corpora.reading import CorporaReading, load_corpora
from factible_assets.pipeline.resources import RunContext
from factible_assets.records.tables import Transcript, TranscriptSegment, Video
from factible_assets.runs.experiments.files import load_experiments
from factible_assets.runs.experiments.plan import Experiment
from factible_assets.settings import Settings
from factible_assets.stages.ports import (
    ClaimDraft,
    ClaimDrafts,
    Observer,
    QueryDraft,
    ReasonerOutageError,
    Services,
    WithCalls,
)
from tests.stages.world import (
    Directory,
    Engine,
    Hit,
    Mind,
    Registry,
    Web,
    World,
    one_for_all,
    own_words,
    says,
)

CLAIMS = ("Bees sleep", "Ants sing", "Cats swim")

CORPUS = """
corpus: small
web: archive
videos:
  - {id: talk-one, title: One, tags: [short], transcript: one.txt,
     claims: [{text: Bees sleep, importance: 0.9, stance: supports}]}
  - {id: talk-two, title: Two, tags: [short, second], transcript: two.txt,
     claims: [{text: Ants sing, importance: 0.5, stance: refutes},
              {text: Cows moo, importance: 0.9, stance: supports}]}
"""


def settings_in(folder: Path) -> Settings:
    """Return the settings of a machine without keys whose corpora are the small one's."""
    home = folder / "home"
    place = home / "corpora"
    if not place.exists():
        place.mkdir(parents=True)
        (place / "small.yaml").write_text(CORPUS)
        for name in ("one", "two"):
            (place / f"{name}.txt").write_text(f"{'. '.join(CLAIMS)}.")
    return Settings(home=home)


def corpora_of(settings: Settings) -> CorporaReading:
    return load_corpora([settings.home_corpora])


def experiment_of(text: str, settings: Settings) -> Experiment:
    """Return the experiment that a file with this text is.

    Raises:
        AssertionError: The text has problems; the message lists them.
    """
    file = settings.home / "experiment.yaml"
    file.write_text(text)
    reading = load_experiments([file], corpora_of(settings), settings)
    assert reading.experiments, [str(problem) for problem in reading.problems]
    return reading.experiments[0]


def problems_of(text: str, settings: Settings) -> list[str]:
    """Return the problems of a file with this text, each as `line: sentence`."""
    file = settings.home / "experiment.yaml"
    file.write_text(text)
    reading = load_experiments([file], corpora_of(settings), settings)
    return [f"{problem.line}: {problem.sentence}" for problem in reading.problems]


def small_world() -> World:
    """A world in which every claim has two queries, and each query two pages that support it."""
    world = World()
    for claim in CLAIMS:
        words = [f"{claim} {place}" for place in ("first", "second")]
        world.queries[claim] = [QueryDraft(text, "direct", 1) for text in words]
        for text in words:
            slug = text.lower().replace(" ", "-")
            urls = [f"https://{slug}-{number}.org/page" for number in (1, 2)]
            world.results[text] = [
                [Hit(place, f"Page {place}", url) for place, url in enumerate(urls, start=1)]
            ]
            for url in urls:
                world.texts[url] = says(claim, "supports", filler=own_words(url))
                world.listed[url.split("/")[2]] = "high"
    return world


@dataclass(frozen=True)
class CountingMind(Mind):
    """A reasoner that finds `max_claims` claims and counts its calls."""

    async def extract_claims(
        self,
        video: Video,
        transcript: Transcript,
        segments: Sequence[TranscriptSegment],
        *,
        max_claims: int,
        found: Callable[[ClaimDrafts], None] | None = None,
    ) -> WithCalls[ClaimDrafts]:
        if await self.world.work("claims", video.video_id):
            raise ReasonerOutageError("the model is overloaded")
        drafts = tuple(ClaimDraft(text, 0.9, 0.9) for text in CLAIMS[:max_claims])
        return WithCalls(ClaimDrafts("A thesis", drafts))


@dataclass
class Machine:
    """The services that an experiment opens, all of one world."""

    world: World = field(default_factory=small_world)
    opened: list[str] = field(default_factory=list)
    models: list[str | None] = field(default_factory=list)
    options: list[dict[str, Any]] = field(default_factory=list)

    @asynccontextmanager
    async def open(
        self,
        settings: Settings,
        *,
        observer: Observer,
        run: RunContext,
        reasoners: Reasoners,
        web: str,
        **others: Any,
    ) -> AsyncIterator[Services]:
        self.opened.append(run.video_id)
        self.models.append(settings.model)
        self.options.append(others)
        yield self.services(observer)

    def services(self, observer: Observer) -> Services:
        """Return services of the world."""
        return Services(
            reasoner=one_for_all(CountingMind(self.world)),
            searcher=Engine(self.world),
            fetcher=Web(self.world),
            ratings=Directory(self.world),
            ages=Registry(self.world),
            observer=observer,
        )

    def counts(self) -> Counter[str]:
        counted: Counter[str] = Counter()
        for (kind, _), times in self.world.asked.items():
            counted[kind] += times
        return counted
