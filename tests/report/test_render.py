from __future__ import annotations

import itertools
import re
from datetime import date
from html.parser import HTMLParser
from typing import Any

import pytest

import factible_assets
from factible_assets.report.render import render_report
from factible_assets.report.view import most_reliable_first
from tests.report import samples
from tests.report.page import Page, hash_source

VOID = frozenset({"meta", "br", "hr", "img", "input", "link", "wbr"})


@pytest.fixture(scope="module")
def page() -> Page:
    return Page(samples.report_data())


def article(page: Page, number: int) -> str:
    return f"//article[{number + 1}]"


def test_the_header_names_video_time_and_judge(page: Page) -> None:
    header = page.text("//header[1]")
    for words in (
        "Six things people believe",
        "Kitchen Table",
        "4 March 2025",
        "1:01",
        "2 January 2026, 03:04 UTC",
        "an automatic leaning",
    ):
        assert words in header
    assert "0d9c7b1e-run" in page.text("//footer")


def test_claims_come_in_order_of_time_and_those_without_a_time_last(page: Page) -> None:
    assert [each.text_content() for each in page.all("//article//h3")] == list(samples.SENTENCES)
    lost = samples.claim(0, start_seconds=None, end_seconds=None)
    page = Page(samples.report_data(claims=(lost, samples.claim(3))))
    assert page.text("//article[2]//h3") == samples.SENTENCES[0]


def test_a_claim_names_its_speaker() -> None:
    page = Page(samples.report_data(claims=(samples.claim(0, speaker="Ann <b>Berg</b>"),)))
    assert "said by Ann <b>Berg</b>" in page.text("//article[1]//header")


def test_a_transcript_in_capitals_is_shown_in_sentence_case() -> None:
    data = samples.report_data()
    assert data.transcript is not None
    loud = data.transcript.model_copy(update={"text": data.transcript.text.upper()})
    shown = Page(samples.report_data(transcripts=(loud,))).text("//section[@id='watch']")
    assert samples.SENTENCES[0].capitalize() in shown
    assert samples.SENTENCES[0].upper() not in shown


def test_each_claim_links_its_second_of_the_video(page: Page) -> None:
    link = page.all(f"{article(page, 1)}//a[contains(., 'jump to 0:10')]")[0]
    assert (link.get("data-seconds"), link.get("data-clock")) == ("10", "0:10")
    assert link.get("href") == f"https://www.youtube.com/watch?v={samples.VIDEO_ID}&t=10s"


def test_a_video_that_is_not_on_youtube_has_times_but_no_player() -> None:
    page = Page(samples.report_data(videos=(samples.video(video_id="a-talk-of-mine", url=None),)))
    assert "0:10" in page.text("//article[2]/header")
    assert not any("youtube" in link for link in page.links())
    assert "frame-src 'none'" in page.policy
    assert page.all("//*[@id='player']") == []
    assert "no address to play it from" in page.text("//section[@id='watch']")


def test_verdicts_are_words_and_leanings_are_called_so(page: Page) -> None:
    words = [page.text(f"//article[{n}]//p[@class='verdict']") for n in range(1, 7)]
    expected = ("leaning: supported", "refuted", "mixed", "Unclear", "Incomplete", "Not judged yet")
    assert all(word in line for word, line in zip(expected, words, strict=True))
    assert words[3].endswith("Unclear"), "an unclear verdict has no confidence"
    assert "automatic leanings" in page.text("//section[@id='watch']")
    assert "leaning supported" in page.text("//ul[@class='counts']")


def test_a_verdict_of_a_small_model_is_called_a_leaning() -> None:
    page = Page(samples.report_data(verdicts=(samples.verdict(0, "refutes", basis="labels"),)))
    assert "leaning: refuted" in page.text("//article[1]//p[@class='verdict']")
    assert "automatic leanings" in page.text("//section[@id='watch']")


def test_a_verdict_of_a_language_model_is_not_called_a_leaning() -> None:
    page = Page(
        samples.report_data(
            verdicts=(samples.verdict(0, "supports", basis="llm", confidence="high"),)
        )
    )
    assert "leaning" not in page.text("//article[1]//p[@class='verdict']").casefold()
    assert "a language model" in page.text("//header[1]")


def test_an_incomplete_verdict_has_a_reason(page: Page) -> None:
    words = page.text("//article[5]")
    assert "The search service did not answer in 10 s." in words
    assert "Incomplete" in words
    assert "Automatic leaning" not in words
    assert "The search for “question 4” at archive, page 1: no answer in 10 s" in words


def test_only_a_models_verdict_has_a_confidence_score(page: Page) -> None:
    told = (samples.verdict(0, "supports", basis="llm"),)
    assert "medium, 0.54" in Page(samples.report_data(verdicts=told)).text("//article[1]")
    assert "medium" in page.text("//article[1]")
    assert "0.54" not in page.text("//article[1]//p[@class='verdict']")
    assert not page.all("//article[4]//*[@class='confidence']")


def test_the_summary_comes_before_the_player(page: Page) -> None:
    watch = page.text("//section[@id='watch']")
    assert watch.index("leaning supported") < watch.index("Watch on YouTube")


def test_a_disagreement_of_vote_and_model_is_shown() -> None:
    row = samples.verdict(
        0, "unclear", vote_stance="supports", reasoner_stance="refutes", disagreement=True
    )
    words = Page(samples.report_data(verdicts=(row,))).text("//article[1]//p[@class='warning']")
    assert "vote of the sources says supported (margin +0.40)" in words
    assert "the language model says refuted" in words


def test_sources_are_grouped_by_stance_the_most_reliable_first(page: Page) -> None:
    groups = page.all("//article[1]//section[starts-with(@class, 'group')]")
    assert [group.get("class") for group in groups] == ["group supports", "group refutes"]
    titles = [li.text_content().split()[2] for li in groups[0].xpath(".//li[@class='source']")]
    assert titles == ["a.example", "b.example"]


def test_an_unknown_source_comes_before_a_bad_one() -> None:
    rated = [samples.evidence(0, "a.example", rating=each) for each in ("low", "unknown", "medium")]
    ordered = [row.rating for row in most_reliable_first(rated)]
    assert ordered == ["medium", "unknown", "low"]


def test_the_winning_side_comes_first() -> None:
    page = Page(samples.report_data(verdicts=(samples.verdict(0, "refutes"),)))
    groups = page.all("//article[1]//section[starts-with(@class, 'group')]")
    assert [group.get("class") for group in groups] == ["group refutes", "group supports"]
    voices = page.all("//article[1]//p[starts-with(@class, 'voice')]")
    assert [voice.get("class") for voice in voices] == ["voice refutes", "voice supports"]


def test_an_argument_says_that_nothing_contradicts_it() -> None:
    rows = (samples.evidence(0, "a.example"), samples.evidence(0, "b.example", rating="low"))
    words = Page(samples.report_data(evidence=rows)).text("//article[1]")
    kind = "high reliability, encyclopedia"
    assert f"a.example ({kind}) seems to bear the claim out: {samples.QUOTE}" in words
    assert (
        "2 independent sources seem to bear it out, and none was read as contradicting it" in words
    )


def test_a_signed_ruling_stands_beside_the_verdict() -> None:
    signed = samples.ruling(0, reviewer="Ana <b>López</b>", reason="True of dry jars.")
    page = Page(samples.report_data(reviews=(signed,)))
    words = page.text("//article[1]//*[@class='ruling']")
    for expected in ("Misleading", "Ana <b>López</b>", "Honey Desk", "4 March 2026", "True of dry"):
        assert expected in words
    assert "leaning: supported" in page.text("//article[1]//p[@class='verdict']").lower()
    other = signed.model_copy(update={"claim_id": samples.claim(1).claim_id})
    assert not Page(samples.report_data(reviews=(other,))).all("//article[1]//*[@class='ruling']")


def test_a_source_shows_its_rating_date_quote_and_link(page: Page) -> None:
    source = "//article[1]//li[@class='source']"
    words = page.text(source)
    for expected in (
        "high reliability 0.85",
        "bias: least biased",
        "encyclopedia",
        "2 January 2024",
        "page text",
        "written and reviewed by named editors",
    ):
        assert expected in words
    assert page.text(f"{source}//mark") == samples.QUOTE
    assert "because it holds so little water" in page.text(f"{source}//blockquote")
    assert page.all(f"{source}//p[@class='source-title']/a")[0].get("href") == (
        "https://a.example/page"
    )


def test_a_source_shows_the_reason_of_its_row() -> None:
    words = "It was found at found.example and leads to read.example, whose rating it has."
    left = samples.evidence(0, "read.example", reason=words)
    page = Page(samples.report_data(evidence=(left,)))
    assert words in page.text("//main")


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
    assert [a.get("href") for a in page.all("//nav[@class='glance']//a")] == [
        f"#claim-{samples.claim(number).claim_id}" for number in range(6)
    ]


def test_every_link_inside_the_page_leads_somewhere_and_no_id_occurs_twice(page: Page) -> None:
    identifiers = [element.get("id") for element in page.all("//*[@id]")]
    assert len(identifiers) == len(set(identifiers))
    inner = {link[1:] for link in page.links() if link.startswith("#")}
    assert inner <= set(identifiers)
    assert {f"said-{samples.claim(n).claim_id}" for n in range(6)} <= inner


def test_the_transcript_marks_each_claim_with_its_time(page: Page) -> None:
    marks = [mark.text_content() for mark in page.all("//div[@id='panel']//mark")]
    assert marks == list(samples.SENTENCES)
    assert "0:30" in page.text("//div[@id='panel']")


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
    assert [len(page.all(f"//{tag}")) for tag in ("main", "h1", "nav")] == [1, 1, 2]
    assert len(page.all("/html/head/title")) == 1
    levels = [int(heading.tag[1]) for heading in page.all("//h1|//h2|//h3|//h4")]
    assert all(later - earlier <= 1 for earlier, later in itertools.pairwise(levels))


def test_the_policy_allows_one_style_sheet_one_script_and_the_player_alone(page: Page) -> None:
    style = re.search(r"<style>(.*?)</style>", page.source, re.DOTALL)
    script = re.search(r"<script>(.*?)</script>", page.source, re.DOTALL)
    assert style is not None
    assert script is not None
    assert page.policy == (
        f"default-src 'none'; script-src {hash_source(script[1])}; "
        f"style-src {hash_source(style[1])}; frame-src https://www.youtube-nocookie.com; "
        "base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )
    assert "url(" not in style[1]
    assert "@import" not in style[1]


def test_the_player_is_not_loaded_with_the_page(page: Page) -> None:
    player = page.all("//div[@id='player']")[0]
    assert player.get("data-video") == samples.VIDEO_ID
    assert page.all("//iframe") == []
    link = page.all("//div[@id='player']//a")[0]
    assert link.get("href") == f"https://www.youtube.com/watch?v={samples.VIDEO_ID}"


def test_a_quote_links_its_page_and_its_stored_text(page: Page) -> None:
    on_page, stored = page.all("(//article[1]//li[@class='source'])[1]//div[@class='actions']/a")
    assert on_page.get("href") == (
        "https://a.example/page#:~:text=a%20closed%20jar%20of%20honey%20stays%20good%20for%20years"
    )
    anchor = stored.get("href").removeprefix("#")
    assert page.all(f"//details[@class='text']//span[@id='{anchor}']")
    assert page.text("//details[@class='text']//mark") == samples.QUOTE
    shown = page.all("//details[@class='text']//div[@class='stored']")[0]
    assert shown.text_content() == samples.PAGE


def test_a_quote_of_a_snippet_links_no_page() -> None:
    rows = (samples.evidence(0, "a.example", via="snippet"),)
    page = Page(samples.report_data(evidence=rows))
    assert page.text("(//article[1]//li[@class='source'])[1]//blockquote").count(samples.QUOTE) == 1
    assert "The quote on the page" not in page.text("//article[1]")


def test_a_quote_without_stored_text_has_a_warning() -> None:
    page = Page(samples.report_data(page_texts=()))
    first = "(//article[1]//li[@class='source'])[1]"
    assert page.text(f"{first}//blockquote") == samples.QUOTE
    assert "does not hold the quote" in page.text(f"{first}//p[@class='warning']")


def test_a_stored_text_is_shown_once_for_all_its_quotes(page: Page) -> None:
    assert len(page.all("//details[@class='text']")) == 1
    assert "for claim 1" in page.text("//details[@class='text']/summary")
    assert len(page.all("//details[@class='text']//span[starts-with(@id, 'quote-')]")) == 3


def test_a_source_links_its_final_address_on_its_own_site() -> None:
    def first_link(final_url: str) -> str:
        row = samples.evidence(0, "a.example", page_id="p1")
        read = samples.page("p1", final_url)
        page = Page(samples.report_data(evidence=(row,), pages=(read,)))
        assert "read as page text on 1 January 2026" in page.text("//li[@class='source']")
        return str(page.all("//p[@class='source-title']/a")[0].get("href"))

    assert first_link("https://www.a.example/page?x=1") == "https://www.a.example/page?x=1"
    assert first_link("https://elsewhere.example/page") == "https://a.example/page"
    assert first_link("javascript:alert(1)") == "https://a.example/page"


def test_an_uploaded_file_is_named_but_not_linked() -> None:
    url = "https://local-files.invalid/my%20pages-0a1b2c3d/notes%20on%20honey.txt"
    row = samples.evidence(0, "local-files.invalid", canonical_url=url, title="")
    page = Page(samples.report_data(evidence=(row,)))
    assert page.all("//li[@class='domain']") == []
    assert "notes on honey.txt" in page.text("(//article//p[contains(@class, 'voice')])[1]")
    assert ".invalid" not in page.text("//article")
    assert page.all("//p[@class='source-title']/a") == []


def test_prior_fact_checks_stand_apart_from_the_evidence() -> None:
    page = Page(samples.report_data(prior_fact_checks=samples.prior_fact_checks()))
    section = page.text("//article[1]//section[@class='prior']")
    for words in (
        "Others have checked this",
        "not evidence",
        "Jar Desk",
        "5 June 2024",
        "Mostly true",
        "Honey never spoils",
        "a shop",
    ):
        assert words in section
    assert "Jar Desk" not in page.text("//article[1]//section[starts-with(@class, 'group')]")
    assert page.all("//article[2]//section[@class='prior']") == []
    assert "Prior fact checks at lane: it did not answer" in page.text(
        "//article[2]//details[contains(@class, 'failed')]"
    )
    assert "The review by Far Desk: too little in common" in page.text(
        "//article[1]//details[contains(@class, 'skipped')]"
    )


def test_sections_without_content_are_left_out(page: Page) -> None:
    assert "Others have checked this" not in page.text()
    assert page.all("//section[@id='history']") == []
    assert page.all("//details[contains(@class, 'steps')]") == []


def test_flipped_verdicts_are_listed_at_their_claim_and_together() -> None:
    page = Page(samples.report_data(changes=samples.changes(), checks=3))
    expected = (
        "refuted (medium confidence) since 2 January 2026, 03:04 UTC; "
        "before, from 1 December 2025, supported (low)"
    )
    assert expected in page.text("//article[2]//ul[@class='history']")
    history = page.text("//section[@id='history']")
    assert expected in history
    assert "3 checks" in history
    assert "A claim that is made no more" in history
    assert page.all("//article[1]//ul[@class='history']") == []


@pytest.mark.parametrize(("change", "flipped"), [("flip", True), ("confidence", False)])
def test_a_change_of_confidence_is_no_flip(change: str, flipped: bool) -> None:
    page = Page(samples.report_data(changes=samples.changes(change=change), checks=3))
    assert ("2 verdicts flipped in 3 checks" in page.text()) == flipped
    assert "These verdicts changed, the newest last." in page.text("//section[@id='history']")


def test_the_footer_shows_version_prompts_tokens_and_cost() -> None:
    calls = (samples.call(), samples.call(call_id="2", cache_hit=True, cost_usd=0.0))
    foot = Page(
        samples.report_data(llm_calls=calls, sets={"verdicts": samples.verdicts_set(seconds=12.34)})
    ).text("//footer")
    for words in (
        f"factible-assets {factible_assets.__version__}",
        "12.3 s",
        "2, 1 of them answered from the cache",
        "a-model",
        "evidence-3",
        "200 read, 40 written",
        "$0.0123",
    ):
        assert words in foot


def test_a_model_without_a_price_is_named() -> None:
    calls = (samples.call(price_known=False, cost_usd=0.0),)
    foot = Page(samples.report_data(llm_calls=calls)).text("//footer")
    assert "$0.00, without a-model: no price is listed" in foot
    assert "no language model was asked" in Page(samples.report_data()).text("//footer")


def test_sources_after_the_second_are_folded_away_and_counted() -> None:
    rows = tuple(samples.evidence(0, f"{letter}.example") for letter in "abcde")
    page = Page(samples.report_data(evidence=rows))
    assert "3 more sources for it" in page.text("//article[1]//details[@class='more']")
    assert len(page.all("//article[1]//li[@class='source']")) == 5


def first_screen(**rows: Any) -> dict[str, list[str]]:
    """Return the claims of the first screen by the heading above them."""
    parts = Page(samples.report_data(**rows)).all("//section[@class='first']")
    return {
        part.xpath("string(h3)"): [link.text_content() for link in part.xpath(".//li/div/a")]
        for part in parts
    }


def test_the_first_screen_lists_refuted_open_and_supported_claims() -> None:
    outcomes = ("supports", "mixed", "unclear", "refutes", "incomplete", "supports")
    rows = tuple(
        samples.verdict(number, outcome, basis="llm") for number, outcome in enumerate(outcomes)
    )
    assert first_screen(verdicts=rows) == {
        "Does not hold": [samples.SENTENCES[3], samples.SENTENCES[1]],
        "Open": [samples.SENTENCES[4], samples.SENTENCES[2]],
        "Holds": [samples.SENTENCES[0], samples.SENTENCES[5]],
    }


def test_the_first_screen_sorts_by_importance_and_confidence() -> None:
    claims = tuple(samples.claim(number, importance=0.3 + number / 10) for number in range(3))
    rows = tuple(
        samples.verdict(number, "refutes", basis="llm", confidence_score=score)
        for number, score in enumerate((0.5, 0.9, 0.6))
    )
    found = first_screen(claims=claims, verdicts=rows)["Does not hold"]
    assert found == [samples.SENTENCES[number] for number in (1, 2, 0)]


def test_a_refuted_claim_has_its_best_quote_on_the_first_screen() -> None:
    row = samples.evidence(0, "a.example", stance="refutes", basis="llm")
    page = Page(
        samples.report_data(verdicts=(samples.verdict(0, "refutes", basis="llm"),), evidence=(row,))
    )
    words = page.text("//section[@id='not-holding']//p[starts-with(@class, 'voice')]")
    assert "a.example" in words
    assert f"contradicts the claim: {samples.QUOTE}" in words


def test_the_headings_of_leanings_say_seems() -> None:
    rows = (samples.verdict(0, "refutes"), samples.verdict(1, "supports"))
    assert list(first_screen(verdicts=rows))[::2] == ["Seems not to hold", "Seems to hold"]


def test_a_signed_ruling_places_its_claim_on_the_first_screen() -> None:
    page = Page(
        samples.report_data(
            verdicts=(samples.verdict(0, "supports"),), reviews=(samples.ruling(0),)
        )
    )
    words = page.text("//section[@id='not-holding']")
    assert "Misleading, by Ana López" in words
    assert "It holds for dry jars alone." in words
    assert "supported" not in page.text("//ul[@class='counts']")


def test_the_first_screen_says_how_many_claims_it_leaves_out() -> None:
    rows = tuple(samples.verdict(number, "supports", basis="llm") for number in range(6))
    words = Page(samples.report_data(verdicts=rows)).text("//section[@id='watch']")
    assert "3 of 6 claims: 3 of 6 under “Holds”." in words
    rows = tuple(
        samples.verdict(number, ("supports", "refutes")[number % 2]) for number in range(6)
    )
    assert " under “" not in Page(samples.report_data(verdicts=rows)).text("//section[@id='watch']")


def test_the_same_records_make_the_same_page() -> None:
    assert render_report(samples.report_data()) == render_report(samples.report_data())


def test_a_video_without_anything_still_has_a_report() -> None:
    places = ("transcripts", "segments", "claims", "queries", "searches", "ratings", "evidence")
    nothing = dict.fromkeys((*places, "verdicts"), ())
    page = Page(samples.report_data(**nothing, sets={}))
    assert "It is not known which claims this video makes" in page.text()
    assert "No check-worthy claim was found" not in page.text(), "that would be a finding"
    assert "No transcript is stored" in page.text()
    assert "not checked yet" in page.text("//header[1]")
    listed = Page(samples.report_data(**nothing, sets={"claims": samples.verdicts_set()}))
    assert "No check-worthy claim was found" in listed.text()
    assert "It is not known" not in listed.text()
    assert listed.text("//header//p[@class='meta']").endswith(
        "searched for claims 2 January 2026, 03:04 UTC"
    )


def test_the_report_says_how_many_claims_the_check_left_out() -> None:
    rows = tuple(samples.claim(number, claims_found=19) for number in range(6))
    words = Page(samples.report_data(claims=rows)).text("//section[@id='watch']")
    assert "The check took 6 of the 19 claims that it found" in words
    assert "claims that it found" not in Page(samples.report_data()).text()


def test_claims_without_verdicts_say_so() -> None:
    page = Page(samples.report_data(verdicts=(), evidence=(), queries=(), searches=()))
    assert page.text().count("No verdict has been reached for this claim yet.") == 6


def test_the_steps_of_a_strategy_link_their_sources() -> None:
    cited = samples.evidence(0, "later.example", published_on=date(2026, 1, 1))
    steps = (
        samples.step("plan", "first plan", got="Find <b>trials</b>."),
        samples.step("judge", "key point", got="No trial found it.", used=(cited.evidence_id,)),
    )
    page = Page(samples.report_data(evidence=(cited,), steps=steps))
    told = "//details[contains(@class, 'steps')]"
    assert "Find <b>trials</b>." in page.text(f"{told}//li[1]")
    (link,) = page.all(f"{told}//li[2]/a")
    anchor = str(link.get("href")).removeprefix("#")
    assert "after the claim" in page.text(f"//li[@id='{anchor}']")
