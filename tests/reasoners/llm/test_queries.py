from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from factible_assets.config import ClaimsConfig, QueriesConfig
from factible_assets.reasoners.llm.engine import LlmReasoner
from factible_assets.reasoners.llm.queries import search_words
from factible_assets.stages.claims import build_claims
from factible_assets.stages.ports import QueryDraft, ReasonerOutageError
from factible_assets.stages.queries import build_queries
from resources.llm.base import ModelError, ModelOutageError
from resources.storage.answers import DiskCache
from resources.storage.caching import CachingModel
from tests.reasoners.llm.scripted import report, staged, take_apart
from tests.reasoners.material import CLAIM, VIDEO, reasoner, transcript
from tests.resources.llm.servers import CHAT, bodies, bound, say
from tests.servers import MisbehavingServer


async def drafts(*searches: str) -> tuple[QueryDraft, ...]:
    llm, _ = reasoner({"searches": list(searches)})
    return (await llm.write_queries(VIDEO, CLAIM, max_queries=3)).value


async def test_the_position_of_a_search_decides_its_type() -> None:
    found = await drafts(
        "sugar hyperactive children 2012",
        "sugar hyperactivity myth 2012",
        "American Academy of Pediatrics sugar",
        "sucrose behaviour trend",
    )
    assert found == (
        QueryDraft("sugar hyperactive children 2012", "direct", 1),
        QueryDraft("sugar hyperactivity myth 2012", "alternative", 1, seeks_opposite=True),
        QueryDraft("American Academy of Pediatrics sugar", "source", 2),
        QueryDraft("sucrose behaviour trend", "context", 3),
    )


@pytest.mark.parametrize("outcome", ["truncated", "invalid"])
async def test_an_unusable_answer_is_replaced_by_the_words_of_the_claim(
    outcome: Literal["truncated", "invalid"],
) -> None:
    llm, _ = reasoner(ModelError("It ran in circles.", (report(outcome=outcome),)))
    judged = await llm.write_queries(VIDEO, CLAIM, max_queries=3)
    assert any(draft.seeks_opposite for draft in judged.value)
    assert all("sugar" in draft.text.lower() for draft in judged.value)
    assert [call.outcome for call in judged.calls] == [outcome]


async def test_a_service_that_is_down_stays_an_outage() -> None:
    llm, _ = reasoner(ModelOutageError("It is away.", (report(outcome="infra_error"),)))
    with pytest.raises(ReasonerOutageError):
        await llm.write_queries(VIDEO, CLAIM, max_queries=3)


async def test_a_missing_search_for_the_opposite_is_added() -> None:
    found = await drafts("sugar hyperactive children 2012")
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


async def test_searches_are_short_and_distinct() -> None:
    found = await drafts(
        "Sugar children!",
        " ".join(f"word{number}" for number in range(30)),
        "sugar  children",
        "site:attacker.example",
    )
    assert [len(draft.text.split()) for draft in found] == [2, 16]


async def test_the_words_of_the_claim_join_a_single_repeated_search() -> None:
    asked = "Who would know if a workout lifts the mood"
    found = await drafts(*(asked for _ in range(4)))
    assert found[0].text == asked
    assert "2012 sugar most children hyperactive" in [draft.text for draft in found[1:]]


async def test_the_stage_puts_the_time_of_the_claim_back() -> None:
    found = await drafts("sugar hyperactive children", "sugar myth")
    queries = build_queries(CLAIM, found, QueriesConfig(), basis="llm")
    assert queries[0].text == "sugar hyperactive children 2012"


async def test_the_prompt_asks_for_at_least_three_searches() -> None:
    llm, model = reasoner({"searches": ["sugar", "sugar myth"]})
    for wanted in (1, 7):
        await llm.write_queries(VIDEO, CLAIM, max_queries=wanted)
    assert "Write 3 searches" in model.prompts[0]
    assert "Write 7 searches" in model.prompts[1]
    assert CLAIM.text in take_apart(model.prompts[0]).data("claim")
    assert model.questions[0].max_tokens == 600


async def test_the_searches_of_a_found_claim_cost_no_call(
    server: MisbehavingServer, tmp_path: Path
) -> None:
    stated = {
        "source": "sugar makes children hyperactive",
        "text": "Sugar makes children hyperactive.",
        "context": "The speaker means table sugar.",
        "category": "health",
        "kind": "fact",
        "bears_on_thesis": True,
        "tier": "pillar",
        "importance": 0.9,
        "confidence": 0.8,
        "searches": ["sugar hyperactive children", "sugar hyperactivity myth"],
    }
    found = {"thesis": "T", "thesis_is_about_expertise": False, "claims": [stated]}
    server.on(CHAT["openai"], say("openai", found))
    said = transcript("They say that sugar makes children hyperactive, and I agree.")
    cache = DiskCache(tmp_path)
    async with bound(server) as client:
        llm = LlmReasoner(staged(CachingModel(client, cache)))
        drafts = (await llm.extract_claims(VIDEO, said, (), max_claims=5)).value
        (claim,) = build_claims(drafts, said, (), ClaimsConfig(), basis="llm")
        judged = await llm.write_queries(VIDEO, claim, max_queries=2)
        assert judged.calls == ()
        assert [draft.text for draft in judged.value] == stated["searches"]
        assert len(bodies(server)) == 1
        # Another wording by a reviewer has searches of its own.
        server.on(CHAT["openai"], say("openai", {"searches": ["honey", "honey myth"]}))
        other = claim.model_copy(update={"text": "Honey makes children hyperactive."})
        assert len((await llm.write_queries(VIDEO, other, max_queries=2)).calls) == 1
