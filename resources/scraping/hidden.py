"""Takes out of a page what its readers do not see: it is no part of what the page says.

What belongs here: elements that are hidden by their kind, by attributes, by inline styles or by
the style sheets inside the page, and text in the colour of its background. What does not: which of
the visible parts are the page's own text (extract.py), the browser, which marks what it computes
to be unseen (browser.py).

Sheets of their own address are not fetched, so what only they hide stays, but for the class names
that frameworks agree on. Closed `details` stay: their readers open them. Struck text
(`s`, `del`) goes: the page takes it back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TypeAlias

import lxml.html
import tinycss2
from cssselect import HTMLTranslator, SelectorError, parse
from tinycss2.ast import Declaration, QualifiedRule
from tinycss2.color3 import RGBA, parse_color

UNSEEN_MARK = "data-unseen"
"""Set by the browser: empty on what is not seen at all, `text` on text in its ground's colour."""

_KINDS = (
    "//template | //noscript | //noembed | //noframes | //s | //del | //strike | //object | //video"
    " | //audio | //canvas | //datalist | //dialog[not(@open)] | //*[@popover]"
    f" | //*[@hidden and @hidden != 'until-found'] | //*[@{UNSEEN_MARK} = '']"
)
# Sites hide these until their scripts have run; their text is meant to be read.
_NEVER_HIDDEN = frozenset({"html", "body", "main"})
_UNSEEN_CLASSES = frozenset(
    [
        "d-none",
        "element-invisible",
        "hidden",
        "is-hidden",
        "screen-reader-only",
        "screen-reader-text",
        "sr-only",
        "u-visually-hidden",
        "visually-hidden",
        "visuallyhidden",
    ]
)
_SHOWN_SOMEWHERE = re.compile(r"d-\w+-(?!none)\w+|\w+:(?!hidden)\w+(?:-\w+)*")
"""Classes that show an element on wider screens again."""

_TELLING = re.compile(
    r"display|visibility|opacity|position|overflow|indent|left|right|top|bottom|font|clip|transform|height|width"
    r"|color|background|decoration"
)
_MOST_STYLE = 150_000
"""Characters of the page's own sheets that are looked at."""
_MOST_RULES = 400
_MOST_MATCHES = 4_000_000
"""Rules times elements that are looked at, against style sheets made to keep a reader busy."""

_FAR: Mapping[str, float] = {
    "px": 400,
    "": 400,
    "pt": 300,
    "em": 30,
    "rem": 30,
    "ch": 60,
    "%": 95,
    "vw": 95,
    "vh": 95,
    "cm": 10,
    "mm": 100,
    "in": 4,
}
"""Distances from which a thing stands outside of the screen, by unit."""
_FAR_RIGHT = 7
"""How many times as far to the right or the bottom, where pages go on."""
_LENGTH = re.compile(r"(-?\d*\.?\d+)(px|pt|r?em|ch|%|vw|vh|cm|mm|in)?")
_SEEN_DISTANCE = 0.12
"""Difference of red, green and blue (0 to 1) up to which text cannot be told from its ground."""
_SEEN_ALPHA = 0.1
_BLACK, _WHITE = RGBA(0, 0, 0, 1), RGBA(1, 1, 1, 1)

Style = dict[str, str]
Element: TypeAlias = lxml.html.HtmlElement


def drop_hidden(tree: Element) -> None:
    """Take everything out of a page that its readers do not see."""
    styles = _styles(tree)
    for element, style in styles.items():
        if element.tag not in _NEVER_HIDDEN and _hides(style):
            _drop(element)
    for element in tree.xpath(_KINDS):
        if element.tag not in _NEVER_HIDDEN:
            _drop(element)
    for element in tree.xpath("//*[@class]"):
        names = set(element.get("class", "").split())
        is_shown = any(_SHOWN_SOMEWHERE.fullmatch(name) for name in names)
        if element.tag not in _NEVER_HIDDEN and names & _UNSEEN_CLASSES and not is_shown:
            _drop(element)
    for element in tree.xpath(f"//*[@{UNSEEN_MARK} = 'text']"):
        _drop_own_text(element)
    if any("color" in name or name == "background" for style in styles.values() for name in style):
        _drop_camouflage(tree, styles)


def _drop(element: Element) -> None:
    if element.getparent() is not None:
        element.drop_tree()


def _drop_own_text(element: Element) -> None:
    element.text = None
    for child in element:
        child.tail = None


# --- Styles -------------------------------------------------------------------------------------


def _styles(tree: Element) -> dict[Element, Style]:
    """Return the declarations that decide whether an element is seen; inline ones come last."""
    styles: dict[Element, Style] = {}
    urgent: dict[Element, Style] = {}

    def apply(element: Element, declarations: list[Declaration]) -> None:
        for each in declarations:
            target = urgent if each.important else styles
            value = tinycss2.serialize(each.value).strip().lower()
            target.setdefault(element, {})[each.lower_name] = value

    room = _MOST_MATCHES // max(1, sum(1 for _ in tree.iter()))
    for xpath, declarations in _rules(tree, min(room, _MOST_RULES)):
        for element in tree.xpath(xpath):
            apply(element, declarations)
    for element in tree.xpath("//*[@style]"):
        apply(element, _declarations(element.get("style", "")))
    for element in tree.xpath("//*[@color or @bgcolor]"):
        for attribute, name in (("color", "color"), ("bgcolor", "background-color")):
            if element.get(attribute):
                styles.setdefault(element, {}).setdefault(name, element.get(attribute).lower())
    for element, style in urgent.items():
        styles.setdefault(element, {}).update(style)
    return styles


def _rules(tree: Element, most: int) -> list[tuple[str, list[Declaration]]]:
    """Return the telling rules of the page's own sheets as XPath, the least specific first."""
    found: list[tuple[tuple[int, int, int], int, str, list[Declaration]]] = []
    room = _MOST_STYLE
    for sheet in tree.iter("style"):
        if sheet.get("media", "all").strip().lower() not in {"", "all", "screen"}:
            continue
        source = (sheet.text or "")[:room]
        room -= len(source)
        for rule in _flat(tinycss2.parse_stylesheet(source, True, True)):
            declarations = _declarations(rule.content)
            if not declarations or len(found) >= most:
                continue
            try:
                selectors = parse(tinycss2.serialize(rule.prelude))
                for selector in selectors:
                    if selector.pseudo_element is None:
                        xpath = _TRANSLATOR.selector_to_xpath(selector)
                        found.append((selector.specificity(), len(found), xpath, declarations))
            except SelectorError:
                continue
    found.sort(key=lambda rule: rule[:2])
    return [(xpath, declarations) for _, _, xpath, declarations in found]


_TRANSLATOR = HTMLTranslator()


def _flat(rules: list[object]) -> Iterator[QualifiedRule]:
    """Return the rules that hold on a screen, those inside of conditions about it too."""
    for rule in rules:
        if isinstance(rule, QualifiedRule):
            yield rule
        elif (
            isinstance(rule, tinycss2.ast.AtRule)
            and rule.content is not None
            and (
                rule.lower_at_keyword in {"supports", "layer"}
                or (
                    rule.lower_at_keyword == "media"
                    and tinycss2.serialize(rule.prelude).strip().lower() in {"all", "screen"}
                )
            )
        ):
            yield from _flat(tinycss2.parse_rule_list(rule.content, True, True))


def _declarations(source: object) -> list[Declaration]:
    parsed = tinycss2.parse_blocks_contents(source, True, True)
    return [
        each
        for each in parsed
        if isinstance(each, Declaration) and _TELLING.search(each.lower_name)
    ]


def _hides(style: Style) -> bool:
    """Tell whether declarations keep an element, with all that is in it, from being seen."""
    overflow = f"{style.get('overflow', '')} {style.get('overflow-x', '')}"
    is_cut = "hidden" in overflow or "clip" in overflow
    sides = [style.get(side) for side in ("left", "right", "top", "bottom")]
    is_moved = style.get("position") in {"absolute", "fixed", "relative"}
    transform = style.get("transform", "")
    return (
        style.get("display") == "none"
        or style.get("visibility") in {"hidden", "collapse"}
        or style.get("content-visibility") == "hidden"
        or _at_most(style.get("opacity"), 0.05)
        or _at_most(style.get("font-size"), 1)
        or (is_moved and any(_is_far(side) for side in sides))
        or any(_is_far(style.get(name)) for name in ("text-indent", "margin-left", "margin-top"))
        or ("translate" in transform and _is_far(transform.partition("translate")[2]))
        or re.search(r"scale[xy3d]*\(\s*0\s*[,)]", transform) is not None
        or re.search(r"rect\(\s*[01](?:px)?[\s,]+[01](?:px)?[\s,]", style.get("clip", ""))
        is not None
        or _CLIPPED.search(style.get("clip-path", "")) is not None
        or (is_cut and any(_at_most(style.get(name), 1) for name in _SIZES))
        or "line-through" in style.get("text-decoration", "")
        or "line-through" in style.get("text-decoration-line", "")
    )


_SIZES = ("height", "max-height", "width", "max-width")
_CLIPPED = re.compile(
    r"inset\(\s*(?:[5-9]\d|100)(?:\.\d+)?%|(?:circle|ellipse)\(\s*0|polygon\([0\s,px%]*\)"
)


def _at_most(value: str | None, most: float) -> bool:
    found = _LENGTH.fullmatch((value or "").strip())
    return found is not None and float(found[1]) <= (0.1 if found[2] in _RELATIVE else most)


_RELATIVE = frozenset({"em", "rem", "ch", "%", "vw", "vh", "cm", "mm", "in"})


def _is_far(value: str | None) -> bool:
    """Tell whether a length leads outside of the screen: far to the left or top, or very far."""
    for found in _LENGTH.finditer(value or ""):
        distance = float(found[1]) / _FAR[found[2] or ""]
        if distance <= -1 or distance > _FAR_RIGHT:
            return True
    return False


# --- Colours ------------------------------------------------------------------------------------


def _drop_camouflage(tree: Element, styles: Mapping[Element, Style]) -> None:
    """Take out text whose colour cannot be told from what is behind it, as far as that is known."""
    grounds: dict[Element, tuple[RGBA | None, RGBA | None]] = {}
    for element in list(tree.iter()):
        if not isinstance(element.tag, str):
            continue
        ink, ground = grounds.get(element.getparent(), (_BLACK, _WHITE))
        style = styles.get(element)
        if style is not None:
            ink = _colour(style.get("-webkit-text-fill-color") or style.get("color"), ink)
            ground = _ground(style, ground)
        grounds[element] = ink, ground
        if ink is not None and (ink.alpha < _SEEN_ALPHA or _is_alike(ink, ground)):
            _drop_own_text(element)


def _colour(value: str | None, inherited: RGBA | None) -> RGBA | None:
    """Return a colour; the inherited one if none is declared, None if it cannot be known."""
    if value is None or value in {"inherit", "unset", "currentcolor"}:
        return inherited
    found = parse_color(value)
    return found if isinstance(found, RGBA) else None


def _ground(style: Style, inherited: RGBA | None) -> RGBA | None:
    if style.get("background-image", "none") != "none":
        return None
    declared = style.get("background-color") or style.get("background")
    if declared is None or declared in {"none", "transparent", "inherit", "initial", "unset"}:
        return inherited
    return _colour(declared, inherited)


def _is_alike(ink: RGBA, ground: RGBA | None) -> bool:
    if ground is None or ground.alpha < 1 - _SEEN_ALPHA:
        return False
    pairs = ((ink.red, ground.red), (ink.green, ground.green), (ink.blue, ground.blue))
    return bool(max(abs(one - other) for one, other in pairs) <= _SEEN_DISTANCE)
