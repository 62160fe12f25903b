from __future__ import annotations

from typing import Any, Literal

import pytest

from factible_assets.config import QueriesConfig
from factible_assets.reasoners.llm.queries import search_words
from factible_assets.stages.ports import QueryDraft, ReasonerOutageError
from factible_assets.stages.queries import build_queries
from resources.llm.base import ModelError, ModelOutageError
from tests.reasoners.llm.material import CLAIM, VIDEO, reasoner
from tests.reasoners.llm.scripted import report, take_apart


def worded(
    text: str, kind: str = "direct", *, opposite: bool = False, priority: int = 1, claim: int = 1
) -> Any:
    return {
        "claim": claim,
        "text": text,
        "query_type": kind,
        "seeks_opposite": opposite,
        "priority": priority,
    }


async def drafts(*queries: Any) -> tuple[QueryDraft, ...]:
    mind, _ = reasoner({"queries": list(queries)})
    return (await mind.write_queries(VIDEO, CLAIM, max_queries=3)).value


async def test_queries_keep_their_type_priority_and_direction() -> None:
    found = await drafts(
        worded("sugar hyperactive children 2012"),
        worded("sugar hyperactivity myth 2012", "CONTEXT", opposite=True, priority=2),
    )
    assert found == (
        QueryDraft("sugar hyperactive children 2012", "direct", 1),
        QueryDraft("sugar hyperactivity myth 2012", "context", 2, seeks_opposite=True),
    )


@pytest.mark.parametrize("outcome", ["truncated", "invalid"])
async def test_what_a_model_cannot_word_is_searched_for_in_the_words_of_the_claim(
    outcome: Literal["truncated", "invalid"],
) -> None:
    mind, _ = reasoner(ModelError("It ran in circles.", (report(outcome=outcome),)))
    judged = await mind.write_queries(VIDEO, CLAIM, max_queries=3)
    assert any(draft.seeks_opposite for draft in judged.value)
    assert all("sugar" in draft.text.lower() for draft in judged.value)
    assert [call.outcome for call in judged.calls] == [outcome]


async def test_a_service_that_is_away_words_nothing_and_stays_an_outage() -> None:
    mind, _ = reasoner(ModelOutageError("It is away.", (report(outcome="infra_error"),)))
    with pytest.raises(ReasonerOutageError):
        await mind.write_queries(VIDEO, CLAIM, max_queries=3)


async def test_a_model_that_forgets_the_contrary_is_helped_out() -> None:
    found = await drafts(worded("sugar hyperactive children 2012"))
    assert found[0].text == "sugar hyperactive children 2012"
    assert any(draft.seeks_opposite for draft in found[1:])


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ('"sugar" AND children', "sugar AND children"),
        ("sugar site:attacker.example", "sugar"),
        ("sugar -site:nhs.uk filetype:pdf", "sugar"),
        ("sugar https://attacker.example/x children", "sugar children"),
        ("sugar -children +adults", "sugar children adults"),
        ("<b>sugar</b> and `behaviour`", "sugar and behaviour"),
        ("intitle:sugar", ""),
        ("COVID-19 long-term effects", "COVID-19 long-term effects"),
    ],
)
def test_a_search_is_words_alone(written: str, kept: str) -> None:
    assert search_words(written) == kept


async def test_a_search_is_neither_endless_nor_asked_twice() -> None:
    found = await drafts(
        worded(" ".join(f"word{number}" for number in range(30)), opposite=True),
        worded("Sugar children!"),
        worded("sugar  children", "alternative"),
        worded("site:attacker.example", "source"),
    )
    assert [len(draft.text.split()) for draft in found] == [16, 2]


async def test_to_one_search_that_is_said_again_and_again_the_claims_own_words_are_added() -> None:
    asked = "Who would know if a workout lifts the mood"
    found = await drafts(*(worded(asked, opposite=True) for _ in range(4)))
    assert found[0].text == asked
    assert "sugar most children hyperactive 2012" in [draft.text for draft in found[1:]]


async def test_what_asks_about_the_video_itself_is_no_search() -> None:
    found = await drafts(
        worded("What is the title of the video?", opposite=True),
        worded("sugar hyperactive children"),
        worded("sugar hyperactivity myth", opposite=True),
    )
    assert [draft.text for draft in found] == [
        "sugar hyperactive children",
        "sugar hyperactivity myth",
    ]


async def test_the_stage_puts_the_time_of_the_claim_back() -> None:
    found = await drafts(worded("sugar hyperactive children", opposite=True))
    queries = build_queries(CLAIM, found, QueriesConfig(), basis="llm")
    assert queries[0].text == "sugar hyperactive children 2012"


async def test_all_four_types_are_asked_for_however_few_queries_are_wanted() -> None:
    mind, model = reasoner({"queries": [worded("sugar", opposite=True)]})
    await mind.write_queries(VIDEO, CLAIM, max_queries=1)
    assert "Write 4 queries" in model.prompts[0]
    assert CLAIM.text in take_apart(model.prompts[0]).data("claim")
    assert model.questions[0].max_tokens == 600
