from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from factible_assets.config import VerdictsConfig
from factible_assets.exchange.claim_review_export import reviews_of_results
from factible_assets.records.tables import Evidence, ReviewAction, Verdict
from factible_assets.report.data import ReportData
from factible_assets.report.render import claims_as_markdown
from factible_assets.stages.decisions import apply_decisions
from factible_assets.stages.origins import StoryIndex
from factible_assets.stages.verdict import CaseFile, conclude, form_opinion
from tests.report import samples
from tests.report.page import Page

FOR, AGAINST = "for.example", "against.example"


def sources(**changes: Any) -> tuple[Evidence, ...]:
    """One supporting and two refuting sources, all of different origin."""
    stands = {FOR: "supports", AGAINST: "refutes", "third.example": "refutes"}
    return tuple(
        samples.evidence(
            0, host, stance=stance, content_hash=f"{host} text", stance_confidence=0.9, **changes
        )
        for host, stance in stands.items()
    )


def counted(rows: tuple[Evidence, ...], config: VerdictsConfig | None = None) -> Verdict:
    """Return the verdict that a check of the first claim stores."""
    case = CaseFile(
        samples.claim(0), queries=[samples.query(0)], searches=[samples.search(0)], evidence=rows
    )
    opinion = form_opinion(case, StoryIndex({}), config or VerdictsConfig(), basis="embedded")
    return conclude(opinion, None)


def decided(host: str, kind: str, value: str | None = None) -> ReviewAction:
    """Return a decision about the page of a host, for the first claim."""
    return ReviewAction(
        action_id=f"{kind}-{host}",
        video_id=samples.VIDEO_ID,
        claim_id=samples.claim(0).claim_id,
        reviewer="Ada",
        acted_at=datetime(2026, 3, 4, tzinfo=UTC),
        action=kind,
        target=f"https://{host}/page",
        value=value,
        reason="It speaks of mead.",
    )


def stored(
    *acts: ReviewAction,
    evidence: tuple[Evidence, ...] | None = None,
    config: VerdictsConfig | None = None,
) -> ReportData:
    rows = sources() if evidence is None else evidence
    return samples.report_data(
        claims=(samples.claim(0),),
        queries=(samples.query(0),),
        searches=(samples.search(0),),
        evidence=rows,
        verdicts=(counted(rows, config),),
        page_texts=(),
        reviews=acts,
        prior_fact_checks=(),
    )


def decide(data: ReportData) -> ReportData:
    """Apply the decisions, as reading a report does."""
    evidence, verdicts, replaced = apply_decisions(data, data.reviews)
    return replace(data, evidence=evidence, verdicts=verdicts, stored_verdicts=replaced)


def overruled_twice() -> ReportData:
    acts = (decided(host, "overrule_source", "supports") for host in (AGAINST, "third.example"))
    return stored(*acts)


def test_the_verdict_follows_the_overrulings_of_sources() -> None:
    before = overruled_twice()
    assert before.verdicts[0].stance == "refutes"
    after = decide(before)
    (verdict,) = after.verdicts
    assert (verdict.stance, verdict.supporting, verdict.refuting) == ("supports", 3, 0)
    assert after.stored_verdicts == {verdict.claim_id: before.verdicts[0]}


def test_the_report_follows_an_overruling() -> None:
    page = Page(decide(overruled_twice()))
    headline = page.text("//article[1]//p[@class='verdict']")
    assert headline.startswith("✓Supported with a reviewer's decision about a source")
    assert "leaning refuted before" in headline
    assert "contradict" not in page.text("//article[1]/p[starts-with(@class, 'voice')]")
    cards = page.text("//article[1]//section[@class='group supports']")
    assert "A reviewer read it as for the claim." in cards
    assert (
        "The machine's reading, which the reviewer overruled: Says that closed jars keep." in cards
    )
    assert not page.all("//article[1]//section[@class='group refutes']")
    assert not page.all("//section[@id='not-holding']")


def test_exports_follow_an_overruling() -> None:
    data = decide(overruled_twice())
    markdown = claims_as_markdown(data, samples.claim(0).claim_id)
    assert "verdict: supported" in markdown
    assert "refuted" not in markdown
    assert '"ratingValue": 3' in reviews_of_results([data], base_url=None).text


def test_a_blocked_source_does_not_count() -> None:
    acts = (decided(host, "block_source") for host in (AGAINST, "third.example"))
    data = decide(stored(*acts))
    assert data.verdicts[0].refuting == 0
    assert [row.status for row in data.evidence] == ["ok", "skipped", "skipped"]
    assert "Blocked by a reviewer: Ada" in (data.evidence[1].reason or "")


def test_a_blocked_source_is_neither_declined_nor_missing() -> None:
    acts = [decided(host, "block_source") for host in (FOR, AGAINST, "third.example")]
    due, *others = sources(basis="embedded")
    rows = (due.model_copy(update={"page_due": True}), *others)
    (verdict,) = decide(stored(*acts, evidence=rows)).verdicts
    assert (verdict.status, verdict.stance, verdict.missing) == ("complete", "unclear", 0)
    assert "declined" not in f"{verdict.reason} {verdict.summary}"


def test_the_block_of_a_domain_reaches_the_pages_that_led_there() -> None:
    act = decided(FOR, "block_source").model_copy(update={"target": "news.example"})
    data = stored(act, evidence=sources(page_id="p1")[:1])
    page = samples.page("p1", "https://blog.news.example/story")
    evidence, _, _ = apply_decisions(replace(data, pages=(page,)), data.reviews)
    assert [row.status for row in evidence] == ["skipped"]


def test_a_verdict_of_other_settings_becomes_incomplete() -> None:
    act = decided(AGAINST, "overrule_source", "unclear")
    data = decide(stored(act, config=VerdictsConfig(min_margin=0.9)))
    (verdict,) = data.verdicts
    assert (verdict.status, verdict.stance, verdict.recheck_due) == ("incomplete", None, True)
    page = Page(data)
    assert "Check the claim again." in page.text("//section[@id='open']")
    assert "services failed" not in page.text("//section[@id='watch']")


def test_a_withdrawn_overruling_makes_the_verdict_incomplete() -> None:
    rows = sources()
    checked = rows[1].model_copy(
        update={"stance": "supports", "machine_stance": "refutes", "reason": "Overruled by Ada."}
    )
    act = decided(AGAINST, "overrule_source")
    data = decide(stored(act, evidence=(rows[0], checked, rows[2])))
    back = data.evidence[1]
    assert (back.stance, back.machine_stance, back.reason) == ("refutes", None, None)
    assert data.verdicts[0].status == "incomplete"


def test_an_applied_decision_changes_nothing() -> None:
    rows = sources()
    checked = rows[1].model_copy(update={"stance": "mixed", "machine_stance": "refutes"})
    act = decided(AGAINST, "overrule_source", "mixed")
    data = stored(act, evidence=(rows[0], checked, rows[2]))
    assert apply_decisions(data, data.reviews) == ([*data.evidence], [*data.verdicts], {})
