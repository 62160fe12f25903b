"""Removes from a page the text that its readers do not see, and struck text, which it retracts.

Elements hide text by their kind, by an attribute, by an inline style, or by the browser's mark.
Style sheets belong to the site itself, which has no need to hide its words.
"""

from __future__ import annotations

import re
from typing import Final

import lxml.html

UNSEEN_MARK: Final = "data-unseen"
"""Set by the browser: empty on an invisible element, `text` on an element whose own text has the
colour of its background."""
_UNSEEN = " | ".join(
    (
        "//template | //noscript | //noembed | //noframes | //object | //video | //audio",
        "//canvas | //datalist | //option | //textarea | //progress | //meter | //marquee",
        "//s | //del | //strike | //dialog[not(@open)] | //*[@popover]",
        # The page below an open dialog has aria-hidden too.
        "//*[@aria-hidden = 'true' and not(.//main or .//article or .//h1)]",
        "//details[not(@open)]/*[not(self::summary)]",
        "//*[@hidden and @hidden != 'until-found']",
        f"//*[@{UNSEEN_MARK} = '']",
    )
)
# Sites hide these until their scripts have run.
_NEVER_HIDDEN = frozenset({"html", "body", "main"})
_MAX_STYLE, _MAX_VALUE = 2_000, 200
"""Characters of an inline style, and of one value, that count."""
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_ZERO = r"\+?(?:0+\.?0*|\.0+|\d\.?\d*e-\d+)(?:px|pt|r?em|%)?"
_AWAY = r"-\d{3,}(?:\.\d*)?(?:px|pt)|-\d{2,}(?:\.\d*)?(?:r?em|ch|cm|v[wh]|%)|\d{4,}px|\d{3,}v[wh]"
_HIDING = {
    name: re.compile(pattern)
    for names, pattern in {
        "display": r"none|table-col.*|var\(.*",
        "visibility": "hidden|collapse",
        "opacity": rf"-.*|{_ZERO}|0?\.0\d*|[0-5]%",
        "color -webkit-text-fill-color": r"transparent|rgba\([^)]*[, ]0?\.?0\d*\)",
        "font-size": rf"{_ZERO}|[0-4](?:\.\d+)?p[xt]|0?\.[0-2]\d*r?em",
        "z-index": r"-\d.*",
        "font": r"0[/ a-z%].*",
        "letter-spacing": r"-(?:\d\d|[6-9]).*|-(?:[1-9]\d*|0?\.[4-9]\d*)r?em",
        "text-indent margin margin-left margin-top padding-left": rf"(?:.* )?(?:{_AWAY})(?: .*)?",
        "text-decoration text-decoration-line": ".*line-through.*",
    }.items()
    for name in names.split()
}
_DISTORTING_TEXT = """
clip clip-path mask mask-image -webkit-mask -webkit-mask-image transform translate rotate scale zoom
filter content content-visibility -webkit-text-security
"""
_DISTORTING = frozenset(_DISTORTING_TEXT.split())
"""Properties that cut, move, shrink or blur. Readable passages do not need them."""
_NO_EFFECT = frozenset(
    {"", "none", "normal", "auto", "visible", "initial", "inherit", "unset", "1"}
)
_SIDES = re.compile(rf"(?:.* )?(?:{_AWAY}|(?:calc|min|max)\(.*)(?: .*)?")
_CUT = re.compile("hidden|clip|scroll|paint|strict")
_TINY = re.compile(rf"{_ZERO}|[12]px")


def drop_hidden(tree: lxml.html.HtmlElement) -> None:
    for template in tree.xpath("//template[@shadowrootmode]"):
        template.tag = "div"  # browsers draw it inside its host
    hidden = [element for element in tree.xpath("//*[@style]") if _hides(element.get("style", ""))]
    for element in [*hidden, *tree.xpath(_UNSEEN)]:
        if element.tag not in _NEVER_HIDDEN and element.getparent() is not None:
            element.drop_tree()
    for element in tree.xpath(f"//*[@{UNSEEN_MARK} = 'text'] | //details[not(@open)]"):
        element.text = None
        for child in element:
            child.tail = None
    # The rest is visible. Trafilatura would drop elements with `overflow: hidden`.
    for element in tree.xpath("//*[@style or @aria-hidden]"):
        for name in ("style", "aria-hidden"):
            element.attrib.pop(name, None)


def _hides(style: str) -> bool:
    declared: dict[str, str] = {}
    for declaration in _COMMENT.sub("", style[:_MAX_STYLE]).lower().split(";"):
        name, _, value = declaration.partition(":")
        declared[name.strip()] = " ".join(value.partition("!")[0].split())[:_MAX_VALUE]
    cut = " ".join(declared.get(name, "") for name in ("overflow", "overflow-y", "contain"))
    sizes = (declared[name] for name in declared if name.endswith(("height", "width", "-size")))
    sides = (declared.get(name, "") for name in ("left", "right", "top", "bottom", "inset"))
    return (
        any(name in declared and each.fullmatch(declared[name]) for name, each in _HIDING.items())
        or any(declared[name] not in _NO_EFFECT for name in _DISTORTING & declared.keys())
        or (_CUT.search(cut) is not None and any(map(_TINY.fullmatch, sizes)))
        or any(map(_SIDES.fullmatch, sides))
    )
