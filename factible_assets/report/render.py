"""The page: records in, one self-contained HTML document out.

What belongs here: the template engine, its filters, and the content security policy. What does not:
what is shown (view.py) and where it is written (the caller).

Everything that a report shows can be hostile: titles, transcripts, pages, URLs. Three independent
walls stand between it and the reader: every value is escaped by the template engine, links are made
only from URLs that `safe_url` let through, and the document's policy allows no script at all, no
request, and no style sheet but the one whose hash it names.
"""

from __future__ import annotations

import base64
import hashlib
import re
from datetime import date, datetime
from functools import cache
from importlib.resources import files

import jinja2

import factible_assets
from factible_assets.presentation import clock
from factible_assets.report.data import ReportData
from factible_assets.report.view import arrange, plural

_TEMPLATE = "report.html.jinja"
_STYLE = "report.css"
# Not characters of a document (HTML standard, section 13.1.4): a parser replaces or drops them.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def render_report(data: ReportData) -> str:
    """Return the report of one video as an HTML document, encodable as UTF-8."""
    style = _style()
    html = (
        _environment()
        .get_template(_TEMPLATE)
        .render(
            report=arrange(data),
            style=style,
            policy=_policy(style),
            version=factible_assets.__version__,
        )
    )
    return _UNPRINTABLE.sub("\ufffd", html.lstrip()) + "\n"


def _policy(style: str) -> str:
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode("ascii")
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


@cache
def _style() -> str:
    return files(__package__).joinpath(_STYLE).read_text("utf-8")


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("factible_assets.report", package_path=""),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(clock=clock, day=_day, moment=_moment)
    environment.globals.update(plural=plural)
    return environment


def _day(value: date) -> str:
    return f"{value.day} {value:%B} {value.year}"


def _moment(value: datetime) -> str:
    return f"{_day(value)}, {value:%H:%M} {value.tzname() or ''}".rstrip()
