"""Takes out of a page what its readers do not see: it is no part of what the page says.

What belongs here, with the words of hidden.yaml: elements that are hidden by their kind, by
attributes, by inline styles or by the style sheets inside the page, and text in the colour of its
background. What does not: which of the visible parts are the page's own text (extract.py), the
browser, which marks what it computes to be unseen (browser.py).

Sheets that lie elsewhere are not fetched, so what only they hide stays, but for the class names
that frameworks agree on. So does what scripts hide, or pictures cover: a browser would know, and is
asked only for pages that have no text without it. Closed `details` stay: their readers open them.
Struck text (`s`, `del`) goes: the page takes it back.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from math import prod
from pathlib import Path
from statistics import median
from typing import TypeAlias
from urllib.parse import unquote_to_bytes

import lxml.html
import tinycss2
import yaml
from cssselect import HTMLTranslator, SelectorError, parse
from tinycss2.ast import (
    AtRule,
    Declaration,
    FunctionBlock,
    Node,
    QualifiedRule,
    StringToken,
    URLToken,
)
from tinycss2.color4 import parse_color

UNSEEN_MARK = "data-unseen"
"""Set by the browser: empty on what is not seen at all, `text` on text in its ground's colour."""

_RULES = yaml.safe_load(Path(__file__).with_name("hidden.yaml").read_text("utf-8"))
_HIDING, _TOLD = (
    {name: re.compile(pattern.replace("\n", "")) for name, pattern in _RULES[kind].items()}
    for kind in ("hiding", "told")
)
_KINDS = " | ".join((*_RULES["kinds"], f"//*[@{UNSEEN_MARK} = '']"))
_UNITS: Mapping[str, tuple[float, float]] = {
    unit: (pixels, far) for unit, (pixels, far) in _RULES["units"].items()
}
# Sites hide these until their scripts have run; their text is meant to be read.
_NEVER_HIDDEN = frozenset({"html", "body", "main"})
_MOST_STYLE = 500_000  # Characters of the page's own sheets that are looked at.
_MOST_RULES = 2_000
_MOST_MATCHES = 4_000_000
"""Rules times elements that are looked at, against style sheets made to keep a reader busy."""

_FAR_RIGHT = 7  # How many times as far to the right or the bottom, where pages go on.
_LENGTH = re.compile(r"(-?\d*\.?\d+)(px|pt|r?em|ch|%|vw|vh|cm|mm|in)?")
_SEEN_DISTANCE = 0.12
"""Difference of red, green and blue (0 to 1) up to which text cannot be told from its ground."""
_SEEN_ALPHA = 0.1
_INKS = {"color": "color", "text": "color", "bgcolor": "background-color"}
Style = dict[str, str]
Element: TypeAlias = lxml.html.HtmlElement
Colour: TypeAlias = tuple[float, float, float, float]
"""Red, green, blue and opacity, 0 to 1."""

_CLIPS = ("background-clip", "-webkit-background-clip")
_BLACK, _WHITE = (0.0, 0.0, 0.0, 1.0), (1.0, 1.0, 1.0, 1.0)


def drop_hidden(tree: Element) -> None:
    """Take everything out of a page that its readers do not see."""
    for template in tree.xpath("//template[@shadowrootmode]"):
        if template.getparent() is not None:  # a second one of its host went with the first
            _draw_shadow(template)
    styles = _styles(tree)
    hidden = [element for element, style in styles.items() if _hides(style)]
    hidden += tree.xpath(_KINDS)
    hidden += [
        covered
        for block, style in styles.items()
        if _covers(style) and block.getparent().tag != "body"
        for covered in block.itersiblings(preceding=True)
    ]
    for element in tree.xpath("//*[@class]"):
        names = element.get("class", "").split()
        unseen, shown = (_TOLD[kind].fullmatch for kind in ("unseen_class", "shown_class"))
        if any(map(unseen, names)) and not any(map(shown, names)):
            hidden.append(element)
    for element in hidden:
        if element.tag not in _NEVER_HIDDEN and element.getparent() is not None:
            element.drop_tree()
    for element in tree.xpath(f"//*[@{UNSEEN_MARK} = 'text']"):
        _drop_own_text(element)
    if any("color" in name or name == "background" for style in styles.values() for name in style):
        _drop_camouflage(tree, styles)
    # What is left is seen; the reader of articles takes `overflow: hidden` for a reason to drop.
    for element in tree.xpath("//*[@style]"):
        del element.attrib["style"]


def _draw_shadow(template: Element) -> None:
    """Put a shadow tree in the place of what its host holds, unless it has slots for that."""
    if template.find(".//slot") is None:
        _drop_own_text(template.getparent())
        for sibling in (*template.itersiblings(preceding=True), *template.itersiblings()):
            sibling.drop_tree()
    template.tag = "div"


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
            target.setdefault(element, {})[each.lower_name] = _value(each)

    room = _MOST_MATCHES // max(1, sum(1 for _ in tree.iter()))
    rules, ends = _rules(tree, min(room, _MOST_RULES))
    for xpath, declarations in rules:
        for element in tree.xpath(xpath):
            apply(element, declarations)
    for element in tree.xpath("//*[@style]"):
        parsed = tinycss2.parse_blocks_contents(element.get("style", ""), True, True)
        apply(element, _declarations(parsed))
    for element in tree.xpath("//*[@color or @bgcolor] | //body[@text]"):
        for attribute, name in _INKS.items():
            if colour := re.sub("^(?=[0-9a-f]{6}$)", "#", element.get(attribute, "").lower()):
                styles.setdefault(element, {}).setdefault(name, colour)
    _animate(styles.values(), ends)
    for element, style in urgent.items():
        styles.setdefault(element, {}).update(style)
    _compute(styles.values())
    return styles


def _animate(styles: Iterable[Style], ends: Mapping[str, Style]) -> None:
    """Leave the styles as their animations leave them that stay as they end."""
    for style in styles:
        animation = " ".join(style[name] for name in style if name.startswith("animation"))
        if re.search(r"\b(?:forwards|both)\b", animation):
            for name in animation.split():
                style.update(ends.get(name, {}))


def _value(declaration: Declaration) -> str:
    return str(tinycss2.serialize(declaration.value)).strip().lower()


def _compute(styles: Collection[Style]) -> None:
    """Replace variables, of whatever scope, and sums by what they come to, if that is known."""
    variables = {name: style[name] for style in styles for name in style if name[:2] == "--"}
    for style in styles:
        for name in style:
            for _ in range(_MOST_NESTED):
                before = style[name]
                known = _VARIABLE.sub(
                    lambda found: variables.get(found[1], found[2] or found[0]), before
                )
                style[name] = _SUM.sub(_summed, known)[:_MOST_VALUE]
                if style[name] == before:
                    break


_VARIABLE = re.compile(r"var\(\s*(--[\w-]+)\s*(?:,\s*([^()]*))?\)")
_SUM = re.compile(r"(calc|min|max|clamp)\(([^()]*)\)")
_NUMBER = re.compile(r"-?\d*\.?\d+")
_MOST_NESTED, _MOST_VALUE = 5, 1_000


def _summed(found: re.Match[str]) -> str:
    """Return what a sum, or the least, most or middle of several, comes to; pixels if mixed."""
    units = set(re.findall(r"[a-z%]+", found[2]))
    is_mixed = len(units) > 1
    if is_mixed and not units <= _UNITS.keys():
        return found[0]
    totals = []
    for sums in found[2].split(","):
        parts = re.split(r"\s([+-])\s", sums)
        total = 0.0
        for sign, part in zip(("+", *parts[1::2]), parts[::2], strict=True):
            product = prod(float(each) for each in _NUMBER.findall(part))
            if is_mixed and (unit := re.search(r"[a-z%]+", part)):
                product *= _WIDTH / 100 if unit[0] == "%" else _UNITS[unit[0]][0]
            total += -product if sign == "-" else product
        totals.append(total)
    chosen = {"min": min, "max": max}.get(found[1], median)(totals)
    return f"{chosen:g}{'px' if is_mixed else ''.join(units)}"


def _rules(
    tree: Element, most: int
) -> tuple[list[tuple[str, list[Declaration]]], Mapping[str, Style]]:
    """Return the telling rules of the page's own sheets as XPath, the least specific first.

    And how animations end, by their names.
    """
    ends: dict[str, Style] = {}
    found: list[tuple[tuple[int, int, int], int, str, list[Declaration]]] = []
    names = {name for names in tree.xpath("//@class | //@id") for name in names.lower().split()}
    room = _MOST_STYLE
    for sheet in tree.iter("style", "link"):
        source = _COMMENT.sub("", _source(sheet))[:room]
        room -= len(source)
        for prelude, declarations in _flat(tinycss2.parse_stylesheet(source, True, True)):
            selector = prelude
            if prelude.startswith("@"):
                ends[prelude[1:].strip().lower()] = {e.lower_name: _value(e) for e in declarations}
                continue
            if not re.search(r"[(\\\"']", prelude):
                # Selectors with classes and ids that the page has not need no looking for.
                selector = ",".join(
                    each
                    for each in prelude.split(",")
                    if names.issuperset(map(str.lower, re.findall(r"[.#]([\w-]+)", each)))
                )
            if not selector or len(found) >= most:
                continue
            with suppress(SelectorError):
                for each in parse(selector):
                    if each.pseudo_element is None:
                        xpath = _TRANSLATOR.selector_to_xpath(each)
                        found.append((each.specificity(), len(found), xpath, declarations))
    found.sort(key=lambda rule: rule[:2])
    return [(xpath, declarations) for _, _, xpath, declarations in found], ends


_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_TRANSLATOR = HTMLTranslator()


def _source(sheet: Element) -> str:
    """Return the text of a sheet in the page, or in the address of a link; else nothing."""
    if not _is_here(sheet.get("media", "all")):
        return ""
    if sheet.tag == "style":
        return sheet.text or ""
    return _in_address(
        sheet.get("href", "") if "stylesheet" in sheet.get("rel", "").lower() else ""
    )


def _in_address(address: str) -> str:
    """Return the text that an address holds itself; nothing of what lies elsewhere."""
    kind, _, data = address.strip().partition(",")
    if not kind.lower().startswith("data:"):
        return ""
    raw = unquote_to_bytes(data)
    with suppress(ValueError):
        raw = base64.b64decode(raw) if kind.lower().endswith(";base64") else raw
    return raw.decode("utf-8", "replace")


def _flat(rules: Iterable[Node], parent: str = "") -> Iterator[tuple[str, list[Declaration]]]:
    """Return the rules that hold on a screen, those inside of conditions and other rules too."""
    rules = list(rules)
    declarations = _declarations(rules)
    if parent and declarations:
        yield parent, declarations
    for rule in rules:
        if isinstance(rule, QualifiedRule):
            inner = tinycss2.serialize(rule.prelude).strip()
            selector = ",".join(
                each.replace("&", outer) if "&" in each else f"{outer} {each}".strip()
                for outer in parent.split(",")
                for each in inner.split(",")
            )
            if len(selector) <= _MOST_VALUE or not parent:
                yield from _flat(
                    tinycss2.parse_blocks_contents(rule.content, True, True),
                    selector if parent else inner,
                )
        elif isinstance(rule, AtRule) and rule.lower_at_keyword == "import":
            yield from _flat(_imported(rule))
        elif isinstance(rule, AtRule) and rule.content is not None:
            parts = tinycss2.parse_blocks_contents if parent else tinycss2.parse_rule_list
            condition = tinycss2.serialize(rule.prelude)
            kind = rule.lower_at_keyword
            if kind.endswith("keyframes"):
                yield f"@{condition}", list(_last_frame(rule))
            if (
                kind in {"layer", "scope"}
                or (kind == "supports" and not re.match(r"\s*not\b", condition))
                or (kind in {"media", "container"} and _is_here(condition))
            ):
                yield from _flat(parts(rule.content, True, True), parent)


def _imported(rule: AtRule) -> list[Node]:
    """Return the rules of a sheet that another takes in, if it stands in the address itself."""
    first, *condition = [each for each in rule.prelude if each.type != "whitespace"] or [None]
    named = [first, *getattr(first, "arguments", ())]
    address = next((each.value for each in named if isinstance(each, (StringToken, URLToken))), "")
    sheet = _in_address(address) if _is_here(tinycss2.serialize(condition)) else ""
    return list(tinycss2.parse_stylesheet(sheet, True, True))


def _last_frame(rule: AtRule) -> Iterator[Declaration]:
    """Yield what is declared for the end of an animation."""
    for frame in tinycss2.parse_rule_list(rule.content, True, True):
        if isinstance(frame, QualifiedRule) and _LAST.search(tinycss2.serialize(frame.prelude)):
            yield from _declarations(tinycss2.parse_blocks_contents(frame.content, True, True))


_LAST = re.compile(r"\bto\b|100%")


def _is_here(condition: str) -> bool:
    """Tell whether a query holds on a wide, light screen; what is not known is taken to hold."""
    for query in re.split(r",|\bor\b", condition.lower()):
        words = re.sub(r"^\s*only\s", "", query)
        negated = re.match(r"\s*not\s", words) is not None
        holds = not _TOLD["elsewhere"].search(words) and all(
            (_pixels(value, whole=_WIDTH) or 0) <= _WIDTH
            if limit in {"min-width:", "width>", "width>="}
            else (_pixels(value, whole=_WIDTH) or 0) >= _WIDTH
            for limit, value in _LIMIT.findall(re.sub(r"\s+", "", words))
        )
        if holds != negated:
            return True
    return False


_WIDTH = 1_280
_LIMIT = re.compile(r"(m(?:in|ax)-width:|width[<>]=?)([\d.]+[a-z]*)")


def _declarations(parsed: Iterable[Node]) -> list[Declaration]:
    return [
        each
        for each in parsed
        if isinstance(each, Declaration) and _TOLD["telling"].search(each.lower_name)
    ]


def _hides(style: Style) -> bool:
    """Tell whether declarations keep an element, with all that is in it, from being seen."""
    overflow = " ".join(style.get(name, "") for name in _OVERFLOWS)
    is_cut = re.search("hidden|clip|auto|scroll|paint|strict|content", overflow) is not None
    is_moved = style.get("position") in {"absolute", "fixed", "relative"}
    size = style.get("font-size") or (_FONT_SIZE.findall(style.get("font", "")) or [""])[0]
    return (
        any(name in style and pattern.search(style[name]) for name, pattern in _HIDING.items())
        or any(name.endswith(_MASKS) and _is_clear(value) for name, value in style.items())
        or _is_at_most(size, _LEAST_FONT, whole=_FONT)
        or (is_cut and any(_is_at_most(style[it], 2, whole=_WIDTH) for it in filter(_SIZES, style)))
        or any(
            _is_far(value)
            for name, value in style.items()
            if _MOVES.match(name) or (is_moved and _SIDES.match(name))
        )
        or _is_far(style.get("transform", "").partition("translate")[2])
    )


def _covers(style: Style) -> bool:
    """Tell whether declarations lay an element over what stands before it, in one colour."""
    sides = [style.get(name, style.get("inset", "")) for name in ("top", "left", "right", "bottom")]
    corner, other = sides[:2], sides[2:]
    spans = {style.get("width"), style.get("height")} == {"100%"}
    ground = _ground(style.get("background-color", style.get("background", "")), None)
    return (
        style.get("position") == "absolute"
        and all(map(_AT_EDGE, corner if spans else corner + other))
        and ground is not None
        and ground[3] > 1 - _SEEN_ALPHA
        and style.get("opacity", "1") == "1"
    )


_AT_EDGE = re.compile(r"-?0(?:px|%)?").fullmatch
_OVERFLOWS = ("overflow", "overflow-x", "overflow-y", "contain")
_SIZES = re.compile(r"(?:max-)?(?:height|width|(?:block|inline)-size)").fullmatch
_MASKS = ("mask", "mask-image")
_MOVES = re.compile(
    r"(?:text-indent|translate|(?:margin|padding)(?:-(?:left|top|inline|block)(?:-start)?)?)$"
)
_SIDES = re.compile(r"(?:left|right|top|bottom|inset[a-z-]*)$")
_FONT, _LEAST_FONT = 16, 4
"""Pixels of usual text, and up to which nobody reads it."""
_FONT_SIZE = re.compile(r"(?:^|\s)(0|[\d.]+(?:px|pt|r?em|%|vw))(?=[\s/])")


def _is_clear(value: str) -> bool:
    """Tell whether a mask lets nothing through: its colours are none, or all transparent."""
    colours = _colours(value)
    return bool(colours) and all(each and each[3] < _SEEN_ALPHA for each in colours)


def _is_at_most(value: str | None, most: float, *, whole: float) -> bool:
    pixels = _pixels(value or "", whole=whole)
    return pixels is not None and pixels <= most


def _pixels(value: str, *, whole: float) -> float | None:
    """Return a length in pixels of the screen, None if it is none; shares are of a whole."""
    found = _LENGTH.fullmatch(value.strip())
    if found is None:
        return None
    return float(found[1]) * (whole / 100 if found[2] == "%" else _UNITS[found[2] or "px"][0])


def _is_far(value: str) -> bool:
    """Tell whether a length leads outside of the screen: far to the left or top, or very far."""
    distances = (float(each[1]) / _UNITS[each[2] or "px"][1] for each in _LENGTH.finditer(value))
    return any(distance <= -1 or distance > _FAR_RIGHT for distance in distances)


# --- Colours ------------------------------------------------------------------------------------


def _drop_camouflage(tree: Element, styles: Mapping[Element, Style]) -> None:
    """Take out text whose colour cannot be told from what is behind it, as far as that is known."""
    grounds: dict[Element, tuple[Colour | None, Colour | None]] = {}
    for element in list(tree.iter()):
        if not isinstance(element.tag, str):
            continue
        ink, ground = grounds.get(element.getparent(), (_BLACK, _WHITE))
        style = styles.get(element)
        if style is not None:
            declared = style.get("-webkit-text-fill-color") or style.get("color")
            if declared not in {None, "inherit", "unset", "currentcolor"}:
                ink = next(iter(_colours(declared or "")), None)
            for name in ("background", "background-color", "background-image"):
                ground = _ground(style[name], ground) if name in style else ground
        grounds[element] = ink, ground
        is_ground = "text" in " ".join((style or {}).get(name, "") for name in _CLIPS)
        if ink is not None and not is_ground and (ink[3] < _SEEN_ALPHA or _is_alike(ink, ground)):
            _drop_own_text(element)


def _ground(value: str, inherited: Colour | None) -> Colour | None:
    """Return what a background shows behind text: one colour, or None where it has several."""
    colours = [each for each in _colours(value) if each is None or each[3] > 0]
    if not colours:
        return inherited
    first = colours[0]
    alike = first is not None and all(
        each is not None and _is_alike(each, first) for each in colours
    )
    return first if alike else None


@cache
def _colours(value: str) -> tuple[Colour | None, ...]:
    """Return the colours in a value, those of gradients too; None for what may be any."""
    return tuple(_colours_in(tinycss2.parse_component_value_list(value, skip_comments=True)))


def _colours_in(nodes: Iterable[Node]) -> Iterator[Colour | None]:
    for node in nodes:
        colour = parse_color(node)
        if colour is not None and not isinstance(colour, str):
            try:
                red, green, blue = colour.to("srgb").coordinates
            except NotImplementedError:  # of spaces whose first coordinate is lightness
                light, *hue = colour.coordinates
                light /= 100 if colour.space in {"lab", "lch"} else 1
                if any(each is None or abs(each) > _GREY for each in hue[:2]):
                    yield None
                    continue
                red = green = blue = light
            yield red, green, blue, colour.alpha
        elif isinstance(node, FunctionBlock) and "gradient" in node.lower_name:
            yield from _colours_in(node.arguments)
        elif isinstance(node, FunctionBlock) and node.lower_name in {"color-mix", "light-dark"}:
            mixed = list(_colours_in(node.arguments))
            # Of two in one colour, or of which one is all there is, or is shown in the light.
            shares = [each.value for each in node.arguments if each.type == "percentage"]
            is_whole = node.lower_name == "light-dark" or shares[:1] == [100]
            yield mixed[0] if mixed and (is_whole or len({*mixed}) == 1) else None
        elif node.type in {"function", "url"}:
            yield None


_GREY = 0.02


def _is_alike(ink: Colour, ground: Colour | None) -> bool:
    if ground is None or ground[3] < 1 - _SEEN_ALPHA:
        return False
    pairs = zip(ink[:3], ground[:3], strict=True)
    return max(abs(one - other) for one, other in pairs) <= _SEEN_DISTANCE
