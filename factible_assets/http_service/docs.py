"""The API described as a page, without a script and without a request to anybody.

What belongs here: the page of `/docs` and the policy that it is shown under. What does not: the
description itself, which FastAPI makes of the routes (app.py).
"""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

_STYLE = """
body { margin: 0 auto; max-width: 52rem; padding: 1.5rem; font: 1rem/1.55 system-ui, sans-serif;
  background: light-dark(#f7f8f7, #14171a); color: light-dark(#1b2126, #e4e5e2);
  overflow-wrap: anywhere; }
a { color: light-dark(#0a5482, #86c2e8); }
h2 { margin: 2rem 0 .3rem; font-size: 1.1rem; }
dt { margin-top: .5rem; }
dd { margin-left: 1.2rem; }
pre { overflow-x: auto; padding: 1rem; background: light-dark(#ffffff, #1b1f23); }
"""


def docs_page(api: dict[str, Any]) -> tuple[str, str]:
    """Return the page that shows an OpenAPI description, and its content policy."""
    here = files(__package__)
    engine = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    page = engine.from_string(here.joinpath("docs.html.jinja").read_text("utf-8")).render(
        api=api,
        style=Markup(_STYLE),  # noqa: S704 - from above
        example=here.joinpath("client_example.py").read_text("utf-8"),
    )
    style = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{style}'; frame-ancestors 'none'"
    return page.lstrip(), policy
