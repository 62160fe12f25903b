"""Words for people: how times, sums and verdicts are said, and tables that the Dagster UI shows.

What belongs here: words that more than one room says, Markdown made from records, and links to the
second of a video. What does not: the HTML report (report/), terminal output (cli/), Dagster's own
types.

Claims, titles and summaries are hostile text. In Markdown every cell is escaped, so that a title
can neither break a table nor smuggle in a link or markup; `plain` keeps controls from terminals.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from factible_assets.records import (
        Claim,
        Evidence,
        PriorFactCheck,
        Query,
        Rating,
        ReliabilityRating,
        ReviewKind,
        Verdict,
        Video,
    )

_Row = TypeVar("_Row", "Query", "Evidence", "PriorFactCheck")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+!|~<>])")
_YOUTUBE_ID = re.compile(r"[A-Za-z0-9_-]{11}")

_SOURCES = 3
"""Sources linked beside a verdict; all of them stand in the table of the evidence."""

_WHY_CHARACTERS = 180
"""The UI opens a table that is longer than the window at its end; the report has the rest."""

STANCE_WORDS: Mapping[str, str] = {
    "supports": "supported",
    "refutes": "refuted",
    "mixed": "mixed",
    "unclear": "unclear",
}
"""How a verdict's stance is said of its claim."""


WAITING = "Another check of this video is going on; this one waits for it. Ctrl-C gives up."

_KIB = 1024
_WHOLE_CENTS = 10
"""Dollars from which fractions of a cent are of no interest."""


def plain(text: str, limit: int | None = None) -> str:
    """Return hostile text fit for one line of a terminal: control characters become spaces.

    A title could otherwise carry escape sequences that move the cursor or set the window title.
    """
    flat = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return flat if limit is None else _cut(flat, limit)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


def counted(number: int, noun: str, nouns: str | None = None) -> str:
    """Say how many there are of what."""
    return f"{number:,} {noun if number == 1 else nouns or f'{noun}s'}"


def dollars(usd: float) -> str:
    """Say a sum in US dollars, small ones with the digits that they need."""
    return f"${usd:,.2f}" if usd >= _WHOLE_CENTS or usd == 0 else f"${usd:.4f}"


def in_bytes(size: float) -> str:
    """Say a size in the unit that suits it."""
    for unit in ("B", "KiB", "MiB"):
        if size < _KIB:
            return f"{size:,.0f} {unit}"
        size /= _KIB
    return f"{size:,.1f} GiB"


def web_address(host: str, port: int) -> str:
    """Return the address that opens what listens on a host, as its operator wrote that.

    What listens everywhere is opened on this machine: no browser opens 0.0.0.0.
    """
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - nothing is bound
    return f"http://{f'[{name}]' if ':' in name else name}:{port}"


def clock(seconds: float | None) -> str:
    """Say a position in a video as m:ss or h:mm:ss; a dash where it is unknown."""
    if seconds is None:
        return "–"
    whole = int(seconds)
    hours, rest = divmod(whole, 3600)
    minutes, remaining = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{remaining:02}" if hours else f"{minutes}:{remaining:02}"


def rating_words(rating: Rating) -> str:
    """Say how reliable a source is held to be."""
    if rating == "unknown":
        return "reliability unknown"
    return f"{rating.replace('_', ' ')} reliability"


def source_words(row: Evidence) -> str:
    """Say of what kind a source is, such as: high reliability, government."""
    kind = "" if row.source_class == "unknown" else f", {row.source_class.replace('_', ' ')}"
    return f"{rating_words(row.rating)}{kind}"


def act_words(kind: ReviewKind, target: str | None, value: str | None, query: str | None) -> str:
    """Say what a reviewer did, to follow their name; `query` are the words of the one it concerns.

    Hostile text stands in it as it is.
    """
    before, given = f"“{query}”" if query else "a query", value or ""
    words: dict[ReviewKind, str] = {
        "add_query": f"asked another query, “{given}”",
        "edit_query": f"asked “{given}” in place of {before}",
        "remove_query": f"took {before} out",
        "block_source": f"blocked {target}",
        "unblock_source": f"took back what was said of {target}",
        "add_source": f"added the source {given}",
        "overrule_source": f"overruled {target}: {given.replace('_', ' ')}"
        if value
        else f"took back the overruling of {target}",
        "reword_claim": f"reworded the claim: “{given}”",
        "split_claim": f"split the claim: “{'” and “'.join(given.splitlines())}”",
        "drop_claim": "dropped the claim",
        "restore_claim": "restored the claim",
        "add_claim": f"added the claim “{given}”",
        "assign": f"assigned it to {value or 'nobody'}",
        "note": f"noted: {given}",
        "assess": f"assessed the claim as {STANCE_WORDS.get(given, given)}"
        if value
        else "took an assessment back",
        "sign": f"ruled: {given}" if value else "withdrew the ruling",
    }
    return words[kind]


def moment_url(video: Video, seconds: float | None) -> str | None:
    """Return the link to a second of the video, None where it cannot be linked.

    Only YouTube has a known form for it, and an eleven-character id.
    """
    if seconds is None or not _YOUTUBE_ID.fullmatch(video.video_id):
        return None
    return f"https://www.youtube.com/watch?v={video.video_id}&t={int(seconds)}s"


def cell(text: str, limit: int = 300) -> str:
    """Escape hostile text for one cell of a Markdown table, shortened to `limit` characters."""
    short = _cut(re.sub(r"\s+", " ", text).strip(), limit)
    return _MARKDOWN.sub(r"\\\1", html.escape(short, quote=False)).replace("\\&", "&")


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lay out cells, already escaped, as a Markdown table."""
    lines = [f"| {' | '.join(headings)} |", f"|{'---|' * len(headings)}"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines)


def moment(video: Video, claim: Claim) -> str:
    """Return the claim's time as a Markdown link where the video can be linked."""
    url = moment_url(video, claim.start_seconds)
    words = clock(claim.start_seconds)
    return f"[{words}]({url})" if url else words


def claims_table(video: Video, claims: Sequence[Claim]) -> str:
    """Return a video's claims in order of importance."""
    return table(
        ("#", "at", "claim", "importance", "category"),
        (
            (
                str(each.rank),
                moment(video, each),
                cell(each.text),
                f"{each.importance:.2f}",
                cell(each.category or "–"),
            )
            for each in claims
        ),
    )


def queries_table(claims: Sequence[Claim], queries: Sequence[Query]) -> str:
    """Return the queries of each claim in the order in which they are asked."""
    return table(
        ("claim", "query", "type", "priority", "outcome"),
        (
            (
                number,
                cell(query.text or "–"),
                query.query_type + (" (opposite)" if query.seeks_opposite else ""),
                str(query.priority),
                cell(query.reason or query.status),
            )
            for number, query in _by_rank(claims, queries, lambda query: query.rank)
        ),
    )


def ratings_table(ratings: Sequence[ReliabilityRating]) -> str:
    """Return the rated domains, most reliable first."""
    return table(
        ("domain", "rating", "score", "class", "why"),
        (
            (
                cell(rating.domain),
                rating.rating.replace("_", " "),
                f"{rating.score:.2f}",
                rating.source_class.replace("_", "-"),
                cell("; ".join(rating.reasons)),
            )
            for rating in sorted(ratings, key=lambda rating: (-rating.score, rating.domain))
        ),
    )


def evidence_table(claims: Sequence[Claim], evidence: Sequence[Evidence]) -> str:
    """Return what was read for each claim, with links to the sources."""
    return table(
        ("claim", "stance", "source", "rating", "quote"),
        (
            (
                number,
                row.stance or "–",
                _link(row.title or row.domain, row.canonical_url, 80),
                row.rating.replace("_", " "),
                cell(row.quote or "–", 200),
            )
            for number, row in _by_rank(claims, evidence, lambda row: -row.rating_score)
        ),
    )


def prior_fact_checks_table(claims: Sequence[Claim], rows: Sequence[PriorFactCheck]) -> str:
    """Return the reviews that belong to each claim, with links to them."""
    kept = [row for row in rows if row.status == "ok"]
    return table(
        ("claim", "reviewed", "rating", "by", "on", "similarity"),
        (
            (
                number,
                _link(row.claim_reviewed or row.title or "–", row.canonical_url or "", 150),
                cell(row.textual_rating or "–", 80),
                cell(row.publisher or row.domain or "–", 80),
                str(row.reviewed_on or "–"),
                f"{row.similarity or 0:.2f}",
            )
            for number, row in _by_rank(claims, kept, lambda row: row.rank)
        ),
    )


def verdict_words(verdict: Verdict) -> str:
    """Say a verdict in two or three words, with its level where it was reached on six."""
    if verdict.stance is None:
        return "incomplete"
    words = STANCE_WORDS[verdict.stance]
    if verdict.veracity is not None:
        words = f"{words} ({verdict.veracity.replace('-', ' ')})"
    return f"leaning {words}" if verdict.basis == "embedded" else words


def verdicts_table(
    video: Video,
    claims: Sequence[Claim],
    verdicts: Sequence[Verdict],
    evidence: Sequence[Evidence] = (),
) -> str:
    """Return the verdicts in the order in which the video makes its claims.

    With their evidence at hand, the most reliable sources that take a side are linked.
    """
    headings = ("at", "claim", "verdict", "confidence", "for : against", "why", "sources")
    shown = len(headings) if evidence else len(headings) - 1
    return table(
        headings[:shown],
        (
            (
                moment(video, claim),
                cell(claim.text),
                f"**{verdict_words(verdict)}**",
                verdict.confidence or "–",
                f"{verdict.supporting} : {verdict.refuting}",
                cell(verdict.summary, _WHY_CHARACTERS),
                _decisive(claim, evidence),
            )[:shown]
            for claim, verdict in _in_time(claims, verdicts)
        ),
    )


def verdict_lines(
    video: Video,
    claims: Sequence[Claim],
    verdicts: Sequence[Verdict],
    evidence: Sequence[Evidence],
) -> list[str]:
    """Return a line in Markdown for each verdict, which is short enough to be shown unfolded."""
    return [
        f"**{verdict_words(verdict)}**{f' ({verdict.confidence})' if verdict.confidence else ''}: "
        f"{moment(video, claim)} {cell(claim.text)} Sources: {_decisive(claim, evidence)}"
        for claim, verdict in _in_time(claims, verdicts)
    ]


def _by_rank(
    claims: Sequence[Claim], rows: Sequence[_Row], key: Callable[[_Row], float]
) -> list[tuple[str, _Row]]:
    """Return rows with the rank of their claim, in its order and then in that of a key."""
    ranks = {claim.claim_id: claim.rank for claim in claims}
    ordered = sorted(rows, key=lambda row: (ranks.get(row.claim_id, 0), key(row)))
    return [(str(ranks.get(row.claim_id, "–")), row) for row in ordered]


def _in_time(claims: Sequence[Claim], verdicts: Sequence[Verdict]) -> list[tuple[Claim, Verdict]]:
    """Return the claims that have a verdict in the order in which the video makes them."""
    by_claim = {verdict.claim_id: verdict for verdict in verdicts}
    in_time = sorted(claims, key=lambda claim: (claim.start_seconds or 0.0, claim.rank))
    return [(each, by_claim[each.claim_id]) for each in in_time if each.claim_id in by_claim]


def _decisive(claim: Claim, evidence: Sequence[Evidence]) -> str:
    """Link the most reliable sources that say something definite of a claim."""
    definite = [
        each
        for each in evidence
        if each.claim_id == claim.claim_id and each.stance not in {None, "unclear"}
    ]
    best = sorted(definite, key=lambda each: (-each.rating_score, each.domain))
    links = (_link(each.domain, each.canonical_url, 60) for each in best)
    return ", ".join(list(dict.fromkeys(links))[:_SOURCES]) or "–"


def _link(words: str, url: str, limit: int) -> str:
    return f"[{cell(words, limit)}](<{link_target(url)}>)"


def link_target(url: str) -> str:
    """Keep a URL inside the brackets of a Markdown link."""
    return url.replace("<", "%3C").replace(">", "%3E").replace("|", "%7C").replace("\n", "")
