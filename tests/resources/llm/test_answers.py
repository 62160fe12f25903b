from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resources.llm.answers import UnreadableAnswerError, read_answer
from tests.resources.llm.servers import GOOD, Leaning

TEXT = json.dumps(GOOD)


@pytest.mark.parametrize(
    "wrapped",
    [
        TEXT,
        f"\n\n{TEXT}\n",
        f"```json\n{TEXT}\n```",
        f"Here you are: {TEXT} I hope that it helps {{:-}}.",
        f'<think>Perhaps {{"stance": "supports", "score": 1}}?</think>{TEXT}',
        # The template has opened the thoughts, and the server leaves them in.
        f'Perhaps {{"stance": "supports", "score": 1}}?\n</think>\n\n{TEXT}',
        f"{TEXT}\nTo repeat: {TEXT}",
        f'{{"unrelated": 1}} {TEXT}',
    ],
)
def test_the_value_is_found_however_it_is_wrapped(wrapped: str) -> None:
    assert read_answer(wrapped, Leaning) == Leaning(stance="refutes", score=7)


def test_several_different_values_are_no_answer() -> None:
    other = json.dumps(GOOD | {"stance": "supports"})
    with pytest.raises(UnreadableAnswerError, match="more than one"):
        read_answer(f"{TEXT} or rather {other}", Leaning)


@given(st.text())
def test_no_text_whatever_breaks_the_reader(text: str) -> None:
    with pytest.raises(UnreadableAnswerError):
        read_answer(text, Leaning)


@pytest.mark.parametrize(
    "nested", ["{" * 50_000, '{"a":' * 50_000, "[" * 50_000, '{"a": [' * 9_000]
)
def test_deep_nesting_is_unreadable_and_quick(nested: str) -> None:
    with pytest.raises(UnreadableAnswerError):
        read_answer(nested, Leaning)


def test_the_error_does_not_repeat_the_answer() -> None:
    with pytest.raises(UnreadableAnswerError) as caught:
        read_answer('{"stance": "SECRETWORD", "score": 70}', Leaning)
    assert "stance: Input should be 'supports' or 'refutes'" in str(caught.value)
    assert "score: Input should be less than or equal to 10" in str(caught.value)
    assert "SECRETWORD" not in str(caught.value)
