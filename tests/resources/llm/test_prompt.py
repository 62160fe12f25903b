from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resources.llm.base import ModelRequest, Part
from resources.llm.prompt import TRIM_MARK, PromptFolder, TokenScale, fit, sendable
from tests.resources.llm.servers import Leaning, ask
from tests.resources.storage.doubles import PAID


@given(st.lists(st.tuples(st.text(max_size=400), st.booleans()), max_size=6), st.integers(0, 1_500))
def test_fitted_prompts_fit_and_lose_only_trimmable_ends(
    drawn: list[tuple[str, bool]], room: int
) -> None:
    scale = TokenScale()
    parts = [Part(sendable(text), trimmable) for text, trimmable in drawn]
    fitted = fit(parts, room, scale)
    if fitted is None:
        return
    said, trimmed = fitted
    assert len(said.encode()) <= room * scale.bytes_per_token
    if not trimmed:
        assert said.replace(TRIM_MARK, "") == "".join(p.text for p in parts).replace(TRIM_MARK, "")
    position = 0
    for part in parts:
        if not part.trimmable:
            found = said.find(part.text, position)
            assert found >= position
            position = found + len(part.text)


def test_several_trimmable_parts_give_way_in_proportion() -> None:
    fitted = fit([Part("a" * 9_000, True), Part("|"), Part("b" * 3_000, True)], 1_000, TokenScale())
    assert fitted is not None
    said, trimmed = fitted
    first, _, second = said.partition("|")
    assert first.count("a") == pytest.approx(3 * second.count("b"), abs=4)
    assert trimmed == 12_000 - first.count("a") - second.count("b")


def test_a_prompt_that_fits_is_left_alone() -> None:
    fitted = fit([Part("Read: "), Part("short", True)], 100, TokenScale())
    assert fitted == ("Read: short", 0)


def test_a_prompt_does_not_fit_if_too_little_of_a_part_would_remain() -> None:
    assert fit([Part("x" * 300), Part("y" * 300, True)], 110, TokenScale()) is None


def test_the_scale_errs_towards_too_many_tokens() -> None:
    scale = TokenScale()
    assert scale.bytes_per_token == 3.0
    scale.learn(4_000, 1_000)
    scale.learn(5_000, 1_000)
    assert scale.bytes_per_token == pytest.approx(4 * 0.95)
    scale.learn(1_000, 1_000)
    assert scale.bytes_per_token == 1.0
    scale.learn(100, 1)
    assert scale.bytes_per_token == 1.0, "a prompt this short teaches nothing"


@given(st.text(alphabet=st.characters(categories=["Cs", "Lu", "So"]), max_size=50))
def test_sendable_text_keeps_its_length_and_can_be_encoded(text: str) -> None:
    clean = sendable(text)
    assert clean.encode("utf-8").decode("utf-8") == clean
    assert all(new == old for new, old in zip(clean, text, strict=False) if new != "\ufffd") or (
        len(clean) < len(text)
    )


def test_an_answer_with_half_a_character_is_stored(tmp_path: Path) -> None:
    PromptFolder(tmp_path, days=1).keep(PAID, [], "an emoji \ud83d cut in two")
    (file,) = tmp_path.glob("*/*.json")
    assert json.loads(file.read_text())["answer"] == "an emoji \ufffd cut in two"


def test_the_fingerprint_changes_with_everything_that_changes_the_answer() -> None:
    base = ask("a")
    others: list[ModelRequest[Leaning]] = [
        ask("b"),
        ask((Part("a", trimmable=True),)),
        ModelRequest("Other.", (Part("a"),), Leaning, max_tokens=200, seed=11),
        ModelRequest("You judge.", (Part("a"),), Leaning, max_tokens=200, seed=12),
        ModelRequest("You judge.", (Part("a"),), Leaning, max_tokens=200, temperature=1.0, seed=11),
        ModelRequest("You judge.", (Part("a"),), Leaning, max_tokens=200, seed=11, effort="high"),
    ]
    prints = {request.fingerprint for request in (base, *others)}
    assert len(prints) == len(others) + 1
    assert ask((Part("a"),)).fingerprint == base.fingerprint
    assert ask("a", max_tokens=201).fingerprint == base.fingerprint, "a whole answer stays whole"
