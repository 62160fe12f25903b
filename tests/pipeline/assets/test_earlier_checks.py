"""Two videos that make the same claim: the second takes over the sources of the first."""

import shutil
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from factible_assets.config import FactCheckConfig, SearchConfig, VerdictsConfig
from factible_assets.pipeline.earlier_checks import with_earlier_checks
from factible_assets.pipeline.resources import FactCheckServices
from factible_assets.records.tables import Claim, Evidence, ReviewAction, Verdict, Video
from factible_assets.settings import Settings
from factible_assets.stages.ids import review_action_id
from factible_assets.stages.ports import EarlierCheck, Reasoner, Services
from tests.pipeline.assets.conftest import Pipeline
from tests.stages.world import World, make_claim

SAID = "A goldfish has a memory of only three seconds."
REUSING = FactCheckConfig(
    search=SearchConfig(web="miniature"),
    verdicts=VerdictsConfig(reuse_days=30),
    reasoner="embedded",
)
ASKED: Counter[str] = Counter()


@dataclass(frozen=True)
class Counting:
    """Counts the calls of one service's method."""

    service: Any
    method: str

    def __getattr__(self, name: str) -> Any:
        if name == self.method:
            ASKED[name] += 1
        return getattr(self.service, name)


class CountedServices(FactCheckServices):
    """The standard services; searches, fetches, queries and readings are counted."""

    @asynccontextmanager
    async def open(self, **wishes: Any) -> AsyncIterator[Services]:
        async with super().open(**wishes) as opened:
            reasoner: Reasoner = opened.reasoner
            counted = replace(
                reasoner,
                queries=Counting(reasoner.queries, "write_queries"),
                evidence=Counting(reasoner.evidence, "read_evidence"),
            )
            yield replace(
                opened,
                reasoner=counted,
                searcher=Counting(opened.searcher, "search"),
                fetcher=Counting(opened.fetcher, "fetch"),
            )


@pytest.fixture(scope="module")
def first_checked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, set[str]]:
    """A data folder with three videos of the same claim, the first checked; what that asked."""
    home = tmp_path_factory.mktemp("reuse") / "home"
    folder = Settings(home=home).ensure_home() / "corpora"
    folder.mkdir()
    lines = ["videos:"]
    for name in ("first", "second", "third"):
        (folder / f"{name}.txt").write_text(f"Hello. {SAID} Goodbye.", encoding="utf-8")
        lines += [f"  - id: {name}", f"    transcript: {name}.txt", "    claims_are_given: true"]
        lines += ["    claims:", f"      - text: {SAID}"]
    (folder / "own.yaml").write_text("\n".join(lines), encoding="utf-8")
    with dg.DagsterInstance.ephemeral(tempdir=str(home.parent)) as instance:
        checked(Pipeline(Settings(home=home), instance), "first")
    return home, set(ASKED)


@pytest.fixture
def same_claim(pipeline: Pipeline, first_checked: tuple[Path, set[str]]) -> Pipeline:
    shutil.copytree(first_checked[0], pipeline.settings.home)
    return pipeline


def checked(pipeline: Pipeline, video: str) -> Verdict:
    """Check a video, counting from zero, and return the verdict on its claim."""
    ASKED.clear()
    services = CountedServices(home=str(pipeline.settings.home))
    result = pipeline.materialize(video, options=REUSING, overrides={"services": services})
    assert result.success
    (verdict,) = pipeline.store.read_current(Verdict, video)
    return verdict


def test_the_second_video_is_judged_without_a_search_a_fetch_or_a_reading(
    same_claim: Pipeline, first_checked: tuple[Path, set[str]]
) -> None:
    assert first_checked[1] == {"search", "fetch", "write_queries", "read_evidence"}
    store = same_claim.store
    (first,) = store.read_current(Verdict, "first")
    (claim,) = store.read_current(Claim, "first")
    second = checked(same_claim, "second")
    assert not ASKED
    assert (second.status, second.stance, second.confidence_score) == (
        "complete",
        first.stance,
        first.confidence_score,
    )
    assert "of the same claim in the video first." in str(second.reason)
    rows = store.read_current(Evidence, "second")
    assert {row.reused_claim_id for row in rows if row.status == "ok"} == {claim.claim_id}
    assert {row.stance for row in rows} == {
        row.stance for row in store.read_current(Evidence, "first")
    }
    third = checked(same_claim, "third")
    assert not ASKED
    assert "in the video first." in str(third.reason)  # whose day is that of the sources


async def found(pipeline: Pipeline, text: str = SAID, **options: Any) -> EarlierCheck | None:
    """Look for an earlier check of a claim that the video `second` makes."""
    services = replace(World(basis="embedded").services(), web="miniature")
    config = REUSING.model_copy(update=options)
    opened = with_earlier_checks(
        services, config, pipeline.store, Video(video_id="second", title="")
    )
    claim = make_claim(text).model_copy(update={"video_id": "second"})
    return await opened.earlier_check(claim) if opened.earlier_check else None


async def test_only_the_same_claim_takes_over_and_only_if_the_run_wants_it(
    same_claim: Pipeline,
) -> None:
    assert await found(same_claim) is not None
    for other in (
        "A goldfish does not have a memory of only three seconds.",
        "A goldfish has a memory of only five seconds.",
        "A goldfish has a memory of only three seconds, says Ada.",
        "This goldfish has a memory of only three seconds.",
    ):
        assert await found(same_claim, other) is None
    assert await found(same_claim, verdicts=VerdictsConfig()) is None
    assert await found(same_claim, renew=True) is None
    assert await found(same_claim, only_claims=("c1",)) is None


@pytest.mark.parametrize(
    "change",
    [
        "checked_at = checked_at - INTERVAL 31 DAY",
        "status = 'incomplete', stance = NULL, confidence = NULL, reason = 'An outage.'",
        "recheck_due = true",
        "basis = 'llm'",
    ],
)
async def test_an_old_an_incomplete_and_another_readers_verdict_is_not_taken_over(
    same_claim: Pipeline, change: str
) -> None:
    same_claim.store.write(
        lambda connection: connection.execute(f"UPDATE verdict_history SET {change}")  # noqa: S608
    )
    assert await found(same_claim) is None


async def test_the_decision_of_a_reviewer_is_shown(same_claim: Pipeline) -> None:
    store = same_claim.store
    (claim,) = store.read_current(Claim, "first")
    moment = datetime(2026, 1, 2, tzinfo=UTC)
    action = ReviewAction(
        action_id=review_action_id(claim.claim_id, "Ann", moment, 1),
        video_id="first",
        claim_id=claim.claim_id,
        reviewer="Ann",
        acted_at=moment,
        action="assess",
        value="mixed",
    )
    store.write_rows({"review_actions": [action.model_dump()]})
    earlier = await found(same_claim)
    assert earlier is not None
    assert earlier.sentence.endswith("A reviewer assessed it as mixed.")
