from __future__ import annotations

import base64
import hashlib
import itertools
import re
from html.parser import HTMLParser

import pytest

from factible_assets.report.render import render_report
from tests.report import samples
from tests.report.page import Page

VOID = frozenset({"meta", "br", "hr", "img", "input", "link", "wbr"})


@pytest.fixture(scope="module")
def page() -> Page:
    return Page(samples.report_data())


def article(page: Page, number: int) -> str:
    return f"//article[{number + 1}]"


def test_the_header_says_what_was_checked_when_and_by_whom(page: Page) -> None:
    header = page.text("//header[1]")
    for words in (
        "Six things people believe",
        "Kitchen Table",
        "4 March 2025",
        "1:01",
        "2 January 2026, 03:04 UTC",
        "an automatic leaning",
        "0d9c7b1e-run",
    ):
        assert words in header


def test_claims_come_in_order_of_time(page: Page) -> None:
    assert [heading.text_content() for heading in page.all("//article//h3")] == list(
        samples.SENTENCES
    )


def test_claims_without_a_time_come_last() -> None:
    lost = samples.claim(0, start_seconds=None, end_seconds=None)
    page = Page(samples.report_data(claims=(lost, samples.claim(3))))
    assert page.text("//article[2]//h3") == samples.SENTENCES[0]


def test_each_claim_jumps_to_its_second_of_the_video(page: Page) -> None:
    link = page.all(f"{article(page, 1)}//a[contains(., 'jump to 0:10')]")[0]
    assert link.get("href") == f"https://www.youtube.com/watch?v={samples.VIDEO_ID}&t=10s"


def test_a_video_that_is_not_on_youtube_has_times_but_no_jumps() -> None:
    page = Page(samples.report_data(video=samples.video(video_id="a-talk-of-mine", url=None)))
    assert "0:10" in page.text("//article[2]/header")
    assert all(
        link.startswith(("#", "https://a.ex", "https://b.ex", "https://c.ex", "https://d"))
        or ".example/" in link
        for link in page.links()
    )


def test_verdicts_are_words_and_not_colours_alone(page: Page) -> None:
    words = [page.text(f"//article[{n}]//p[@class='claim-line']") for n in range(1, 7)]
    expected = ("Supported", "Refuted", "Mixed", "Unclear", "Incomplete", "Not judged yet")
    assert all(word in line for word, line in zip(expected, words, strict=True))


def test_an_embedded_verdict_is_called_an_automatic_leaning(page: Page) -> None:
    assert "Automatic leaning: Supported" in page.text("//article[1]//p[@class='claim-line']")
    assert "automatic leanings" in page.text("//section[@id='summary']")


def test_a_verdict_of_a_language_model_is_not_called_a_leaning() -> None:
    page = Page(
        samples.report_data(
            verdicts=(samples.verdict(0, "supports", basis="llm", confidence="high"),)
        )
    )
    assert "leaning" not in page.text("//article[1]//p[@class='claim-line']").casefold()
    assert "a language model" in page.text("//header[1]")


def test_an_incomplete_verdict_has_a_reason_and_no_side(page: Page) -> None:
    words = page.text("//article[5]")
    assert "The search service did not answer in 10 s." in words
    assert "Incomplete" in words
    assert "Automatic leaning" not in words
    assert "The search for “question 4” at archive, page 1: no answer in 10 s" in words


def test_confidence_is_a_word_and_a_number(page: Page) -> None:
    assert "medium, 0.54" in page.text("//article[1]")


def test_disagreement_of_vote_and_reasoner_is_said() -> None:
    row = samples.verdict(
        0, "unclear", vote_stance="supports", reasoner_stance="refutes", disagreement=True
    )
    words = Page(samples.report_data(verdicts=(row,))).text("//article[1]//p[@class='warning']")
    assert "vote of the sources says supported (margin +0.40)" in words
    assert "the reasoner says refuted" in words


def test_sources_are_grouped_by_stance_and_the_most_reliable_comes_first(page: Page) -> None:
    groups = page.all("//article[1]//section")
    assert [group.get("class") for group in groups] == ["group supports", "group refutes"]
    titles = [li.text_content().split()[2] for li in groups[0].xpath(".//li[@class='source']")]
    assert titles == ["a.example", "b.example"]


def test_a_source_shows_its_rating_bias_class_date_way_quote_and_link(page: Page) -> None:
    source = "//article[1]//li[@class='source']"
    words = page.text(source)
    for expected in (
        "high reliability 0.85",
        "bias: least biased",
        "encyclopedia",
        "2 January 2024",
        "page text",
        "written and reviewed by named editors",
        "listed in sample",
    ):
        assert expected in words
    assert page.text(f"{source}//mark") == samples.QUOTE
    assert "because it holds so little water" in page.text(f"{source}//blockquote")
    assert page.all(f"{source}//p[@class='source-title']/a")[0].get("href") == (
        "https://a.example/page"
    )


def test_copies_of_one_story_are_one_origin(page: Page) -> None:
    group = page.text("//article[1]//section[contains(@class, 'supports')]")
    assert "2 sources, 1 independent origin" in group
    assert "Tells the same story as a.example" in group


def test_failed_empty_and_skipped_sources_are_three_different_lists(page: Page) -> None:
    lists = {
        name: page.text(f"//article[1]//details[contains(@class, '{name}')]")
        for name in ("failed", "empty", "skipped")
    }
    assert "the connection was reset" in lists["failed"]
    assert "the page does not speak of it" in lists["empty"]
    assert "enough independent sources agreed" in lists["skipped"]
    hosts = {"failed": "down.example", "empty": "empty.example", "skipped": "late.example"}
    for name, words in lists.items():
        assert [host for host in hosts.values() if host in words] == [hosts[name]]


def test_the_summary_counts_every_outcome_and_links_every_claim(page: Page) -> None:
    counts = [" ".join(li.text_content().split()) for li in page.all("//ul[@class='counts']/li")]
    assert len(counts) == 6
    assert all(count.endswith("1 of 6") for count in counts)
    assert len(page.all("//table//tbody/tr")) == 6


def test_every_link_inside_the_page_leads_somewhere_and_no_id_occurs_twice(page: Page) -> None:
    identifiers = [element.get("id") for element in page.all("//*[@id]")]
    assert len(identifiers) == len(set(identifiers))
    inner = {link[1:] for link in page.links() if link.startswith("#")}
    assert inner <= set(identifiers)
    assert {f"said-{samples.claim(n).claim_id}" for n in range(6)} <= inner


def test_the_transcript_marks_each_claim_with_its_time(page: Page) -> None:
    marks = [mark.text_content() for mark in page.all("//section[@id='transcript']//mark")]
    assert marks == list(samples.SENTENCES)
    assert "0:30" in page.text("//section[@id='transcript']")


def test_the_page_is_well_formed_and_has_landmarks_and_one_main_heading(page: Page) -> None:
    open_tags: list[str] = []

    class Balance(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            if tag not in VOID:
                open_tags.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert open_tags.pop() == tag

    Balance().feed(page.source)
    assert open_tags == []
    assert page.source.startswith("<!DOCTYPE html>")
    assert [len(page.all(f"//{tag}")) for tag in ("main", "h1", "title", "nav")] == [1, 1, 1, 1]
    levels = [int(heading.tag[1]) for heading in page.all("//h1|//h2|//h3|//h4")]
    assert all(later - earlier <= 1 for earlier, later in itertools.pairwise(levels))


def test_the_policy_allows_nothing_but_the_one_style_sheet(page: Page) -> None:
    policy = page.all("//meta[@http-equiv='Content-Security-Policy']")[0].get("content")
    found = re.search(r"<style>(.*?)</style>", page.source, re.DOTALL)
    assert found is not None
    digest = base64.b64encode(hashlib.sha256(found[1].encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    assert "url(" not in found[1]
    assert "@import" not in found[1]


def test_the_same_records_make_the_same_page() -> None:
    assert render_report(samples.report_data()) == render_report(samples.report_data())


def test_a_video_without_anything_still_has_a_report() -> None:
    page = Page(
        samples.report_data(
            transcript=None,
            segments=(),
            claims=(),
            queries=(),
            searches=(),
            ratings=(),
            evidence=(),
            verdicts=(),
            run_id=None,
            checked_at=None,
        )
    )
    assert "No check-worthy claim was found" in page.text()
    assert "No transcript is stored" in page.text()
    assert "not yet" in page.text("//header[1]")


def test_a_video_with_claims_alone_says_that_nothing_was_judged() -> None:
    page = Page(samples.report_data(verdicts=(), evidence=(), queries=(), searches=()))
    assert page.text().count("No verdict has been reached for this claim yet.") == 6
