"""The pages: records in, one self-contained HTML document out.

What belongs here: the template engine, its filters, and the content security policy. What does not:
what is shown (view.py, index_view.py) and where it is written (writing.py).

Everything that a report shows can be hostile: titles, transcripts, pages, URLs. Four independent
walls stand between it and the reader: every value is escaped by the template engine; links are made
only from URLs that `safe_url` let through; the document's policy allows one script and one style
sheet, by their hashes, no request, and no frame but YouTube's player; and the script reads nothing
but numbers and fixed names, which the policy holds it to (no markup may be made from text).
"""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

import jinja2
from markupsafe import Markup

import factible_assets
from factible_assets.report.data import IndexData, ReportData
from factible_assets.report.index_view import arrange_index, packed
from factible_assets.report.links import PLAYER_ORIGIN
from factible_assets.report.view import ReportView, arrange
from factible_assets.report.words import (
    GLYPHS,
    OUTCOME_WORDS,
    day,
    dollars,
    moment,
    outcome_words,
    plural,
)
from factible_assets.wording import clock

VIDEOS_PER_PAGE = 50
"""Rows of one page of the index, which are complete where no script runs."""

# Not characters of a document (HTML standard, section 13.1.4): a parser replaces or drops them.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def render_report(data: ReportData, *, index: str | None = None) -> str:
    """Return the report of one video as an HTML document, encodable as UTF-8.

    Args:
        data: The records of the video.
        index: The relative address of the index, if the report stands beside one.
    """
    view = arrange(data)
    frames = PLAYER_ORIGIN if view.youtube_id else None
    return _page("report", frames=frames, report=view, index=index, verdict_of=_verdict_of(view))


def render_index(data: IndexData, hrefs: Mapping[str, str], pages: Sequence[str] = ()) -> list[str]:
    """Return the index of all videos as HTML documents, encodable as UTF-8, one per page.

    The first page alone can filter and sort: it holds the rows of all videos and claims.

    Args:
        data: The videos.
        hrefs: The relative address of each report that is written, by video.
        pages: The relative address of each page; of as many as there are (see `page_count`).
    """
    view = arrange_index(data, hrefs)
    return [
        _page(
            "index",
            frames=None,
            index=view,
            rows=view.rows[number * VIDEOS_PER_PAGE : (number + 1) * VIDEOS_PER_PAGE],
            packed=packed(view) if number == 0 else None,
            pages=pages,
            page=number + 1,
        )
        for number in range(page_count(data))
    ]


def page_count(data: IndexData) -> int:
    """Return how many pages an index has; at least one."""
    return max(1, math.ceil(len(data.videos) / VIDEOS_PER_PAGE))


def _verdict_of(view: ReportView) -> str:
    """Say in one phrase who judged."""
    judges = []
    if "embedded" in view.bases:
        judges.append("the embedded engine (an automatic leaning)")
    if "llm" in view.bases:
        judges.append("a language model")
    return " and ".join(judges) or "nobody yet"


def _page(name: str, *, frames: str | None, **values: object) -> str:
    style, script = _text("shared.css", f"{name}.css"), _text("shared.js", f"{name}.js")
    html = (
        _environment()
        .get_template(f"{name}.html.jinja")
        .render(
            **values,
            # Both are files of this package, not text from outside.
            style=Markup(style),  # noqa: S704
            script=Markup(script),  # noqa: S704
            policy=_policy(style, script, frames),
            version=factible_assets.__version__,
        )
    )
    return _UNPRINTABLE.sub("\ufffd", html.lstrip()) + "\n"


def _policy(style: str, script: str, frames: str | None) -> str:
    frame_source = frames or "'none'"
    rules = [
        "default-src 'none'",
        f"script-src {_hash_source(script)}",
        f"style-src {_hash_source(style)}",
        f"frame-src {frame_source}",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ]
    return "; ".join(rules)


def _hash_source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}'"


@cache
def _text(*names: str) -> str:
    folder = files(__package__)
    return "".join(folder.joinpath(name).read_text("utf-8") for name in names)


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("factible_assets.report", package_path=""),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(clock=clock, day=day, moment=moment, dollars=dollars)
    environment.globals.update(
        plural=plural, outcome_words=outcome_words, glyphs=GLYPHS, words_of=OUTCOME_WORDS
    )
    return environment
