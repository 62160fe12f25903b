"""Rates the reliability of sources by the rule below, and keeps the ratings of one video's sources.

The rule (Factible, section 1.3.4, step 2; the first match decides):

1. a rating set lists the host or its nearest listed parent: the score of the set if it states one,
   else high 0.85, medium 0.60, low 0.30, very low 0.15;
2. the name ends in a suffix that registries keep for institutions: 0.90, high;
3. otherwise the rating is unknown, 0.50 (Enhanced Claim Verification System, equation 9), moved by
   the domain's age: +0.10 from ten years on, -0.15 below one year, and at most 0.55, because anyone
   can keep a domain for ten years;
4. a cited paper on a domain that no rule knows: +0.05 from ten citations on, and from a hundred on
   medium, 0.60. It holds for the paper and not for its domain.

Of several sets the first decides, and a page where anybody may publish inherits no more than
unknown from its site.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from urllib.parse import unquote, unquote_plus, urlsplit

from factible_assets.records.tables import Rating, ReliabilityRating, SourceClass
from factible_assets.stages import urls
from factible_assets.stages.ports import DomainAges, RatingDirectory
from resources.ratings.base import DomainAge, ListedRating, journal_key
from resources.single_flight import SingleFlight

LISTED_SCORES: Mapping[Rating, float] = {
    "high": 0.85, "medium": 0.60, "low": 0.30, "very_low": 0.15, "unknown": 0.50
}  # fmt: skip
"""Score of a listed rating; `unknown` for domains that no rule knows."""
INSTITUTIONAL_SCORE = 0.90
UNLISTED_CAP = 0.55
_OLD_YEARS, _OLD_BONUS = 10.0, 0.10
_YOUNG_YEARS, _YOUNG_MALUS = 1.0, 0.15
_CITED, _CITED_BONUS = 10, 0.05
_OFTEN_CITED = 100
RATING_ORDER: Mapping[Rating, int] = {"high": 4, "medium": 3, "unknown": 2, "low": 1, "very_low": 0}
"""Ratings from best (4) to worst (0). An unknown source is better than a bad one."""
RELIABLE: frozenset[Rating] = frozenset({"high", "medium"})
"""Ratings that count as reliable (Factible, table 5)."""
CITED = "The paper is cited"
JOURNAL = "A rating set lists its journal"
OPEN_PLACE = "Anybody may publish there"
"""How the reason begins if a page does not inherit its site's rating."""

# --- Institutions -------------------------------------------------------------------------------

_GOVERNMENT = "gov gob gouv govt gub gv gc go mil nhs police"
_INSTITUTIONS: Mapping[str, SourceClass] = {
    **dict.fromkeys(_GOVERNMENT.split(), "government"),
    **dict.fromkeys(("edu", "ac"), "academic"),
    "int": "organisation",
}
"""Labels that registries reserve, as the whole suffix (.gov) or before a country's (.gov.uk)."""
_COUNTRY = re.compile("[a-z]{2}")
OPEN_SUFFIXES: Mapping[str, str] = {
    "go.it": "It is the Italian province of Gorizia and no government.",
    "edu.pl": "NASK registers names under its functional domains for anybody.",
    "ac.nz": "The registry does not moderate it: anybody may register a name.",
}
"""Suffixes that only look reserved for institutions, with the reason."""


def institution_of(host: str) -> tuple[str, SourceClass] | None:
    """Return the institutional suffix of a host and the kind of institution, else None.

    The suffix must be in the Public Suffix List, so that `.go.jp` counts and `go.com` does not.
    """
    suffix = urls.public_suffix(host)
    label, _, country = suffix.partition(".")
    generic = not country and label in {"gov", "edu", "int", "mil"}
    national = _COUNTRY.fullmatch(country) and label in _INSTITUTIONS and label != "int"
    if not (generic or national) or suffix in OPEN_SUFFIXES:
        return None
    return suffix, _INSTITUTIONS[label]


# --- Places where anybody publishes -------------------------------------------------------------

_NAMESPACE = re.compile(r"[/=][\s_:]*[^\W\d_][^:/=&]*:[^\s_:/]")
"""A wiki title such as `User:Name` in a path or query: a namespace, and no space after its colon.
An article such as `Avatar: The Way of Water` has one."""


def open_place_reason(url: str, listed: str) -> str | None:
    """Return why anybody may publish at an address; None if not, or if a set lists the place.

    `listed` is the host name that the rating of the site belongs to.
    """
    host, parts = urls.host_of(url).removeprefix("www."), urlsplit(url)
    path, domain = unquote(parts.path), urls.registrable_domain(host)
    if host == listed != domain:
        return None
    if "/~" in path:
        return "it is a home directory of a user"
    if domain in urls.WIKIMEDIA and _NAMESPACE.search(f"{path}?{unquote_plus(parts.query)}"):
        return "it is no article of the wiki, but a page of a user or about the wiki"
    return None


# --- The rule -----------------------------------------------------------------------------------


def listing_of(host: str, directory: RatingDirectory) -> tuple[str, Sequence[ListedRating]]:
    """Return the nearest listed name among a host and its parents, with its listed ratings."""
    for name in urls.host_and_parents(host):
        listed = directory.lookup(name)
        if listed:
            return name, listed
    return "", ()


def rate(
    video_id: str, name: str, directory: RatingDirectory, age: DomainAge | None = None
) -> ReliabilityRating:
    """Rate a host name by the rule above; `age` matters only for an unlisted domain."""
    listed_name, listed = listing_of(name, directory)
    rating = partial(ReliabilityRating, video_id=video_id, domain=name)
    institution = institution_of(name)
    # A tenant of a listed platform has a registrable domain of its own below it.
    is_tenant = urls.registrable_domain(name).endswith(f".{listed_name}")
    is_free = listed and not institution and is_tenant
    if listed and not (is_free and _exceeds_unknown(listed[0].rating)):
        first = listed[0]
        return rating(
            rating=first.rating,
            score=LISTED_SCORES[first.rating] if first.score is None else first.score,
            source_class=first.source_class,
            bias=next((entry.bias for entry in listed if entry.bias is not None), None),
            datasets=tuple(dict.fromkeys(entry.dataset for entry in listed)),
            listed_as=listed_name if listed_name != name else None,
            reasons=_listing_reasons(listed_name, listed),
        )
    if institution:
        suffix, source_class = institution
        return rating(
            rating="high",
            score=INSTITUTIONAL_SCORE,
            source_class=source_class,
            reasons=(f"Registries give names under .{suffix} to institutions only.",),
        )
    score, reasons = LISTED_SCORES["unknown"], ["No rating set lists the domain."]
    if is_free:
        reasons = [f"{OPEN_PLACE}: {name} is a tenant of {listed_name}, which a rating set lists."]
    if age is None and name:
        reasons.append("Its age was not looked up, because no page of it was chosen for reading.")
    years = age.years if age and age.outcome == "ok" else None
    if years is not None and years >= _OLD_YEARS:
        score += _OLD_BONUS
        reasons.append(f"It has been registered for {years:.0f} years.")
    elif years is not None and years < _YOUNG_YEARS:
        score -= _YOUNG_MALUS
        reasons.append("It was registered less than a year ago.")
    outage = age if age and age.outcome == "outage" else None
    if outage:
        reasons.append(f"Its age is missing: {outage.reason or 'the registry failed'}.")
    return rating(
        rating="unknown",
        score=min(score, UNLISTED_CAP),
        source_class="video" if urls.is_video_platform(name) else "unknown",
        reasons=tuple(reasons),
        domain_age_years=years,
        status="infra_error" if outage else "ok",
    )


def _listing_reasons(name: str, listed: Sequence[ListedRating]) -> tuple[str, ...]:
    """Return one sentence for each set, with its date, because ratings change."""
    first, reasons = listed[0], []
    for entry in listed:
        sentence = f"{entry.dataset} ({entry.as_of or 'undated'})"
        word = entry.rating.replace("_", " ")
        if entry is first:
            sentence += f" lists {name} as {word}: {entry.reason}"
        elif entry.rating == first.rating:
            sentence += f" agrees: {entry.reason}"
        else:
            why = f"{entry.reason.rstrip('.')}. {first.dataset} comes first and decides."
            sentence += f" disagrees and says {word}: {why}"
        reasons.append(sentence)
    return tuple(reasons)


def _exceeds_unknown(rating: Rating) -> bool:
    return RATING_ORDER[rating] > RATING_ORDER["unknown"]


# --- The rating of one page ---------------------------------------------------------------------


def as_published(rating: ReliabilityRating, url: str) -> ReliabilityRating:
    """Return the rating of a page: its site's, but at most unknown where anybody publishes."""
    if not _exceeds_unknown(rating.rating):
        return rating
    listed = rating.listed_as or (rating.domain if rating.datasets else "")
    why = open_place_reason(url, listed)
    return _changed(rating, "unknown", "unknown", f"{OPEN_PLACE}: {why}.") if why else rating


def as_paper(
    rating: ReliabilityRating, journal: ListedRating | None, citations: int | None
) -> ReliabilityRating:
    """Return the rating of a paper: by its journal if listed, else by its site or its citations.

    One publisher's site has journals of different standing (Factible, section 3.4). The step to
    medium depends on citations alone, because a registry may not tell an age.
    """
    if journal is not None:
        reason = f"{JOURNAL} as {journal.rating}: {journal.reason}"
        rating = _changed(rating, journal.rating, journal.source_class, reason, journal.score)
    if rating.rating != "unknown" or citations is None or citations < _CITED:
        return rating
    reason = f"{CITED} {citations:,} times."
    if citations >= _OFTEN_CITED:
        return _changed(rating, "medium", "academic", reason)
    score = min(rating.score + _CITED_BONUS, UNLISTED_CAP)
    return _changed(rating, "unknown", "academic", reason, score)


def as_answered(rating: ReliabilityRating) -> ReliabilityRating:
    """Return the rating of an answer engine's own words: low, even if a set lists its domain."""
    reason = "A language model composed it from pages that it names; nobody answers for it."
    return _changed(rating, "low", "answer_engine", reason)


def _changed(
    before: ReliabilityRating,
    rating: Rating,
    source_class: SourceClass,
    reason: str,
    score: float | None = None,
) -> ReliabilityRating:
    """Return another rating with one more reason; the score defaults to that of the rating."""
    changes = {
        "rating": rating,
        "score": LISTED_SCORES[rating] if score is None else score,
        "source_class": source_class,
        "reasons": (*before.reasons, reason),
    }
    return before.model_copy(update=changes)


def is_page_reason(reason: str) -> bool:
    """Whether a reason concerns one page, and not its domain."""
    return reason.startswith((OPEN_PLACE, CITED, JOURNAL))


@dataclass
class RatingBook:
    """The ratings of one video's sources; `known` ratings stay as they are.

    `rate` gives each domain at once the rating that decides which pages are read. `look_up_ages`
    asks a registry once for each domain that is read; an age moves a score and no rating.
    """

    video_id: str
    directory: RatingDirectory
    ages: DomainAges
    known: Iterable[ReliabilityRating] = ()
    timed: Callable[[], AbstractContextManager[None]] = nullcontext

    def __post_init__(self) -> None:
        self._ages: SingleFlight[DomainAge] = SingleFlight()
        self._ratings = {rating.domain: rating for rating in self.known}
        self._ageless: set[str] = set()

    def rate(self, addresses: Iterable[str]) -> None:
        """Rate the domains of some addresses, and the hosts below them that a set lists by name."""
        names = self._names(addresses) - self._ratings.keys()
        if not names:
            return
        with self.timed():
            for name in names:
                rating = self._ratings[name] = rate(self.video_id, name, self.directory)
                if rating.rating == "unknown" and not rating.datasets:
                    self._ageless.add(name)

    async def look_up_ages(self, addresses: Iterable[str]) -> None:
        """Add the ages of their domains to the ratings of some addresses, all at once."""
        addresses = tuple(addresses)
        self.rate(addresses)
        names = self._names(addresses) & self._ageless
        if not names:
            return

        async def look_up(name: str) -> None:
            domain = urls.registrable_domain(name)
            age = await self._ages.get(domain, partial(self.ages.age, domain))
            self._ratings[name] = rate(self.video_id, name, self.directory, age)
            self._ageless.discard(name)

        with self.timed():
            async with asyncio.TaskGroup() as group:
                for name in sorted(names):
                    group.create_task(look_up(name))

    def of(self, url: str) -> ReliabilityRating:
        """Return the rating of a page, by its nearest rated host name; call `rate` before."""
        domain = urls.domain_of(url)
        if not domain:
            return rate(self.video_id, "", self.directory)
        names = (name for name in urls.host_and_parents(urls.host_of(url)) if name in self._ratings)
        return as_published(self._ratings[next(names, domain)], url)

    def journal(self, name: str | None) -> ListedRating | None:
        """Return the first rating of a journal, None if no set lists it."""
        return next(iter(self.directory.lookup(journal_key(name)) if name else ()), None)

    def ratings(self, addresses: Iterable[str]) -> tuple[ReliabilityRating, ...]:
        """Return the ratings of some addresses, by domain."""
        names = self._names(addresses) & self._ratings.keys()
        return tuple(self._ratings[name] for name in sorted(names))

    def _names(self, addresses: Iterable[str]) -> set[str]:
        """Return the domains of some addresses, and the listed names below them."""
        names = set[str]()
        for url in addresses:
            if domain := urls.domain_of(url):
                listed_name, _ = listing_of(urls.host_of(url), self.directory)
                names |= {domain, listed_name if listed_name.endswith(f".{domain}") else domain}
        return names
