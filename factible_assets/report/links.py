"""Where a reader of a report may be sent.

What belongs here: which addresses are safe to link, the link to a quote in its page, the player.
What does not: markup, the link to a second of a video (wording.py).
"""

from __future__ import annotations

import re
from urllib.parse import quote as percent_encoded
from urllib.parse import urlsplit

from factible_assets.rows import VideoRows

PLAYER_ORIGIN = "https://www.youtube-nocookie.com"
"""YouTube's host for embedded videos that sets no cookie before the video is played."""

_LINKABLE = re.compile(r"https?://[^\s\x00-\x20\x7f-\x9f\"'<>\\^`{|}]+", re.IGNORECASE)
_MAX_URL_LENGTH = 4096
_EXACT_WORDS = 12
_EDGE_WORDS = 5


def safe_url(url: str | None) -> str | None:
    """Return `url` if a reader may be sent there, else None: http or https, a host, no user name.

    A user name is refused because it makes one host look like another.
    """
    if url is None or len(url) > _MAX_URL_LENGTH or not _LINKABLE.fullmatch(url):
        return None
    try:
        parts = urlsplit(url)
        has_user = "@" in parts.netloc
    except ValueError:
        return None
    return url if parts.hostname and not has_user else None


def quote_url(url: str | None, quote: str) -> str | None:
    """Return a safe URL with a text fragment, so that browsers open the page at the quote.

    A short quote on one line is named whole, a longer one by its first and last words, for what
    is named whole must stand in one block of the page. A browser that does not know text
    fragments opens the page as ever.

    Source: https://wicg.github.io/scroll-to-text-fragment/, section 3.3 (syntax).
    """
    words = quote.split()
    if url is None or not words:
        return url
    is_one_block = "\n" not in quote.strip() and len(words) <= _EXACT_WORDS
    if is_one_block:
        wanted = _fragment_term(words)
    else:
        edge = min(_EDGE_WORDS, max(1, len(words) // 2))
        wanted = f"{_fragment_term(words[:edge])},{_fragment_term(words[-edge:])}"
    separator = "" if "#" in url else "#"
    found = f"{url}{separator}:~:text={wanted}"
    return found if len(found) <= _MAX_URL_LENGTH else url


def _fragment_term(words: list[str]) -> str:
    # A dash, a comma and an ampersand are syntax of the directive; quote() leaves the dash.
    return percent_encoded(" ".join(words), safe="", errors="replace").replace("-", "%2D")


def source_links(rows: VideoRows) -> dict[str, str | None]:
    """Return by evidence id the address at which a source was read, None if none may be linked.

    That is where its page was in the end, if that is its own site; else where a search found it. A
    canonical URL is an identity, and not every site answers to it: it comes last.
    """
    pages = {page.page_id: page.final_url for page in rows.pages}
    hits = {hit.hit_id: hit.url for hit in rows.hits}
    links = {}
    for row in rows.evidence:
        final = safe_url(pages.get(row.page_id or ""))
        host = (urlsplit(final).hostname or "") if final else ""
        is_own = host == row.domain or host.endswith(f".{row.domain}")
        found = safe_url(hits.get(row.hit_id)) or safe_url(row.canonical_url)
        links[row.evidence_id] = final if final and is_own else found
    return links
