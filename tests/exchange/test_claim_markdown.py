"""A claim as Markdown: what a reader takes along, and nothing that bites."""

from __future__ import annotations

from factible_assets.report.render import claims_as_markdown
from tests.report import samples


def test_a_claim_is_taken_along_with_its_verdict_argument_ruling_and_sources() -> None:
    data = samples.report_data(reviews=(samples.ruling(0),))
    text = claims_as_markdown(data, samples.claim(0).claim_id)
    places = [
        text.find(words)
        for words in (
            f"## {samples.claim(0).text}",
            "> —",
            "**Ruling: Misleading.** It holds for dry jars alone.",
            "Signed by Ana López, Honey Desk, 4 March 2026.",
            "**Machine's verdict: leaning supported (medium confidence)**",
            "seems to bear the claim out: “",
            "### For the claim",
        )
    ]
    assert -1 not in places
    assert places == sorted(places), text
    assert samples.claim(1).text not in text
    assert samples.claim(1).text in claims_as_markdown(data)
    # Where no source speaks, the verdict's own words say so.
    silent = samples.report_data(evidence=(), verdicts=(samples.verdict(0, "unclear"),))
    assert samples.verdict(0, "unclear").summary in claims_as_markdown(silent)


def test_hostile_text_stays_text() -> None:
    nasty = "x](javascript:alert(1)) <script> | # `y` \x1b]0;title\x07\x9b2J \u202eyx"
    data = samples.report_data(
        claims=(samples.claim(0, text=nasty),),
        evidence=(samples.evidence(0, "a.example", title=nasty),),
        reviews=(samples.ruling(0, reviewer=nasty),),
    )
    text = claims_as_markdown(data)
    assert "<script>" not in text
    assert "](javascript" not in text.replace("\\](", "")
    assert not set(text) & set("\x1b\x07\x9b\u202e"), "a terminal that shows the file obeys them"
