"""Checks of claims that a corpus gives: no model extracts claims."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factible_assets.corpora.reading import load_corpus
from factible_assets.records.tables import Claim, LlmCall, Transcript, Verdict
from factible_assets.stages.claims import build_claims
from factible_assets.stages.ids import claim_id
from factible_assets.stages.ports import ClaimDraft, ClaimDrafts
from tests.pipeline.assets.conftest import Pipeline
from tests.pipeline.assets.conftest import pipeline as pipeline  # noqa: PLC0414 - a fixture
from tests.stages.words import from_text

TALK = "Welcome back. Honey keeps for years in a closed jar. Tea cures a cough, says my aunt. Bye."
CORPUS = """
videos:
  - id: stated
    transcript: talk.txt
    claims_are_given: true
    claims:
      - {text: Tea cures a cough., importance: 0.3, stance: refutes}
      - {text: Honey keeps for years in a closed jar., importance: 0.9}
      - {text: Nobody ever said this sentence about whales.}
      - {text: Honey is the best., checkable: false}
"""


def listed(folder: Path, text: str = CORPUS) -> Any:
    (folder / "talk.txt").write_text(TALK, encoding="utf-8")
    (folder / "own.yaml").write_text(text, encoding="utf-8")
    return load_corpus(folder / "own.yaml")


def test_the_checkable_claims_of_an_entry_are_given_with_their_importance(tmp_path: Path) -> None:
    (corpus,) = listed(tmp_path).corpora
    (entry,) = corpus.videos
    assert [(each.text[:5], each.importance) for each in entry.given_claims.claims] == [
        ("Tea c", 0.3),
        ("Honey", 0.9),
        ("Nobod", 1.0),
    ]


def test_an_entry_without_the_key_gives_no_claims(tmp_path: Path) -> None:
    text = CORPUS.replace("    claims_are_given: true\n", "")
    (corpus,) = listed(tmp_path, text).corpora
    assert corpus.videos[0].given_claims is None


def test_missing_given_claims_are_a_problem_with_its_line(tmp_path: Path) -> None:
    text = "videos:\n  - id: stated\n    transcript: talk.txt\n    claims_are_given: true\n"
    (problem,) = listed(tmp_path, text).problems
    assert problem.line == 2
    assert "needs claims: list them" in problem.sentence


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        ("{claim_quality: 3}", "less than or equal to 2"),
        ("{claim_quality: good}", "claim_quality is 'good'"),
        ("{claim_qualty: 1}", "claim_qualty is 'claim_qualty': it should be 'claim_quality'"),
    ],
)
def test_scores_of_people_out_of_range_are_problems_with_their_line(
    tmp_path: Path, scores: str, said: str
) -> None:
    text = (
        "videos:\n  - id: stated\n    transcript: talk.txt\n    claims:\n"
        f"      - text: Tea cures a cough.\n        human_scores: {scores}\n"
    )
    (problem,) = listed(tmp_path, text).problems
    assert problem.line == 6
    assert said in problem.sentence


def test_given_claims_are_stored_with_their_place_without_a_model(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A call of this model would fail, because it has no key.
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    home = pipeline.settings.ensure_home() / "corpora"
    home.mkdir()
    listed(home)
    result = pipeline.materialize("stated")
    assert result.success
    claims = pipeline.store.read_current(Claim, "stated")
    (transcript,) = pipeline.store.read_current(Transcript, "stated")
    assert [claim.text for claim in claims] == [
        "Nobody ever said this sentence about whales.",
        "Honey keeps for years in a closed jar.",
        "Tea cures a cough.",
    ]
    assert {claim.basis for claim in claims} == {"given"}
    assert [claim.importance for claim in claims] == [1.0, 0.9, 0.3]
    assert [claim.claim_id for claim in claims] == [
        claim_id("stated", claim.text) for claim in claims
    ]
    honey = claims[1]
    assert transcript.text[honey.char_start : honey.char_end].startswith("Honey keeps for years")
    assert claims[0].char_start is None
    assert pipeline.store.read_current(LlmCall, "stated") == []
    verdicts = pipeline.store.read_current(Verdict, "stated")
    assert {verdict.claim_id for verdict in verdicts} == {claim.claim_id for claim in claims}


@given(st.lists(st.text(min_size=1, max_size=60), min_size=1, max_size=60, unique=True))
def test_all_given_claims_are_kept(texts: list[str]) -> None:
    transcript = from_text("v", "A talk of a few words.")
    drafts = ClaimDrafts(None, tuple(ClaimDraft(text, 0.0, 1.0) for text in texts))
    claims = build_claims(drafts, transcript, (), None, basis="given")
    worded = {claim_id("v", claim.text) for claim in claims}
    assert len(worded) == len(claims)
    assert [claim.rank for claim in claims] == list(range(1, len(claims) + 1))
    again = build_claims(drafts, transcript, (), None, basis="given")
    assert again == claims
