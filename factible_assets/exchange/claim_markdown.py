"""One claim as Markdown, to be taken along: what was said, the verdict, the ruling, the sources.

What belongs here: the text. What does not: the argument (stages/argument.py), where files go
(cli/report.py), JSON-LD (claim_review.py).

All that comes from outside is escaped: it can neither break the text nor smuggle in a link.
"""

from __future__ import annotations

from collections.abc import Iterator

from factible_assets.records import Claim
from factible_assets.report.data import ReportData
from factible_assets.report.links import source_links
from factible_assets.report.view import in_order
from factible_assets.stages.argument import argue
from factible_assets.wording import (
    GROUP_WORDS,
    cell,
    day,
    markdown_link,
    moment,
    source_words,
    verdict_words,
)

_LONGEST = 4000


def claims_as_markdown(data: ReportData, only: str | None = None) -> str:
    """Return the claims of a checked video in order of time, or the one of an id."""
    return "\n".join(
        line
        for claim in data.in_time
        if only in {None, claim.claim_id}
        for line in _claim(data, claim)
    )


def _claim(data: ReportData, claim: Claim) -> Iterator[str]:
    verdict = next((row for row in data.verdicts if row.claim_id == claim.claim_id), None)
    rows = in_order(
        each for each in data.evidence if each.claim_id == claim.claim_id and each.status == "ok"
    )
    told = [_text(data.video.title), _text(data.video.channel or ""), moment(data.video, claim)]
    where = ", ".join(filter(None, told))
    yield f"## {_text(claim.text)}\n"
    if data.transcript is not None and claim.char_start is not None:
        said = _text(data.transcript.text[claim.char_start : claim.char_end])
        yield f"> {said}\n>\n> — {where}\n"
    else:
        yield f"{where}\n"
    ruling = data.rulings.get(claim.claim_id)
    if ruling is not None:
        whose = ", ".join(_text(each) for each in (ruling.reviewer, ruling.organisation) if each)
        yield f"**Ruling: {_text(ruling.value or '')}.** {_text(ruling.reason or '')}\n"
        yield f"Signed by {whose}, {day(ruling.acted_at)}.\n"
    words = verdict_words(verdict) if verdict else "not judged yet"
    sure = f" ({verdict.confidence} confidence)" if verdict and verdict.confidence else ""
    yield f"**Machine's verdict: {words}{sure}**\n"
    if verdict is not None and (verdict.stance is None or verdict.basis == "llm"):
        yield f"{_text(verdict.summary)}\n"
    argument = argue(verdict.stance or "" if verdict else "", rows)
    for voice in argument.voices:
        yield f"- {_text(voice.sentence())}"
    if argument.balance is not None:
        yield f"\n{argument.balance}\n"
    links = source_links(data)
    for stance, side in GROUP_WORDS.items():
        of_side = [row for row in rows if row.stance == stance]
        if of_side:
            yield f"### {side}\n"
        for row in of_side:
            title, link = _text(row.title or row.domain), links[row.evidence_id]
            named = markdown_link(row.title or row.domain, link, _LONGEST) if link else title
            quote = f": “{_text(row.quote)}”" if row.quote else ""
            yield f"- {named} – {_text(row.domain)}, {source_words(row)}{quote}"
        if of_side:
            yield ""


def _text(text: str) -> str:
    return cell(text, _LONGEST)
