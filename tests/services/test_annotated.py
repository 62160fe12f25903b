"""The annotated evidence of claims as the web of a check."""

from __future__ import annotations

import asyncio

from factible_assets.corpora.format import AnswerEntry, ClaimEntry, PassageEntry, QuestionEntry
from factible_assets.services.annotated import GivenPages, annotated_pages
from resources.search.base import SearchRequest

CLAIM = ClaimEntry(
    text="The tower is 300 metres high.",
    passages=(
        PassageEntry(source="The tower", text="The tower has a height of 330 metres."),
        PassageEntry(source="https://www.towers.example/a?utm_source=x", text="Built in 1889."),
    ),
    questions=(
        QuestionEntry(
            text="How high is it?",
            answers=(
                AnswerEntry(text="330 metres", source_url="https://towers.example/a"),
                AnswerEntry(text="No answer could be found.", kind="unanswerable"),
            ),
        ),
    ),
)


def test_each_annotated_source_is_one_page_with_all_that_was_taken_from_it() -> None:
    assert {page.canonical_url: page.text for page in annotated_pages([CLAIM])} == {
        "https://annotated.example/0": "The tower has a height of 330 metres.",
        "https://towers.example/a": "Built in 1889.\n\nHow high is it? 330 metres.",
    }


def test_every_search_finds_the_pages_of_a_single_claim_and_ranks_those_of_several() -> None:
    pages = annotated_pages([CLAIM])
    request = SearchRequest("height of the tower in metres", 10)
    (all_of_them,) = asyncio.run(GivenPages(pages).search(request))
    assert [hit.url for hit in all_of_them.hits] == [page.canonical_url for page in pages]
    (ranked,) = asyncio.run(GivenPages(pages, ranked=True).search(request))
    assert "height of 330 metres" in next(
        page.text for page in pages if page.canonical_url == ranked.hits[0].url
    )
    fetched = asyncio.run(GivenPages(pages).fetch(pages[0].canonical_url))
    assert (fetched.outcome, fetched.text) == ("ok", pages[0].text)
    assert asyncio.run(GivenPages(pages).fetch("https://elsewhere.example/")).outcome == "absent"
