"""What the scoped rules conclude, and above all when they abstain."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from factible_assets.reasoners.embedded.inference import (
    Inference,
    InferenceStance,
    combine_hypotheses,
    denial_of,
)
from factible_assets.reasoners.embedded.page_text import page_sentences, readable
from factible_assets.reasoners.embedded.passages import windows
from factible_assets.reasoners.embedded.quantities import compare_quantities, find_quantities
from factible_assets.reasoners.embedded.scoped_rules import ScopedRules
from factible_assets.reasoners.embedded.stance import (
    HIGHEST,
    PageStance,
    PassageStance,
    merge_passages,
)

SUGAR = "Sugar makes children hyperactive"
WALL = "The Great Wall of China is visible from the Moon with the naked eye"
BOILING = "Water boils at a lower temperature at high altitude"
EVEREST = "Mount Everest is 8,849 metres high"
LEAST_HELD_BACK = 0.85
"""When they were first looked at, .885 of these pairs were read right."""

BRAIN = "Humans use only 10 percent of their brains"


def read(claim: str, text: str, title: str = "") -> PageStance:
    passages = windows(readable(page_sentences(text)))
    return merge_passages(ScopedRules().read(claim, passages, title=title))


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        (BOILING, "At higher altitudes water boils at lower temperatures."),
        (EVEREST, "The height of Mount Everest is 8,848.86 m."),
        (EVEREST, "Mount Everest rises 29,032 feet high."),
        ("Vaccines do not cause autism", "There is no link between vaccines and autism."),
        ("Vaccines do not cause autism", "Studies have found that vaccines do not cause autism."),
        ("Smoking causes lung cancer", "There is no doubt that smoking causes lung cancer."),
        ("Apollo 11 landed on the Moon in 1969", "Apollo 11 landed on the Moon on July 20, 1969."),
        (
            "About 71 percent of the Earth's surface is covered by water",
            "Water covers 71% of Earth's surface.",
        ),
        (
            "Sealed honey keeps for years without spoiling",
            "Sealed honey keeps for many years without spoiling.",
        ),
    ],
)
def test_a_page_that_says_as_much_supports(claim: str, text: str) -> None:
    assert read(claim, text).stance == "supports"


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        (SUGAR, "Controlled trials have found no evidence that sugar makes children hyperactive."),
        (SUGAR, "Does sugar make children hyperactive? No. Sugar has other effects."),
        (SUGAR, "Many parents believe that sugar makes children hyperactive. This is not true."),
        (SUGAR, "Contrary to popular belief, sugar does not make children hyperactive."),
        (SUGAR, "It is a myth that sugar makes children hyperactive."),
        (WALL, "The wall cannot be seen from the Moon."),
        (BRAIN, "The belief that people use only ten percent of their brain is a myth."),
        ("Cracking knuckles causes arthritis", "Knuckle cracking does not cause arthritis."),
        (
            "Cracking knuckles causes arthritis",
            "There is no link between knuckle cracking and arthritis.",
        ),
        ("Penguins live at the North Pole", "No penguins live at the North Pole."),
        ("All swans are white", "Not all swans are white."),
        (
            "Lightning never strikes the same place twice",
            "Lightning can strike the same place twice.",
        ),
        (
            "Lightning never strikes the same place twice",
            "The saying that lightning never strikes the same place twice is false.",
        ),
        ("Sealed honey keeps for years without spoiling", "Sealed honey does not keep for years."),
    ],
)
def test_a_denial_in_the_scope_of_the_claim_refutes(claim: str, text: str) -> None:
    assert read(claim, text).stance == "refutes"


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        (
            "Water boils at a higher temperature at high altitude",
            "At higher altitudes water boils at lower temperatures.",
        ),
        ("Sea levels are rising", "Satellite records show that sea levels are falling."),
        ("Mount Everest is 5,000 metres high", "Mount Everest is 8,848.86 metres high."),
        ("Apollo 11 landed on the Moon in 1972", "Apollo 11 landed on the Moon in 1969."),
    ],
)
def test_an_opposite_or_another_number_refutes(claim: str, text: str) -> None:
    assert read(claim, text).stance == "refutes"


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        (SUGAR, "Many parents believe that sugar makes children hyperactive."),
        (SUGAR, "Does sugar make children hyperactive?"),
        (SUGAR, "The myth has been debunked and there is no evidence for it."),
        (SUGAR, "Researchers asked whether sugar makes children hyperactive."),
        (SUGAR, "- Sugar makes children hyperactive"),
        (SUGAR, "The idea that sugar makes children hyperactive ..."),
        ("Smoking causes lung cancer", "People who do not smoke can still get lung cancer."),
        ("Antibiotics kill viruses", "Antibiotics kill bacteria, and viruses spread by contact."),
        ("Sea levels are rising", "Sea level will not rise evenly around the coasts."),
        (
            "The bear population is growing",
            "The human population grew, and hunters shot more bears.",
        ),
        ("Penguins live at the North Pole", "Penguins live at the South Pole."),
        (BRAIN, "People use 10 percent of their brains for breathing and 20 percent for sight."),
    ],
)
def test_reports_questions_fragments_and_partial_denials_are_left_open(
    claim: str, text: str
) -> None:
    assert read(claim, text).stance == "unclear"


def test_cue_words_alone_decide_nothing() -> None:
    text = "Scientists debunked the story; it is false, a hoax and a proven myth. Sugar is sweet."
    assert read(SUGAR, text).stance == "unclear"


def test_the_span_of_a_denial_by_the_next_sentence_holds_both() -> None:
    text = "Everybody says so. Sugar makes children hyperactive. That is a myth."
    stance = ScopedRules().read(SUGAR, windows(page_sentences(text)), title="")[0]
    assert stance.span is not None
    assert text[slice(*stance.span)] == "Sugar makes children hyperactive. That is a myth."


@pytest.mark.parametrize(
    ("claim", "page", "agreement"),
    [
        ("there are 70 countries", "there are 70 countries", "agrees"),
        ("it is 8,849 metres high", "it is 8,848.86 m high", "agrees"),
        ("it weighs 5 kg", "it weighs 5,000 grams", "agrees"),
        ("more than 4 million people", "4.5 million people", "agrees"),
        ("over 40 percent", "60%", "agrees"),
        ("in 1969", "in 1968", "conflicts"),
        ("it costs $3", "it costs $30", "conflicts"),
        ("10 percent", "between 30 and 50 percent, or 70 percent", "silent"),
        ("40 percent", "45 percent", "silent"),
        ("40 percent", "a lot", "silent"),
        ("in 1990 it was 40 percent", "in 2010 it was 80 percent", "silent"),
        ("a lot", "40 percent", "none"),
    ],
)
def test_numbers_agree_within_tolerance_and_conflict_only_when_far(
    claim: str, page: str, agreement: str
) -> None:
    assert compare_quantities(find_quantities(claim), find_quantities(page)) == agreement


def test_a_page_on_both_sides_is_mixed_and_a_stronger_side_wins_less_surely() -> None:
    support, weak = PassageStance("supports", 0.8), PassageStance("supports", 0.3)
    refute, silent = PassageStance("refutes", 0.8), PassageStance("unclear", 0.0)
    both = merge_passages([support, refute])
    assert (both.stance, set(both.deciding)) == ("mixed", {0, 1})
    merged = merge_passages([weak, silent, refute])
    assert (merged.stance, merged.deciding) == ("refutes", (2,))
    assert 0.3 < merged.confidence < 0.8
    assert merge_passages([silent]).stance == merge_passages([]).stance == "unclear"


def test_passages_that_agree_make_a_page_surer_but_never_certain() -> None:
    refute = PassageStance("refutes", 0.9)
    assert merge_passages([refute]).confidence < merge_passages([refute] * 2).confidence
    assert merge_passages([refute] * 50).confidence == HIGHEST < 1


def test_a_rating_decides_over_whatever_else_a_page_quotes() -> None:
    rated = PassageStance("refutes", 0.95, "rating")
    told = PassageStance("supports", 0.95, "assertion")
    assert merge_passages([told, told, rated]) == PageStance("refutes", 0.95, (2,))


def test_a_page_that_calls_the_matter_open_takes_no_side() -> None:
    told = PassageStance("supports", 0.8, "assertion")
    assert merge_passages([told, PassageStance("unclear", 0.0, "unsettled")]).stance == "unclear"


@pytest.mark.parametrize(
    ("rating", "stance"),
    [
        ("False", "refutes"),
        ("Mostly false", "refutes"),
        ("Misleading", "refutes"),
        ("Mostly true", "supports"),
        ("Half true", "mixed"),
        ("Mixed", "mixed"),
        ("Unproven", "unclear"),
        ("Fantastic", "unclear"),
    ],
)
@pytest.mark.parametrize(
    "layout",
    [
        "Claim: {claim}\nRating: {rating}",
        "- Claim\n- {claim}\n- Rating\n- {rating}",
        "Claim: {claim}. Rating: {rating}.",
        "The claim: {claim}\nOur verdict: {rating}",
        "Claim: {claim}\nWhat was checked: a post of May\nVerdict – {rating}",
    ],
)
def test_the_rating_beside_a_quoted_claim_decides(layout: str, rating: str, stance: str) -> None:
    assert read(SUGAR, layout.format(claim=SUGAR, rating=rating)).stance == stance


def test_a_false_denial_supports_and_a_rating_of_another_claim_says_nothing() -> None:
    denial = "Claim: Lightning never strikes the same place twice\nRating: False"
    assert read("Lightning can strike the same place twice", denial).stance == "supports"
    narrower = "Claim: The Great Wall is the only building visible from the Moon\nRating: False"
    assert read("The Great Wall is visible from the Moon", narrower).stance == "unclear"
    assert read("Bananas are radioactive", denial).stance == "unclear"


def test_a_page_that_rates_the_claim_of_its_title_is_read_with_it() -> None:
    text = "Readers sent us a video. Nothing in it holds. We rate the claim false."
    title = "Fact check: Does sugar make children hyperactive?"
    assert read(SUGAR, text, title).stance == "refutes"
    assert read(SUGAR, text, "Fact check: Do carrots help at night?").stance == "unclear"


@pytest.mark.parametrize(
    ("claim", "text", "stance"),
    [
        (
            "Cold weather gives you a cold",
            "The evidence on cold weather and colds is mixed.",
            "mixed",
        ),
        (SUGAR, "Does sugar make children hyperactive? For most people, no.", "mixed"),
        (SUGAR, "Sugar makes children hyperactive only if they lack sleep.", "mixed"),
        (SUGAR, "Whether sugar makes children hyperactive is not settled.", "unclear"),
        (SUGAR, "Contrary to popular opinion, sugar makes children calm.", "unclear"),
        (SUGAR, 'The poster said "Sugar makes children hyperactive" in large letters.', "unclear"),
    ],
)
def test_reservations_are_neither_support_nor_refutation(
    claim: str, text: str, stance: str
) -> None:
    assert read(claim, text).stance == stance


COMPOUND = "Cracking your knuckles causes arthritis, she would say. And with dinner she had wine."


def test_a_claim_from_speech_is_read_by_its_main_proposition() -> None:
    denial = read(COMPOUND, "Cracking your knuckles does not cause arthritis.")
    assert denial.stance == "refutes"
    reason = "Honey keeps for years without spoiling, because bees sing to it in the hive."
    support = read(reason, "Honey keeps for years without spoiling.")
    alone = read(
        "Honey keeps for years without spoiling", "Honey keeps for years without spoiling."
    )
    assert support.stance == alone.stance == "supports"
    assert 0 < support.confidence < alone.confidence


def test_a_denied_secondary_proposition_makes_a_page_mixed() -> None:
    claim = "Honey keeps for years. Honey cures stomach cancer in children."
    assert read(claim, "Honey does not cure stomach cancer in children.").stance == "mixed"


class _Row(TypedDict):
    claim: str
    text: str
    says: str


def _answers(half: str) -> list[tuple[str, str]]:
    file = Path(__file__).with_name(f"stance_pairs_{half}.yaml")
    rows: list[_Row] = yaml.safe_load(file.read_text(encoding="utf-8"))
    read_as = [read(row["claim"], row["text"]).stance for row in rows]
    named = ["none" if stance == "unclear" else stance for stance in read_as]
    return list(zip((row["says"] for row in rows), named, strict=True))


@pytest.mark.parametrize(("half", "least"), [("developed", 0.95), ("held_back", LEAST_HELD_BACK)])
def test_plainly_worded_pairs_are_read_right(half: str, least: float) -> None:
    answers = _answers(half)
    right = sum(label == answer for label, answer in answers)
    assert right >= least * len(answers)
    sides = {"supports", "refutes"}
    assert not [pair for pair in answers if set(pair) == sides], "a side was turned round"


def test_an_inference_model_is_asked_for_claim_and_denial() -> None:
    asked: list[tuple[str, str]] = []

    class Contradicting:
        name = "contradicting"

        def infer(self, pairs: Sequence[tuple[str, str]]) -> list[Inference]:
            asked.extend(pairs)
            return [
                Inference(0.8, 0.1, 0.1)
                if "no evidence" in hypothesis
                else Inference(0.1, 0.1, 0.8)
                for _, hypothesis in pairs
            ]

    passages = windows(page_sentences("Trials found nothing of the kind."))
    stances = InferenceStance(Contradicting()).read(SUGAR, passages, title="")
    assert [(s.stance, s.ground) for s in stances] == [("refutes", "inference")]
    assert [hypothesis for _, hypothesis in asked] == [SUGAR, denial_of(SUGAR)]


def test_a_model_that_entails_everything_takes_no_side() -> None:
    eager = Inference(0.9, 0.05, 0.05)
    assert combine_hypotheses(eager, eager).stance == "unclear"


@given(st.text(max_size=120), st.text(max_size=300))
def test_any_text_gets_a_confidence_between_zero_and_one(claim: str, text: str) -> None:
    stance = read(claim, text)
    assert 0.0 <= stance.confidence <= HIGHEST
    assert (stance.confidence > 0) == (stance.stance != "unclear")
