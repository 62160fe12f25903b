"""How reliable a source's domain is held to be, by a stated rule.

What belongs here: the rule, and asking each domain once. What does not: the rating sets and the
registries (resources), which sources are read because of it (search.py).

The rule (Factible, section 1.3.4, step 2; the first that matches decides):

1. a rating set lists the host or the nearest parent that is listed: high 0.85, medium 0.60, low
   0.30, very low 0.15, or the score that the set states beside its rating;
2. the name ends in a suffix that registries keep for institutions: 0.90, high;
3. otherwise the rating is unknown, 0.50 (Enhanced Claim Verification System, equation 9), moved by
   the domain's age: +0.10 from ten years on, -0.15 below one year;
4. a paper that is cited, on a domain that no rule knows: +0.05 from ten citations on, and from a
   hundred on medium, 0.60. It holds for the paper and not for its domain.

Several sets at once: the nearest listed name decides, so that a newspaper's section that any set
lists is not rated as the newspaper; of the sets that list it the first does: the project's own,
then the user's in alphabetical order. The others agree or disagree in `reasons` and move no score:
sets are made from each other, so agreement is no second opinion. The bias is that of the first set
that states one.

A place where anybody may publish inherits no more than unknown from its site (open_places.py): a
tenant of a listed platform, a home directory, a petition to a parliament, a page of a wiki that is
no article. A worse rating it does inherit. A set that lists the place itself decides.

Age alone never makes an unlisted domain better than unknown: its score stays at or below 0.55, for
anyone can keep a domain for ten years.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial

from factible_assets.records import Rating, ReliabilityRating, SourceClass
from factible_assets.stages import open_places, urls
from factible_assets.stages.ports import DomainAges, RatingDirectory
from resources.once import Once
from resources.ratings.base import DomainAge, ListedRating

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
"""Ratings from best (4) to worst (0). An unknown source is better than one known to be bad."""
RELIABLE: frozenset[Rating] = frozenset({"high", "medium"})
"""Ratings that count as reliable (Factible, table 5)."""
_GOVERNMENT = "gov gob gouv govt gub gv gc go mil nhs police"
_INSTITUTIONS: Mapping[str, SourceClass] = {
    **dict.fromkeys(_GOVERNMENT.split(), "government"),
    **dict.fromkeys(("edu", "ac"), "academic"),
    "int": "organisation",
}
"""Labels that registries reserve, as the whole suffix (.gov) or before a country's (.gov.uk)."""
_COUNTRY = re.compile("[a-z]{2}")
CITED = "The paper is cited"
OPEN_PLACE = "Anybody may publish there"
"""How the sentence begins that says why a page does not inherit its site's rating."""


def institution_of(host: str) -> tuple[str, SourceClass] | None:
    """Return the institutional suffix that a host lies under, with the kind of institution.

    It must be one of the Public Suffix List, so that `.go.jp` counts and `go.com` does not.
    """
    suffix = urls.public_suffix(host)
    label, _, country = suffix.partition(".")
    generic = not country and label in {"gov", "edu", "int", "mil"}
    national = _COUNTRY.fullmatch(country) and label in _INSTITUTIONS and label != "int"
    if not (generic or national) or suffix in open_places.OPEN_SUFFIXES:
        return None
    return suffix, _INSTITUTIONS[label]


def listing_of(host: str, directory: RatingDirectory) -> tuple[str, Sequence[ListedRating]]:
    """Return the nearest listed name among a host and its parents, and what is listed for it."""
    for name in urls.host_and_parents(host):
        listed = directory.lookup(name)
        if listed:
            return name, listed
    return "", ()


def rate(
    video_id: str, name: str, directory: RatingDirectory, age: DomainAge | None = None
) -> ReliabilityRating:
    """Rate a host name by the rule above. `age` is only looked at for an unlisted domain."""
    listed_name, listed = listing_of(name, directory)
    rating = partial(ReliabilityRating, video_id=video_id, domain=name)
    institution = institution_of(name)
    is_free = listed and not institution and open_places.is_tenant(name, listed_name)
    if listed and not (is_free and _exceeds_unknown(listed[0].rating)):
        first = listed[0]
        return rating(
            rating=first.rating,
            score=LISTED_SCORES[first.rating] if first.score is None else first.score,
            source_class=first.source_class,
            bias=next((each.bias for each in listed if each.bias is not None), None),
            datasets=tuple(dict.fromkeys(each.dataset for each in listed)),
            listed_as=listed_name if listed_name != name else None,
            reasons=_listing_reasons(listed_name, listed),
        )
    if institution:
        suffix, source_class = institution
        return rating(
            rating="high",
            score=INSTITUTIONAL_SCORE,
            source_class=source_class,
            reasons=(f"Names under .{suffix} are given to institutions only.",),
        )
    score, reasons = LISTED_SCORES["unknown"], ["No rating set lists the domain."]
    if is_free:
        reasons = [f"{OPEN_PLACE}: {name} is a tenant of {listed_name}, which a rating set lists."]
    if age is None and name:
        reasons.append("Its age was not looked up: no page of it was chosen to be read.")
    years = age.years if age and age.outcome == "ok" else None
    if years is not None and years >= _OLD_YEARS:
        score += _OLD_BONUS
        reasons.append(f"It has been registered for {years:.0f} years.")
    elif years is not None and years < _YOUNG_YEARS:
        score -= _YOUNG_MALUS
        reasons.append("It was registered less than a year ago.")
    failed = age is not None and age.outcome == "outage"
    if age and failed:
        reasons.append(f"Its age is missing: {age.reason or 'the registry failed'}.")
    return rating(
        rating="unknown",
        score=min(score, UNLISTED_CAP),
        source_class="video" if urls.is_video_platform(name) else "unknown",
        reasons=tuple(reasons),
        domain_age_years=years,
        status="infra_error" if failed else "ok",
    )


def _listing_reasons(name: str, listed: Sequence[ListedRating]) -> tuple[str, ...]:
    """Say what each set says of a name. Ratings change, so each says as of when."""
    first, reasons = listed[0], []
    for each in listed:
        told = f"{each.dataset} ({each.as_of or 'undated'})"
        word = each.rating.replace("_", " ")
        if each is first:
            told += f" lists {name} as {word}: {each.reason}"
        elif each.rating == first.rating:
            told += f" agrees: {each.reason}"
        else:
            why = f"{each.reason.rstrip('.')}. {first.dataset} comes first and decides."
            told += f" disagrees and says {word}: {why}"
        reasons.append(told)
    return tuple(reasons)


def _exceeds_unknown(rating: Rating) -> bool:
    return RATING_ORDER[rating] > RATING_ORDER["unknown"]


def as_published(rating: ReliabilityRating, url: str) -> ReliabilityRating:
    """Return the rating of a page: its site's, but no more than unknown where anybody publishes."""
    if not _exceeds_unknown(rating.rating):
        return rating
    listed = rating.listed_as or (rating.domain if rating.datasets else "")
    institution = institution_of(rating.domain)
    kinds = {rating.source_class, *(institution[1:] if institution else ())}
    why = open_places.openness_of(url, kinds, listed)
    if why is None:
        return rating
    changes: dict[str, object] = {
        "rating": "unknown",
        "score": LISTED_SCORES["unknown"],
        "source_class": "unknown",
        "reasons": (*rating.reasons, f"{OPEN_PLACE}: {why}."),
    }
    return rating.model_copy(update=changes)


def as_cited(rating: ReliabilityRating, citations: int | None) -> ReliabilityRating:
    """Return the rating of a paper: that of its domain or, if no rule knows it, by its citations.

    The step to medium depends on citations alone, never on an age that a registry may not tell.
    """
    if rating.rating != "unknown" or citations is None or citations < _CITED:
        return rating
    said = (*rating.reasons, f"{CITED} {citations:,} times.")
    changes: dict[str, object] = {"source_class": "academic", "reasons": said}
    if citations >= _OFTEN_CITED:
        changes |= {"rating": "medium", "score": LISTED_SCORES["medium"]}
    else:
        changes["score"] = min(rating.score + _CITED_BONUS, UNLISTED_CAP)
    return rating.model_copy(update=changes)


def is_of_the_page(reason: str) -> bool:
    """Tell whether a reason is of one page, and not of its domain."""
    return reason.startswith((OPEN_PLACE, CITED))


def as_answered(rating: ReliabilityRating) -> ReliabilityRating:
    """Return the rating of an answer engine's own words: low, whatever lists its domain."""
    reason = "A language model composed it from pages that it names; nobody answers for it."
    changes = {"rating": "low", "score": LISTED_SCORES["low"], "source_class": "answer_engine"}
    return rating.model_copy(update=changes | {"reasons": (*rating.reasons, reason)})


@dataclass
class RatingBook:
    """The ratings of one video's sources.

    What decides which sources are read is known at once. A registry is asked only for the age of
    those that are, which moves a score and no rating, once for each domain. `known` ratings stay.
    """

    video_id: str
    directory: RatingDirectory
    ages: DomainAges
    known: Iterable[ReliabilityRating] = ()
    timed: Callable[[], AbstractContextManager[None]] = nullcontext

    def __post_init__(self) -> None:
        self._ages: Once[DomainAge] = Once()
        self._ratings = {rating.domain: rating for rating in self.known}
        self._ageless: set[str] = set()

    def rate(self, addresses: Iterable[str]) -> None:
        """Rate the domains of some addresses, their ages left open.

        So is a host below it that a rating set lists by its own name, such as a newspaper's
        section.
        """
        names = self._names(addresses) - self._ratings.keys()
        if not names:
            return
        with self.timed():
            for name in names:
                made = self._ratings[name] = rate(self.video_id, name, self.directory)
                if made.rating == "unknown" and not made.datasets:
                    self._ageless.add(name)

    async def look_up_ages(self, addresses: Iterable[str]) -> None:
        """Complete the ratings of some addresses by the ages of their domains, all at once."""
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
        """Return the rating of an address that has been rated: its host's own, or its domain's.

        Where anybody may publish, it is the page's: see as_published.
        """
        domain = urls.domain_of(url)
        if not domain:
            return rate(self.video_id, "", self.directory)
        names = (name for name in urls.host_and_parents(urls.host_of(url)) if name in self._ratings)
        return as_published(self._ratings[next(names, domain)], url)

    def ratings(self, addresses: Iterable[str]) -> tuple[ReliabilityRating, ...]:
        """Return the ratings that belong to some addresses, by domain."""
        names = self._names(addresses) & self._ratings.keys()
        return tuple(self._ratings[name] for name in sorted(names))

    def _names(self, addresses: Iterable[str]) -> set[str]:
        """Return the domains of some addresses, and the names below them that are listed."""
        names = set[str]()
        for url in addresses:
            if domain := urls.domain_of(url):
                listed_name, _ = listing_of(urls.host_of(url), self.directory)
                names |= {domain, listed_name if listed_name.endswith(f".{domain}") else domain}
        return names
