"""Words for people: how times, sums and verdicts are said, and tables that the Dagster UI shows.

What belongs here: words that more than one room says, Markdown made from records (its tables stand
in wording.md.jinja), and links to the second of a video. What does not: the HTML report (report/),
terminal output (cli/), Dagster's own types.

Claims, titles and summaries are hostile text. In Markdown every cell is escaped, so that a title
can neither break a table nor smuggle in a link or markup; `plain` keeps controls from terminals.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote, urlsplit

from factible_assets.stances import STANCES, Stance
from resources.transcripts.youtube_ids import NotAVideoLinkError, video_id_of, watch_url

if TYPE_CHECKING:
    from datetime import date, datetime

    import jinja2

    from factible_assets import records

_Row = TypeVar("_Row", "records.Evidence", "records.PriorFactCheck", "records.Query")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+!|~<>])")
_UNSHOWN = re.compile("[\\s\0-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]+")
"""Space, and what moves a terminal's cursor or turns text round."""

STANCE_WORDS: Mapping[str, str] = {name: each.word for name, each in STANCES.items()}
"""How a verdict's stance is said of its claim."""

UNJUDGED, INCOMPLETE = "unjudged", "incomplete"
OUTCOME_WORDS: Mapping[str, str] = {
    **STANCE_WORDS,
    INCOMPLETE: "incomplete",
    UNJUDGED: "not judged yet",
}
"""Every outcome that a claim can have, in the order of the summaries."""

GLYPHS: Mapping[str, str] = {
    **{name: each.glyph for name, each in STANCES.items()},
    INCOMPLETE: "!",
    UNJUDGED: "·",
}
"""A mark beside each outcome's colour, for eyes and paper that do not tell the colours apart."""

GROUP_WORDS: Mapping[Stance, str] = {name: each.heading for name, each in STANCES.items()}

VIA_WORDS: Mapping[records.RetrievedVia, str] = {
    "scraped": "page text",
    "browser": "page text, by browser",
    "pdf": "PDF text",
    "archive": "archived copy",
    "snippet": "search snippet only",
}

WAITING = "Another check of this video is going on; this one waits for it. Ctrl-C gives up."

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


def claims_words(shown: int, left_out: int) -> str:
    """Say how many claims were found, and how many of them are checked if that is not all."""
    if not left_out:
        return f"claims found: {shown}"
    return f"claims found: {shown} of {shown + left_out} shown; --max-claims shows more"


def dollars(usd: float) -> str:
    """Say a sum in US dollars, small ones with the digits that they need."""
    return f"${usd:,.2f}" if usd >= _WHOLE_CENTS or usd == 0 else f"${usd:.4f}"


def number(value: float | None, unknown: str = "–") -> str:
    """Say a figure with three decimals, thousands without; what is unknown is never a zero."""
    if value is None:
        return unknown
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.3f}"  # noqa: PLR2004


def in_bytes(size: float) -> str:
    """Say a size in the unit that suits it."""
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:  # noqa: PLR2004 - of bytes, KiB and MiB
            return f"{size:,.0f} {unit}"
        size /= 1024
    return f"{size:,.1f} GiB"


def web_address(host: str, port: int) -> str:
    """Return the address to open; what listens everywhere is opened on this machine."""
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


def day(value: date) -> str:
    """Say a day as 4 March 2025."""
    return f"{value.day} {value:%B} {value.year}"


def day_and_time(value: datetime) -> str:
    """Say a time as 4 March 2025, 13:05 UTC."""
    return f"{day(value)}, {value:%H:%M} {value.tzname() or ''}".rstrip()


def rating_words(rating: records.Rating) -> str:
    """Say how reliable a source is held to be."""
    if rating == "unknown":
        return "reliability unknown"
    return f"{rating.replace('_', ' ')} reliability"


def publisher(row: records.Evidence) -> str:
    """Name who says so: the domain, or the file if somebody gave one without an address."""
    if not row.domain.endswith(".invalid"):  # no domain, by RFC 2606
        return row.domain
    folder, _, file = unquote(urlsplit(row.canonical_url).path.lstrip("/")).partition("/")
    # The folder's name is followed by what tells it from others of that name.
    return f"{folder.rpartition('-')[0] or folder}/{file}" if file else folder


def source_words(row: records.Evidence) -> str:
    """Say what a source is worth, such as: high reliability, government, search snippet only."""
    kind = "" if row.source_class == "unknown" else f", {row.source_class.replace('_', ' ')}"
    how = f", {VIA_WORDS['snippet']}" if row.via == "snippet" else ""
    return f"{rating_words(row.rating)}{kind}{how}"


def act_words(
    kind: records.ReviewKind, target: str | None, value: str | None, query: str | None
) -> str:
    """Say what a reviewer did, after their name, in hostile text; `query` are the words of one."""
    before, given = f"“{query}”" if query else "a query", value or ""
    words: dict[records.ReviewKind, str] = {
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


def youtube_id(video: records.Video) -> str | None:
    """Return the id under which YouTube plays a video, None if it is not known to be there."""
    try:
        found = video_id_of(video.url or video.video_id)
    except NotAVideoLinkError:
        return None
    return found if found == video.video_id else None


def moment_url(video: records.Video, seconds: float | None) -> str | None:
    """Return the link to a second of the video, None where it is not known to be on YouTube."""
    if seconds is None or youtube_id(video) is None:
        return None
    return f"{watch_url(video.video_id)}&t={int(seconds)}s"


def cell(text: str, limit: int = 300) -> str:
    """Escape hostile text for one cell of a Markdown table, shortened to `limit` characters."""
    short = _cut(_UNSHOWN.sub(" ", text).strip(), limit)
    return _MARKDOWN.sub(r"\\\1", html.escape(short, quote=False)).replace("\\&", "&")


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lay out cells, already escaped, as a Markdown table."""
    lines = [f"| {' | '.join(headings)} |", f"|{'---|' * len(headings)}"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines)


def moment(video: records.Video, claim: records.Claim) -> str:
    """Return the claim's time as a Markdown link where the video can be linked."""
    url = moment_url(video, claim.start_seconds)
    words = clock(claim.start_seconds)
    return f"[{words}]({url})" if url else words


def rows_table(name: str, **values: Any) -> str:
    """Lay out rows as a table in Markdown, by the name that it has in wording.md.jinja."""
    macros: Any = markdown("factible_assets", "wording.md.jinja").module
    return str(getattr(macros, name)(**values)).strip()


@cache
def markdown(package: str, name: str) -> jinja2.Template:
    """Return a template of Markdown; hostile text passes its filter `cell`."""
    import jinja2  # noqa: PLC0415 - for those who show tables, not for every command

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
        group_words=GROUP_WORDS,
        by_claim=_by_claim,
        in_time=_in_time,
    )
    return engine.get_template(name)


def _by_claim(
    claims: Iterable[records.Claim], rows: Iterable[_Row]
) -> list[tuple[int | str, _Row]]:
    """Return rows with the rank of their claim, which is a dash where it is of none of them."""
    ranks = {claim.claim_id: claim.rank for claim in claims}
    ordered = sorted(rows, key=lambda row: ranks.get(row.claim_id, 0))
    return [(ranks.get(row.claim_id) or "–", row) for row in ordered]


def _in_time(
    claims: Iterable[records.Claim], verdicts: Iterable[records.Verdict]
) -> list[tuple[records.Claim, records.Verdict]]:
    """Return the claims that have a verdict in the order in which the video makes them."""
    by_claim = {verdict.claim_id: verdict for verdict in verdicts}
    in_time = sorted(claims, key=lambda claim: claim.place_in_time)
    return [(each, by_claim[each.claim_id]) for each in in_time if each.claim_id in by_claim]


def outcome_words(outcome: str, basis: records.Basis | None) -> str:
    """Say an outcome, as a leaning where the embedded engine took a side."""
    words = OUTCOME_WORDS[outcome]
    takes_side = outcome in STANCE_WORDS and outcome != "unclear"
    return f"leaning {words}" if basis in {"embedded", "labels"} and takes_side else words


def sureness(verdict: records.Verdict) -> records.Confidence | None:
    """Return how sure a verdict is; one that takes no side has nothing to be sure of."""
    return verdict.confidence if verdict.stance != "unclear" else None


def verdict_words(verdict: records.Verdict) -> str:
    """Say a verdict in two or three words, with its level where it was reached on six."""
    words = outcome_words(verdict.stance or INCOMPLETE, verdict.basis)
    return f"{words} ({verdict.veracity.replace('-', ' ')})" if verdict.veracity else words


def balance_words(verdict: records.Verdict) -> str:
    """Say how many sources are for and against, and, where some are, how many say both."""
    both = f" ({verdict.mixed} both)" if verdict.mixed else ""
    return f"{verdict.supporting} : {verdict.refuting}{both}"


def _link(words: str, url: str, limit: int) -> str:
    """Return a link in Markdown; a hostile URL stays inside its brackets."""
    target = url.replace("<", "%3C").replace(">", "%3E").replace("|", "%7C").replace("\n", "")
    return f"[{cell(words, limit)}](<{target}>)"
