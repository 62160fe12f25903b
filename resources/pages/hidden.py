"""Removes invisible text from a page, and struck text, which the page retracts.

An element is hidden by its kind, by an attribute, by an inline style, or by a mark: if a browser
drew the page, markup.js marked each element that it did not show. Without a browser, style sheets
do not count: they belong to the site itself, which has no need to hide its words.
"""

from __future__ import annotations

import re
from typing import Final

import lxml.html

UNSEEN_MARK: Final = "data-unseen"
"""The mark: empty on an invisible element, `text` on one whose own text is invisible, such as white
on white."""
_UNSEEN_ELEMENTS = " | ".join(
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
_ALMOST_ZERO = r"\+?(?:0+\.?0*|\.0+|\d\.?\d*e-\d+)(?:px|pt|r?em|%)?"
"""Zero, or a number with a negative exponent (1e-9), with or without a unit."""
_FAINT = rf"-.*|{_ALMOST_ZERO}|0?\.0\d*|[0-5](?:\.\d*)?%"
_FAR = (
    r"-(?:999|\d{4,})(?:\.\d*)?p[xt]|-[6-9]\d(?:\.\d*)?r?em|-\d{3,}(?:\.\d*)?(?:[a-oq-z]+|%)"
    # Subtracted, but not halved, as in the usual ways to centre a wide box.
    r"|(?:calc|min|max)\((?!.*/ ?-?2\b).*-.*\b(?:(?:999|\d{4,})px|\d{3,}v[wh]).*"
)
"""Lengths that move a box off the screen to the left or the top: from -999px, -60em or -100%."""
_BEYOND = r"(?:[2-9]\d{3}|\d{5,})(?:\.\d*)?px|\d{3,}(?:\.\d*)?v[wh]"
"""Lengths that move it off to the right, and to the bottom if it cannot be scrolled to."""
_IN_LIST = "(?:.* )?(?:{})(?: .*)?"
_HIDING_VALUES = {
    name: re.compile(pattern)
    for names, pattern in {
        "display": r"none|table-col.*|var\(.*",  # columns draw no text; a variable may be `none`
        "visibility": "hidden|collapse",
        "opacity": _FAINT,
        "color -webkit-text-fill-color": (
            "transparent|#[0-9a-f]{3}0|#[0-9a-f]{6}0[0-9a-f]"
            rf"|[a-z]+\((?:[^,]*,[^,]*,[^,]*,|[^/]*/) ?(?:{_FAINT}) ?\)"
        ),
        "font-size": rf"{_ALMOST_ZERO}|[0-4](?:\.\d+)?p[xt]|0?\.[0-2]\d*r?em",
        "z-index": r"-\d.*",  # behind other elements
        "font": r"0[/ a-z%].*",  # begins with a size of zero
        # The letters lie on each other.
        "letter-spacing": r"-(?:\d\d|[6-9]).*|-(?:[1-9]\d*|0?\.[4-9]\d*)r?em",
        "margin margin-top top inset": _IN_LIST.format(_FAR),
        "text-indent margin-left padding-left left right bottom": _IN_LIST.format(
            f"{_FAR}|{_BEYOND}"
        ),
        "text-decoration text-decoration-line": ".*line-through.*",
    }.items()
    for name in names.split()
}
"""The values of each property that hide the text of an element by themselves."""
_DISTORTING_TEXT = """
clip clip-path mask mask-image -webkit-mask -webkit-mask-image transform translate rotate scale zoom
filter content content-visibility -webkit-text-security
"""
_DISTORTING = frozenset(_DISTORTING_TEXT.split())
"""Properties that cut, move, shrink or blur. Readable passages do not need them."""
_NO_EFFECT = frozenset(
    {"", "none", "normal", "auto", "visible", "initial", "inherit", "unset", "1"}
)
_LENGTH = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:px|r?em|v[wh]|%)?"
_HARMLESS = re.compile(
    rf"translate(?:[xyz]|3d)?\((?![^)]*(?:{_FAR}|{_BEYOND})){_LENGTH}(?:[, ]+{_LENGTH})*\)"
    r"|(?:rotate[xyz]?|skew[xy]?|blur|grayscale|hue-rotate|invert|sepia)"
    r"\(0*\.?0+(?:deg|g?rad|turn|px|%)?\)"
    r"|(?:scale(?:[xyz]|3d)?|zoom|brightness|contrast|opacity|saturate)"
    r"\((?:1(?:\.0*)?|100%)(?:[, ]+1(?:\.0*)?)*\)"
    r"|matrix\(1, ?0, ?0, ?1, ?0, ?0\)"
)
"""Functions of distorting properties that change nothing, or move by less than a screen."""
_FIXED_AWAY = re.compile(_IN_LIST.format(_BEYOND))
_CUTTING = re.compile("hidden|clip|scroll|paint|strict")
"""Values of `overflow` and `contain` that show only the part that fits into the box."""
_TINY_SIZE = re.compile(rf"{_ALMOST_ZERO}|[12]px")
"""Sizes of a box that has no room for a letter."""
_SIZE = re.compile(r"(?:max-)?(?:height|width|block-size|inline-size)|line-height")


def drop_hidden(tree: lxml.html.HtmlElement) -> None:
    """Remove hidden elements and hidden text from a page, and then `style` and `aria-hidden`."""
    for template in tree.xpath("//template[@shadowrootmode]"):
        template.tag = "div"  # browsers draw it inside its host
    hidden = [element for element in tree.xpath("//*[@style]") if _hides(element.get("style", ""))]
    for element in [*hidden, *tree.xpath(_UNSEEN_ELEMENTS)]:
        if element.tag not in _NEVER_HIDDEN and element.getparent() is not None:
            element.drop_tree()
    for element in tree.xpath(f"//*[@{UNSEEN_MARK} = 'text'] | //details[not(@open)]"):
        element.text = None
        for child in element:
            child.tail = None
    # The rest is visible. Because of these attributes, Trafilatura would drop parts of it, such as
    # elements with `overflow: hidden`.
    for element in tree.xpath("//*[@style or @aria-hidden]"):
        for name in ("style", "aria-hidden"):
            element.attrib.pop(name, None)


def _hides(style: str) -> bool:
    """Tell whether an inline style hides its element.

    It does so by a hiding value, a distortion, a tiny box that cuts its content, or a place off the
    screen. Of several declarations of a property the last one counts, or the last important one.
    """
    declared: dict[str, str] = {}
    important: set[str] = set()
    for declaration in _COMMENT.sub("", style[:_MAX_STYLE]).lower().split(";"):
        name, _, value = declaration.partition(":")
        name, (value, _, priority) = name.strip(), value.partition("!")
        if priority.strip() == "important":
            important.add(name)
        elif name in important:
            continue
        declared[name] = " ".join(value.split())[:_MAX_VALUE]
    overflow = " ".join(declared.get(name, "") for name in ("overflow", "overflow-y", "contain"))
    sizes = (declared[name] for name in declared if _SIZE.fullmatch(name))
    sides = (declared.get(name, "") for name in ("left", "right", "top", "bottom", "inset"))
    return (
        any(
            name in declared and hiding.fullmatch(declared[name])
            for name, hiding in _HIDING_VALUES.items()
        )
        or any(_distorts(name, declared[name]) for name in _DISTORTING & declared.keys())
        or (_CUTTING.search(overflow) is not None and any(map(_TINY_SIZE.fullmatch, sizes)))
        or (declared.get("position") == "fixed" and any(map(_FIXED_AWAY.fullmatch, sides)))
    )


def _distorts(name: str, value: str) -> bool:
    if name in {"translate", "rotate", "scale", "zoom"}:
        value = value if value in _NO_EFFECT else f"{name}({value})"
    return _HARMLESS.sub("", value).strip() not in _NO_EFFECT
