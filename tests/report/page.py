"""A rendered page, parsed as a browser does, for questions about its content."""

from __future__ import annotations

import base64
import hashlib
import importlib
from typing import Any

from factible_assets.report.data import ReportData
from factible_assets.report.render import render_report

_html: Any = importlib.import_module("lxml.html")
_LINK_ATTRIBUTES = frozenset(
    {
        "href",
        "src",
        "srcset",
        "action",
        "formaction",
        "data",
        "cite",
        "poster",
        "background",
        "ping",
    }
)
_ACTIVE = frozenset(
    {
        "iframe",
        "object",
        "embed",
        "img",
        "form",
        "link",
        "base",
        "audio",
        "video",
        "frame",
        "template",
        "use",
    }
)


def hash_source(text: str) -> str:
    """Return the name of a text in a content security policy."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


class Page:
    """The element tree of one page; of a report, if it is given records."""

    def __init__(self, page: ReportData | str) -> None:
        self.source = page if isinstance(page, str) else render_report(page)[0]
        self.root = _html.document_fromstring(self.source)

    def text(self, path: str = "//body") -> str:
        """Return the text under the first element of an XPath, white space folded."""
        return " ".join(self.root.xpath(path)[0].text_content().split())

    def all(self, path: str) -> list[Any]:
        """Return the results of an XPath."""
        return list(self.root.xpath(path))

    @property
    def policy(self) -> str:
        """The document's content security policy."""
        return str(self.all("//meta[@http-equiv='Content-Security-Policy']")[0].get("content"))

    def links(self) -> list[str]:
        """Return every address that an element carries."""
        return [
            value
            for element in self.root.iter()
            if isinstance(element.tag, str)
            for name, value in element.attrib.items()
            if name in _LINK_ATTRIBUTES
        ]

    def dangers(self) -> list[str]:
        """Name every element, attribute and address that could run or fetch something."""
        found: list[str] = []
        for element in self.root.iter():
            if not isinstance(element.tag, str):
                continue
            if element.tag in _ACTIVE:
                found.append(f"<{element.tag}>")
            found += [
                f"{element.tag} {name}={value}"
                for name, value in element.attrib.items()
                if name.startswith("on") or name in {"style", "srcdoc"}
            ]
        found += [
            f"link {link}"
            for link in self.links()
            if not link.startswith(("http://", "https://", "#"))
        ]
        for tag in ("style", "script"):
            elements = self.all(f"//{tag}")
            if len(elements) != 1 or elements[0].attrib:
                found.append(f"not one plain <{tag}>")
            elif f"{tag}-src {hash_source(elements[0].text)};" not in self.policy:
                found.append(f"a {tag} that the policy does not name")
        if len(self.all("//meta[@http-equiv]")) != 1:
            found.append("a second http-equiv")
        return found
