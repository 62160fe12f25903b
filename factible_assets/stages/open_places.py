"""Places where anybody may publish on the site of an institution or platform.

What belongs here: telling such a place from its address. What does not: what a page there is worth
(reliability.py).

The Public Suffix List's private section knows the platforms that give each tenant a name of their
own. A home directory (`/~name`) and a page of a wiki that is no article are told by their form. The
rest are named here, each with its reason.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from urllib.parse import parse_qs, unquote, urlsplit

from factible_assets.records import SourceClass
from factible_assets.stages import urls

OPEN_SUFFIXES: Mapping[str, str] = {
    "go.it": "It is the Italian province of Gorizia and no government.",
    "edu.pl": "NASK registers names under its functional domains for anybody.",
    "ac.nz": "The registry does not moderate it: anybody may register a name.",
}
"""Suffixes that look as if they were kept for institutions, and why they are not."""

_HOSTS: Mapping[str, str] = {
    "sites.google.com": "Google Sites hosts the pages of its users",
    "docs.google.com": "Google Docs shows the documents of its users",
    "drive.google.com": "Google Drive holds the files of its users",
    "groups.google.com": "Google Groups holds the messages of its users",
    "gist.github.com": "GitHub shows the texts of its users",
    "archive.org": "the Internet Archive holds uploads of its users",
    "blogs.mediapart.fr": "Mediapart hosts the blogs of its readers",
    "blogs.timesofisrael.com": "The Times of Israel hosts the blogs of its readers",
}
_MEMBERS = frozenset(
    {"blog", "blogs", "forum", "forums", "home", "homepage", "homepages", "pages", "people"}
    | {"personal", "sites", "student", "students", "users", "wiki", "wordpress"}
)
"""Labels under which universities host the pages of their members."""
_PETITION = re.compile(r"(?<![a-z])(?:(?:e-?)?peti[tcçz]i|comments?(?![a-z]))", re.IGNORECASE)
"""Labels and folders under which parliaments and agencies show petitions and comments of citizens:
the word has this stem in the languages that took it from Latin."""
_NAMESPACE = re.compile(r"[^\W\d_][^:/]*:[^\s_:]")
"""A title such as `User:Name`: a namespace, and no space after its colon. An article such as
`Avatar: The Way of Water` has one."""


def openness_of(url: str, kinds: Container[SourceClass], listed: str) -> str | None:
    """Say why anybody may publish at an address; None if not, or if the place itself is listed.

    `kinds` are what the site is held to be, `listed` is the host name that its rating is of.
    """
    try:
        host, parts = urls.host_of(url).removeprefix("www."), urlsplit(url)
    except (urls.UnusableUrlError, ValueError):
        return None
    path, domain = unquote(parts.path), urls.registrable_domain(host)
    titles = [path.removeprefix("/wiki/"), *parse_qs(parts.query).get("title", [])]
    labels = set(host.removesuffix(domain).strip(".").split("."))
    folders = path.split("/") if "government" in kinds else ()
    if host.endswith(".us.archive.org"):  # servers that hand out uploads
        host = "archive.org"
    reasons = {
        "it is a home directory of a user": "/~" in path,
        "it is no article of the wiki, but a page of a user or about the wiki": (
            domain in urls.WIKIMEDIA and any(map(_NAMESPACE.match, titles))
        ),
        _HOSTS.get(host, ""): host in _HOSTS and path.strip("/"),
        "the institution hosts the pages of its members there": (
            "academic" in kinds and not _MEMBERS.isdisjoint(labels)
        ),
        "it shows petitions or comments of citizens": (
            any(map(_PETITION.search, (*labels, *folders)))
        ),
    }
    if host == listed != domain:
        return None
    return next((reason for reason, holds in reasons.items() if holds), None)


def is_tenant(host: str, listed: str) -> bool:
    """Tell whether a name belongs to a tenant of the platform that is listed."""
    return urls.registrable_domain(host).endswith(f".{listed}")
