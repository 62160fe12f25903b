"""Turns the bytes of a page into readable text with title, author and date.

What belongs here: decoding and extraction, and what the markup shows to keep a page from being
read. What does not: fetching, deciding which page is read (pages.py), and telling whether it is the
page that was found (promises.py). Everything here is pure and blocking; run it off the event loop.

Text, title and author come from trafilatura (Barbaresi 2021, ACL demo,
doi:10.18653/v1/2021.acl-demo.15), the date from htmldate (Barbaresi 2020, JOSS 5(51) 2439), from
the page's own markup only: a date that is guessed from the running text would be false precision.
Where trafilatura finds little, the blocks of the page are taken as they stand.
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

from resources.lines import BOMS
from resources.pages.hidden import drop_hidden

MAX_ELEMENTS = 40_000
"""Pages with more elements are read block by block: trafilatura would take longer than seconds."""

_LITTLE_TEXT = 250  # Characters below which trafilatura's result is compared with the plain blocks.
_SHELL_TEXT = 100  # A page with scripts and fewer characters than this is drawn by its scripts.
_MOUNT = "//div[@id='root' or @id='app' or @id='__next'][string-length(normalize-space()) < 20]"
"""Where scripts put the page."""

_REFRESH = "//meta[normalize-space(translate(@http-equiv, 'REFSH', 'refsh')) = 'refresh'][@content]"
_LEADS = re.compile(r"\s*(\d{0,3})[.\d]*\s*[;,\s]\s*(?:url\s*=\s*)?[\"']?([^\"']+)", re.IGNORECASE)
"""After how many seconds a page leads where (HTML, section 4.2.5.3), which a browser follows."""

_LEADING_SECONDS = 10  # Up to these, nobody is meant to read what a page says meanwhile.
_LEADING_SCRIPT = re.compile(
    r"\blocation(?:\.href)?\s*=\s*[\"'][^\"']+[\"']\s*(?:[;)}]|$)"
    r"|\blocation\.(?:replace|assign)\(|\bforms?\b.{0,20}\.submit\(\)"
)
_LEADING_CODE, _LED_TEXT = 400, 1_500
"""Characters of scripts and of text up to which a page is but a script that leads on."""

_MARKUP_PER_CHARACTER = 500
"""Characters of markup for one of text from which a page says too little for its size."""

_OWN_WORDS_OF_AN_ITEM = 5
"""Characters beside its links from which an item of a list is no entry of a menu."""

_STATED_FACTS = "//script[@type='application/ld+json']//text()"
_NOT_FREE = re.compile(r"\"isAccessibleForFree\"\s{0,9}:\s{0,9}\"?false", re.IGNORECASE)
_BEGINNING = 1_500
"""Characters up to which the text of an article is its beginning, where the page states that it is
not free (schema.org, isAccessibleForFree). Many pages state it and give their whole text."""

_LITTLE_FOR_ITS_SIZE = 400  # Characters of text from which no size is too great.

_META_CHARSET = re.compile(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE
)
_META_WINDOW = 4_096
_ATTRIBUTE = r"[\s/]++[^\s=>/]++(?:\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+'|[^\s>]*+))?+"
_TAG = re.compile(
    rf"(</?)([a-zA-Z][^\s>/]*+)((?:{_ATTRIBUTE}){{1000,}}+)?+((?:{_ATTRIBUTE})*+)", re.ASCII
)
_SUBSET = re.compile(r"(\s*(?:<\?xml[^<>]*>\s*)?<!DOCTYPE[^\[<>]*)\[[^\]]*\]", re.IGNORECASE)
"""Declarations in the head of XHTML, which libxml2 takes for text of HTML."""
_CLOSED_EARLY = ("b", "big", "i", "s", "small", "strike", "tt", "u")
"""Tags that libxml2 ends where a paragraph begins; browsers do not."""
_DETECTION_WINDOW = 65_536
# WHATWG Encoding, section 4.2: pages that declare these mean windows-1252.
_LATIN_LABELS = frozenset({"ascii", "iso8859-1"})
_WESTERN = frozenset({"cp1252", "latin_1"})
# Western text in these has a zero in every second byte, and no other text has none at all.
_WIDE = ("utf-16", "utf-32")
# Codecs for names of hosts, whose time grows with the square of a text's length.
_OF_HOSTS = frozenset({"idna", "punycode"})
_WIDE_ZEROS = 50
_FOREIGN = re.compile("([^\0-\x7f]+)")
_AS_BYTES = [
    {ord(bytes([it]).decode(name, "ignore") or chr(it)): it for it in range(128, 256)}
    for name in ("cp1252", "cp1251")
]
_DAMAGE_ALLOWED = 0.05
"""Share of a text's non-ASCII characters that may be unreadable in its declared charset."""

_SAMPLE, _LOST_SHARE = 20_000, 0.02
"""Characters that are looked at, and the share of lost ones from which a text is garbled."""
_PROGRAM_TAGS = ("script", "style", "noscript", "template", "svg", "math", "iframe", "object")
_MENU_TAGS = ("canvas", "nav", "footer", "aside", "form", "button", "select", "dialog", "title")
_UNREAD_TAGS = _PROGRAM_TAGS + _MENU_TAGS
_BLOCK_TEXT = """
address article blockquote body br caption dd details div dl dt fieldset figcaption figure h1 h2 h3
h4 h5 h6 header hr li main ol p pre section summary table td th tr ul
"""
_BLOCK_TAGS = frozenset(_BLOCK_TEXT.split())
# What hostile markup has made readers raise.
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
"""Why a page has no text to read: it holds nothing but pictures, its characters were lost on the
way, it gave the beginning of an article that is not free, its scripts draw it, or it came without
text."""


@dataclass(frozen=True, slots=True)
class Extract:
    """The text of a page and its metadata. `obstacle` is set if and only if there is no text."""

    text: str
    title: str | None = None
    author: str | None = None
    published_on: date | None = None
    obstacle: Obstacle | None = None


def decode(body: bytes, declared: str | None = None) -> str:
    """Decode a page: byte order mark, valid UTF-8, declarations, detection, in this order.

    UTF-8 goes first because hardly any other text is valid UTF-8 by chance, while servers often
    declare a default charset that their pages contradict. A declaration (`declared` is that of the
    Content-Type header) that does not fit the bytes is not believed. Never fails: what stays
    unreadable becomes U+FFFD.
    """
    for mark, encoding in BOMS:
        if body.startswith(mark):
            return body.decode(encoding, "replace")
    if not body.isascii():
        with suppress(UnicodeDecodeError):
            return body.decode("utf-8")
    in_page = _META_CHARSET.search(body[:_META_WINDOW])
    for label in (declared, in_page[1].decode("ascii", "ignore") if in_page else "", "utf-8"):
        text = _decode_as(body, label or "")
        if text is not None:
            return text
    from charset_normalizer import from_bytes  # noqa: PLC0415 - loads tables that few pages need

    matches = from_bytes(body[:_DETECTION_WINDOW])
    best = matches.best()
    # Among charsets that fit equally well, the western one is by far the most frequent.
    western = best is None or any(
        match.chaos <= best.chaos and _WESTERN.intersection(match.could_be_from_charset)
        for match in matches
    )
    return body.decode("cp1252" if best is None or western else best.encoding, "replace")


def _decode_as(body: bytes, label: str) -> str | None:
    """Decode by a label if it is a known charset and fits the bytes."""
    try:
        name = codecs.lookup(label.strip().strip("\"'")).name
        is_narrow = name.startswith(_WIDE) and body.count(0) < len(body) // _WIDE_ZEROS
        if is_narrow or name in _OF_HOSTS:
            return None
        text = body.decode("cp1252" if name in _LATIN_LABELS else name, "replace")
    except (LookupError, ValueError):
        return None
    damaged = text.count("\ufffd")
    foreign = sum(not letter.isascii() for letter in text) if damaged else 0
    return None if damaged > _DAMAGE_ALLOWED * foreign else text


def repaired(text: str) -> str:
    """Undo what was done to a text whose UTF-8 was taken for windows-1252 or -1251: "dÃ©jÃ ".

    Sites send such text as they stored it. It shows in most of its runs of other characters than
    ASCII, which are UTF-8 again as bytes; hardly any other run is.
    """
    runs = _FOREIGN.findall(text)
    for as_bytes in _AS_BYTES:
        read: dict[str, str] = {}
        for run in set(runs):
            with suppress(UnicodeError):
                read[run] = run.translate(as_bytes).encode("latin-1").decode("utf-8")
        if sum(run in read for run in runs) > len(runs) / 2:
            # Some did it twice.
            return repaired("".join(read.get(each, each) for each in _FOREIGN.split(text)))
    return text


def extract_html(html: str, url: str) -> Extract:
    """Read a decoded HTML page; where it stands is for its metadata."""
    tree = parse_html(html)
    if tree is None:
        return Extract(text="", obstacle="textless")
    title = page_title(tree)
    scripts = tree.find(".//script") is not None
    mounted = scripts and bool(tree.xpath(_MOUNT))
    least_read = _least_read(tree, url)
    headings = [title or "", *("".join(element.itertext()) for element in tree.iter("h1"))]
    is_locked = _NOT_FREE.search("".join(tree.xpath(_STATED_FACTS))) is not None
    drop_hidden(tree)
    plain = plain_text(tree)
    is_small = sum(1 for _ in tree.iter()) <= MAX_ELEMENTS
    page = _with_trafilatura(tree, url, plain) if is_small else Extract(plain, title)
    page = replace(page, text=storable(page.text))
    characters = len(page.text)
    obstacle: Obstacle | None = "garbled" if is_garbled(page.text) else None
    if is_locked and characters < _BEGINNING:
        obstacle = "locked"
    is_headed = {clean(heading) for heading in headings}.issuperset(page.text.split("\n"))
    # Too little text, for any page or for the page's size, or what its article begins with alone.
    least = min(_LITTLE_FOR_ITS_SIZE, len(html) // _MARKUP_PER_CHARACTER)
    is_shell = mounted and characters < _LITTLE_FOR_ITS_SIZE
    is_bare = is_shell or (scripts and characters < max(_SHELL_TEXT, least))
    if characters < least_read or (obstacle is None and is_bare):
        obstacle = "needs a browser"
    elif obstacle is None and (is_headed or characters < max(1, least)):
        obstacle = "empty" if tree.find(".//img") is not None else "textless"
    return replace(page, text="", obstacle=obstacle) if obstacle else page


def _least_read(tree: lxml.html.HtmlElement, url: str) -> float:
    """Return how many characters of text a page has that is one, and not a step on to another.

    Infinitely many where a browser is led on at once, none where nothing leads on.
    """
    here, least = urldefrag(url).url, 0.0
    for meta in tree.xpath(_REFRESH):
        leads = _LEADS.match(meta.get("content"))
        if leads is not None:
            is_soon = int(leads[1] or 0) <= _LEADING_SECONDS
            away = urldefrag(urljoin(url, leads[2].strip())).url != here
            if away and is_soon and next(meta.iterancestors("noscript"), None) is None:
                return math.inf
            least = _LITTLE_FOR_ITS_SIZE
    code = "".join(tree.xpath("//script[not(@src)]//text() | //body/@onload"))
    has_files = bool(tree.xpath("//script[@src]"))
    if len(code) <= _LEADING_CODE and not has_files and _LEADING_SCRIPT.search(code):
        return _LED_TEXT
    return least


def extract_plain(text: str) -> Extract:
    """Read a page that is plain text already."""
    clean = storable(text).strip()
    obstacle: Obstacle | None = None if clean else "textless"
    if is_garbled(clean):
        obstacle = "garbled"
    return Extract("" if obstacle else clean, obstacle=obstacle)


def parse_html(html: str) -> lxml.html.HtmlElement | None:
    """Parse a page leniently, without comments, 256 levels at most; None if it has no element.

    A tag loses its attributes where they are a thousand or more: libxml2 compares each with all.
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
    """Tell whether a text was read in another character set than it was written in, or is none.

    It then holds characters that no text has: U+FFFD, controls, private use, unassigned.
    """
    sample = text[:_SAMPLE]
    lost = sum(
        each not in "\t\n\r\x85"
        and (each == "\ufffd" or unicodedata.category(each) in {"Cc", "Co", "Cn", "Cs"})
        for each in sample
    )
    return lost > max(3, _LOST_SHARE * len(sample))


def plain_text(tree: lxml.html.HtmlElement) -> str:
    """Return the blocks of a page, hidden ones too, one a line, without menus and forms."""
    return _blocks(tree, set(tree.iter(*_UNREAD_TAGS)))


def _blocks(tree: lxml.html.HtmlElement, skipped: set[lxml.html.HtmlElement]) -> str:
    pieces: list[str] = []  # with NUL, which no page holds (storable), between blocks
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


def _with_trafilatura(tree: lxml.html.HtmlElement, url: str, plain: str) -> Extract:
    # Imported late: it takes a third of a second, which `--help` should not.
    from trafilatura import bare_extraction  # noqa: PLC0415
    from trafilatura.metadata import extract_metadata  # noqa: PLC0415
    from trafilatura.settings import Document, set_date_params  # noqa: PLC0415

    for name in ("trafilatura", "htmldate"):
        # They report every odd page with its full URL, query included.
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        facts = extract_metadata(tree, url, set_date_params(extensive=False), extensive=False)
        # What they hold is for machines: trafilatura would take an article's text from JSON-LD.
        lxml.etree.strip_elements(tree, "script", "style", with_tail=False)
        _plain_lists_and_captions(tree)
        document = bare_extraction(tree, url=url, include_comments=False, include_tables=True)
    except READER_ERRORS:
        return Extract(plain, page_title(tree))
    text = ((document.text if isinstance(document, Document) else None) or "").strip()
    published_on = None
    with suppress(ValueError):
        published_on = date.fromisoformat((facts.date or "")[:10])
    if len(text) < _LITTLE_TEXT and len(plain) > len(text):
        text = plain
    return Extract(
        text=text,
        title=clean(facts.title) or page_title(tree),
        author=clean(facts.author),
        published_on=published_on,
    )


def _plain_lists_and_captions(tree: lxml.html.HtmlElement) -> None:
    """Keep what trafilatura takes for menus and pictures: items with own words, captions."""
    for item in tree.iter("li", "dd", "td"):
        links = list(item.iter("a"))
        linked = sum(len(link.text_content()) for link in links)
        if links and len(item.text_content()) - linked >= _OWN_WORDS_OF_AN_ITEM:
            for link in links:
                link.drop_tag()
    for figure in tree.iter("figure", "figcaption"):
        figure.tag = "div" if figure.tag == "figure" else "p"


def page_title(tree: lxml.html.HtmlElement) -> str | None:
    """Return the page's title as its markup states it."""
    for path in ("//meta[@property='og:title']/@content", "//title//text()", "//h1//text()"):
        found = clean(" ".join(str(part) for part in tree.xpath(path)[:20]))
        if found:
            return found
    return None


def clean(text: str | None) -> str | None:
    """Return a line of metadata on one line, not too long; None if nothing is in it."""
    return (" ".join(storable(text).split())[:500] or None) if text else None


def storable(text: str) -> str:
    """Drop what no column can hold (NUL, lone surrogates) and the characters that nobody sees.

    The latter split words for whoever searches them, or speak to machines alone: tags, selectors
    of variants, joiners between Latin letters. Text that is turned round is stored as it is seen.
    """
    if text.isascii():
        return text.replace("\0", "")
    text = text.encode("utf-8", "replace").decode("utf-8")
    return _UNSEEN.sub("", _TURNED.sub(lambda found: found[1][::-1], text))


_TURNED = re.compile("\u202e([^\u202c\n<]*)\u202c?")
"""What is turned round up to where that ends: with its line, and in markup with its element."""
_UNSEEN = re.compile(
    "[\0\u00ad\u034f\u061c\u115f\u1160\u180b-\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]|(?<=[ -\u024f])[\u200c\u200d]"
)
