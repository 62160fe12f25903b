"""Takes out of a page what its readers do not see: it is no part of what the page says.

What belongs here, with the words of hidden.yaml: elements that are hidden by their kind, by
attributes, by inline styles or by the style sheets inside the page, and text in the colour of its
background. What does not: which of the visible parts are the page's own text (extract.py), the
browser, which marks what it computes to be unseen (browser.py).

Sheets that lie elsewhere are not fetched, so what only they hide stays, but for the class names
that frameworks agree on. So does what scripts hide, or others cover: a browser would know, and is
asked only for pages that have no text without it. Closed `details` stay: their readers open them.
Struck text (`s`, `del`) goes: the page takes it back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache, lru_cache
from math import prod
from pathlib import Path
from statistics import median
from typing import TypeAlias

import lxml.html
import tinycss2
import yaml
from cssselect import HTMLTranslator, SelectorError, parse
from cssselect.parser import CombinedSelector, Selector
from lxml.etree import XPathError
from tinycss2.ast import AtRule, Declaration, FunctionBlock, Node, QualifiedRule
from tinycss2.color4 import parse_color

UNSEEN_MARK = "data-unseen"
"""Set by the browser: empty on what is not seen at all, `text` on text in its ground's colour."""

_RULES = yaml.safe_load(Path(__file__).with_name("hidden.yaml").read_text("utf-8"))
_HIDING, _TOLD = (
    {name: re.compile(pattern.replace("\n", "")) for name, pattern in _RULES[kind].items()}
    for kind in ("hiding", "told")
)
_KINDS = " | ".join((*_RULES["kinds"], f"//*[@{UNSEEN_MARK} = '']"))
_UNITS: Mapping[str, tuple[float, float]] = _RULES["units"]
# Sites hide these until their scripts have run; their text is meant to be read.
_NEVER_HIDDEN = frozenset({"html", "body", "main"})
_MOST_STYLE = 500_000  # Characters of the page's own sheets that are looked at.
_MOST_LOOKS = 6_000_000
"""Elements that all rules together look at, against style sheets made to keep a reader busy."""
_LOOKS_ROUND = re.compile("-sibling::|descendant::")
_QUICK = 30  # Siblings that are counted in the time in which one element is looked at.

_FAR_RIGHT = 7  # How many times as far to the right or the bottom, where pages go on.
_LENGTH = re.compile(r"(-?\d*\.?\d+)(px|pt|r?em|ch|%|vw|vh|cm|mm|in)?")
_SEEN_DISTANCE = 0.12
"""Difference of red, green and blue (0 to 1) up to which text cannot be told from its ground."""
_SEEN_ALPHA = 0.1
_INKS = {"color": "color", "text": "color", "bgcolor": "background-color"}
Style = dict[str, str]
Declared: TypeAlias = tuple[str, str, bool]
"""A property, its value, and whether that is important."""
Parts: TypeAlias = list[tuple[str, str]]
"""Of a selector: how each leads on from the one before it, and which elements it may mean."""
Element: TypeAlias = lxml.html.HtmlElement
Colour: TypeAlias = tuple[float, float, float, float]
"""Red, green, blue and opacity, 0 to 1."""

_CLIPS = ("background-clip", "-webkit-background-clip")
_BLACK, _WHITE = (0.0, 0.0, 0.0, 1.0), (1.0, 1.0, 1.0, 1.0)


def drop_hidden(tree: Element) -> None:
    """Take everything out of a page that its readers do not see."""
    for template in tree.xpath("//template[@shadowrootmode]"):
        template.tag = "div"  # browsers draw it in its host
    styles = _styles(tree)
    hidden = [element for element, style in styles.items() if _hides(style)]
    hidden += tree.xpath(_KINDS)
    unseen, shown = (_TOLD[kind].fullmatch for kind in ("unseen_class", "shown_class"))
    for element in tree.xpath("//*[@class]"):
        names = element.get("class", "").split()
        if any(map(unseen, names)) and not any(map(shown, names)):
            hidden.append(element)
    for element in hidden:
        if element.tag not in _NEVER_HIDDEN and element.getparent() is not None:
            element.drop_tree()
    for element in tree.xpath(f"//*[@{UNSEEN_MARK} = 'text']"):
        _drop_own_text(element)
    if styles:
        _drop_unseen_text(tree, styles)
    # What is left is seen; the reader of articles takes `overflow: hidden` for a reason to drop.
    for element in tree.xpath("//*[@style]"):
        del element.attrib["style"]


def _drop_own_text(element: Element) -> None:
    element.text = None
    for child in element:
        child.tail = None


# --- Styles -------------------------------------------------------------------------------------


def _styles(tree: Element) -> dict[Element, Style]:
    """Return the declarations that decide whether an element is seen; inline ones come last."""
    styles: dict[Element, Style] = {}
    urgent: dict[Element, Style] = {}

    def apply(element: Element, declarations: list[Declared]) -> None:
        for name, value, important in declarations:
            (urgent if important else styles).setdefault(element, {})[name] = value

    rules, ends = _rules(tree)
    for parts, declarations in rules:
        with suppress(XPathError):  # of prefixes, which are not bound here
            for element in _matching(tree, parts):
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


def _compute(styles: Collection[Style]) -> None:
    """Replace variables, of whatever scope, and sums by what they come to, if that is known."""
    variables = {name: style[name] for style in styles for name in style if name[:2] == "--"}

    @cache
    def computed(value: str) -> str:
        for _ in range(_MOST_NESTED):
            before = value
            value = _VARIABLE.sub(
                lambda found: variables.get(found[1], found[2] or found[0]), value
            )
            value = _SUM.sub(_summed, value)[:_MOST_VALUE]
            if value == before:
                break
        return value

    for style in styles:
        style.update((name, computed(value)) for name, value in style.items() if "(" in value)


_VARIABLE = re.compile(r"var\(\s*(--[\w-]+)\s*(?:,\s*([^()]*))?\)")
_SUM = re.compile(r"(calc|min|max|clamp)\(([^()]*)\)")
_FACTOR = re.compile(r"(/\s*)?(-?\d*\.?\d+)")
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
            factors = [(over, float(each)) for over, each in _FACTOR.findall(part)]
            if any(over and not each for over, each in factors):
                return found[0]
            product = prod(1 / each if over else each for over, each in factors)
            if is_mixed and (unit := re.search(r"[a-z%]+", part)):
                product *= _WIDTH / 100 if unit[0] == "%" else _UNITS[unit[0]][0]
            total += -product if sign == "-" else product
        totals.append(total)
    chosen = {"min": min, "max": max}.get(found[1], median)(totals)
    return f"{chosen:g}{'px' if is_mixed else ''.join(units)}"


def _rules(tree: Element) -> tuple[list[tuple[Parts, list[Declared]]], Mapping[str, Style]]:
    """Return the telling rules of the page's own sheets, the least specific first.

    And how animations end, by their names.
    """
    ends: dict[str, Style] = {}
    found: list[tuple[tuple[int, int, int], int, Parts, list[Declared]]] = []
    widths = [len(element) for element in tree.iter()]
    looks = _MOST_LOOKS // len(widths)
    names = {name for names in tree.xpath("//@class | //@id") for name in names.lower().split()}
    room = _MOST_STYLE
    for sheet in tree.iter("style"):
        here = _is_here(sheet.get("media", "all"))
        source = _COMMENT.sub("", sheet.text or "" if here else "")[:room]
        room -= len(source)
        for prelude, declarations in _flat(tinycss2.parse_stylesheet(source, True, True)):
            selector = prelude
            if prelude.startswith("@"):
                ends[prelude[1:].strip().lower()] = {name: value for name, value, _ in declarations}
                continue
            if not re.search(r"[(\\\"']", prelude):
                # Selectors with classes and ids that the page has not need no looking for.
                selector = ",".join(
                    each
                    for each in prelude.split(",")
                    if names.issuperset(map(str.lower, re.findall(r"[.#]([\w-]+)", each)))
                )
            # Browsers know no `:contains`, which reads the text of each element.
            if not selector or looks <= 0 or ":contains" in selector.lower():
                continue
            with suppress(SelectorError, RecursionError):
                for each in parse(selector):
                    parts = _parts(each)
                    round_about = (len(_LOOKS_ROUND.findall(xpath)) for _, xpath in parts)
                    cost = sum(1 + max(widths) ** axes // _QUICK for axes in round_about)
                    if each.pseudo_element is None and cost <= looks:
                        looks -= cost
                        found.append((each.specificity(), len(found), parts, declarations))
    found.sort(key=lambda rule: rule[:2])
    return [(parts, declarations) for _, _, parts, declarations in found], ends


def _parts(selector: Selector) -> Parts:
    part, parts = selector.parsed_tree, []
    while isinstance(part, CombinedSelector):
        parts.append((part.combinator, _TRANSLATOR.xpath(part.subselector)))
        part = part.selector
    parts.append((" ", _TRANSLATOR.xpath(part)))
    return [(combinator, f"descendant-or-self::{xpath}") for combinator, xpath in reversed(parts)]


def _matching(tree: Element, parts: Parts) -> list[Element]:
    """Return the elements that a selector means.

    Each of its parts looks at each element once. As one XPath, "li ~ li" takes the cube of their
    number: hours for a long list.
    """
    found: list[Element] = tree.xpath(parts[0][1])
    for combinator, xpath in parts[1:]:
        next_found, reached = tree.xpath(xpath), set[Element]()
        for element in found:
            if combinator == "+":
                reached.add(element.getnext())
            elif combinator == ">":
                reached.update(element)
            elif element not in reached:  # else those that it leads to are there already
                further = element.itersiblings() if combinator == "~" else element.iterdescendants()
                reached.update(further)
        found = [element for element in next_found if element in reached]
    return found


_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_TRANSLATOR = HTMLTranslator()


def _flat(rules: Iterable[Node], parent: str = "") -> Iterator[tuple[str, list[Declared]]]:
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


def _last_frame(rule: AtRule) -> Iterator[Declared]:
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


def _declarations(parsed: Iterable[Node]) -> list[Declared]:
    return [
        (
            each.lower_name,
            tinycss2.serialize(each.value).strip().lower()[:_MOST_VALUE],
            each.important,
        )
        for each in parsed
        if isinstance(each, Declaration) and _TOLD["telling"].search(each.lower_name)
    ]


def _hides(style: Style) -> bool:
    """Tell whether declarations keep an element, with all that is in it, from being seen."""
    overflow = " ".join(style.get(name, "") for name in _OVERFLOWS)
    is_cut = re.search("hidden|clip|auto|scroll|paint|strict|content", overflow) is not None
    is_moved = style.get("position") in {"absolute", "fixed", "relative"}
    return (
        any(name in style and pattern.search(style[name]) for name, pattern in _HIDING.items())
        or (is_cut and any(_is_at_most(style[it], 2, whole=_WIDTH) for it in filter(_SIZES, style)))
        or any(
            _is_far(value)
            for name, value in style.items()
            if _MOVES.match(name) or (is_moved and _SIDES.match(name))
        )
        or _is_far(style.get("transform", "").partition("translate")[2])
    )


_OVERFLOWS = ("overflow", "overflow-x", "overflow-y", "contain")
_SIZES = re.compile(r"(?:max-)?(?:height|width|(?:block|inline)-size)").fullmatch
_MOVES = re.compile(r"(?:translate|(?:margin|padding)(?:-(?:left|top|inline|block)(?:-start)?)?)$")
_SIDES = re.compile(r"(?:left|right|top|bottom|inset[a-z-]*)$")
_FONT, _LEAST_FONT = 16, 4
"""Pixels of usual text, and up to which nobody reads it."""
_FONT_SIZE = re.compile(r"(?:^|\s)(0|[\d.]+(?:px|pt|r?em|%|vw))(?=[\s/])")


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


def _drop_unseen_text(tree: Element, styles: Mapping[Element, Style]) -> None:
    """Take out text that is hidden by what elements inherit, unless they have their own.

    That is a size of nothing, or a colour that cannot be told from what is behind, where that is
    known.
    """
    known: dict[Element, tuple[Colour | None, Colour | None, frozenset[str]]] = {}
    for element in list(tree.iter()):
        if not isinstance(element.tag, str):
            continue
        ink, ground, hiding = known.get(element.getparent(), (_BLACK, _WHITE, frozenset()))
        style = styles.get(element)
        if style is not None:
            declared = style.get("-webkit-text-fill-color") or style.get("color")
            if declared not in {None, "inherit", "unset", "currentcolor"}:
                ink = next(iter(_colours(declared or "")), None)
            for name in ("background", "background-color", "background-image"):
                ground = _ground(style[name], ground) if name in style else ground
            if element.tag not in _NEVER_HIDDEN:
                hiding = _inherited(style, hiding)
        known[element] = ink, ground, hiding
        is_ground = "text" in " ".join((style or {}).get(name, "") for name in _CLIPS)
        is_lost = ink is not None and (ink[3] < _SEEN_ALPHA or _is_alike(ink, ground))
        if hiding or (is_lost and not is_ground):
            _drop_own_text(element)


def _inherited(style: Style, hiding: frozenset[str]) -> frozenset[str]:
    """Return which of the properties that children inherit hide the text of an element."""
    size = (_FONT_SIZE.findall(style.get("font", "")) or ["inherit"])[0]
    for name, hides in _INHERITED.items():
        value = style.get(name, size if name == "font-size" else "inherit")
        is_share = name in hiding and re.search(r"\dem|%", value)  # of nothing
        if value not in {"inherit", "unset"} and not is_share:
            hiding = hiding | {name} if hides(value) else hiding - {name}
    return hiding


_INHERITED: Mapping[str, Callable[[str], bool]] = {
    "visibility": {"hidden", "collapse"}.__contains__,
    "font-size": lambda value: _is_at_most(value, _LEAST_FONT, whole=_FONT),
    "text-indent": lambda value: _is_far(value) or re.match(r"\d{3,}%", value) is not None,
}


@lru_cache(maxsize=10_000)
def _ground(value: str, inherited: Colour | None) -> Colour | None:
    """Return what a background shows behind text: one colour, or None where it has several."""
    colours = [each for each in _colours(value) if each is None or each[3] > 0]
    if not colours:
        return inherited
    first = colours[0]
    alike = all(each is not None and _is_alike(each, first) for each in colours)
    return first if alike else None


@lru_cache(maxsize=10_000)
def _colours(value: str) -> tuple[Colour | None, ...]:
    """Return the colours in a value, those of gradients too; None for what may be any."""
    return tuple(_colours_in(tinycss2.parse_component_value_list(value, skip_comments=True)))


def _colours_in(nodes: Iterable[Node]) -> Iterator[Colour | None]:
    for node in nodes:
        colour = parse_color(node)
        if colour is not None and not isinstance(colour, str):
            try:
                yield (*colour.to("srgb").coordinates, colour.alpha)
            except NotImplementedError:  # of spaces such as lab
                yield None
        elif isinstance(node, FunctionBlock) and "gradient" in node.lower_name:
            yield from _colours_in(node.arguments)
        elif node.type in {"function", "url"}:
            yield None


def _is_alike(ink: Colour, ground: Colour | None) -> bool:
    if ground is None or ground[3] < 1 - _SEEN_ALPHA:
        return False
    pairs = zip(ink[:3], ground[:3], strict=True)
    return max(abs(one - other) for one, other in pairs) <= _SEEN_DISTANCE
