"""Turns the bytes of a page into text with title, author and date, or says why it has no text.

Text, title and author come from trafilatura (Barbaresi 2021, doi:10.18653/v1/2021.acl-demo.15), the
date from htmldate (Barbaresi 2020, JOSS 5(51) 2439), but only from the markup: a date guessed from
running text would be false precision. Everything here is pure and blocking.
"""

from __future__ import annotations

import codecs
import logging
import math
import re
import unicodedata
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal, TypeAlias
from urllib.parse import urldefrag, urljoin

import lxml.etree
import lxml.html

from resources.pages.hidden import drop_hidden
from resources.pages.reviews import review_text
from resources.text_files import BOMS, NotTextError, decode_text
from resources.words import UNSPACED

MAX_ELEMENTS = 40_000
"""Limit for trafilatura, which would be too slow beyond; of larger pages the text is all blocks."""
_RAISED = str.maketrans("0123456789+-\u2212", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
_LITTLE_TEXT = 250  # Below so many characters the plain blocks may replace trafilatura's result.
_SHELL_TEXT = 100  # A page with scripts and fewer characters needs a browser.
_MOUNT = "//div[@id='root' or @id='app' or @id='__next'][string-length(normalize-space()) < 20]"
"""The empty element that scripts fill with the page."""
_REFRESH = "//meta[normalize-space(translate(@http-equiv, 'REFSH', 'refsh')) = 'refresh'][@content]"
_REFRESH_TARGET = re.compile(
    r"\s*(\d{0,3})[.\d]*\s*[;,\s]\s*(?:url\s*=\s*)?[\"']?([^\"']+)", re.IGNORECASE
)
"""The seconds and the target of a refresh (HTML, section 4.2.5.3)."""
_SOON_SECONDS = 10  # A page that redirects sooner has no text for readers.
_REDIRECT_SCRIPT = re.compile(
    r"\blocation(?:\.href)?\s*=\s*[\"'][^\"']+[\"']\s*(?:[;)}]|$)"
    r"|\blocation\.(?:replace|assign)\(|\bforms?\b.{0,20}\.submit\(\)"
)
_REDIRECT_CODE, _REDIRECT_TEXT = 400, 1_500
"""Characters of scripts and of text up to which a redirecting script is all of the page."""
_MARKUP_PER_CHARACTER = 500
"""Characters of markup per character of text, from which a page has too little text."""
_ITEM_TEXT = 5
"""Characters outside of links, from which a list item is no menu entry."""
_OG_TITLES = "//meta[@property='og:title'][normalize-space(@content)]"
_JSON_LD = "//script[@type='application/ld+json']//text()"
_NOT_FREE = re.compile(r"\"isAccessibleForFree\"\s{0,9}:\s{0,9}\"?false", re.IGNORECASE)
_BEGINNING = 1_500
"""Characters up to which the text is only the beginning of an article that is not free (schema.org,
isAccessibleForFree). Many such pages contain their whole text all the same."""
_ENOUGH_TEXT = 400  # Characters of text that are enough for a page of any size.

_META_CHARSET = re.compile(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE
)
_META_WINDOW = 4_096
_ATTRIBUTE = r"[\s/]++[^\s=>/]++(?:\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+'|[^\s>]*+))?+"
_TAG = re.compile(
    rf"(</?)([a-zA-Z][^\s>/]*+)((?:{_ATTRIBUTE}){{1000,}}+)?+((?:{_ATTRIBUTE})*+)", re.ASCII
)
_SUBSET = re.compile(r"(\s*(?:<\?xml[^<>]*>\s*)?<!DOCTYPE[^\[<>]*)\[[^\]]*\]", re.IGNORECASE)
"""Declarations in the head of XHTML, which libxml2 would read as text."""
_CLOSED_EARLY = ("b", "big", "i", "s", "small", "strike", "tt", "u")
"""Tags that libxml2, unlike browsers, ends at the next paragraph."""
# WHATWG Encoding, section 4.2: browsers read these charsets as larger ones, and pages rely on it.
_LARGER_CHARSETS = {
    "ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874",
    "tis-620": "cp874", "gb2312": "gb18030", "gbk": "gb18030", "big5": "big5hkscs",
    "shift_jis": "cp932", "euc_kr": "cp949",
}  # fmt: skip
# In these, text has many zero bytes; Western text in every second place.
_WIDE = ("utf-16", "utf-32")
# Codecs for host names, with quadratic time.
_HOST_CODECS = frozenset({"idna", "punycode"})
_WIDE_ZEROS = 50
_DAMAGE_ALLOWED = 0.05
"""Share of a text's non-ASCII characters that may be unreadable in its declared charset."""
_SAMPLE, _LOST_SHARE = 20_000, 0.02
"""Size of the sample in characters, and the share of lost ones that makes a text garbled."""
_PROGRAM_TAGS = ("script", "style", "noscript", "template", "svg", "math", "iframe", "object")
_MENU_TAGS = ("canvas", "nav", "footer", "aside", "form", "button", "select", "dialog", "title")
_UNREAD_TAGS = _PROGRAM_TAGS + _MENU_TAGS
_BLOCK_TEXT = """
address article blockquote body br caption dd details div dl dt fieldset figcaption figure h1 h2 h3
h4 h5 h6 header hr li main ol p pre section summary table td th tr ul
"""
_BLOCK_TAGS = frozenset(_BLOCK_TEXT.split())
# Errors that hostile markup has caused.
READER_ERRORS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
    lxml.etree.LxmlError,
)


Obstacle: TypeAlias = Literal["empty", "garbled", "locked", "needs a browser", "textless"]
"""Why a page has no readable text: only pictures (empty), lost characters (garbled), only the
beginning of an article that is not free (locked), scripts that draw it, or no text at all."""


@dataclass(frozen=True, slots=True)
class Extract:
    """The text of a page and its metadata; an `obstacle` if and only if there is no text."""

    text: str
    title: str | None = None
    author: str | None = None
    published_on: date | None = None
    obstacle: Obstacle | None = None


def decode(body: bytes, declared: str | None = None) -> str:
    """Decode a page by its byte order mark, as UTF-8, by its declarations, or by detection.

    They apply in this order, because hardly any other text is valid UTF-8 by chance, while servers
    often declare a wrong default charset. A declaration (`declared` is that of the Content-Type
    header) counts only if it fits the bytes. Unreadable bytes become U+FFFD.
    """
    for mark, encoding in BOMS:
        if body.startswith(mark):
            return body.decode(encoding, "replace")
    if not body.isascii():
        with suppress(UnicodeDecodeError):
            return body.decode("utf-8")
    in_page = _META_CHARSET.search(body[:_META_WINDOW])
    for label in (declared, in_page[1].decode("ascii", "ignore") if in_page else ""):
        text = _decode_as(body, label or "")
        if text is not None:
            return text
    try:
        return decode_text(body, detect=True)
    except NotTextError:
        return body.decode("cp1252", "replace")


def _decode_as(body: bytes, label: str) -> str | None:
    """Decode by a label; None if it is unknown or does not fit the bytes."""
    try:
        name = codecs.lookup(label.strip().strip("\"'")).name
        is_narrow = name.startswith(_WIDE) and body.count(0) < len(body) // _WIDE_ZEROS
        if is_narrow or name in _HOST_CODECS:
            return None
        text = body.decode(_LARGER_CHARSETS.get(name, name), "replace")
    except (LookupError, ValueError):
        return None
    damaged = text.count("\ufffd")
    foreign = sum(not letter.isascii() for letter in text) if damaged else 0
    return None if damaged > _DAMAGE_ALLOWED * foreign else text


def extract_html(html: str, url: str) -> Extract:
    """Read a decoded HTML page; `url` resolves its links.

    The ClaimReview markup of a fact check becomes the last lines of the text.
    """
    tree = parse_html(html)
    if tree is None:
        return Extract(text="", obstacle="textless")
    # First, because the next steps remove these parts.
    title, signs = page_title(tree), _signs_of(tree, url)
    review = storable(review_text(tree, url))
    drop_hidden(tree)
    for raised in tree.iter("sup"):  # 10 to the power of 6 is not 106
        if (raised.text or "").strip(" +-\u2212").isdecimal():
            raised.text = raised.text.translate(_RAISED)
    for repeated in tree.xpath(_OG_TITLES)[1:]:  # of which Trafilatura would take the last
        repeated.drop_tree()
    plain = plain_text(tree)
    is_small = sum(1 for _ in tree.iter()) <= MAX_ELEMENTS
    page = _with_trafilatura(tree, url, plain) if is_small else Extract(plain, title)
    text = storable(page.text)
    obstacle = _obstacle(text, signs, len(html))
    if obstacle == "textless" and tree.find(".//img") is not None:
        obstacle = "empty"
    if obstacle is not None:
        text = ""
    elif review:
        text = f"{text}\n\n{review}"
    return replace(page, text=text, obstacle=obstacle)


@dataclass(frozen=True, slots=True)
class _Signs:
    """The signs in a page's markup that its text may be elsewhere."""

    headings: frozenset[str]
    """Its title and its first-level headings, on one line each."""
    scripted_text: int
    """Characters below which the page's scripts draw its text; 0 without scripts."""
    is_locked: bool
    """The article is not free."""
    redirect_text: float
    """See `_redirect_text`."""


def _signs_of(tree: lxml.html.HtmlElement, url: str) -> _Signs:
    headings = [page_title(tree) or "", *("".join(h1.itertext()) for h1 in tree.iter("h1"))]
    scripted_text = 0
    if tree.find(".//script") is not None:
        scripted_text = _ENOUGH_TEXT if tree.xpath(_MOUNT) else _SHELL_TEXT
    return _Signs(
        headings=frozenset(filter(None, map(clean, headings))),
        scripted_text=scripted_text,
        is_locked=_NOT_FREE.search("".join(tree.xpath(_JSON_LD))) is not None,
        redirect_text=_redirect_text(tree, url),
    )


def _obstacle(text: str, signs: _Signs, markup_characters: int) -> Obstacle | None:
    """Return why a text is not that of its page, None if it is."""
    # A letter of a script without spaces says as much as three others.
    characters = len(text) + 2 * len(UNSPACED.findall(text))
    least = max(1, min(_ENOUGH_TEXT, markup_characters // _MARKUP_PER_CHARACTER))
    if characters < signs.redirect_text:
        return "needs a browser"
    if signs.is_locked and characters < _BEGINNING:
        return "locked"
    if is_garbled(text):
        return "garbled"
    if signs.scripted_text and characters < max(signs.scripted_text, least):
        return "needs a browser"
    has_only_headings = signs.headings.issuperset(text.split("\n"))
    return "textless" if has_only_headings or characters < least else None


def _redirect_text(tree: lxml.html.HtmlElement, url: str) -> float:
    """Return the number of characters below which a page is only a redirect.

    Infinite if the page redirects at once, 0 if nothing redirects.
    """
    here, characters = urldefrag(url).url, 0.0
    for meta in tree.xpath(_REFRESH):
        refresh = _REFRESH_TARGET.match(meta.get("content"))
        if refresh is not None:
            is_soon = int(refresh[1] or 0) <= _SOON_SECONDS
            is_elsewhere = urldefrag(urljoin(url, refresh[2].strip())).url != here
            if is_elsewhere and is_soon and next(meta.iterancestors("noscript"), None) is None:
                return math.inf
            characters = _ENOUGH_TEXT
    code = "".join(tree.xpath("//script[not(@src)]//text() | //body/@onload"))
    has_files = bool(tree.xpath("//script[@src]"))
    if len(code) <= _REDIRECT_CODE and not has_files and _REDIRECT_SCRIPT.search(code):
        return _REDIRECT_TEXT
    return characters


def extract_plain(text: str) -> Extract:
    text = storable(text).strip()
    if is_garbled(text):
        return Extract("", obstacle="garbled")
    return Extract(text, obstacle=None if text else "textless")


def parse_html(html: str) -> lxml.html.HtmlElement | None:
    """Parse a page leniently, without comments, to 256 levels; None if it has no element.

    A tag with a thousand attributes loses them, because libxml2 compares each with all others.
    """

    def tamed(tag: re.Match[str]) -> str:
        mask = "x-" if tag[2].lower() in _CLOSED_EARLY else ""
        return f"{tag[1]}{mask}{tag[2]}{'' if tag[3] else tag[4]}"

    parser = lxml.html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    try:
        head = _SUBSET.match(html)
        html = f"{head[1]}{html[head.end() :]}" if head else html
        markup = storable(_TAG.sub(tamed, html)).encode("utf-8")
        tree = lxml.html.document_fromstring(markup, parser=parser)
    except (lxml.etree.ParserError, lxml.etree.XMLSyntaxError):
        return None
    for element in tree.iter(*(f"x-{name}" for name in _CLOSED_EARLY)):
        element.tag = element.tag[2:]
    return tree


def is_garbled(text: str) -> bool:
    """Tell whether a text was decoded wrongly, or is no text.

    Then it has characters that no text has: U+FFFD, controls, private use, unassigned.
    """
    sample = text[:_SAMPLE]
    lost = sum(
        letter not in "\t\n\r\x85"
        and (letter == "\ufffd" or unicodedata.category(letter) in {"Cc", "Co", "Cn", "Cs"})
        for letter in sample
    )
    return lost > max(3, _LOST_SHARE * len(sample))


def plain_text(tree: lxml.html.HtmlElement) -> str:
    """Return the blocks of a page, one per line, without menus and forms.

    A form around most of the page's text is kept, because some servers put every page into one.
    """
    skipped = set(tree.iter(*_UNREAD_TAGS))
    most = max(_ENOUGH_TEXT, _readable(tree) / 2)
    forms = tree.xpath("//form[not(ancestor::form)]")
    skipped -= {form for form in forms if _readable(form) > most}
    pieces: list[str] = []  # with NUL, which no stored text has, between blocks
    inside_skipped = 0
    for event, element in lxml.etree.iterwalk(tree, events=("start", "end")):
        edge = "\0" if element.tag in _BLOCK_TAGS else ""
        if event == "start":
            inside_skipped += element in skipped
            if not inside_skipped:
                pieces += (edge, element.text or "")
        else:
            if not inside_skipped:
                pieces.append(edge)
            inside_skipped -= element in skipped
            if not inside_skipped:
                pieces.append(element.tail or "")
    lines = (" ".join(line.split()) for line in "".join(pieces).split("\0"))
    return "\n".join(line for line in lines if line)


def _readable(element: lxml.html.HtmlElement) -> int:
    """Return the number of characters in an element, without scripts and style sheets."""
    return sum(map(len, element.xpath(".//text()[not(parent::script or parent::style)]")))


def _with_trafilatura(tree: lxml.html.HtmlElement, url: str, plain: str) -> Extract:
    # Late imports: they take a third of a second.
    from trafilatura import bare_extraction  # noqa: PLC0415
    from trafilatura.metadata import extract_metadata  # noqa: PLC0415
    from trafilatura.settings import Document, set_date_params  # noqa: PLC0415

    for name in ("trafilatura", "htmldate"):
        # They log every odd page with its full URL, including the query.
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        metadata = extract_metadata(tree, url, set_date_params(extensive=False), extensive=False)
        # Trafilatura would take an article's text from JSON-LD, which readers do not see.
        lxml.etree.strip_elements(tree, "script", "style", with_tail=False)
        _plain_lists_and_captions(tree)
        document = bare_extraction(tree, url=url, include_comments=False, include_tables=True)
    except READER_ERRORS:
        return Extract(plain, page_title(tree))
    text = ((document.text if isinstance(document, Document) else None) or "").strip()
    published_on = None
    with suppress(ValueError):
        published_on = date.fromisoformat((metadata.date or "")[:10])
    if len(text) < _LITTLE_TEXT and len(plain) > len(text):
        text = plain
    return Extract(
        text=text,
        title=clean(metadata.title) or page_title(tree),
        author=clean(metadata.author),
        published_on=published_on,
    )


def _plain_lists_and_captions(tree: lxml.html.HtmlElement) -> None:
    """Keep list items and captions, which trafilatura would drop as menus and pictures."""
    for item in tree.iter("li", "dd", "td"):
        links = list(item.iter("a"))
        linked = sum(len(link.text_content()) for link in links)
        if links and len(item.text_content()) - linked >= _ITEM_TEXT:
            for link in links:
                link.drop_tag()
    for figure in tree.iter("figure", "figcaption"):
        figure.tag = "div" if figure.tag == "figure" else "p"


def page_title(tree: lxml.html.HtmlElement) -> str | None:
    titles = "(//title[not(ancestor::svg)][normalize-space()])[1]//text()"
    for path in (f"({_OG_TITLES})[1]/@content", titles, "//h1//text()"):
        if title := clean(" ".join(str(part) for part in tree.xpath(path)[:20])):
            return title
    return None


def clean(text: str | None) -> str | None:
    """Return metadata on one line, shortened; None if it is empty."""
    return (" ".join(storable(text).split())[:500] or None) if text else None


def storable(text: str) -> str:
    """Remove characters that no column can hold (NUL, lone surrogates), and invisible ones.

    Invisible characters break the search for words, or address only machines: tags, variant
    selectors, joiners between Latin letters. Text with reversed direction is stored as it appears.
    """
    if text.isascii():
        return text.replace("\0", "")
    text = text.encode("utf-8", "replace").decode("utf-8")
    return _UNSEEN.sub("", _TURNED.sub(lambda match: match[1][::-1], text))


_TURNED = re.compile("\u202e([^\u202c\n<]*)\u202c?")
"""Reversed text up to its end: the end of the line, and in markup of the element."""
_UNSEEN = re.compile(
    "[\0\u00ad\u034f\u061c\u115f\u1160\u180b-\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]|(?<=[ -\u024f])[\u200c\u200d]"
)
