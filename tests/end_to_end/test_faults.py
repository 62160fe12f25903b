"""The demo under random faults: a verdict equals the fault-free one, or it is incomplete."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count

import pytest
import pytest_asyncio

from benchmarks.faults import DOORS, Case, Faults, compared, prepare, struck
from factible_assets.stages.flow import check_claims
from resources.pages.base import FetchedPage
from resources.promises import Promise

ALONE = [next(seed for seed in count(50) if Faults(seed).rates == {door: 0.7}) for door in DOORS]
"""For each door a seed that strikes it alone, and often."""
SEEDS = (*ALONE, 50, 51)


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def case() -> AsyncIterator[Case]:
    async with AsyncExitStack() as stack:
        yield await prepare(stack, max_claims=12)


async def test_faults_change_no_verdict(case: Case) -> None:
    outcomes = [await case.run(seed) for seed in SEEDS]
    assert [(each.seed, each.differences) for each in outcomes if each.differences] == []
    # Every door failed, and some verdicts survived while others did not.
    assert all(each.struck[door] for each, door in zip(outcomes, DOORS, strict=False))
    ends = {end for outcome in outcomes for end in outcome.claims}
    assert {"same", "incomplete"} <= ends


async def test_the_same_seed_fails_the_same_questions(case: Case) -> None:
    first, second = await case.run(3), await case.run(3)
    assert first == second
    assert first.struck


class LyingPages:
    """Passes every outage off as a page that has nothing to say."""

    async def fetch(self, url: str, *, promise: Promise | None = None) -> FetchedPage:
        reason = "gone"
        return FetchedPage(url=url, outcome="absent", retrieved_at=datetime.now(UTC), reason=reason)


async def test_an_outage_disguised_as_an_answer_is_noticed(case: Case) -> None:
    doors = struck(case.services, case.memory, None)
    found = await check_claims(
        case.video, case.claims, replace(doors, fetcher=LyingPages()), case.config
    )
    ends = compared(case.expected, found.verdicts)
    assert [end for end in ends if end not in {"same", "less sure", "incomplete"}]


async def test_outages_with_status_200_change_no_verdict(case: Case) -> None:
    claims = case.claims[:3]
    expected = {each.claim_id: case.expected[each.claim_id] for each in claims}
    small = replace(case, claims=claims, expected=expected)
    outcomes = [await small.run_on_the_wire(seed) for seed in (0, 3)]
    assert [(each.seed, each.differences) for each in outcomes if each.differences] == []
    assert any(outcome.struck["page"] for outcome in outcomes)
