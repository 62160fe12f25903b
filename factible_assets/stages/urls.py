"""URLs and host names: one canonical form, registrable domains, and the video behind a URL.

The canonical form is an identity, not an address: two URLs with one canonical form count as one
page. Fetchers use the URL of the search result.
"""

from __future__ import annotations

import contextlib
import ipaddress
import re
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, quote, unquote, urlsplit

import idna

from resources.transcripts.youtube_ids import NotAVideoLinkError, is_video_id, video_id_of

if TYPE_CHECKING:
    from tldextract import TLDExtract

_SHOWN_CHARACTERS = 200  # of a URL in an error, to fit a line of a log
_TRACKING_PREFIXES = ("utm_", "pk_", "mtm_", "hsa_", "oly_", "vero_", "__hs")
_TRACKING_TEXT = """
    _ga _gl _hsenc _hsmi cmpid dclid fb_action_ids fb_action_types fb_source fbclid gbraid gclid
    gclsrc igsh igshid mc_cid mc_eid mkt_tok msclkid ocid s_cid srsltid ttclid twclid wbraid yclid
"""
_TRACKING_NAMES = frozenset(_TRACKING_TEXT.split())
_AMP_QUERIES = frozenset({("amp", ""), ("amp", "1"), ("amp", "true"), ("outputtype", "amp")})
_SAME_SITE_LABELS = frozenset({"www", "m", "mobile", "amp"})
"""Leading labels under which sites serve the same pages."""
_WIKI_TEXT = """
    wikipedia wikimedia wikidata wikinews wikisource wiktionary wikibooks wikiquote wikiversity
    wikivoyage
"""
WIKIMEDIA = frozenset(f"{name}.org" for name in _WIKI_TEXT.split())
_HOST = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*")
_PERCENT = re.compile(r"%(?P<hex>[0-9A-Fa-f]{2})?")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_PATH_SAFE = "/%!$&'()*+,;=:@-._~"
_QUERY_SAFE = "%!$'()*+,;:@/?-._~"
_DISTINCTIVE = re.compile(r"[A-Z0-9_]")


class UnusableUrlError(ValueError):
    """The text is not the address of a web page."""

    def __init__(self, url: str, why: str) -> None:
        shown = url[:_SHOWN_CHARACTERS] + "…" * (len(url) > _SHOWN_CHARACTERS)
        super().__init__(f"{shown!r} is no web address: {why}. Give an http or https URL.")


# --- Canonical URLs -----------------------------------------------------------------------------


@lru_cache(maxsize=65_536)
def canonical_url(url: str) -> str:
    """Return the identity of a page; the canonical form of a canonical URL is itself.

    RFC 3986, sections 6.2.2 and 6.2.3, names in Punycode (RFC 5891). In addition: https for http, a
    sorted query, no credentials, fragment, tracking parameters, closing slash or AMP suffix, and no
    `www.`, `m.`, `mobile.` or `amp.` before a registrable domain.

    Raises UnusableUrlError for anything but http and https URLs with a valid host.
    """
    parts, name = _split(url)
    domain = registrable_domain(name)
    labels = name.removesuffix(domain).rstrip(".").split(".") if name != domain else []
    while labels and labels[0] in _SAME_SITE_LABELS:
        labels.pop(0)
    if domain in WIKIMEDIA and labels and labels[-1] == "m":
        labels.pop()
    port = "" if parts.port in {None, 80, 443} else f":{parts.port}"
    path, query = _canonical_path(parts.path), _canonical_query(parts.query)
    return f"https://{'.'.join([*labels, domain])}{port}{path}{'?' if query else ''}{query}"


def host_of(url: str) -> str:
    """Return a URL's full host name in ASCII lower case."""
    return _split(url)[1]


@lru_cache(maxsize=16_384)
def _split(url: str) -> tuple[SplitResult, str]:
    """Return the parts of a web page's URL, with a valid port, and its host in ASCII."""
    try:
        parts = urlsplit(url.strip())
        _ = parts.port
    except ValueError as error:
        raise UnusableUrlError(url, str(error)) from error
    if parts.scheme.lower() not in {"http", "https"}:
        raise UnusableUrlError(url, "its scheme is not http or https")
    name = unquote(parts.hostname or "").rstrip(".").lower()
    try:
        if ":" in name:
            return parts, f"[{ipaddress.IPv6Address(name)}]"
        if not name.isascii():
            name = idna.encode(name, uts46=True).decode("ascii").lower().rstrip(".")
    except ValueError as error:  # idna and codecs raise it, too
        raise UnusableUrlError(url, f"{name!r} is no host name") from error
    if not _HOST.fullmatch(name):
        raise UnusableUrlError(url, f"{name!r} is no host name" if name else "it names no host")
    return parts, name


def _canonical_path(path: str) -> str:
    segments: list[str] = []
    for segment in _normalise_percent(path, _PATH_SAFE).split("/"):
        if segment == "..":
            segments = segments[:-1]
        elif segment != ".":
            segments.append(segment)
    while segments and segments[-1] in {"", "amp"}:
        if segments[-1] == "amp" and not any(segments[:-1]):
            break  # The name of the page is amp; it is no AMP form.
        segments.pop()
    return "/" + "/".join(segments).lstrip("/")


def _canonical_query(query: str) -> str:
    pairs = []
    for part in query.split("&"):
        name, equals, value = part.partition("=")
        pair = (_normalise_percent(name, _QUERY_SAFE), _normalise_percent(value, _QUERY_SAFE))
        lowered = pair[0].lower()
        is_tracking = lowered in _TRACKING_NAMES or lowered.startswith(_TRACKING_PREFIXES)
        if part and not is_tracking and (lowered, pair[1].lower()) not in _AMP_QUERIES:
            pairs.append((*pair, equals))
    return "&".join(f"{name}{equals}{value}" for name, value, equals in sorted(pairs))


def _normalise_percent(text: str, safe: str) -> str:
    """Decode safe characters, encode unsafe ones, write hexadecimal digits in upper case."""

    def tidy(match: re.Match[str]) -> str:
        digits = match["hex"] or "25"
        character = chr(int(digits, 16))
        return character if character in _UNRESERVED else f"%{digits.upper()}"

    return quote(_PERCENT.sub(tidy, text), safe=safe, errors="surrogatepass")


_CAPTURE = re.compile(
    r"https?://(?:web\.archive\.org/(?:web|save)|arquivo\.pt/(?:noFrame/)?(?:web|wayback)"
    r"|webarchive\.nationalarchives\.gov\.uk/ukgwa|archive\.(?:ph|today|is|li|vn|fo|md)"
    r"|(?:[^/]+\.)?cdn\.ampproject\.org/[a-z]/s|www\.google\.(?:com?\.)?(?:com|[a-z]{2})/amp/s|r\.jina\.ai)"
    r"/(?:(?:\d{4}[\d.-]{0,15}(?:[a-z]{2}_)?|newest|oldest)/+)?(?P<url>[^/]*\..+|https?:/.+)",
    re.IGNORECASE,
)
"""Services that show a page at an address that ends in the page's own. The list is closed, because
any site could put another site's name into its addresses."""
_TRANSLATED = re.compile(r"https?://(?P<name>[\w-]+)\.translate\.goog(?P<rest>/.*)?", re.IGNORECASE)


def published_at(url: str) -> str:
    """Return the original address of a copy in an archive, cache (AMP), reader or translator.

    The original site answers for the text. Any other address stays as it is.
    """
    translated = _TRANSLATED.fullmatch(url)
    if translated is not None:
        host = translated["name"].replace("--", "\0").replace("-", ".").replace("\0", "-")
        return f"https://{host}{translated['rest'] or '/'}"
    capture = _CAPTURE.fullmatch(url)
    if capture is None:
        return url
    scheme, separator, rest = capture["url"].partition(":/")
    page = f"{scheme}://{rest.lstrip('/')}" if separator else f"http://{scheme}"
    return page if domain_of(page) else url


# --- Domains ------------------------------------------------------------------------------------


@lru_cache(maxsize=2)
def _suffixes(*, private: bool) -> TLDExtract:
    # The snapshot inside the package needs neither a download nor a cache on disk.
    from tldextract import TLDExtract  # noqa: PLC0415 - it loads an HTTP client for nothing

    return TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=private)


@lru_cache(maxsize=65_536)
def registrable_domain(host: str) -> str:
    """Return the registered part of a host name, by the Public Suffix List.

    Its private part makes two blogs of one platform two domains. An unlisted name has its last two
    labels; an IP address and a public suffix stay as they are.
    """
    return _registrable(_trimmed(host), _suffixes(private=True))


def domain_of(url: str) -> str:
    """Return the registrable domain of a URL; empty if it is no web address."""
    try:
        return registrable_domain(host_of(url))
    except UnusableUrlError:
        return ""


@lru_cache(maxsize=65_536)
def public_suffix(host: str) -> str:
    """Return the suffix under which a registry sells names, such as `co.uk`; empty if unlisted."""
    return _suffixes(private=False)(_trimmed(host)).suffix


@lru_cache(maxsize=65_536)
def host_and_parents(host: str) -> tuple[str, ...]:
    """Return a host name and its parents, the most specific first, without a leading `www.`.

    The last one is the domain below the registry's suffix: `blogspot.com` for its tenants.
    """
    name = _trimmed(host)
    last = _registrable(name, _suffixes(private=False))
    names = []
    while name != last:
        names.append(name)
        name = name.partition(".")[2]
    names.append(last)
    return tuple(names[1:] if len(names) > 1 and names[0].startswith("www.") else names)


def _registrable(name: str, suffixes: TLDExtract) -> str:
    with contextlib.suppress(ValueError):
        ipaddress.ip_address(name.strip("[]"))
        return name
    parts = suffixes(name)
    if parts.suffix:
        return parts.top_domain_under_public_suffix or name
    return ".".join(name.split(".")[-2:])


def _trimmed(host: str) -> str:
    return host.strip().rstrip(".").lower()


# --- Videos -------------------------------------------------------------------------------------

_PLATFORM_TEXT = """
    youtube.com youtu.be youtube-nocookie.com vimeo.com dailymotion.com dai.ly rumble.com odysee.com
    bitchute.com tiktok.com twitch.tv bilibili.com facebook.com instagram.com fb.watch
"""
_VIDEO_PLATFORMS = frozenset(_PLATFORM_TEXT.split())


def is_video_platform(host: str) -> bool:
    """Whether a host belongs to a video platform."""
    return registrable_domain(host) in _VIDEO_PLATFORMS


def youtube_id_of(url: str) -> str | None:
    """Return the id in a YouTube link; None for any other text."""
    with contextlib.suppress(NotAVideoLinkError):
        return video_id_of(url)
    return None


def mentions_video_id(url: str, video_id: str) -> bool:
    """Whether a URL has a YouTube id as a whole word, as on transcript sites.

    An id without a capital, digit or underscore could be an English word and never counts.
    """
    if not (is_video_id(video_id) and _DISTINCTIVE.search(video_id)):
        return False
    whole = rf"(?<![A-Za-z0-9_-]){re.escape(video_id)}(?![A-Za-z0-9_-])"
    return re.search(whole, unquote(url)) is not None
