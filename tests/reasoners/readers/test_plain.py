"""The plain reader takes a side only if a page states the claim almost in its words."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factible_assets.reasoners.readers.base import PageReading
from factible_assets.reasoners.readers.page_text import page_sentences
from factible_assets.reasoners.readers.passages import Selection
from factible_assets.reasoners.readers.plain import PlainReader, rating_of, terms_of

BATS = "Bats are blind."


async def read(claim: str, page: str, *, title: str = "", snippet: str = "") -> PageReading:
    selection = Selection(tuple(page_sentences(page)), tuple(page_sentences(snippet)), (), 0.0, 0.0)
    return await PlainReader().read(claim, selection, title=title)


@pytest.mark.parametrize(
    ("claim", "page", "stance", "ground"),
    [
        (BATS, "Many bats hunt at night. Bats are blind.", "supports", "assertion"),
        (BATS, "Bats are not blind.", "refutes", "denial"),
        ("Bats are not blind.", "Bats are not blind.", "supports", "assertion"),
        ("Bats are not blind.", "Bats are blind.", "refutes", "denial"),
        ("Mount Everest is 8,849 metres high.",
         "Mount Everest is 8,849 m high, as surveyors from both countries have found.",
         "supports", "assertion"),
        ("An adult skeleton has 306 bones.", "An adult skeleton has 206 bones.",
         "refutes", "number"),
        ("The Suez Canal opened in 1869.",
         "The Suez Canal opened on 17 November 1869 with a procession of ships.",
         "supports", "assertion"),
        ("Water boils at a lower temperature at high altitude.",
         "At high altitude, water boils at a lower temperature.", "supports", "assertion"),
        ("The capital of Australia is Sydney.", "The capital of Australia is Canberra.",
         "refutes", "name"),
        ("Penicillin was discovered by Louis Pasteur.",
         "Penicillin was discovered by Alexander Fleming in 1928.", "refutes", "name"),
        ("The bridge carries no more than 50 cars.", "The bridge carries 40 cars.",
         "supports", "assertion"),
        ("The tower is hit 20 to 25 times a year.",
         "The tower is hit 20 to 25 times a year.", "supports", "assertion"),
        ("The Orin reaches the sea in Harlen.",
         "The Orin reaches the sea in Harlen, near the old quay. Its valley is short.",
         "supports", "assertion"),
        ("In 1908 Orin began to breed bats.", "In 1908, Orin began to breed bats.",
         "supports", "assertion"),
        ("Antibiotics cure the common cold.",
         "Antibiotics do not cure a cold, because they work against bacteria and not viruses.",
         "refutes", "denial"),
        ("Koalas are a kind of bear.",
         "Koalas are not bears at all but marsupials. They live in trees.", "refutes", "denial"),
        (BATS, "Bats are blind whereas most birds see well. Both kinds of animal fly.",
         "supports", "assertion"),
        (BATS, "Are bats blind? No, they see well.", "refutes", "answer"),
        (BATS, "Are bats blind? Yes.", "supports", "answer"),
        (BATS, "The idea that bats are blind is a myth.", "refutes", "rating"),
        ("Lightning strikes the same place twice: the tower in the park is hit every year.",
         "Lightning strikes the same place twice. The tower in the park is hit every year.",
         "supports", "assertion"),
    ],
)  # fmt: skip
async def test_a_page_with_the_words_of_the_claim_takes_a_side(
    claim: str, page: str, stance: str, ground: str
) -> None:
    said = await read(claim, page)
    assert (said.stance, said.ground) == (stance, ground)
    assert 0.5 < said.confidence < 1.0


async def test_a_pronoun_stands_for_the_subject_that_the_title_names() -> None:
    page = "It is the largest planet in the solar system. It has many moons."
    claim = "Jupiter is the largest planet in the solar system."
    assert (await read(claim, page, title="Jupiter")).stance == "supports"
    assert (await read(claim, page, title="Saturn")).stance == "unclear"


async def test_the_title_and_the_first_sentence_supply_words_of_the_subject() -> None:
    claim = "In Harlen the glass containers on Mill Road are emptied every Tuesday."
    page = "The glass containers on Mill Road are emptied every Tuesday. Those on the quay are not."
    assert (await read(claim, page, title="Waste in Harlen")).stance == "supports"
    assert (await read(claim, f"Harlen collects its waste. {page}")).stance == "supports"
    assert (await read(claim, page, title="Waste in Orin")).stance == "unclear"
    few = "The containers stand there. Bats are blind."
    assert (await read("Containers in Harlen stand on Mill Road.", few)).stance == "unclear"


@pytest.mark.parametrize(
    ("claim", "page"),
    [
        (BATS, "Some people believe that bats are blind."),
        ("Harlen joined the union of towns.",
         "Had Harlen joined the union of towns, it would pay. It did not."),
        ("The Orin is the longest river in Asia.", "The Orin is not the longest river."),
        ("Women vote in Harlen.", "Women do not vote before they are eighteen."),
        (BATS, "Whether bats are blind was long disputed."),
        (BATS, "Young bats are blind."),
        (BATS, "Bats are blind, they say."),
        (BATS, "He wrote that \u201cbats are blind\u201d."),
        (BATS, "Bats may be blind."),
        (BATS, "Are bats blind? It depends on the species."),
        (BATS, "Bats are nearly blind."),
        (BATS, "Bats are blind, if you believe the song that the children sang on the bus."),
        ("Neil Armstrong walked on the Moon.",
         "The film claims Neil Armstrong walked on the Moon. It ran for years."),
        ("Thomas Edison invented the light bulb.",
         "Thomas Edison failed to invent the light bulb. Others had."),
        ("Motorola bought Google.", "Motorola was bought by Google."),
        ("Refugees fled to Syria.", "Refugees fled from Syria."),
        ("Africa is larger than Europe.", "Europe is larger than Africa."),
        ("Africa is smaller than Europe.", "Africa is about three times the extent of Europe."),
        ("Coffee stunts growth.", "Coffee stunts growth in rats."),
        ("Coffee stunts growth.", "Five per cent of coffee stunts growth."),
        ("Lagos is the capital of Nigeria.", "Lagos was the capital of Nigeria until 1991."),
        ("The railway reached the town in 1889.", "The railway did not reach the town until 1889."),
        ("Mount Kilimanjaro is in Tanzania.", "Mount Kilimanjaro is in Africa."),
        ("Cannon died before May 19, 2018.", "Cannon died on May 19, 2018."),
        ("Edison built the lamp.", "Edison built the lamp with no help."),
        (BATS, "In the film, bats are blind."),
        ("Orin is the largest lake.", "In 1960 Orin was the largest lake and had a ferry."),
        (
            "The council raised the bus fare from two euros to three.",
            "The council raised the bus fare from 2 euros to 2.50. A proposal for 3 was rejected.",
        ),
        ("Antibiotics kill the viruses that cause colds.", "Colds are caused by viruses."),
        (BATS, "Many people wrongly think so (bats are blind). Others do not."),
        ("Google bought Motorola.",
         "There is no evidence that Google was bought by Motorola. It is a rumour."),
        ("He is there.", "Bats are not blind. They see."),
    ],
)  # fmt: skip
async def test_reports_conditions_and_restrictions_are_unclear(claim: str, page: str) -> None:
    assert await read(claim, page) == PageReading()


@pytest.mark.parametrize(
    "page",
    [
        "Bats are blind \u2013 FALSE.",
        "FALSE: Bats are blind.",
        "Verdict: False. Bats are blind.",
        "Bats are blind: Pants on Fire.",
        "Bats are blind (fake).",
        "'Bats are blind': myth.",
        "Claim: Bats are blind. Rating: Mostly false.",
        "Myth: Bats are blind. Fact: all species see.",
        "Bats are blind. This is not true.",
        "The post says bats are blind.\nOur ruling\nWe rate this claim False.",
        "Bats are not blind. We rate the claim false.",
        "1) Owls are birds. TRUE\n2) Bats are blind. FALSE\n3) Ducks swim. TRUE",
    ],
)
async def test_a_rating_before_or_after_the_claim_decides(page: str) -> None:
    assert (await read(BATS, page)).stance == "refutes"


@pytest.mark.parametrize(
    "page",
    [
        "Bats are blind. Two Pinocchios: much is left out.",
        "Bats are blind.\nHard to say\nNobody has looked at all species yet.",
        "Rated \u201cvery low\u201d by our readers: bats are blind.",
        "Myth or fact? Bats are blind.\nVerdict: Neither.",
        "FALSE\nBats are blind.\nTRUE",
        "Bats are not blind. FALSE",
    ],
)
async def test_an_unknown_remark_takes_no_side(page: str) -> None:
    assert (await read(BATS, page)).stance == "unclear"


async def test_an_alternative_says_less_than_the_claim() -> None:
    page = "The Orin Bridge opened in 1930 or 1931. It has four lanes."
    assert (await read("The Orin Bridge opened in 1930.", page)).stance == "unclear"


async def test_a_denial_outweighs_the_claim_that_the_page_repeats() -> None:
    page = "Bats are blind. So it says in many books. In truth the eyes work. Bats are not blind."
    assert (await read(BATS, page)).stance == "refutes"


async def test_the_snippet_decides_only_for_a_silent_page() -> None:
    silent = await read(BATS, "The museum opens at nine.", snippet="Bats are not blind.")
    assert (silent.stance, silent.in_page, silent.quotes) == ("refutes", False, ())
    both = await read(BATS, "Bats are not blind.", snippet="Bats are blind.")
    assert (both.stance, both.in_page) == ("refutes", True)


async def test_the_quote_is_the_deciding_sentence() -> None:
    page = "Bats fly.\n\nBats are not blind. They hear very well."
    ((start, end),) = (await read(BATS, page)).quotes
    assert page[start:end] == "Bats are not blind."


async def test_the_title_alone_is_no_quote() -> None:
    said = await read(BATS, "They see well. They hunt at night.", title="FALSE: Bats are blind")
    assert (said.stance, said.quotes) == ("refutes", ())


@pytest.mark.parametrize(
    ("text", "stance"),
    [
        ("FALSE", "refutes"),
        ("Verdict: mostly true.", "supports"),
        ("That is a myth!", "refutes"),
        ("This is not false.", "unclear"),
        ("Rating: Half true", "mixed"),
        ("Fact check", None),
        ("True stories from the war are told here.", None),
        ("", None),
    ],
)
def test_only_a_whole_short_text_is_a_rating(text: str, stance: str | None) -> None:
    assert rating_of(text) == stance


@given(st.text(alphabet="aA1., -'\"?:()not\n", max_size=400), st.text(max_size=60))
async def test_reading_never_fails_and_quotes_lie_within_the_page(page: str, claim: str) -> None:
    said = await read(claim or "x", page)
    assert all(0 <= start < end <= len(page) for start, end in said.quotes)


HOSTILE = (
    "A. ", " ", "A", "AAAA aaaa ", "not ", "(", "\u201c", "1,", "no. 1 ", "in 1990 ", "a, ", "a: ",
    "Bats are blind ", "Bats, are, blind, ", "BATS ARE 3 ", "\n", "?", "that ", "-", "false ",
)  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE)
async def test_hostile_text_takes_linear_time(unit: str) -> None:
    """Ten times the text may cost thirty times the processor time, not a hundred times."""

    async def seconds(length: int) -> float:
        text = (unit * length)[:length]
        terms_of.cache_clear()
        begun = time.thread_time()
        await read(f"{BATS} {text[:2_000]}", text)
        await read(BATS, text)
        return time.thread_time() - begun

    short = await seconds(4_000)
    assert await seconds(40_000) < 30 * max(short, 0.02)
