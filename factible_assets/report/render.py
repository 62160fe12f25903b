"""The pages: records in, one self-contained HTML document out, or claims as Markdown.

What belongs here: the template engine, its filters, and the content security policy. What does not:
what is shown (view.py) and where it is written (writing.py).

Everything that a report shows can be hostile: titles, transcripts, pages, URLs. Four independent
walls stand between it and the reader: every value is escaped by the template engine; links are made
only from URLs that `safe_url` let through; the document's policy allows one script and one style
sheet, by their hashes, no request, and no frame but YouTube's player; and the script reads nothing
but numbers and fixed names, which the policy holds it to (no markup may be made from text).
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from typing import Any

import jinja2
from markupsafe import Markup

import factible_assets
from factible_assets import wording
from factible_assets.report.data import ReportData, safe_url
from factible_assets.report.view import PART_OF, ReportView, arrange

PLAYER_ORIGIN = "https://www.youtube-nocookie.com"
"""YouTube's host for embedded videos that sets no cookie before the video is played."""

# Not characters of a document (HTML standard, section 13.1.4): a parser replaces or drops them.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def render_report(data: ReportData, *, index: str | None = None) -> tuple[str, str]:
    """Return the report of one video as an HTML document, encodable as UTF-8, and its policy.

    `index` is the relative address of the index, if the report stands beside one.
    """
    values = report_values(arrange(data), index=index)
    names = ("shared.css", "report.css"), ("shared.js", "report.js")
    return document(environment(), "report.html.jinja", *names, **values)


def claims_as_markdown(data: ReportData, only: str | None = None) -> str:
    """Return the claims of a checked video in order of time, or the one of an id, as Markdown."""
    claims = [view for view in arrange(data).claims if only in {None, view.claim.claim_id}]
    template = wording.markdown("factible_assets.report", "claims.md.jinja")
    return template.render(data=data, claims=claims).rstrip() + "\n"


def report_values(view: ReportView, **values: Any) -> dict[str, Any]:
    """Return what the template of a report is given.

    A page that shows the report within others sets `tools` (makes the markup that a claim's card
    ends with), `claim_href` (the address of a claim) and `is_open` (whether all of it is shown).
    """
    return {
        "frames": PLAYER_ORIGIN if view.youtube_id else None,
        "report": view,
        "index": None,
        "tools": None,
        "claim_href": lambda each: f"#claim-{each.anchor}",
        "is_open": False,
        **values,
    }


def document(
    engine: jinja2.Environment,
    template: str,
    styles: tuple[str, ...],
    scripts: tuple[str, ...] = (),
    *,
    frames: str | None = None,
    pictures: bool = False,
    sends: bool = False,
    **values: Any,
) -> tuple[str, str]:
    """Return a page and the policy that it is shown under, which stands in it too.

    Style sheets and scripts are files beside the templates; `frames` is the one origin that may be
    framed, with `pictures` the page may show those that it carries, and with `sends` forms and
    scripts may ask the server that the page is from.
    """
    style, script = _text_of(engine, styles), _text_of(engine, scripts)
    none, own = "'none'", "'self'"
    rules = [
        "default-src 'none'",
        f"script-src {_hash_source(script)}",
        f"style-src {_hash_source(style)}",
        f"frame-src {frames or none}",
        *(["img-src data:"] if pictures else []),
        *([f"connect-src {own}"] if sends else []),
        "base-uri 'none'",
        f"form-action {own if sends else none}",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ]
    policy = "; ".join(rules)
    html = engine.get_template(template).render(
        **values,
        # Both are files of this project, not text from outside.
        style=Markup(style),  # noqa: S704
        script=Markup(script),  # noqa: S704
        policy=policy,
        # A page that says nowhere who it is has the origin of its forms hidden too.
        referrer="same-origin" if sends else "no-referrer",
        version=factible_assets.__version__,
    )
    return _UNPRINTABLE.sub("\ufffd", html.lstrip()) + "\n", policy


def _hash_source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}'"


@cache
def _text_of(engine: jinja2.Environment, names: tuple[str, ...]) -> str:
    loader = engine.loader
    return "".join(loader.get_source(engine, name)[0] for name in names) if loader else ""


@cache
def environment(*packages: str) -> jinja2.Environment:
    """Return the template engine with the reports' filters, for templates of other packages too."""
    engine = jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [
                jinja2.PackageLoader(package, package_path="")
                for package in ("factible_assets.report", *packages)
            ]
        ),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    engine.filters.update(
        clock=wording.clock, day=wording.day, moment=wording.day_and_time, dollars=wording.dollars
    )
    engine.globals.update(
        plural=wording.counted,
        outcome_words=wording.outcome_words,
        source_words=wording.source_words,
        publisher=wording.publisher,
        rating_words=wording.rating_words,
        group_words=wording.GROUP_WORDS,
        via_words=wording.VIA_WORDS,
        glyphs=wording.GLYPHS,
        words_of=wording.OUTCOME_WORDS,
        part_of=PART_OF,
        moment_url=wording.moment_url,
        safe_url=safe_url,
    )
    return engine
