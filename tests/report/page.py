"""A rendered report, parsed as a browser would, and asked what a reader can see or run in it."""

from __future__ import annotations

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
        "script",
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
    }
)


class Page:
    """The element tree of one report."""

    def __init__(self, data: ReportData) -> None:
        self.source = render_report(data)
        self.root = _html.document_fromstring(self.source)

    def text(self, path: str = "//body") -> str:
        """Return the text under the first element of an XPath, white space folded."""
        return " ".join(self.root.xpath(path)[0].text_content().split())

    def all(self, path: str) -> list[Any]:
        """Return what an XPath finds."""
        return list(self.root.xpath(path))

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
        if len(self.all("//style")) != 1:
            found.append("a second style sheet")
        if len(self.all("//meta[@http-equiv]")) != 1:
            found.append("a second http-equiv")
        return found
