"""Renders pages: one self-contained HTML document each, or claims as Markdown.

Titles, transcripts, pages and URLs can be hostile. Four independent defences protect the reader:

- The template engine escapes every value.
- Links are made only from URLs that `safe_url` accepts.
- The document's policy allows one script and one style sheet by their hashes, no other request, and
  no frame but YouTube's player.
- The script reads only numbers and fixed names. The policy forbids it to make markup from text.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from typing import Any

import jinja2
from markupsafe import Markup

from factible_assets import wording
from factible_assets.records.stances import STANCES, with_stances
from factible_assets.report.data import ReportData, safe_url
from factible_assets.report.view import SECTION_OF, ReportView, arrange
from factible_assets.version import VERSION

PLAYER_ORIGIN = "https://www.youtube-nocookie.com"
"""YouTube's host that sets no cookie before the video plays."""

# HTML parsers replace or drop these characters (HTML standard, section 13.1.4).
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def render_report(data: ReportData, *, index: str | None = None) -> tuple[str, str]:
    """Return the report of one video as HTML that UTF-8 can encode, and its policy.

    `index` is the relative address of the index, if there is one beside the report.
    """
    values = report_values(arrange(data), index=index)
    names = ("shared.css", "report.css"), ("shared.js", "report.js")
    return document(environment(), "report.html.jinja", *names, **values)


def claims_as_markdown(data: ReportData, only: str | None = None) -> str:
    """Return the claims of a video as Markdown, in order of time, or `only` the one with an id."""
    claims = [view for view in arrange(data).claims if only in {None, view.claim.claim_id}]
    template = wording.markdown("factible_assets.report", "claims.md.jinja")
    return template.render(data=data, claims=claims).rstrip() + "\n"


def report_values(view: ReportView, **values: Any) -> dict[str, Any]:
    """Return the values for the report's template.

    A page that embeds the report can set `tools` (makes the markup at the end of a claim's card),
    `forms` (the macros that make forms beside a claim and its sources, which are then unfolded) and
    `claim_href` (returns the address of a claim).
    """
    return {
        "frames": PLAYER_ORIGIN if view.youtube_id else None,
        "report": view,
        "index": None,
        "tools": None,
        "claim_href": lambda each: f"#claim-{each.anchor}",
        "forms": None,
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
    """Return a page, and its content security policy, which the page also contains.

    Args:
        engine: Finds the templates, and style sheets and scripts beside them.
        template: The name of the page's template.
        styles: The names of the style sheets.
        scripts: The names of the scripts.
        frames: The one origin that the page may frame.
        pictures: Whether the page may show pictures that it carries.
        sends: Whether forms and scripts may send requests to the page's own server.
        values: The values for the template.
    """
    style, script = with_stances(_text_of(engine, styles)), _text_of(engine, scripts)
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
        # Both come from files of this project, not from outside.
        style=Markup(style),  # noqa: S704
        script=Markup(script),  # noqa: S704
        policy=policy,
        # With no-referrer a browser also hides the origin of forms, which the server checks.
        referrer="same-origin" if sends else "no-referrer",
        version=VERSION,
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
    """Return the template engine with the reports' filters, also for templates of `packages`."""
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
        is_own_page=wording.is_own_page,
        rating_words=wording.rating_words,
        stances=STANCES,
        via_words=wording.VIA_WORDS,
        outcomes=wording.OUTCOMES,
        words_of=wording.OUTCOME_WORDS,
        section_of=SECTION_OF,
        moment_url=wording.moment_url,
        safe_url=safe_url,
    )
    return engine
