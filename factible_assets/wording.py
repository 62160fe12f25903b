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
from urllib.parse import urlsplit

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

_Row = TypeVar("_Row")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+!|~<>])")
_YOUTUBE_ID = re.compile(r"[A-Za-z0-9_-]{11}")
_YOUTUBE_HOSTS = ("youtube.com", "youtu.be", "youtube-nocookie.com")

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


def youtube_id(video: Video) -> str | None:
    """Return the id under which YouTube plays a video, None if it is not known to be there."""
    try:
        host = urlsplit(video.url or "https://youtu.be").hostname or ""
    except ValueError:
        return None
    is_there = any(host == name or host.endswith(f".{name}") for name in _YOUTUBE_HOSTS)
    return video.video_id if is_there and _YOUTUBE_ID.fullmatch(video.video_id) else None


def moment_url(video: Video, seconds: float | None) -> str | None:
    """Return the link to a second of the video, None where it is not known to be on YouTube."""
    if seconds is None or youtube_id(video) is None:
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


def _laid_out(rows: Iterable[_Row], columns: Mapping[str, Callable[[_Row], str]]) -> str:
    """Lay out rows as a table by what makes the cells of each column."""
    return table(list(columns), ([make(row) for make in columns.values()] for row in rows))


def claims_table(video: Video, claims: Sequence[Claim]) -> str:
    """Return a video's claims in order of importance."""
    columns: dict[str, Callable[[Claim], str]] = {
        "#": lambda claim: str(claim.rank),
        "at": lambda claim: moment(video, claim),
        "claim": lambda claim: cell(claim.text),
        "importance": lambda claim: f"{claim.importance:.2f}",
        "category": lambda claim: cell(claim.category or "–"),
    }
    return _laid_out(claims, columns)


def queries_table(claims: Sequence[Claim], queries: Sequence[Query]) -> str:
    """Return the queries of each claim in the order in which they are asked."""
    rank = _ranks(claims)
    columns: dict[str, Callable[[Query], str]] = {
        "claim": lambda query: str(rank(query) or "–"),
        "query": lambda query: cell(query.text or "–"),
        "type": lambda query: query.query_type + " (opposite)" * query.seeks_opposite,
        "priority": lambda query: str(query.priority),
        "outcome": lambda query: cell(query.reason or query.status),
    }
    return _laid_out(sorted(queries, key=lambda query: (rank(query), query.rank)), columns)


def ratings_table(ratings: Sequence[ReliabilityRating]) -> str:
    """Return the rated domains, most reliable first."""
    columns: dict[str, Callable[[ReliabilityRating], str]] = {
        "domain": lambda rating: cell(rating.domain),
        "rating": lambda rating: rating.rating.replace("_", " "),
        "score": lambda rating: f"{rating.score:.2f}",
        "class": lambda rating: rating.source_class.replace("_", "-"),
        "why": lambda rating: cell("; ".join(rating.reasons)),
    }
    return _laid_out(sorted(ratings, key=lambda each: (-each.score, each.domain)), columns)


def evidence_table(claims: Sequence[Claim], evidence: Sequence[Evidence]) -> str:
    """Return what was read for each claim, with links to the sources."""
    rank = _ranks(claims)
    columns: dict[str, Callable[[Evidence], str]] = {
        "claim": lambda row: str(rank(row) or "–"),
        "stance": lambda row: row.stance or "–",
        "source": lambda row: _link(row.title or row.domain, row.canonical_url, 80),
        "rating": lambda row: row.rating.replace("_", " "),
        "quote": lambda row: cell(row.quote or "–", 200),
    }
    return _laid_out(sorted(evidence, key=lambda row: (rank(row), -row.rating_score)), columns)


def prior_fact_checks_table(claims: Sequence[Claim], rows: Sequence[PriorFactCheck]) -> str:
    """Return the reviews that belong to each claim, with links to them."""
    rank = _ranks(claims)
    columns: dict[str, Callable[[PriorFactCheck], str]] = {
        "claim": lambda row: str(rank(row) or "–"),
        "reviewed": lambda row: _link(
            row.claim_reviewed or row.title or "–", row.canonical_url or "", 150
        ),
        "rating": lambda row: cell(row.textual_rating or "–", 80),
        "by": lambda row: cell(row.publisher or row.domain or "–", 80),
        "on": lambda row: str(row.reviewed_on or "–"),
        "similarity": lambda row: f"{row.similarity or 0:.2f}",
    }
    kept = [row for row in rows if row.status == "ok"]
    return _laid_out(sorted(kept, key=lambda row: (rank(row), row.rank)), columns)


def _ranks(claims: Sequence[Claim]) -> Callable[[Query | Evidence | PriorFactCheck], int]:
    """Return what tells the rank of a row's claim, from 1; 0 where it is of none of them."""
    ranks = {claim.claim_id: claim.rank for claim in claims}
    return lambda row: ranks.get(row.claim_id, 0)


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
    columns: dict[str, Callable[[tuple[Claim, Verdict]], str]] = {
        "at": lambda each: moment(video, each[0]),
        "claim": lambda each: cell(each[0].text),
        "verdict": lambda each: f"**{verdict_words(each[1])}**",
        "confidence": lambda each: each[1].confidence or "–",
        "for : against": lambda each: f"{each[1].supporting} : {each[1].refuting}",
        "why": lambda each: cell(each[1].summary, _WHY_CHARACTERS),
    }
    if evidence:
        columns["sources"] = lambda each: _decisive(each[0], evidence)
    return _laid_out(_in_time(claims, verdicts), columns)


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
