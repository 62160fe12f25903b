from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factible_assets.corpora.format import ClaimEntry
from factible_assets.exchange.claim_review_export import reviews_of_corpus, reviews_of_results
from factible_assets.exchange.claim_review_import import read_claim_reviews
from factible_assets.exchange.results import DISCLAIMER
from factible_assets.records.scales import (
    AVERITEC,
    FEVER,
    THREE_WAY,
    UNPROVEN,
    stance_of_claim_review,
)
from factible_assets.records.tables import Stance
from factible_assets.report.data import FailedRecheck, ReportData
from resources.files import report_name
from tests.exchange.entries import DAYS, STANCES, TRIMMED, URLS, Read, claims_of, stored
from tests.report import samples

FILE = Path("given.jsonld")

REVIEW: dict[str, Any] = {
    "@context": "https://schema.org",
    "@type": "ClaimReview",
    "url": "https://checks.example/honey",
    "claimReviewed": "Honey never spoils.",
    "inLanguage": "en",
    "author": {"@type": "Organization", "name": "Checks"},
    "reviewRating": {
        "@type": "Rating",
        "ratingValue": 4,
        "bestRating": 5,
        "worstRating": 1,
        "alternateName": "Mostly true",
    },
    "itemReviewed": {
        "@type": "Claim",
        "author": {"@type": "Person", "name": "A beekeeper"},
        "datePublished": "2021-02-03T10:00:00Z",
        "firstAppearance": {"@type": "CreativeWork", "url": "https://talks.example/honey"},
    },
}


@pytest.mark.parametrize(
    "document",
    [
        REVIEW,
        [REVIEW],
        [[REVIEW]],
        {"@context": "https://schema.org", "@graph": [{"@type": "WebPage"}, REVIEW]},
        {"@type": "DataFeed", "dataFeedElement": [{"@type": "DataFeedItem", "item": REVIEW}]},
        {"@type": "DataFeed", "dataFeedElement": [{"item": [REVIEW]}]},
        {"@type": "WebPage", "mainEntity": REVIEW},
        REVIEW | {"@type": ["Review", "schema:ClaimReview"]},
        REVIEW | {"@type": "http://schema.org/ClaimReview"},
        {
            "@graph": [
                REVIEW | {"author": {"@id": "#checks"}, "itemReviewed": {"@id": "#claim"}},
                {"@id": "#checks", "@type": "Organization", "name": "Checks"},
                {"@id": "#claim", **REVIEW["itemReviewed"]},
            ]
        },
    ],
)
def test_a_review_is_found_wherever_publishers_put_it(document: Any) -> None:
    read = Read(read_claim_reviews(json.dumps(document), FILE))
    assert read.problems == ()
    (one,) = read.claims
    assert one.claim == ClaimEntry(
        text="Honey never spoils.",
        stance="supports",
        label="Mostly true",
        speaker="A beekeeper",
        said_on=date(2021, 2, 3),
        appeared_at="https://talks.example/honey",
        review_url="https://checks.example/honey",
        review_publisher="Checks",
    )
    assert one.language == "en"


@pytest.mark.parametrize(
    ("words", "value", "worst", "best", "stance"),
    [
        ("False", None, None, None, "refutes"),
        ("Mostly False", 5, 1, 5, "refutes"),
        ("Pants on Fire!", None, None, None, "refutes"),
        ("Half true", 3, 1, 5, "mixed"),
        ("Unproven", None, None, None, "unclear"),
        ("Four Pinocchios", 1, 1, 5, "refutes"),
        ("Four Pinocchios", None, None, None, None),
        (None, 2, None, None, "refutes"),
        (None, 3, None, None, "mixed"),
        (None, 4, None, None, "supports"),
        (None, 8, 0, 10, "supports"),
        (None, 9, 1, 5, None),
        (None, -1, -1, -1, None),
        (None, 1, 5, 1, None),
    ],
)
def test_a_rating_is_read_by_its_words_and_else_by_its_number(
    words: str | None,
    value: float | None,
    worst: float | None,
    best: float | None,
    stance: str | None,
) -> None:
    assert stance_of_claim_review(words, value, worst, best) == stance


def test_a_rating_that_nobody_can_read_keeps_its_words_and_has_no_stance() -> None:
    rating = {"alternateName": "Four Pinocchios"}
    (one,) = Read(read_claim_reviews(json.dumps(REVIEW | {"reviewRating": rating}), FILE)).claims
    assert (one.claim.stance, one.claim.label) == (None, "Four Pinocchios")


def test_mistakes_are_told_with_their_review_and_remedy() -> None:
    broken = [
        REVIEW,
        {k: v for k, v in REVIEW.items() if k != "claimReviewed"},
        REVIEW | {"reviewRating": {"ratingValue": "high"}},
    ]
    read = Read(read_claim_reviews(json.dumps(broken), FILE))
    assert len(read.claims) == 1
    second, third = read.problems
    assert "Review 2" in second.sentence
    assert "claimReviewed is missing. Add" in second.sentence
    assert "neither an alternateName nor a ratingValue" in third.sentence


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{}", "no ClaimReview"),
        ("[]", "no ClaimReview"),
        ('"ClaimReview"', "no ClaimReview"),
        ("{", "not JSON"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_file_without_reviews_is_told(text: str, sentence: str) -> None:
    read = Read(read_claim_reviews(text, FILE))
    assert read.claims == ()
    assert sentence in read.problems[0].sentence


def test_the_good_reviews_of_a_damaged_file_are_read() -> None:
    good, bad = json.dumps(REVIEW), json.dumps(REVIEW | {"claimReviewed": ""})
    lines = Read(read_claim_reviews("\n".join([good, "{broken}", bad, good]), FILE))
    assert [each.line for each in lines.claims] == [1, 4]
    assert [each.line for each in lines.problems] == [2, 3]
    breaks_off = Read(read_claim_reviews(f"[{good},\n{bad},\n{{", FILE))
    assert [each.line for each in breaks_off.claims] == [1]
    assert [each.line for each in breaks_off.problems] == [3, 2]
    # Publishers leave line breaks in their texts, which JSON does not allow.
    torn = json.dumps({"@graph": [REVIEW]}).replace("Honey never", "Honey\nnever")
    assert Read(read_claim_reviews(torn, FILE)).claims[0].claim.text == "Honey\nnever spoils."


def test_entities_of_html_are_decoded() -> None:
    review = {
        "@type": "ClaimReview",
        "claimReviewed": "&quot;The wall&quot; is&nbsp;visible &amp;amp; big &#8211; &AT",
        "url": "https://f.example/?a=1&amp;b=2&copy=3",
        "reviewRating": {"alternateName": "Mostly&#x20;False"},
    }
    (one,) = Read(read_claim_reviews(json.dumps(review), FILE)).claims
    assert one.claim.text == '"The wall" is visible & big – &AT'
    assert one.claim.review_url == "https://f.example/?a=1&b=2&copy=3"
    assert (one.claim.label, one.claim.stance) == ("Mostly False", "refutes")


def test_references_in_a_circle_end() -> None:
    circle = [
        REVIEW | {"author": {"@id": "#a"}, "itemReviewed": {"@id": "#b"}},
        {"@id": "#a", "name": {"@id": "#a"}},
        {"@id": "#b", "author": {"@id": "#b"}, "firstAppearance": {"@id": "#b"}},
    ]
    (one,) = Read(read_claim_reviews(json.dumps(circle), FILE)).claims
    assert one.claim.review_publisher is None
    assert one.claim.appeared_at is None


@given(
    claim=st.builds(
        ClaimEntry,
        text=TRIMMED,
        stance=STANCES,
        label=st.none() | st.sampled_from(["Four Pinocchios"]),
        reasoning=TRIMMED,
        speaker=st.none() | TRIMMED,
        said_on=DAYS,
        appeared_at=URLS,
        review_url=URLS.filter(bool),
        review_publisher=TRIMMED,
    )
)
def test_annotations_survive_the_way_there_and_back(
    tmp_path_factory: pytest.TempPathFactory, claim: ClaimEntry
) -> None:
    listed = stored(tmp_path_factory.mktemp("there"), claim)
    written = reviews_of_corpus("tried", claims_of(listed))
    assert written.count == 1
    read = Read(read_claim_reviews(written.text, FILE))
    (one,) = read.claims
    assert one.claim.model_copy(update={"label": None, "stance": None}) == claim.model_copy(
        update={"label": None, "stance": None}
    )
    # Words that no scale knows leave the number, and unclear has none.
    readable = claim.label is None or claim.stance != "unclear"
    assert one.claim.stance == (claim.stance if readable else None)


@pytest.mark.parametrize("scale", [AVERITEC, FEVER, THREE_WAY, UNPROVEN])
def test_every_label_of_a_scale_keeps_its_stance_there_and_back(
    tmp_path: Path, scale: dict[str, Stance]
) -> None:
    for label, stance in scale.items():
        listed = stored(tmp_path, ClaimEntry(text="Honey keeps.", stance=stance, label=label))
        written = reviews_of_corpus("tried", claims_of(listed))
        (one,) = Read(read_claim_reviews(written.text, FILE)).claims
        assert (one.claim.stance, one.claim.label) == (stance, label)


# --- Results ------------------------------------------------------------------------------------

REQUIRED = {"claimReviewed", "reviewRating", "url"}
"""What Google documents as required of a ClaimReview; of its rating, alternateName."""


def reviews(data: ReportData, **options: Any) -> list[dict[str, Any]]:
    document = json.loads(reviews_of_results([data], **options).text)
    assert document["@context"] == "https://schema.org"
    found: list[dict[str, Any]] = document["@graph"]
    return found


def test_a_review_points_at_the_file_that_its_report_has() -> None:
    data = samples.report_data(videos=(samples.video(video_id="claims-list.7a76"),))
    url = reviews(data, base_url="https://site.example")[0]["url"]
    assert url.partition("#")[0] == f"https://site.example/{report_name('claims-list.7a76')}"


def test_every_review_has_what_search_engines_require_and_says_that_a_machine_made_it() -> None:
    found = reviews(samples.report_data(), base_url="https://site.example/reports/")
    assert found
    for review in found:
        assert review["@type"] == "ClaimReview"
        assert review.keys() >= REQUIRED
        assert review["url"].startswith("https://site.example/reports/dQw4w9WgXcQ.html#claim-")
        assert review["author"]["@type"] == "Organization"
        assert review["author"]["name"] == "factible-assets 0.1.0"
        assert DISCLAIMER in review["disambiguatingDescription"]
        assert review["digitalSourceType"].startswith("https://schema.org/")
        assert "automatic" in review["reviewRating"]["alternateName"]
        assert "1 refuted, 2 mixed" in review["reviewRating"]["ratingExplanation"]
        assert date.fromisoformat(review["datePublished"]) > date(2020, 1, 1)
        named = {each["propertyID"]: each["value"] for each in review["identifier"]}
        assert named["basis"] in {"embedded", "llm"}
        assert review["itemReviewed"]["@type"] == "Claim"
        json.dumps(review, allow_nan=False)


def test_a_signed_claim_is_the_review_of_who_signed_it_and_names_the_machines_verdict() -> None:
    data = samples.report_data(reviews=(samples.ruling(0), samples.ruling(4)))
    signed, *others = reviews(data)
    assert signed["author"] == {
        "@type": "Person",
        "name": "Ana López",
        "affiliation": {"@type": "Organization", "name": "Honey Desk"},
    }
    assert signed["reviewBody"] == "It holds for dry jars alone."
    assert (signed["reviewRating"]["alternateName"], signed["reviewRating"]["ratingValue"]) == (
        "Misleading",
        2,
    )
    assert signed["datePublished"] == "2026-03-04"
    assert "digitalSourceType" not in signed
    assert DISCLAIMER not in json.dumps(signed)
    said = {each["propertyID"]: each["value"] for each in signed["identifier"]}
    assert (said["basis"], said["scale"], said["machine_verdict"]) == (
        "signed",
        "house",
        "supports",
    )
    # A claim whose check failed has a review all the same once a person signed one.
    assert samples.claim(4).text in {each["claimReviewed"] for each in others}
    assert "digitalSourceType" in others[0]
    (alone,) = reviews(data, only=samples.claim(1).claim_id)
    assert alone["claimReviewed"] == samples.claim(1).text


def test_a_speaker_with_a_name_is_the_author_of_the_claim_and_a_label_is_not() -> None:
    names = ("Ann Berg", "SPEAKER_01", "A", None)
    claims = [samples.claim(number, speaker=name) for number, name in enumerate(names)]
    data = samples.report_data(claims=(*claims, samples.claim(4), samples.claim(5)))
    authors = [review["itemReviewed"].get("author") for review in reviews(data)]
    assert authors == [{"@type": "Person", "name": "Ann Berg"}, None, None, None]


def test_the_rating_follows_the_verdict_and_unclear_has_no_number() -> None:
    ratings = {
        review["claimReviewed"]: review["reviewRating"] for review in reviews(samples.report_data())
    }
    values = [ratings[samples.SENTENCES[number]].get("ratingValue") for number in range(4)]
    assert values == [3, 1, 2, None]
    assert (ratings[samples.SENTENCES[0]]["worstRating"]) == 1
    assert (ratings[samples.SENTENCES[0]]["bestRating"]) == 3


def test_incomplete_verdicts_and_claims_without_one_are_counted_and_not_written() -> None:
    done = reviews_of_results([samples.report_data()])
    assert (done.count, done.incomplete, done.unjudged) == (4, 1, 1)
    assert samples.SENTENCES[4] not in done.text
    assert samples.SENTENCES[5] not in done.text


def test_a_review_links_the_second_and_cites_the_quotes_with_their_pages() -> None:
    first = reviews(samples.report_data())[0]
    appearance = first["itemReviewed"]["appearance"]
    assert appearance["url"].startswith("https://www.youtube.com/watch?v=dQw4w9WgXcQ&t=")
    quotes = [each["text"] for each in first["citation"]]
    assert samples.QUOTE in quotes
    assert all(each["isPartOf"]["url"].startswith("http") for each in first["citation"])


def test_a_citation_leads_to_where_the_page_was_read() -> None:
    data = samples.report_data(
        evidence=(samples.evidence(0, "a.example", page_id="p1"), samples.evidence(0, "b.example")),
        pages=(samples.page("p1", "https://www.a.example/page?id=1"),),
    )
    first = reviews(data)[0]
    assert [each["isPartOf"]["url"] for each in first["citation"]] == [
        "https://www.a.example/page?id=1",
        "https://b.example/page",
    ]


def test_no_stored_text_closes_the_script_that_a_review_is_pasted_into() -> None:
    hostile = "</script><script>alert(1)</script><!--"
    data = samples.report_data(evidence=(samples.evidence(0, "a.example", title=hostile),))
    text = reviews_of_results([data]).text
    assert "<" not in text
    assert json.loads(text)["@graph"][0]["citation"][0]["isPartOf"]["name"] == hostile


def test_a_verdict_that_outlived_a_failed_check_keeps_its_day() -> None:
    data = samples.report_data()
    claim = samples.claim(0)
    assert data.checked_at is not None
    reached = data.checked_at.replace(year=2020)
    older = ReportData(
        videos=data.videos,
        claims=(claim,),
        verdicts=data.verdicts,
        failed_rechecks={claim.claim_id: FailedRecheck(reached, data.checked_at, None)},
        sets=data.sets,
    )
    assert reviews(older)[0]["datePublished"].startswith("2020-")


def test_what_is_written_of_results_is_read_again_with_the_same_stances(tmp_path: Path) -> None:
    text = reviews_of_results([samples.report_data()]).text
    read = Read(read_claim_reviews(text, tmp_path))
    assert read.problems == ()
    assert [one.claim.stance for one in read.claims] == ["supports", "refutes", "mixed", "unclear"]
