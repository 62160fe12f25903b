"""Reads rating sets: files that list domains and their reliability.

The project's own YAML format is strict: the first wrong value is an error with file and line. Sets
of other publishers may have rows that rate no host (dead sites, invalid names, rows about one
section of a site); those rows are left out.

NAME.csv.yaml describes the table NAME.csv; corpora/README.md has an example with every field.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self, TypeAlias, TypeVar, get_args

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    FiniteFloat,
    StringConstraints,
    ValidationInfo,
    field_validator,
    model_validator,
)

from resources import text_files
from resources.ratings.base import ListedRating, Rating, SourceClass, ascii_host, journal_key
from resources.text_files import PlacedError

Name = TypeVar("Name")
_MAX_BYTES: Final = 1 << 30
_ListedRating: TypeAlias = Literal["very_low", "low", "medium", "high"]
_RANKS: tuple[Rating, ...] = get_args(_ListedRating)
"""From worst to best."""
_CLASSES: tuple[SourceClass, ...] = get_args(SourceClass)
_FRONT_PAGES = frozenset({"", "home", "index.html", "index.php", "en", "news"})


@dataclass(frozen=True, slots=True)
class RatingSet:
    """One rating set: its ratings by host, the day that it describes, and its licence."""

    name: str
    ratings: Mapping[str, ListedRating]
    as_of: date | None = None
    licence: str = ""


@dataclass(frozen=True, slots=True)
class RatingSets:
    """All rating sets, in order of precedence."""

    sets: Sequence[RatingSet]

    def lookup(self, domain: str) -> Sequence[ListedRating]:
        """Return the ratings of exactly this host (apart from `www.`), at most one per set."""
        host = domain.lower().rstrip(".").removeprefix("www.")
        return tuple(rating for rated in self.sets if (rating := rated.ratings.get(host)))


def host_name(text: str) -> str | None:
    """Normalise a listed host: lower case, ASCII, without `www.`, scheme, port and path.

    It drops stray characters at the end and reads a comma between labels as a dot. None if the text
    is no host.
    """
    host = re.sub(r"^https?:/*", "", text.strip().lower())
    host = re.split(r"[/:?#]", host, maxsplit=1)[0].strip(" `)('\".").replace(",", ".")
    return ascii_host(host.removeprefix("www."))


# --- Strict YAML --------------------------------------------------------------------------------


def _day(written: object) -> object:
    """Parse a day; pydantic alone would read a number as seconds since 1970."""
    if isinstance(written, str):
        try:
            return date.fromisoformat(written)
        except ValueError:
            raise ValueError("write the date as 2026-01-31") from None
    return written


def _host(written: str) -> str:
    host = host_name(written)
    if host is None:
        raise ValueError("write a host name such as example.org")
    return host


_Words = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1),
    AfterValidator(lambda text: " ".join(text.split())),
]
_Day = Annotated[date, BeforeValidator(_day)]


class _About(BaseModel, frozen=True, extra="forbid"):
    """The fields about a whole set."""

    dataset: _Words
    as_of: _Day | None = None
    description: _Words = ""
    licence: _Words = ""
    citation: _Words = ""


# --- The project's own layout -------------------------------------------------------------------


class _Entry(BaseModel, frozen=True, extra="forbid"):
    domain: Annotated[str, AfterValidator(_host)] = ""
    journal: _Words | None = Field(default=None, exclude=True)
    """Instead of a domain: the name of a journal, as search providers write it."""
    rating: _ListedRating
    source_class: SourceClass = Field(alias="class")
    reason: _Words
    bias: Annotated[_Words, AfterValidator(str.lower)] | None = None
    score: Annotated[float, Field(ge=0, le=1)] | None = None

    @model_validator(mode="after")
    def _rates_one_thing(self) -> Self:
        if bool(self.domain) == bool(self.journal):
            raise ValueError("an entry has either a domain or a journal")
        return self

    @property
    def name(self) -> str:
        return journal_key(self.journal) if self.journal else self.domain


class _Ratings(_About, frozen=True, extra="forbid"):
    retrieved: _Day | None = None
    """Replaces `as_of` if that is unknown."""
    ratings: list[_Entry]


def load_rating_yaml(file: Path) -> RatingSet:
    """Read a rating set in the project's layout (corpora/domain_ratings.yaml).

    Its `ratings` may also have a `bias` and a `score` from 0 to 1. Raises PlacedError.
    """
    document = text_files.read_document(file)
    listed = document.read_as(_Ratings)
    as_of = listed.as_of or listed.retrieved
    ratings: dict[str, ListedRating] = {}
    for place, entry in enumerate(listed.ratings):
        if entry.name in ratings:
            line = document.line(("ratings", place))
            raise PlacedError(f"{entry.journal or entry.domain} is listed twice", line)
        fields = entry.model_dump() | {"domain": entry.name}
        ratings[entry.name] = ListedRating(listed.dataset, **fields, as_of=as_of)
    return RatingSet(listed.dataset, ratings, as_of, listed.licence)


# --- Media Bias/Fact Check ----------------------------------------------------------------------

_MBFC: Mapping[str, Mapping[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("mbfc.yaml").read_text("utf-8")
)


def _outlets(file: Path, layout: TableLayout) -> Iterator[ListedRating]:
    """Read a snapshot of Media Bias/Fact Check (https://mediabiasfactcheck.com/methodology/).

    The layout is a list of objects with `Source URL`, `Bias`, `Factual Reporting`, `Credibility`
    and `Media Type`. The rating is the credibility (Factible, section 1.3.4), limited by factual
    reporting and bias, which decide alone if it is missing: see mbfc.yaml.

    Rows about a section of a site are left out, because one video channel does not represent its
    platform.
    """
    rows = text_files.read_json(text_files.read_text(file, _MAX_BYTES))
    if not isinstance(rows, list):
        raise PlacedError("the file should hold a list of outlets")
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict) or "Source URL" not in row:
            problem = f"entry {number} should be an outlet with a Source URL"
            raise PlacedError(problem)
        url = str(row.get("Source URL") or "").strip().lower()
        address, _, path = re.sub(r"^https?:/*", "", url).partition("/")
        host = host_name(address)
        if host is not None and path.strip("/` )") in _FRONT_PAGES:
            rating = _mbfc_rating(layout, host, row)
            if rating is not None:
                yield rating


def _mbfc_rating(layout: TableLayout, host: str, row: Mapping[str, object]) -> ListedRating | None:
    credibility, factual, bias, medium = (
        " ".join(str(row.get(key) or "").split()).lower()
        for key in ("Credibility", "Factual Reporting", "Bias", "Media Type")
    )
    bias = _MBFC["misspelt"].get(bias, bias)
    words = {"credibility": credibility, "factual": factual, "bias": bias}
    limits: list[Rating] = [_MBFC[key][word] for key, word in words.items() if word in _MBFC[key]]
    if not limits:
        return None
    source_class: SourceClass = _MBFC["classes"].get(medium, "unknown")
    if source_class == "academic" and bias != "pro-science":
        source_class = "news"
    return ListedRating(
        dataset=layout.dataset,
        domain=host,
        rating=min(limits, key=_RANKS.index),
        source_class="satire" if bias == "satire" else source_class,
        reason=f"credibility {credibility or 'not given'}, factual reporting "
        f"{factual or 'not given'}, bias {bias or 'not given'}",
        bias=bias or None,
        as_of=layout.as_of,
    )


# --- Tables -------------------------------------------------------------------------------------


def _both_named(columns: Mapping[str, str]) -> Mapping[str, str]:
    needed = {"domain", "rating"}
    if not needed <= columns.keys() <= needed | {"class", "bias", "reason"}:
        raise ValueError("name domain and rating, and if you like class, bias and reason")
    return columns


def _descending(steps: dict[Rating, float]) -> dict[Rating, float]:
    if "high" not in steps:
        raise ValueError("high should be given")
    ordered = {rating: steps[rating] for rating in reversed(_RANKS) if rating in steps}
    if any(better <= worse for better, worse in pairwise(ordered.values())):
        raise ValueError("each number should lie below that of the better rating")
    return ordered


def _folded(named: dict[str, Name]) -> dict[str, Name]:
    """Normalise the keys of a mapping: case-folded, with single spaces."""
    folded = {" ".join(text.split()).casefold(): name for text, name in named.items()}
    if "" in folded or len(folded) < len(named):
        raise ValueError("a text is empty, or stands here twice")
    return folded


def _one_character(written: str) -> str:
    if written == "tab":
        return "\t"
    if len(written) != 1 or written in '"\r\n':
        raise ValueError('write one character, such as ";", or tab')
    return written


class TableLayout(_About, frozen=True, extra="forbid"):
    """The description of a rating table (corpora/README.md).

    `columns` names the columns by role; it is empty for a file of a known layout. `thresholds` has
    the least number of each rating, the best first, if the table has numbers. `scale` has the
    rating of each text, which may differ in case and white space. Without both, the table names the
    ratings (high, medium, low, very low). Without `classes`, classes have the project's own names.
    """

    columns: Annotated[Mapping[str, _Words], AfterValidator(_both_named)] = {}
    delimiter: Annotated[str, AfterValidator(_one_character)] = ","
    thresholds: (
        Annotated[dict[Literal["high", "medium", "low"], FiniteFloat], AfterValidator(_descending)]
        | None
    ) = None
    scale: Annotated[dict[str, _ListedRating], AfterValidator(_folded)] | None = None
    classes: Annotated[dict[str, SourceClass], AfterValidator(_folded)] | None = None

    @field_validator("delimiter", "thresholds", "scale", "classes")
    @classmethod
    def _fit_together(cls, value: Name, info: ValidationInfo) -> Name:
        if not info.data.get("columns"):
            raise ValueError("this needs columns too")
        if info.field_name == "scale" and info.data.get("thresholds"):
            raise ValueError("thresholds and scale exclude each other; keep one")
        return value

    def rating_of(self, text: str) -> Rating:
        """Return the rating of a text; ValueError with the reason if it is invalid."""
        if self.thresholds is not None:
            try:
                number = float(text)
            except ValueError:
                number = math.nan
            if not math.isfinite(number):
                raise ValueError("not a number")
            reached = (rating for rating, least in self.thresholds.items() if number >= least)
            return next(reached, "very_low")
        word = " ".join(text.split()).casefold()
        if self.scale is not None:
            if word not in self.scale:
                raise ValueError("the scale of the description lacks it; add it there")
            return self.scale[word]
        name = re.sub(r"[\s-]+", "_", word)
        if name not in _RANKS:
            raise ValueError("not high, medium, low or very low")
        return name


# Domain quality is the first principal component of six expert ratings (Lin et al. 2023, PNAS Nexus
# 2(9), doi:10.1093/pnasnexus/pgad286). The thresholds separate the outlets that Media Bias/Fact
# Check rates: 70 % of its high outlets lie above 0.65, 80 % of its medium ones above 0.50, 80 % of
# its low ones above 0.26, half of its very low ones below 0.25.
DOMAIN_QUALITY = TableLayout(
    dataset="domain-quality",
    columns={"domain": "domain", "rating": "pc1"},
    thresholds={"high": 0.65, "medium": 0.5, "low": 0.25},
)
OUTLETS = TableLayout(dataset="mbfc")


def _table(file: Path, layout: TableLayout) -> Iterator[ListedRating]:
    """Read a CSV file with a header line, in the given layout."""
    for line, cells in _csv_rows(file, layout):
        host, value, label = host_name(cells["domain"]), cells["rating"], cells["class"]
        if host is None or not value:
            continue
        column = layout.columns["rating"]
        try:
            rating = layout.rating_of(value)
        except ValueError as error:
            raise PlacedError(f"{column} holds {value[:40]!r}: {error}", line) from error
        source_class = (layout.classes or {}).get(label.casefold(), "unknown")
        if label and layout.classes is None:
            if label not in _CLASSES:
                problem = f"{label[:40]!r} is no class; write one of {', '.join(sorted(_CLASSES))}"
                raise PlacedError(problem, line)
            source_class = label
        reason, bias = cells["reason"] or f"{column} {value[:12]}", cells["bias"].lower() or None
        yield ListedRating(layout.dataset, host, rating, source_class, reason, bias, layout.as_of)


def _csv_rows(file: Path, layout: TableLayout) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Yield each row's line number, and its cells by their role, with single spaces."""
    opened = io.StringIO(text_files.read_text(file, _MAX_BYTES), newline="")
    reader = csv.DictReader(opened, strict=True, restval="", delimiter=layout.delimiter)
    try:
        missing = sorted({*layout.columns.values()} - {*(reader.fieldnames or ())})
        if missing:
            raise PlacedError(f"the column {missing[0]} is missing in the header", 1)
        for row in reader:
            cells = {key: " ".join(row[column].split()) for key, column in layout.columns.items()}
            yield reader.line_num, defaultdict(str, cells)
    except csv.Error as error:
        # `line_num` counts complete records only.
        raise PlacedError(f"this is not CSV: {error}", reader.line_num + 1) from error


READERS: Mapping[str, Callable[[Path, TableLayout], Iterator[ListedRating]]] = {
    ".csv": _table,
    ".json": _outlets,
}
"""The readers of other publishers' files, by suffix."""


def load_table(file: Path, layout: TableLayout) -> RatingSet:
    """Read a file of another publisher. If rows disagree on one host, the lowest rating wins.

    Raises PlacedError.
    """
    ratings: dict[str, ListedRating] = {}
    for row in READERS[file.suffix.lower()](file, layout):
        other = ratings.get(row.domain, row)
        ratings[row.domain] = min(other, row, key=lambda one: _RANKS.index(one.rating))
    return RatingSet(layout.dataset, ratings, layout.as_of, layout.licence)


# --- Descriptions -------------------------------------------------------------------------------

DESCRIBES = ".yaml"
"""The suffix that makes a table's name the name of its description."""


def description_of(file: Path) -> Path:
    return file.with_name(f"{file.name}{DESCRIBES}")


def load_description(file: Path) -> TableLayout:
    """Read a description; `columns` is empty if it names none. Raises PlacedError."""
    return text_files.read_document(file).read_as(TableLayout)
