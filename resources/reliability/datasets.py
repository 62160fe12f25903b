"""Rating sets: which domains a file lists, and how reliable it holds them to be.

What belongs here: reading each known layout into `ListedRating`s, and looking hosts up in several
sets. What does not: describing a table of any other layout (descriptions.py), what a rating is
worth, parent domains, and unlisted domains (all the domain's business).

A set written for this project is read strictly: the first wrong value ends in an error that names
file and line. Sets of others are read as they are: rows that rate no host (dead sites, names that
are no host, rows on one section of a site) are left out and counted by reason in `left_out`.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import get_args

from resources.lines import deepest_json_line
from resources.reliability.base import ListedRating, Rating, SourceClass
from resources.reliability.files import Node, RatingFileError, read_text, read_yaml

_LISTED_RATINGS: tuple[Rating, ...] = ("very_low", "low", "medium", "high")
"""From worst to best; a set lists nothing as unknown."""

_CLASSES: tuple[SourceClass, ...] = get_args(SourceClass)
_HOST = re.compile(r"(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{1,62}")
_FRONT_PAGES = frozenset({"", "home", "index.html", "index.php", "en", "news"})


@dataclass(frozen=True, slots=True)
class RatingSet:
    """One rating set: its ratings by host, where it stands in time, and what was left out."""

    name: str
    ratings: Mapping[str, ListedRating]
    as_of: date | None = None
    description: str = ""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Rows that rate no host, counted by reason."""
    licence: str = ""
    citation: str = ""


class RatingDirectory:
    """All rating sets, in order of precedence: the first set that lists a host comes first."""

    def __init__(self, sets: Sequence[RatingSet]) -> None:
        self._sets = tuple(sets)

    @property
    def sets(self) -> Sequence[RatingSet]:
        """The sets, in order of precedence."""
        return self._sets

    def lookup(self, domain: str) -> Sequence[ListedRating]:
        """Return the ratings listed for exactly this host (`www.` aside), at most one a set."""
        host = domain.lower().rstrip(".").removeprefix("www.")
        return tuple(found for listed in self._sets if (found := listed.ratings.get(host)))


# --- The project's own layout -------------------------------------------------------------------


def load_rating_yaml(file: Path) -> RatingSet:
    """Read a rating set in the project's layout.

    A mapping with `dataset` (its name), `as_of` or `retrieved` (a date), `description`, `licence`,
    `citation`, and `ratings`: a list of `domain`, `rating` (high, medium, low, very_low), `class`,
    `reason` and, where known, `bias` and `score` (from 0 to 1).

    Raises:
        RatingFileError: The file cannot be read, or something in it is wrong.
    """
    told = {"as_of", "retrieved", "description", "licence", "citation"}
    top = read_yaml(file).mapping({"dataset", "ratings"}, told)
    name = top["dataset"].text()
    day = top.get("as_of") or top.get("retrieved")
    as_of = None if day is None else day.day()
    if not isinstance(top["ratings"].value, list):
        raise top["ratings"].wrong("ratings should be a list")
    ratings: dict[str, ListedRating] = {}
    for position in range(len(top["ratings"].value)):
        entry = top["ratings"].child(position)
        rating = _yaml_rating(name, as_of, entry)
        if rating.domain in ratings:
            raise entry.wrong(f"{rating.domain} is listed twice")
        ratings[rating.domain] = rating
    words = {key: top[key].text() if key in top else "" for key in told}
    return RatingSet(
        name=name,
        ratings=ratings,
        as_of=as_of,
        description=words["description"],
        licence=words["licence"],
        citation=words["citation"],
    )


def _yaml_rating(dataset: str, as_of: date | None, entry: Node) -> ListedRating:
    fields = entry.mapping({"domain", "rating", "class", "reason"}, {"bias", "score"})
    domain = host_name(fields["domain"].text())
    if domain is None:
        raise fields["domain"].wrong("domain should be a host name such as example.org")
    return ListedRating(
        dataset=dataset,
        domain=domain,
        rating=rating_of_name(entry.file, fields["rating"].line, fields["rating"].text()),
        source_class=source_class_of(entry.file, fields["class"].line, fields["class"].text()),
        reason=fields["reason"].text(),
        bias=fields["bias"].text().lower() if "bias" in fields else None,
        as_of=as_of,
        score=fields["score"].share() if "score" in fields else None,
    )


# --- Media Bias/Fact Check ----------------------------------------------------------------------

_MBFC_CREDIBILITY: Mapping[str, Rating] = {
    "high": "high",
    "medium": "medium",
    "mixed": "medium",
    "low": "low",
    "very low": "very_low",
}
_MBFC_FACTUAL: Mapping[str, Rating] = {
    "very high": "high",
    "high": "high",
    "mostly factual": "high",
    "mixed": "medium",
    "low": "low",
    "very low": "very_low",
}
_MBFC_BIAS: Mapping[str, Rating] = {
    "questionable": "low",
    "conspiracy-pseudoscience": "low",
    "satire": "very_low",
}
_MBFC_MISSPELT = {"conspiracy-pseuscience": "conspiracy-pseudoscience"}
_MBFC_CLASSES: Mapping[str, SourceClass] = {
    "newspaper": "news",
    "tv station": "news",
    "radio station": "news",
    "magazine": "news",
    "news agency": "news",
    "journal": "academic",
    "organization/foundation": "organisation",
    "government": "government",
}


def load_mbfc_json(file: Path, *, name: str = "mbfc", as_of: date | None = None) -> RatingSet:
    """Read a snapshot of Media Bias/Fact Check (https://mediabiasfactcheck.com/methodology/).

    The layout is a list of objects with `Source`, `Source URL`, `Bias`, `Factual Reporting`,
    `Credibility` and `Media Type`. The rating is the credibility (Factible, section 1.3.4, maps
    high, medium and low as they are), and no better than these allow: factual reporting `mixed`
    medium, `low` low, `very low` very low; bias `questionable` and `conspiracy-pseudoscience` low,
    `satire` very low. Without a credibility, factual reporting and bias decide alone.

    A row on one section of a site rates the site only if at least two such rows agree and no row
    is on the site itself: one video channel says nothing of its platform. Of rows that disagree on
    one site the lower rating holds.

    Raises:
        RatingFileError: The file is not such a list.
    """
    sites: dict[str, ListedRating] = {}
    sections: dict[str, list[ListedRating]] = defaultdict(list)
    left_out: Counter[str] = Counter()
    for row in _json_rows(file):
        host, is_section = _site(str(row.get("Source URL") or ""))
        rating = _mbfc_rating(name, as_of, host, row) if host is not None else None
        if rating is None:
            left_out["no host" if host is None else "no rating"] += 1
        elif is_section:
            sections[rating.domain].append(rating)
        else:
            sites[rating.domain] = _lower(rating, sites.get(rating.domain))
    for host, rows in sections.items():
        if host not in sites and len(rows) > 1 and len({row.rating for row in rows}) == 1:
            sites[host] = rows[0]
        else:
            left_out["a section of a site"] += len(rows)
    return RatingSet(name, sites, as_of, "Media Bias/Fact Check", dict(left_out))


def _mbfc_rating(
    name: str, as_of: date | None, host: str, row: Mapping[str, object]
) -> ListedRating | None:
    credibility, factual, bias, medium = (
        " ".join(str(row.get(key) or "").split()).lower()
        for key in ("Credibility", "Factual Reporting", "Bias", "Media Type")
    )
    bias = _MBFC_MISSPELT.get(bias, bias)
    limits = [
        table[value]
        for table, value in (
            (_MBFC_CREDIBILITY, credibility),
            (_MBFC_FACTUAL, factual),
            (_MBFC_BIAS, bias),
        )
        if value in table
    ]
    if not limits:
        return None
    source_class = _MBFC_CLASSES.get(medium, "unknown")
    if source_class == "academic" and bias != "pro-science":
        source_class = "news"
    return ListedRating(
        dataset=name,
        domain=host,
        rating=min(limits, key=_LISTED_RATINGS.index),
        source_class="satire" if bias == "satire" else source_class,
        reason=f"credibility {credibility or 'not given'}, factual reporting "
        f"{factual or 'not given'}, bias {bias or 'not given'}",
        bias=bias or None,
        as_of=as_of,
    )


def _json_rows(file: Path) -> Iterator[Mapping[str, object]]:
    try:
        rows = json.loads(text := read_text(file))
    except json.JSONDecodeError as error:
        raise RatingFileError(file, error.lineno, f"this is not JSON: {error.msg}") from error
    except RecursionError as error:
        raise RatingFileError(
            file, deepest_json_line(text), "this JSON is nested too deeply"
        ) from error
    if not isinstance(rows, list):
        raise RatingFileError(file, None, "the file should hold a list of outlets")
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict) or "Source URL" not in row:
            raise RatingFileError(
                file, None, f"entry {number} should be an outlet with a Source URL"
            )
        yield row


def _site(url: str) -> tuple[str | None, bool]:
    """Return the host that a listed URL names, and whether it names only a section of it."""
    rest = re.sub(r"^https?:/*", "", url.strip().lower())
    host, _, path = rest.partition("/")
    return host_name(host), path.strip("/` )") not in _FRONT_PAGES


def _lower(rating: ListedRating, other: ListedRating | None) -> ListedRating:
    if other is None:
        return rating
    return min(other, rating, key=lambda listed: _LISTED_RATINGS.index(listed.rating))


# --- Tables -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TableLayout:
    """Where a CSV file keeps what a rating needs.

    `rating_of` turns the text of the rating's column into a rating and raises ValueError for a
    text that is none; empty cells are left out. `classes` translates the texts of the class's
    column, and one that it lacks is unknown; without it they must be the project's own names.
    """

    name: str
    domain_column: str
    rating_column: str
    rating_of: Callable[[str], Rating]
    class_column: str | None = None
    bias_column: str | None = None
    reason_column: str | None = None
    description: str = ""
    classes: Mapping[str, SourceClass] | None = None
    delimiter: str = ","
    licence: str = ""
    citation: str = ""


# Lin et al. (2023) give no classes. The cuts were set where they part the outlets that Media
# Bias/Fact Check rates: 70 % of its high outlets lie above 0.65, 80 % of its medium ones above
# 0.50, 80 % of its low ones above 0.26, half of its very low ones below 0.25.
QUALITY_CUTS: tuple[tuple[float, Rating], ...] = (
    (0.65, "high"),
    (0.50, "medium"),
    (0.25, "low"),
    (0.0, "very_low"),
)


def rating_of_quality(text: str) -> Rating:
    """Turn a quality from 0 to 1 into a rating by `QUALITY_CUTS`.

    Raises:
        ValueError: The text is not a number from 0 to 1.
    """
    quality = float(text)
    if not 0.0 <= quality <= 1.0:
        raise ValueError("not from 0 to 1")
    return next(rating for cut, rating in QUALITY_CUTS if quality >= cut)


def rating_by_name(text: str) -> Rating:
    """Read a rating by its name in any case, with space, hyphen or underscore (`Very Low`).

    Raises:
        ValueError: The text names no rating.
    """
    name = re.sub(r"[\s-]+", "_", text.strip().lower())
    for rating in _LISTED_RATINGS:
        if rating == name:
            return rating
    raise ValueError("not high, medium, low or very low")


DOMAIN_QUALITY = TableLayout(
    name="domain-quality",
    domain_column="domain",
    rating_column="pc1",
    rating_of=rating_of_quality,
    description="Domain quality, first principal component of six expert ratings "
    "(Lin et al. 2023, PNAS Nexus 2(9), doi:10.1093/pnasnexus/pgad286)",
)


def load_rating_csv(file: Path, layout: TableLayout, *, as_of: date | None = None) -> RatingSet:
    """Read a CSV file with a header line, in the given layout.

    Of rows that disagree on one host the lower rating holds.

    Raises:
        RatingFileError: The file cannot be read, a column is missing, or a value is wrong.
    """
    ratings: dict[str, ListedRating] = {}
    left_out: Counter[str] = Counter()
    for line, row in _csv_rows(file, layout):
        host = host_name(row[layout.domain_column])
        if host is None or not row[layout.rating_column].strip():
            left_out["no host" if host is None else "no rating"] += 1
            continue
        rating = _table_rating(file, line, layout, host, row)
        ratings[host] = _lower(replace(rating, as_of=as_of), ratings.get(host))
    return RatingSet(
        layout.name,
        ratings,
        as_of,
        layout.description,
        dict(left_out),
        licence=layout.licence,
        citation=layout.citation,
    )


def _table_rating(
    file: Path, line: int, layout: TableLayout, host: str, row: Mapping[str, str]
) -> ListedRating:
    def cell(column: str | None) -> str:
        return " ".join(row[column].split()) if column is not None else ""

    value = cell(layout.rating_column)
    try:
        rating = layout.rating_of(value)
    except ValueError as error:
        problem = f"{layout.rating_column} holds {value[:40]!r}: {error}"
        raise RatingFileError(file, line, problem) from error
    return ListedRating(
        dataset=layout.name,
        domain=host,
        rating=rating,
        source_class=_table_class(file, line, layout, cell(layout.class_column)),
        reason=cell(layout.reason_column) or f"{layout.rating_column} {value[:12]}",
        bias=cell(layout.bias_column).lower() or None,
    )


def _table_class(file: Path, line: int, layout: TableLayout, named: str) -> SourceClass:
    if layout.classes is not None:
        return layout.classes.get(folded(named), "unknown")
    return source_class_of(file, line, named) if named else "unknown"


def _csv_rows(file: Path, layout: TableLayout) -> Iterator[tuple[int, Mapping[str, str]]]:
    reader = csv.DictReader(
        io.StringIO(read_text(file), newline=""),
        strict=True,
        restval="",
        delimiter=layout.delimiter,
    )
    columns = {
        layout.domain_column,
        layout.rating_column,
        layout.class_column,
        layout.bias_column,
        layout.reason_column,
    }
    try:
        missing = sorted(columns - {None, *(reader.fieldnames or ())}, key=str)
        if missing:
            raise RatingFileError(file, 1, f"the column {missing[0]} is missing in the header")
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        # The count stands at the last record that was whole.
        raise RatingFileError(file, reader.line_num + 1, f"this is not CSV: {error}") from error


# --- Shared -------------------------------------------------------------------------------------


def host_name(text: str) -> str | None:
    """Return a listed host in the form in which hosts are looked up; None if it is none.

    Lower case, ASCII, without `www.`, scheme, port and path; stray signs at its end are dropped and
    a comma between labels is read as the dot that was meant.
    """
    host = re.sub(r"^https?:/*", "", text.strip().lower())
    host = re.split(r"[/:?#]", host, maxsplit=1)[0].strip(" `)('\".").replace(",", ".")
    try:
        host = host.encode("idna").decode("ascii")
    except UnicodeError:
        return None
    host = host.removeprefix("www.")
    return host if _HOST.fullmatch(host) else None


def folded(text: str) -> str:
    """Return a text of a table as it is compared: white space and case mean nothing."""
    return " ".join(text.split()).casefold()


def rating_of_name(file: Path, line: int, text: str) -> Rating:
    """Read a rating's exact name.

    Raises:
        RatingFileError: It is none.
    """
    for rating in _LISTED_RATINGS:
        if rating == text:
            return rating
    raise RatingFileError(
        file, line, f"{text[:40]!r} is no rating; write high, medium, low or very_low"
    )


def source_class_of(file: Path, line: int, text: str) -> SourceClass:
    """Read a source class's exact name.

    Raises:
        RatingFileError: It is none.
    """
    for known in _CLASSES:
        if known == text:
            return known
    raise RatingFileError(
        file, line, f"{text[:40]!r} is no class; write one of {', '.join(sorted(_CLASSES))}"
    )
