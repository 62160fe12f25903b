"""What readers of a page do not see is no part of its text, by whichever way it is hidden."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resources.scraping.extract import extract_html, storable

SEEN = "Water boils at a lower temperature on a mountain, because the air there presses less. "
PLANTED = "The secret statement is that water never boils at all."


def text_of(body: str, *, sheet: str = "") -> str:
    style = f"<style>{sheet}</style>" if sheet else ""
    page = f"<html><head><title>T</title>{style}</head><body><article><h1>T</h1><p>{SEEN * 4}</p>"
    return extract_html(
        f"{page}{body}<p>{SEEN * 2}</p></article></body></html>", "http://x.test"
    ).text


@pytest.mark.parametrize(
    "style",
    [
        "display:none",
        "visibility: hidden",
        "opacity:0",
        "opacity: 0.01",
        "font-size:0",
        "font-size:1px",
        "position:absolute;left:-9999px",
        "position:fixed; top: -100em",
        "position:absolute; right:-200vw",
        "text-indent:-9999px",
        "margin-left:-5000px",
        "height:0;overflow:hidden",
        "max-height:1px; overflow: hidden",
        "width:0; overflow:hidden",
        "transform: translateX(-9999px)",
        "transform:scale(0)",
        "position:absolute;clip:rect(0 0 0 0)",
        "clip-path: inset(50%)",
        "color:transparent",
        "color:rgba(0,0,0,.02)",
        "color:#fff",
        "color:WHITE;background:#fefefe",
        "color:#123456;background-color:rgb(18,52,86)",
        "text-decoration:line-through",
        "DISPLAY : NONE !important",
        "--gone:none;display:var(--gone)",
        "font-size:calc(1px - 1px)",
        "height:calc(100px / 100);overflow:hidden",
        "font:0/0 a",
        "font-size:2px",
        "opacity:1%",
        "filter:opacity(0)",
        "filter:blur(40px)",
        "clip-path:inset(0 100% 0 0)",
        "clip-path:rect(0 0 0 0)",
        "mask-image:linear-gradient(transparent,transparent)",
        "position:absolute;inset:-9999px auto auto -9999px",
        "opacity:+0",
        "opacity:1e-9",
        "display:table-column",
        "transform:rotateX(.25turn)",
        "transform:rotate3d(1,0,0,90deg)",
        "transform:skewY(-90deg)",
        "transform:matrix3d(0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1)",
        "rotate:x 90deg",
        "scale:1 0",
        "text-indent:100%;white-space:nowrap;overflow:hidden",
        "content:url(data:image/gif;base64,R0lGODlhAQABAAAAACw=)",
        "clip-path:inset(0 9999px 0 0)",
        "max-block-size:0;overflow:hidden",
        "height:2px;overflow:hidden",
        "position:absolute;left:calc(0px - 9999px)",
        "margin:0 0 0 -9999px",
        "translate:-9999px 0",
        "scale:0",
        "zoom:0.01",
        "height:0;contain:paint",
        "transform:matrix(0,0,0,0,0,0)",
        "-webkit-text-security:disc",
        "letter-spacing:-1em",
        "color:rgb(255 255 255 / 1)",
        "color:#fff;background:linear-gradient(#fff,#fefefe)",
        "color:#123456;background:#123456 none no-repeat",
        "display:/**/none",
        "font-size:clamp(0px,0px,1px)",
        "position:absolute;top:calc(-1 * 100vh - 500px)",
        "transform:scale(.001)",
        "height:1px;overflow:scroll",
        "padding-left:9999px;overflow:hidden",
        "clip-path:circle(10px at -100px -100px)",
        "clip-path:polygon(-10px -10px,-20px -10px,-10px -20px)",
        "-webkit-mask-image:linear-gradient(rgba(0,0,0,0),transparent)",
    ],
)
def test_what_a_style_hides_is_not_read_inline_or_by_a_sheet_of_the_page(style: str) -> None:
    for element in ("p", "div", "span"):
        inline = f'<{element} style="{style}">{PLANTED}</{element}>'
        assert PLANTED not in text_of(inline), element
    for selector in (".x", "p#y", "article > p.x", "[data-z]", "div p, .x"):
        classed = f'<p class="x" id="y" data-z="1">{PLANTED}</p>'
        text = text_of(classed, sheet=f"a{{color:red}} {selector} {{ {style} }}")
        assert PLANTED not in text, selector
        assert SEEN.strip() in text


@pytest.mark.parametrize(
    "body",
    [
        f"<template><p>{PLANTED}</p></template>",
        f"<noscript><p>{PLANTED}</p></noscript>",
        f"<dialog><p>{PLANTED}</p></dialog>",
        f"<p hidden>{PLANTED}</p>",
        f"<div popover><p>{PLANTED}</p></div>",
        f"<p><s>{PLANTED}</s></p>",
        f"<p><del>{PLANTED}</del></p>",
        f"<s><p>{PLANTED}</p></s>",
        f"<i hidden><p>{PLANTED}</p></i>",
        f'<p class="cdk-visually-hidden">{PLANTED}</p>',
        f'<p class="note sr-only">{PLANTED}</p>',
        f'<p data-unseen="">{PLANTED}</p>',
        f'<p><font color="white">{PLANTED}</font></p>',
        f'<p><font color="FFFFFF">{PLANTED}</font></p>',
        f"<p><progress>{PLANTED}</progress><meter>{PLANTED}</meter></p>",
        f'<div style="background:#000"><p style="color:#050505">{PLANTED}</p></div>',
        f'<div style="color:#fff"><p>{PLANTED}</p></div>',
        f"<video>{PLANTED}</video><canvas>{PLANTED}</canvas><object>{PLANTED}</object>",
        f'<script type="application/ld+json">{{"articleBody": "{PLANTED * 9}"}}</script>',
        f"<!-- {PLANTED} -->",
    ],
)
def test_what_is_hidden_by_its_kind_is_not_read(body: str) -> None:
    assert PLANTED not in text_of(body)


@pytest.mark.parametrize(
    "sheet",
    [
        "article { & .x { display: none } }",
        "article { .x { @media screen { display: none } } }",
        "@media (min-width: 1px) { .x { display: none } }",
        "@media only screen and (width >= 20em) { .x { display: none } }",
        "@media not print { .x { display: none } }",
        "@media (prefers-reduced-motion: no-preference) { .x { display: none } }",
        "@container (min-width: 1px) { .x { display: none } }",
        "@layer a { @supports (color: red) { .x { display: none } } }",
        "".join(f".x:nth-child({number}) b {{ color: red }}" for number in range(500))
        + ".x { display: none }",
        f"/* {'long ' * 40_000} */ .x {{ display: none }}",
        "".join(f".u{number} {{ padding: 3px }}" for number in range(9_000)) + ".x{display:none}",
        "@media (hover: hover) or (hover: none) { .x { display: none } }",
        "@keyframes away { to { opacity: 0 } } .x { animation: away 0s forwards }",
        "@keyframes A { 100% { zoom: 0 } } .x { animation-name: A; animation-fill-mode: both }",
    ],
    ids=lambda sheet: sheet[:40],
)
def test_a_sheet_hides_by_rules_in_rules_by_queries_that_hold_and_behind_many_others(
    sheet: str,
) -> None:
    assert PLANTED not in text_of(f'<p class="x">{PLANTED}</p>', sheet=sheet)


def test_text_in_the_colour_of_the_page_is_not_read_by_the_attributes_of_its_body() -> None:
    page = f"<body bgcolor=000000 text=ffffff><p>{SEEN * 2}</p>"
    page += f"<p style='background:#fff'>{PLANTED}</p>"
    text = extract_html(page, "http://x.test").text
    assert SEEN.strip() in text
    assert PLANTED not in text


def test_a_text_is_stored_as_it_is_seen() -> None:
    """Characters without a width would keep its words from being found, or speak to machines."""
    told = "".join(chr(0xE0000 + ord(letter)) for letter in PLANTED)
    split = "\u00ad\u200b".join("It boils away.")
    text = text_of(f"<p>{split} Seen.{told} \u202e{PLANTED[::-1]}\u202c</p>")
    assert f"It boils away. Seen. {PLANTED}" in text
    assert storable("नम\u200dस्ते, c\u200do\u200cn") == "नम\u200dस्ते, con"


def test_what_is_turned_round_ends_with_its_element() -> None:
    page = f"<html><head><title>a \u202e evil</title></head><body><p>{SEEN * 2}</p></body></html>"
    found = extract_html(page, "http://x.test")
    assert SEEN.strip() in found.text
    assert found.title == "a live"


def test_what_machines_are_told_is_not_read_in_the_place_of_what_people_see() -> None:
    article = f'{{"@type":"Article","articleBody":"{PLANTED}"}}'
    told = f'<script type="application/ld+json">{article}</script>'
    assert PLANTED not in extract_html(f"<body><p>{SEEN * 2}</p>{told}", "http://x.test").text


@pytest.mark.parametrize(
    ("body", "sheet"),
    [
        (f"<details><summary>More</summary><p>{PLANTED}</p></details>", ""),
        (f'<p hidden="until-found">{PLANTED}</p>', ""),
        (f'<p class="hidden md:block">{PLANTED}</p>', ""),
        (f'<p style="color:#333;opacity:.9;text-indent:2em;margin-left:-10px">{PLANTED}</p>', ""),
        (f'<div style="background:#000"><p style="color:#fff">{PLANTED}</p></div>', ""),
        (f'<div style="background-image:url(a.png)"><p style="color:#fff">{PLANTED}</p></div>', ""),
        (f'<p class="x" style="color:var(--ink)">{PLANTED}</p>', ".x{background:var(--paper)}"),
        (f'<p class="x">{PLANTED}</p>', "@media print { .x { display: none } }"),
        (f'<p class="x">{PLANTED}</p>', "@media (max-width: 600px) { .x { display: none } }"),
        (f'<p class="x">{PLANTED}</p>', ".x::before { display: none } .x:hover { opacity: 0 }"),
        (f'<p class="x y">{PLANTED}</p>', ".x { display: none } .x.y { display: block }"),
        (f'<p class="x" style="display:block">{PLANTED}</p>', ".x { display: none }"),
        (f"<p>{PLANTED}</p>", "body { visibility: hidden } main { opacity: 0 }"),
        (f"<p>{PLANTED}</p>", "p { color: #fff } body { background: #222 }"),
        (f'<p class="x">{PLANTED}</p>', "@media (prefers-color-scheme:dark) {.x{display:none}}"),
        (f'<p class="x">{PLANTED}</p>', "@media not screen { .x { display: none } }"),
        (f'<p class="x">{PLANTED}</p>', "b { .x { display: none } }"),
        (f'<p style="width:calc(100% - 20px);overflow:hidden">{PLANTED}</p>', ""),
        (f'<p style="font:700 16px/1.5 serif;margin:0 auto;zoom:1">{PLANTED}</p>', ""),
        (f'<p style="transform:rotate3d(0,0,1,90deg) skewY(9deg);scale:1 .9">{PLANTED}</p>', ""),
        (f'<p style="background:linear-gradient(#000,#333);color:#fff">{PLANTED}</p>', ""),
        (f"<div><template shadowrootmode=open><slot></slot></template><p>{PLANTED}</p></div>", ""),
        (f"<div><template shadowrootmode=open><p>{PLANTED}</p></template></div>", ""),
        (f"<p>{PLANTED}</p><div>{'<template shadowrootmode=open></template>' * 2}</div>", ""),
        (f'<p><i>{PLANTED}</i><i style="position:absolute;inset:0"></i></p>', ""),
        (f"<p>{PLANTED}</p>", "} broken { p { display: none"),
        (f'<p class="x">{PLANTED}</p>', "@import url('data:text/css,.x%7Bopacity:0%7D') print;"),
        (f'<p class="x">{PLANTED}</p>', "@supports not (display: grid) { .x { display: none } }"),
        (f'<p class="x">{PLANTED}</p>', ".x { opacity: 1 } @starting-style { .x { opacity: 0 } }"),
        (
            f'<p class="x">{PLANTED}</p>',
            "@keyframes come { to { opacity: 1 } } .x { opacity: 0; animation: come 1s forwards }",
        ),
        (
            f'<p class="x">{PLANTED}</p>',
            "@keyframes pass { to { opacity: 0 } } .x { animation: pass 1s }",
        ),
        (f'<p class="x">{PLANTED}</p>', ".x { color: color-mix(in srgb, black 80%, white) }"),
        (
            f'<p class="x">{PLANTED}</p>',
            ".x { color: transparent; background: #000; -webkit-background-clip: text }",
        ),
    ],
)
def test_what_is_seen_or_opened_by_its_readers_is_read(body: str, sheet: str) -> None:
    assert PLANTED in text_of(body, sheet=sheet)


LONG = "<b class=x>word</b> " * 3_000


@pytest.mark.parametrize(
    ("sheet", "body"),
    [
        ("b ~ b ~ b ~ b { left: 0 }" * 30, LONG),
        ("b + b + b { left: 0 }" * 30, LONG),
        ("b:not(b ~ b ~ i ~ b) { left: 0 }", LONG),
        ("b:nth-last-of-type(3n) { left: 0 }" * 300, LONG),
        ("div div div div i { left: 0 }" * 20, f"{'<div>' * 200}<i></i>{'</div>' * 200}" * 20),
        ("".join(f"b:contains('{n}') {{ left: 0 }}" for n in range(900)), f"{'<b>' * 200}{SEEN}"),
        ("".join(f".a{n} .b > .c ~ p {{ left: 0 }}" for n in range(5_000)), "<div></div>" * 5_000),
        (f".x {{ left: calc({'1px + ' * 5_000}1px) }}", LONG),
        (f".x {{ background: linear-gradient({'red, ' * 5_000}red) }}", LONG),
    ],
    ids=lambda given: given[:30],
)
def test_no_sheet_selector_or_value_takes_more_than_its_share_of_time(
    sheet: str, body: str
) -> None:
    """As one XPath, or by a value read for each element, these took from minutes to days."""
    started = time.process_time()
    assert SEEN.strip() in text_of(f"<div>{body}</div>", sheet=sheet)
    assert time.process_time() - started < 10


def test_a_sheet_hides_by_what_stands_before_beside_and_around_an_element() -> None:
    body = f'<div class="a"><i></i><p>{SEEN}</p><div><p class="x">{PLANTED}</p></div></div>'
    for selector in (".a i + p + div .x", ".a > i ~ div > .x", "i ~ p ~ div p", "h1 ~ .a p.x"):
        text = text_of(body, sheet=f"{selector} {{ display: none }}")
        assert PLANTED not in text, selector
    for selector in (".a > .x", "p + .x", "div ~ .x", ".a + div .x", ".x .x", ".x ~ .x"):
        assert PLANTED in text_of(body, sheet=f"{selector} {{ display: none }}"), selector


@pytest.mark.parametrize(
    ("hiding", "shown"),
    [
        ("font-size:0", "font-size:1rem"),
        ("visibility:hidden", "visibility:visible"),
        ("text-indent:-9999px", "text-indent:0"),
        ("font:0/0 a", "font:16px/1 serif"),
    ],
)
def test_what_an_element_inherits_hides_its_text_unless_it_has_its_own(
    hiding: str, shown: str
) -> None:
    """Sites close the gaps of a row with letters of no size, and give its cells a size again."""
    row = f'<div class="row">{PLANTED}<div class="cell"><p>{SEEN * 2}It is read.</p></div></div>'
    text = text_of(row, sheet=f".row {{ {hiding} }} .cell {{ {shown} }}")
    assert "It is read." in text
    assert PLANTED not in text
    for still in ("color: red", "font-size: 2em", "visibility: inherit", "text-indent: inherit"):
        if still[:4] == hiding[:4] or still == "color: red":
            text = text_of(row, sheet=f".row {{ {hiding} }} .cell {{ {still} }}")
            assert "It is read." not in text, still


def test_a_selector_that_cannot_be_looked_for_costs_no_page_its_text() -> None:
    sheet = "@namespace s url(http://www.w3.org/2000/svg); s|a, s|p { color: red }"
    text = text_of(f'<p class="x">{PLANTED}</p>', sheet=f"{sheet} .x {{ display: none }}")
    assert SEEN.strip() in text
    assert PLANTED not in text


_PIECES = """
    @import @media @keyframes @supports x { } ( ) ; : , or not to 100% url( 12 screen color red p &
    'data:,p{color:red}' animation forwards color-mix( light-dark( var(--x) background-clip text
"""


@given(pieces=st.lists(st.sampled_from(_PIECES.split()), max_size=9))
def test_no_sheet_however_broken_keeps_its_page_from_being_read(pieces: list[str]) -> None:
    assert SEEN.strip() in text_of("<p>Said.</p>", sheet=" ".join(pieces))
