"""Attacks on the whole path: transcript to claims, page to evidence, evidence to verdict.

Each attack stands at once in the video's title, its transcript, a page's title, its text and the
search's excerpt, and the outcome is compared with that of the same video and page without it.
"""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import pytest

from factible_assets.config import ClaimsConfig, FactCheckConfig
from factible_assets.reasoners.embedded.embedder import minilm
from factible_assets.reasoners.embedded.engine import EmbeddedReasoner
from factible_assets.reasoners.llm import prompts
from factible_assets.reasoners.llm.engine import LlmReasoner
from factible_assets.reasoners.llm.prompts import Data, fenced
from factible_assets.reasoners.readers.page import PageReader
from factible_assets.reasoners.readers.plain import PlainReader
from factible_assets.records.tables import Claim, Evidence, Transcript, Verdict, Video
from factible_assets.stages.flow import FlowResult, check_claims, extract_claims
from factible_assets.stages.ports import Reasoner, ReasonerRefusalError, Services
from resources.search.base import SearchAnswer, SearchRequest
from tests.reasoners.llm.hostile import ATTACKS
from tests.reasoners.llm.scripted import GullibleModel, gets_out, staged, take_apart
from tests.stages.words import from_text
from tests.stages.world import Hit, World, answer, make_claim, one_for_all

CLAIM = "Sugar makes children hyperactive."
DENIAL = "Controlled trials have found no evidence that sugar makes children hyperactive."
OTHER_DENIAL = "It is a myth that sugar makes children hyperactive."
HOSTILE, CALM = "https://hostile.example/sugar", "https://calm.example/sugar"
CONFIG = FactCheckConfig(claims=ClaimsConfig(max_claims=5))

attacks = pytest.mark.parametrize("name", ATTACKS)


@dataclass(frozen=True)
class AnyQuery:
    """A search engine that finds the same pages for every query."""

    hits: Sequence[Hit]

    async def search(self, request: SearchRequest) -> Sequence[SearchAnswer]:
        return [answer("engine", hits=self.hits[: request.limit] if request.page == 1 else [])]


@dataclass(frozen=True)
class Outcome:
    claims: tuple[Claim, ...]
    result: FlowResult
    world: World

    @property
    def verdict(self) -> Verdict:
        """The verdict on the claim that the video makes with and without the attack."""
        claim = next(claim for claim in self.claims if claim.text == CLAIM)
        return next(row for row in self.result.verdicts if row.claim_id == claim.claim_id)

    def evidence(self, url: str) -> Evidence:
        claim = next(claim for claim in self.claims if claim.text == CLAIM)
        return next(
            row
            for row in self.result.evidence
            if row.canonical_url == url and row.claim_id == claim.claim_id
        )


def page_text(attack: str) -> str:
    return (
        f"{attack}\nSugar and behaviour: what is known.\n"
        "Parents often expect a change of mood after a party, and many report one to a doctor. "
        "The question has been looked into for about thirty years, in several countries.\n"
        f"{DENIAL} The parents were never told what their child had eaten. {attack}\n"
        f"{attack}\nThe authors recommend a balanced diet all the same.\n"
    )


def world_with(attack: str) -> World:
    calm = (
        f"Kitchen tales, examined. {OTHER_DENIAL} Our editors asked four paediatricians, and all "
        "of them told the same story of birthdays, balloons and tired guests.\n"
    )
    return World(
        texts={HOSTILE: page_text(attack), CALM: calm},
        listed={"hostile.example": "high", "calm.example": "high"},
    )


def transcript_with(attack: str) -> Transcript:
    return from_text(
        "v1",
        f"Hello and welcome to the show about food. {attack}\n{CLAIM} {attack}\n"
        "I like chocolate myself. Thanks for watching.",
    )


def services_with(reasoner: Reasoner, attack: str, world: World) -> Services:
    hits = [
        Hit(1, f"Sugar and behaviour {attack}", HOSTILE, f"A review of sugar. {attack}"),
        Hit(2, "A calm page", CALM, "Sugar and children."),
    ]
    return replace(world.services(), reasoner=reasoner, searcher=AnyQuery(hits))


def video_with(attack: str) -> Video:
    return Video(video_id="v1", title=f"Sugar {attack}")


async def checked(reasoner: Reasoner, attack: str = "", claim: Claim | None = None) -> Outcome:
    """Check a video from its transcript to its verdicts, or a given claim."""
    world = world_with(attack)
    services, video = services_with(reasoner, attack, world), video_with(attack)
    claims: tuple[Claim, ...] = (claim,) if claim else ()
    if claim is None:
        found = await extract_claims(video, transcript_with(attack), (), services, CONFIG.claims)
        claims = found.claims
    return Outcome(claims, await check_claims(video, claims, services, CONFIG), world)


@cache
def by_model(name: str | None) -> tuple[Outcome, GullibleModel]:
    """Check the video with a gullible model, under the attack of this name or none."""
    attack = ATTACKS[name] if name else ""
    model = GullibleModel({DENIAL: "refutes", OTHER_DENIAL: "refutes"}, [CLAIM], attack)
    return asyncio.run(checked(one_for_all(LlmReasoner(staged(model))), attack)), model


def embedded() -> Reasoner:
    engine = EmbeddedReasoner(minilm())
    reader = PageReader(minilm(), PlainReader(), "embedded")
    return Reasoner(engine, engine, reader)


@cache
def by_rules(name: str | None) -> Outcome:
    """Check the claim with the embedded engine, under the attack of this name or none."""
    attack = ATTACKS[name] if name else ""
    return asyncio.run(checked(embedded(), attack, make_claim(CLAIM)))


def assert_plain(text: str | None) -> None:
    """No markup, no address, nothing hidden."""
    assert not re.search(r"</?[a-z!]|\]\(|`|\*\*|://|javascript:|\x1b", text or "", re.IGNORECASE)
    assert all(unicodedata.category(each)[0] != "C" for each in text or "")


def assert_nothing_else_was_fetched(world: World) -> None:
    fetched = {url for kind, url in world.asked if kind == "fetch"}
    assert fetched == {HOSTILE, CALM}


# --- A language model ----------------------------------------------------------------------------


def test_there_are_at_least_sixty_different_attacks() -> None:
    assert len(set(ATTACKS.values())) >= 60


def test_without_an_attack_the_sources_refute_the_claim() -> None:
    calm, model = by_model(None)
    assert calm.verdict.stance == "refutes"
    assert calm.evidence(HOSTILE).quote == DENIAL
    assert len(model.prompts) == 4  # claims, searches, and each page alone
    assert by_rules(None).verdict.stance == "refutes"


@attacks
def test_no_attack_changes_what_a_language_model_finds(name: str) -> None:
    (calm, _), (attacked, model) = by_model(None), by_model(name)
    assert model.obeyed == []
    assert attacked.verdict == calm.verdict
    assert [claim.text for claim in attacked.claims] == [claim.text for claim in calm.claims]
    assert [claim.thesis for claim in attacked.claims] == [claim.thesis for claim in calm.claims]
    assert attacked.result.queries == calm.result.queries
    for url in (HOSTILE, CALM):
        after, before = attacked.evidence(url), calm.evidence(url)
        assert (after.stance, after.quote) == (before.stance, before.quote)
        assert after.stance_confidence == before.stance_confidence


@attacks
def test_every_word_of_an_attack_stays_inside_the_fences(name: str) -> None:
    (_, calm), (_, model) = by_model(None), by_model(name)
    # Only the lines are the same, not the prompts.
    lines = {line for prompt in model.prompts for line in take_apart(prompt).outside.split("\n")}
    known = {line for prompt in calm.prompts for line in take_apart(prompt).outside.split("\n")}
    assert lines <= known
    for prompt in model.prompts:
        fence_lines = [line for line in prompt.split("\n") if line.startswith("<<<")]
        assert all(take_apart(prompt).marker in line for line in fence_lines)


@attacks
def test_words_of_the_model_lose_their_markup_and_fetch_nothing(name: str) -> None:
    attacked, _ = by_model(name)
    for claim in attacked.claims:
        for text in (claim.text, claim.context, claim.thesis, claim.category):
            assert_plain(text)
    for query in attacked.result.queries:
        assert_plain(query.text)
    for row in attacked.result.evidence:
        assert_plain(row.summary)
    assert_plain(attacked.verdict.summary)
    assert_nothing_else_was_fetched(attacked.world)


# --- The suite itself can fail -------------------------------------------------------------------


def _evidence_prompt(attack: str) -> str:
    parts = fenced(["The page:\n", Data("page", page_text(attack)), "\n\nWhat does it say?"])
    return "".join(part.text for part in parts)


@attacks
def test_without_a_fence_every_attack_would_get_through(name: str) -> None:
    prompt = f"Marker of this message: none\n\nThe page:\n{page_text(ATTACKS[name])}\nWhat?"
    assert gets_out(ATTACKS[name], prompt)
    assert not gets_out(ATTACKS[name], _evidence_prompt(ATTACKS[name]))


def test_a_fence_alone_would_let_many_attacks_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompts, "LINE_MARK", "")
    monkeypatch.setattr(prompts, "_disarmed", lambda text: text)
    monkeypatch.setattr(prompts, "visible", lambda character: character)
    let_through = {
        name for name, attack in ATTACKS.items() if gets_out(attack, _evidence_prompt(attack))
    }
    assert {
        "fence: the end of the fence",
        "fence: the end in wide brackets",
        "fence: the end in words",
        "fence: the end after another line break",
        "posing as: ChatML",
        "posing as: Llama turns",
        "Unicode: tag characters",
    } <= let_through


async def test_the_quotes_of_an_obedient_model_reveal_the_attack() -> None:
    class Obedient(GullibleModel):
        def _is_taken_over(self, prompt: str) -> bool:
            return "It is a myth" in prompt or DENIAL in prompt

    model = Obedient({DENIAL: "refutes", OTHER_DENIAL: "refutes"}, [CLAIM], "")
    taken = await checked(one_for_all(LlmReasoner(staged(model))))
    assert taken.verdict.stance == "unclear"
    row = taken.evidence(HOSTILE)
    assert (row.stance, row.ground, row.quote) == ("unclear", "contradicted", DENIAL)
    assert "says the contrary" in str(row.reason)


# --- The embedded engine -------------------------------------------------------------------------


# Each attack tests one of two functions of the engine, because the engine is slow.
@pytest.mark.parametrize("name", list(ATTACKS)[::2])
def test_no_attack_turns_the_embedded_engine_round(name: str) -> None:
    """A page with orders may become unclear, but never changes sides."""
    calm, attacked = by_rules(None), by_rules(name)
    assert attacked.verdict.stance in {calm.verdict.stance, "unclear"}
    assert attacked.verdict.confidence in {calm.verdict.confidence, "low"}
    assert attacked.evidence(HOSTILE).stance in {calm.evidence(HOSTILE).stance, "unclear", None}
    assert attacked.evidence(CALM).stance == calm.evidence(CALM).stance
    for row in attacked.result.evidence:
        assert_plain(row.summary)
    assert_plain(attacked.verdict.summary)
    assert_nothing_else_was_fetched(attacked.world)


@pytest.mark.parametrize("name", list(ATTACKS)[1::2])
async def test_the_embedded_engine_makes_no_claim_that_an_attacked_transcript_does_not_hold(
    name: str,
) -> None:
    services = services_with(embedded(), "", world_with(""))
    transcript = transcript_with(ATTACKS[name])
    claims: Sequence[Claim] = ()
    refusal = None
    try:
        claims = (
            await extract_claims(video_with(ATTACKS[name]), transcript, (), services, CONFIG.claims)
        ).claims
    except ReasonerRefusalError as declined:
        refusal = declined.reason

    assert refusal is None or "not in English" in refusal
    for claim in claims:
        assert claim.char_start is not None
        assert claim.char_end is not None
        said = transcript.text[claim.char_start : claim.char_end]
        assert _spoken(re.sub(r"\[[^]]*\]", "", claim.text)) <= _spoken(said)
        assert _spoken(claim.text) <= _spoken(transcript.text)


def _spoken(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))
