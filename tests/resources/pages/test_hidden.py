"""Text that readers of a page do not see is no part of its text."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resources.pages.extract import extract_html, parse_html, storable
from resources.pages.hidden import drop_hidden

SEEN = "Water boils at a lower temperature on a mountain, because the air there presses less. "
PLANTED = "The secret statement is that water never boils at all."


def text_of(body: str) -> str:
    page = f"<html><head><title>T</title></head><body><article><h1>T</h1><p>{SEEN * 4}</p>"
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
        "text-decoration:line-through",
        "DISPLAY : NONE !important",
        "--gone:none;display:var(--gone)",
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
        "display:/**/none",
        "position:absolute;top:calc(-1 * 100vh - 500px)",
        "transform:scale(.001)",
        "position:fixed;top:300vh",
        "margin-left: 300vw",
        "position:absolute;z-index:-1",
        "font-size:.01em",
        "height:1px;overflow:scroll",
        "clip-path:circle(10px at -100px -100px)",
        "clip-path:polygon(-10px -10px,-20px -10px,-10px -20px)",
        "-webkit-mask-image:linear-gradient(rgba(0,0,0,0),transparent)",
        "color:#ffffff00",
        "color:#fff0",
        "color:rgb(0 0 0 / 0)",
        "color:hsl(0 0% 0% / 1%)",
        "display:none !important;display:block",
        "position:absolute;left:9999px",
        "transform:translate3d(0,-2000px,0)",
        "transform:translateX(-100%)",
        "filter:grayscale(0) opacity(0)",
    ],
)
def test_what_an_inline_style_hides_is_not_read(style: str) -> None:
    for element in ("p", "div", "span"):
        text = text_of(f'<{element} style="{style}">{PLANTED}</{element}>')
        assert PLANTED not in text, element
        assert SEEN.strip() in text


@pytest.mark.parametrize(
    "body",
    [
        f"<template><p>{PLANTED}</p></template>",
        f"<noscript><p>{PLANTED}</p></noscript>",
        f"<dialog><p>{PLANTED}</p></dialog>",
        f"<details><summary>More</summary><p>{PLANTED}</p></details>",
        f"<details><summary>More</summary>{PLANTED}</details>",
        f"<select><option>{PLANTED}</option></select><textarea>{PLANTED}</textarea>",
        f"<marquee>{PLANTED}</marquee>",
        f'<p aria-hidden="true">{PLANTED}</p>',
        f"<p hidden>{PLANTED}</p>",
        f"<div popover><p>{PLANTED}</p></div>",
        f"<p><s>{PLANTED}</s></p>",
        f"<p><del>{PLANTED}</del></p>",
        f"<s><p>{PLANTED}</p></s>",
        f"<i hidden><p>{PLANTED}</p></i>",
        f'<p data-unseen="">{PLANTED}</p>',
        f"<p><progress>{PLANTED}</progress><meter>{PLANTED}</meter></p>",
        f"<video>{PLANTED}</video><canvas>{PLANTED}</canvas><object>{PLANTED}</object>",
        f'<script type="application/ld+json">{{"articleBody": "{PLANTED * 9}"}}</script>',
        f"<!-- {PLANTED} -->",
    ],
)
def test_what_is_hidden_by_its_kind_is_not_read(body: str) -> None:
    assert PLANTED not in text_of(body)


def test_a_text_is_stored_as_it_is_seen() -> None:
    """Characters without a width would break the search for words, or address machines."""
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


def test_metadata_for_machines_does_not_replace_the_visible_text() -> None:
    article = f'{{"@type":"Article","articleBody":"{PLANTED}"}}'
    told = f'<script type="application/ld+json">{article}</script>'
    assert PLANTED not in extract_html(f"<body><p>{SEEN * 2}</p>{told}", "http://x.test").text


@pytest.mark.parametrize(
    "body",
    [
        f"<details open><summary>More</summary><p>{PLANTED}</p></details>",
        f'<p hidden="until-found">{PLANTED}</p>',
        f'<p class="hidden md:block">{PLANTED}</p>',
        f'<p style="color:#333;opacity:.9;text-indent:2em;margin-left:-10px">{PLANTED}</p>',
        f'<div style="background:#000"><p style="color:#fff">{PLANTED}</p></div>',
        f'<p style="width:calc(100% - 20px);overflow:hidden">{PLANTED}</p>',
        f'<p style="font:700 16px/1.5 serif;margin:0 auto;zoom:1;transform:none">{PLANTED}</p>',
        f'<p style="font-size:clamp(1rem, 2vw, 1.5rem);letter-spacing:-.02em">{PLANTED}</p>',
        f'<p style="position:relative;top:0;left:10px;height:auto">{PLANTED}</p>',
        f"<div><template shadowrootmode=open><slot></slot></template><p>{PLANTED}</p></div>",
        f"<div><template shadowrootmode=open><p>{PLANTED}</p></template></div>",
        f"<p>{PLANTED}</p><div>{'<template shadowrootmode=open></template>' * 2}</div>",
        f'<p><i>{PLANTED}</i><i style="position:absolute;inset:0"></i></p>',
        f'<p style="}} broken {{ display">{PLANTED}</p>',
        f'<p style="opacity:;font-size: ;margin">{PLANTED}</p>',
        f'<div aria-hidden="true"><article><h1>T</h1><p>{PLANTED}</p></article></div>',
    ],
)
def test_what_is_seen_by_its_readers_is_read(body: str) -> None:
    assert PLANTED in text_of(body)


@pytest.mark.parametrize(
    "style",
    [
        "overflow:hidden;min-width:0",
        "contain:paint;border-width:0",
        "overflow:hidden;outline-width:0px",
        "overflow:hidden;column-rule-width:0;background-size:0",
        "position:relative;width:100vw;left:50%;margin-left:-50vw",
        "position:absolute;left:calc(50% - 400px)",
        "margin-left:calc((100% - 100vw) / 2)",
        "position:absolute;left:calc((100vw - 1200px)/-2)",
        "margin-top:-120px",
        "position:absolute;top:2400px;left:120px",
        "margin-top:100vh",
        "transform:translateZ(0)",
        "transform:translate3d(0, 0px, 0)",
        "transform:translate(-50%, -50%) rotate(0deg) scale(1, 1)",
        "transform:matrix(1, 0, 0, 1, 0, 0)",
        "translate:0;rotate:0deg;scale:1 1",
        "zoom:1.0",
        "zoom:100%",
        "filter:grayscale(0) brightness(100%)",
        "color:rgba(255,0,0);opacity:1",
        "color:#000000",
        "color:rgb(0 0 0 / 90%)",
        "display:none;display:block!important;display:none",
    ],
)
def test_what_an_ordinary_layout_moves_is_read(style: str) -> None:
    assert PLANTED in text_of(f'<div style="{style}"><p>{PLANTED}</p></div>')


@pytest.mark.parametrize(
    "style",
    [
        "left: -",
        "margin:" + "1px " * 9,
        "display:/*",
        "transform:translate(",
        "color:rgba(0,0,",
        "left:calc(-",
        "translate:1",
    ],
)
def test_endless_styles_are_read_in_linear_time(style: str) -> None:
    long = f'<p style="{style * (200_000 // len(style))}">{SEEN}</p>'
    many = f'<b style="{style * 5}">a</b>' * (200_000 // (len(style) * 5 + 20))
    for body in (long, many):
        tree = parse_html(f"<html><body>{body}<p>{SEEN}</p></body></html>")
        assert tree is not None
        started = time.process_time()
        drop_hidden(tree)
        assert time.process_time() - started < 10


_PIECES = """
    : ; /* */ ( ) -999px 0 none hidden display visibility left overflow height font var(--x) ! 1e-9
"""


@given(pieces=st.lists(st.sampled_from(_PIECES.split()), max_size=9))
def test_no_style_however_broken_keeps_its_page_from_being_read(pieces: list[str]) -> None:
    assert SEEN.strip() in text_of(f'<p style="{" ".join(pieces)}">Said.</p>')
