"""Formats that several packages print: numbers, times, verdicts, and Markdown tables for Dagster.

Claims, titles and summaries are hostile text. Markdown cells are escaped, so that a title cannot
break a table or add a link. `plain` removes control characters for terminals.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote, urlsplit

from factible_assets.records.stances import DEFINITE, LEANINGS, STANCES
from resources.transcripts.youtube_ids import NotAVideoLinkError, video_id_of, watch_url

if TYPE_CHECKING:
    from datetime import date, datetime

    import jinja2

    from factible_assets.records import tables as records
    from resources.pages.base import Via

_Row = TypeVar("_Row", "records.Evidence", "records.PriorFactCheck", "records.Query")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+!|~<>])")
_UNSHOWN = re.compile("[\\s\0-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]+")
"""Spaces, control characters, and marks that change the direction of text."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """An outcome of a claim as pages show it."""

    words: str
    leaning: str  # The words for a judgement by no large language model
    glyph: str
    light: str | None = None  # The colour on light pages, in hexadecimal
    dark: str | None = None


UNJUDGED, INCOMPLETE = "unjudged", "incomplete"
OUTCOMES: Mapping[str, Outcome] = {
    **{
        name: Outcome(label.word, label.leaning, label.glyph, label.light, label.dark)
        for name, label in STANCES.items()
    },
    INCOMPLETE: Outcome("incomplete", "incomplete", "!"),
    UNJUDGED: Outcome("not judged yet", "not judged yet", "·"),
}
"""Every outcome of a claim, in the order of summaries."""
OUTCOME_WORDS: Mapping[str, str] = {name: outcome.words for name, outcome in OUTCOMES.items()}

VIA_WORDS: Mapping[Via, str] = {
    "scraped": "page text",
    "browser": "page text, by browser",
    "pdf": "PDF text",
    "archive": "archived copy",
    "snippet": "search snippet only",
}

WAITING = "Another check of this video is running. This one waits for it. Ctrl-C gives up."

_WHOLE_CENTS = 10
"""Dollars from which two decimals suffice."""


def plain(text: str, limit: int | None = None) -> str:
    """Return hostile text as one line for a terminal, with spaces for control characters.

    Escape sequences in a title could move the cursor or set the window title.
    """
    flat = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return flat if limit is None else _cut(flat, limit)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


def counted(number: int, noun: str, nouns: str | None = None) -> str:
    return f"{number:,} {noun if number == 1 else nouns or f'{noun}s'}"


def claims_words(shown: int, left_out: int) -> str:
    """Return the number of claims, and how many of them the check covers."""
    if not left_out:
        return f"claims found: {shown}"
    return f"claims found: {shown} of {shown + left_out} shown; --max-claims shows more"


def dollars(usd: float) -> str:
    """Return an amount in US dollars; small ones get four decimals."""
    return f"${usd:,.2f}" if usd >= _WHOLE_CENTS or usd == 0 else f"${usd:.4f}"


def number(value: float | None, unknown: str = "–") -> str:
    """Return a figure with three decimals, thousands with none."""
    if value is None:
        return unknown
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.3f}"  # noqa: PLR2004


def in_bytes(size: float) -> str:
    """Return a size in B, KiB, MiB or GiB."""
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:  # noqa: PLR2004 - of bytes, KiB and MiB
            return f"{size:,.0f} {unit}"
        size /= 1024
    return f"{size:,.1f} GiB"


def web_address(host: str, port: int) -> str:
    """Return the address for a browser on this machine."""
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - nothing is bound
    return f"http://{f'[{name}]' if ':' in name else name}:{port}"


def clock(seconds: float | None) -> str:
    """Return a position in a video as m:ss or h:mm:ss, or a dash."""
    if seconds is None:
        return "–"
    whole = int(seconds)
    hours, rest = divmod(whole, 3600)
    minutes, remaining = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{remaining:02}" if hours else f"{minutes}:{remaining:02}"


def day(value: date) -> str:
    """Return a day as 4 March 2025."""
    return f"{value.day} {value:%B} {value.year}"


def day_and_time(value: datetime) -> str:
    """Return a time as 4 March 2025, 13:05 UTC."""
    return f"{day(value)}, {value:%H:%M} {value.tzname() or ''}".rstrip()


def rating_words(rating: records.Rating) -> str:
    if rating == "unknown":
        return "reliability unknown"
    return f"{rating.replace('_', ' ')} reliability"


def is_own_page(row: records.Evidence) -> bool:
    """Tell whether a source is a page that a person brought, which has no address."""
    return row.domain.endswith(".invalid")  # no domain, by RFC 2606


def publisher(row: records.Evidence) -> str:
    """Return the domain of a source, or the title of a page that a person brought."""
    if not is_own_page(row):
        return row.domain
    return row.title.strip() or unquote(urlsplit(row.canonical_url).path).rpartition("/")[2]


def source_words(row: records.Evidence) -> str:
    """Return rating, class and form, such as: high reliability, government, snippet only."""
    kind = "" if row.source_class == "unknown" else f", {row.source_class.replace('_', ' ')}"
    how = f", {VIA_WORDS['snippet']}" if row.via == "snippet" else ""
    return f"{rating_words(row.rating)}{kind}{how}"


def act_words(
    kind: records.ReviewKind, target: str | None, value: str | None, query: str | None
) -> str:
    """Return a reviewer's action as a predicate, in hostile text; `query` is the query's text."""
    old_query, given = f"“{query}”" if query else "a query", value or ""
    words: dict[records.ReviewKind, str] = {
        "add_query": f"asked another query, “{given}”",
        "edit_query": f"asked “{given}” in place of {old_query}",
        "remove_query": f"removed {old_query}",
        "block_source": f"blocked {target}",
        "unblock_source": f"withdrew the decision on {target}",
        "add_source": f"added the source {given}",
        "overrule_source": f"decided that {target} {_decided(given)}"
        if value
        else f"withdrew the decision on {target}",
        "reword_claim": f"reworded the claim: “{given}”",
        "split_claim": f"split the claim: “{'” and “'.join(given.splitlines())}”",
        "drop_claim": "dropped the claim",
        "restore_claim": "restored the claim",
        "add_claim": f"added the claim “{given}”",
        "assign": f"assigned it to {value or 'nobody'}",
        "note": f"noted on {target}: {given}" if target else f"noted: {given}",
        "assess": f"assessed the claim as {OUTCOME_WORDS.get(given, given)}"
        if value
        else "withdrew an assessment",
        "sign": f"signed: {given}" if value else "withdrew the ruling",
    }
    return words[kind]


def _decided(value: str) -> str:
    """Return the predicate of a source for a reviewer's decision: a stance or a rating."""
    by_stance: dict[str, str] = {name: stance.page for name, stance in STANCES.items()}
    return by_stance.get(value) or f"is of {value.replace('_', ' ')} reliability"


def youtube_id(video: records.Video) -> str | None:
    """Return a video's YouTube id, None if it is not on YouTube."""
    try:
        youtube = video_id_of(video.url or video.video_id)
    except NotAVideoLinkError:
        return None
    return youtube if youtube == video.video_id else None


def moment_url(video: records.Video, seconds: float | None) -> str | None:
    """Return a link to a second of the video, None if it is not on YouTube."""
    if seconds is None or youtube_id(video) is None:
        return None
    return f"{watch_url(video.video_id)}&t={int(seconds)}s"


def cell(text: str, limit: int = 300) -> str:
    """Escape hostile text for one cell of a Markdown table, shortened to `limit` characters."""
    short = _cut(_UNSHOWN.sub(" ", text).strip(), limit)
    return _MARKDOWN.sub(r"\\\1", html.escape(short, quote=False))


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table of escaped cells."""
    lines = [f"| {' | '.join(headings)} |", f"|{'---|' * len(headings)}"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines)


def moment(video: records.Video, claim: records.Claim) -> str:
    """Return the claim's time as a Markdown link where the video can be linked."""
    url = moment_url(video, claim.start_seconds)
    words = clock(claim.start_seconds)
    return f"[{words}]({url})" if url else words


def rows_table(name: str, **values: Any) -> str:
    """Return the Markdown table of this name in wording.md.jinja."""
    macros: Any = markdown("factible_assets", "wording.md.jinja").module
    return str(getattr(macros, name)(**values)).strip()


@cache
def markdown(package: str, name: str) -> jinja2.Template:
    """Return a Markdown template. Hostile text must pass its filter `cell`."""
    import jinja2  # noqa: PLC0415 - most commands show no Markdown

    engine = jinja2.Environment(
        loader=jinja2.PackageLoader(package, ""),
        autoescape=False,  # noqa: S701 - it is Markdown, whose escape is `cell`
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    engine.filters.update(cell=cell, day=day)
    engine.globals.update(
        moment=moment,
        link=_link,
        sureness=sureness,
        verdict_words=verdict_words,
        balance_words=balance_words,
        source_words=source_words,
        publisher=publisher,
        stances=STANCES,
        definite=DEFINITE,
        by_claim=_by_claim,
        in_time=_in_time,
    )
    return engine.get_template(name)


def _by_claim(
    claims: Iterable[records.Claim], rows: Iterable[_Row]
) -> list[tuple[int | str, _Row]]:
    """Return rows with the rank of their claim, or a dash."""
    ranks = {claim.claim_id: claim.rank for claim in claims}
    ordered = sorted(rows, key=lambda row: ranks.get(row.claim_id, 0))
    return [(ranks.get(row.claim_id) or "–", row) for row in ordered]


def _in_time(
    claims: Iterable[records.Claim], verdicts: Iterable[records.Verdict]
) -> list[tuple[records.Claim, records.Verdict]]:
    """Return the claims with a verdict, in the video's order."""
    by_claim = {verdict.claim_id: verdict for verdict in verdicts}
    in_time = sorted(claims, key=lambda claim: claim.place_in_time)
    return [(claim, by_claim[claim.claim_id]) for claim in in_time if claim.claim_id in by_claim]


def outcome_words(outcome: str, basis: records.Basis | None) -> str:
    """Return an outcome; a side of the embedded engine or the labels is a leaning."""
    shown = OUTCOMES[outcome]
    return shown.leaning if basis in LEANINGS else shown.words


def sureness(verdict: records.Verdict) -> records.Confidence | None:
    """Return the confidence of a verdict, None if it takes no side."""
    return verdict.confidence if verdict.stance != "unclear" else None


def verdict_words(verdict: records.Verdict) -> str:
    """Return a verdict in two or three words, with its veracity level if it has one."""
    words = outcome_words(verdict.stance or INCOMPLETE, verdict.basis)
    return f"{words} ({verdict.veracity.replace('-', ' ')})" if verdict.veracity else words


def confidence_words(verdict: records.Verdict) -> str:
    """Return the confidence of a verdict that takes a side, with the score of a language model's.

    The score of an automatic leaning is a precision among similar ones, and looks too sure.
    """
    sure, score = sureness(verdict), verdict.confidence_score
    has_score = sure and score is not None and verdict.basis == "llm"
    return f"{sure} {score:.2f}" if has_score else sure or "–"


def balance_words(verdict: records.Verdict) -> str:
    """Return the number of sources for and against, and of mixed ones."""
    both = f" ({verdict.mixed} both)" if verdict.mixed else ""
    return f"{verdict.supporting} : {verdict.refuting}{both}"


def _link(words: str, url: str, limit: int) -> str:
    """Return a link in Markdown; a hostile URL stays inside its brackets."""
    target = url.replace("<", "%3C").replace(">", "%3E").replace("|", "%7C").replace("\n", "")
    return f"[{cell(words, limit)}](<{target}>)"
