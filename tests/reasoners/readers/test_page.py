"""From a page to a draft of evidence: relevance, stance and quotes."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass

import pytest

from factible_assets.reasoners.embedded.embedder import minilm
from factible_assets.reasoners.readers.base import PageReading
from factible_assets.reasoners.readers.page import PageReader
from factible_assets.reasoners.readers.passages import Selection
from factible_assets.reasoners.readers.plain import PlainReader
from factible_assets.stages.ports import (
    EvidenceDraft,
    EvidenceReader,
    PageExcerpt,
    ReasonerRefusalError,
)
from tests.reasoners.material import PLAIN_CLAIM, QUERY, VIDEO
from tests.shared_data import shared_data

REVIEW = (
    "A review of the literature\n"
    "Parents often expect a change of mood after a birthday party, and many report one to their "
    "doctor.\n"
    "Sugar does not make children hyperactive. The parents were told what their child had eaten in "
    "none of the trials.\n"
)


@pytest.fixture(scope="module")
def reader() -> PageReader:
    return PageReader(minilm(), PlainReader(), "embedded")


async def read(
    reader: EvidenceReader,
    text: str,
    snippet: str = "",
    *,
    claim: str = PLAIN_CLAIM.text,
    title: str = "A page",
) -> EvidenceDraft | None:
    page = PageExcerpt("https://a.example/", title, snippet, text)
    asked = PLAIN_CLAIM.model_copy(update={"text": claim})
    return (await reader.read_evidence(VIDEO, asked, QUERY, page)).value


async def test_a_denial_is_read_with_a_verbatim_quote(reader: PageReader) -> None:
    draft = await read(reader, REVIEW)
    assert draft is not None
    assert (draft.stance, draft.ground) == ("refutes", "denial")
    assert draft.quotes == ("Sugar does not make children hyperactive.",)
    assert draft.summary == "It says that it is not so."


async def test_a_page_on_something_else_is_none(reader: PageReader) -> None:
    other = "The harbour was busy in the morning and the boats came in. " * 10
    assert await read(reader, other) is None


GERMAN = (
    "Viele Eltern glauben, dass Zucker ihre Kinder unruhig macht, und sie erzählen davon nach "
    "jedem Fest. In den Versuchen wussten sie nicht, was die Kinder gegessen hatten, und sahen "
    "keinen Unterschied. "
)


@pytest.mark.parametrize(
    ("claim", "text", "foreign"),
    [
        (PLAIN_CLAIM.text, GERMAN * 3, "page"),
        ("糖会让孩子多动。", REVIEW, "claim"),
        ("糖会让孩子多动。", "许多父母认为糖会让孩子多动。" * 5, "claim"),
    ],
)
async def test_a_pair_of_languages_that_the_reader_does_not_know_is_declined_and_not_called_silent(
    reader: PageReader, claim: str, text: str, foreign: str
) -> None:
    with pytest.raises(ReasonerRefusalError, match=f"the {foreign} is not in English"):
        await read(reader, text, claim=claim)


async def test_a_page_on_the_claim_without_a_side_is_unclear_and_quoted(reader: PageReader) -> None:
    text = "Parents wonder whether sugar makes children hyperactive, and ask their doctor about it."
    draft = await read(reader, text)
    assert draft is not None
    assert (draft.stance, draft.stance_confidence) == ("unclear", 0.0)
    assert draft.quotes == (text,)


STORE = (
    "Coffee reached Venice in 1570. At first it was sold by druggists alone, as a medicine. "
    "It was dear."
)
COFFEE = "Coffee was first sold in Venice by bakers."


async def test_a_page_without_a_side_is_quoted_with_its_two_nearest_sentences(
    reader: PageReader,
) -> None:
    draft = await read(reader, STORE, claim=COFFEE)
    assert draft is not None
    assert draft.quotes == (STORE.removesuffix(" It was dear."),)


@pytest.mark.parametrize("between", ["Shop and trade", "Who sold coffee first?", "Home | News"])
async def test_a_quote_of_two_sentences_has_only_statements_between(
    reader: PageReader, between: str
) -> None:
    text = STORE.replace(" At first", f"\n\n{between}\n\nAt first")
    draft = await read(reader, text, claim=COFFEE)
    assert draft is not None
    assert draft.quotes
    assert between not in draft.quotes[0]


async def test_a_title_that_names_the_subject_makes_a_page_relevant(reader: PageReader) -> None:
    text = "It is given to people who have a certain kind of infection, and to nobody else."
    claim = "Penicillin is given to people with an infection."
    named, unnamed = [
        await read(reader, text, claim=claim, title=each) for each in ("Penicillin", "")
    ]
    assert named is not None
    assert unnamed is None or named.relevance > unnamed.relevance


async def test_the_snippet_of_a_silent_page_is_not_quoted(reader: PageReader) -> None:
    other = "Sugar is sold in the museum's shop. Tickets for children are sold at the door."
    draft = await read(reader, other, "Sugar does not make children hyperactive.")
    assert draft is not None
    assert (draft.stance, draft.stance_confidence) == ("refutes", 0.56)
    assert "Sugar does not make" not in " ".join(draft.quotes)
    assert draft.summary.endswith("Only the search snippet says so.")


@dataclass(frozen=True)
class FixedReader:
    """A reader with a fixed answer."""

    reading: PageReading
    name: str = "fixed"

    async def read(self, claim: str, selection: Selection, *, title: str) -> PageReading:
        return self.reading


@pytest.mark.parametrize(("bearing", "is_kept"), [(0.9, True), (0.1, False)])
async def test_the_bearing_that_a_reader_reports_decides_whether_a_page_is_kept(
    bearing: float, is_kept: bool
) -> None:
    fixed = PageReader(minilm(), FixedReader(PageReading(bearing=bearing)), "labels")
    text = "Parents wonder whether sugar makes children hyperactive, and ask their doctor about it."
    assert (await read(fixed, text) is not None) == is_kept


async def test_the_event_loop_stays_free_while_a_large_page_is_read(reader: PageReader) -> None:
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            await asyncio.sleep(0.001)
            beats += 1

    heart = asyncio.create_task(beat())
    await asyncio.gather(*(read(reader, REVIEW * 100) for _ in range(3)))
    heart.cancel()
    assert beats >= 3


def test_one_reader_serves_one_event_loop_after_another(reader: PageReader) -> None:
    async def many() -> int:
        return len(await asyncio.gather(*(read(reader, REVIEW) for _ in range(8))))

    assert [asyncio.run(many()) for _ in range(2)] == [8, 8]


async def test_every_quote_from_recorded_pages_stands_in_its_page(reader: PageReader) -> None:
    lines = (shared_data("recorded_web") / "pages.jsonl").read_text(encoding="utf-8").splitlines()
    texts = [json.loads(line)["text"] for line in lines[::24]]
    claim = "Greenhouse gases warm the climate of the Earth."
    drafts = [await read(reader, text, claim=claim) for text in texts]
    read_pages = [(d, t) for d, t in zip(drafts, texts, strict=True) if d is not None]
    assert read_pages
    assert all(quote in text for draft, text in read_pages for quote in draft.quotes)
