"""Rating sets: which domains a file lists, and how reliable it holds them to be.

What belongs here: reading each known layout into `ListedRating`s, tables of any other layout by
their description, and looking hosts up in several sets. What does not: what a rating is worth,
parent domains, and unlisted domains (the domain's business), choosing a file's reader (the caller).

A set written for this project is read strictly: the first wrong value ends in an error that names
file and line. Sets of others are read as they are: rows that rate no host (dead sites, names that
are no host, rows on one section of a site) are left out and counted by reason in `left_out`.

A file that does not explain itself has a description beside it, NAME.csv.yaml for NAME.csv, which
says what it is and, with `columns`, how its table is read: corpora/README.md has one with every
field. Without `thresholds` and `scale` the ratings are called high, medium, low and very low.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Final, TypeVar, get_args

import yaml

from resources import lines
from resources.errors import SetupError
from resources.lines import Document, Place, PlacedError, deepest_json_line
from resources.reliability.base import ListedRating, Rating, SourceClass

Name = TypeVar("Name", bound=str)
_MAX_BYTES: Final = 1 << 30
_LISTED_RATINGS: tuple[Rating, ...] = ("very_low", "low", "medium", "high")
"""From worst to best; a set lists nothing as unknown."""
_CLASSES: tuple[SourceClass, ...] = get_args(SourceClass)
_HOST = re.compile(r"(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{1,62}")
_FRONT_PAGES = frozenset({"", "home", "index.html", "index.php", "en", "news"})
_ABOUT = {"licence", "citation", "description"}


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


@dataclass(frozen=True, slots=True)
class RatingDirectory:
    """All rating sets, in order of precedence: the first set that lists a host comes first."""

    sets: Sequence[RatingSet]

    def lookup(self, domain: str) -> Sequence[ListedRating]:
        """Return the ratings listed for exactly this host (`www.` aside), at most one a set."""
        host = domain.lower().rstrip(".").removeprefix("www.")
        return tuple(found for listed in self.sets if (found := listed.ratings.get(host)))


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


def _enter(ratings: dict[str, ListedRating], found: ListedRating) -> None:
    """Note a rating; of those that disagree on one host the lower one holds."""
    held = ratings.get(found.domain, found)
    ratings[found.domain] = min(held, found, key=lambda each: _LISTED_RATINGS.index(each.rating))


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


# --- Values of YAML, read strictly --------------------------------------------------------------


class RatingFileError(SetupError):
    """A rating set that cannot be used. The message names file, line, and remedy."""

    def __init__(self, file: Path, line: int | None, problem: str) -> None:
        where = str(file) if line is None else f"{file}, line {line}"
        super().__init__(f"{where}: {problem}")
        self.file = file
        self.line = line


def _read_text(file: Path) -> str:
    try:
        return lines.read_text(file, _MAX_BYTES)
    except PlacedError as error:
        raise RatingFileError(file, error.line, error.sentence) from error


def _chosen(file: Path, line: int, text: str, known: Sequence[Name], what: str) -> Name:
    for name in known:
        if name == text:
            return name
    names = ", ".join(sorted(known))
    raise RatingFileError(file, line, f"{text[:40]!r} is no {what}; write one of {names}")


@dataclass(frozen=True, slots=True)
class _Node:
    """A value in a YAML file; what reads it raises RatingFileError if it is something else."""

    file: Path
    document: Document
    place: Place = ()

    @property
    def value(self) -> Any:
        return self.document.at(self.place)

    def wrong(self, problem: str) -> RatingFileError:
        return RatingFileError(self.file, self.document.line(self.place), problem)

    def child(self, step: str | int) -> _Node:
        return _Node(self.file, self.document, (*self.place, step))

    def mapping(self, required: set[str], optional: set[str]) -> dict[str, _Node]:
        """Return a mapping's values by key; none may be missing, and no other one may be there."""
        if not isinstance(self.value, dict):
            raise self.wrong(f"here should stand a mapping with {', '.join(sorted(required))}")
        for key in self.value:
            if key not in required | optional:
                raise self.child(key).wrong(f"the key {key} is not known here")
        if missing := sorted(required - self.value.keys()):
            raise self.wrong(f"{', '.join(missing)} should be given")
        return {key: self.child(key) for key in self.value}

    def text(self) -> str:
        """Return a text on one line; it may not be empty."""
        if not isinstance(self.value, str) or not self.value.strip():
            raise self.wrong("here should stand a text")
        return " ".join(self.value.split())

    def choice(self, known: Sequence[Name], what: str) -> Name:
        return _chosen(self.file, self.document.line(self.place), self.text(), known, what)

    def share(self) -> float:
        found = _number(self.text())
        if found is None or not 0 <= found <= 1:
            raise self.wrong("here should stand a number from 0 to 1")
        return found

    def day(self) -> date:
        try:
            return date.fromisoformat(self.text())
        except ValueError as error:
            raise self.wrong("write the date as 2026-01-31") from error


def _read_yaml(file: Path) -> _Node:
    try:
        document = lines.parse_document(_read_text(file))
    except PlacedError as error:
        raise RatingFileError(file, error.line, error.sentence) from error
    for _, key, line in document.duplicates:
        raise RatingFileError(file, line, f"the key {key} stands here twice")
    return _Node(file, document)


# --- The project's own layout -------------------------------------------------------------------


def load_rating_yaml(file: Path) -> RatingSet:
    """Read a rating set in the project's layout (corpora/domain_ratings.yaml).

    Its `ratings` may have a `bias` and a `score` from 0 to 1 besides. Raises RatingFileError.
    """
    top = _read_yaml(file).mapping({"dataset", "ratings"}, {"as_of", "retrieved"} | _ABOUT)
    name, listed = top["dataset"].text(), top["ratings"]
    day = top.get("as_of") or top.get("retrieved")
    as_of = None if day is None else day.day()
    if not isinstance(listed.value, list):
        raise listed.wrong("ratings should be a list")
    ratings: dict[str, ListedRating] = {}
    for entry in map(listed.child, range(len(listed.value))):
        fields = entry.mapping({"domain", "rating", "class", "reason"}, {"bias", "score"})
        domain = host_name(fields["domain"].text())
        if domain is None:
            raise fields["domain"].wrong("domain should be a host name such as example.org")
        if domain in ratings:
            raise entry.wrong(f"{domain} is listed twice")
        ratings[domain] = ListedRating(
            dataset=name,
            domain=domain,
            rating=fields["rating"].choice(_LISTED_RATINGS, "rating"),
            source_class=fields["class"].choice(_CLASSES, "class"),
            reason=fields["reason"].text(),
            bias=fields["bias"].text().lower() if "bias" in fields else None,
            as_of=as_of,
            score=fields["score"].share() if "score" in fields else None,
        )
    said: dict[str, Any] = {key: top[key].text() for key in _ABOUT & top.keys()}
    return RatingSet(name, ratings, as_of, **said)


# --- Media Bias/Fact Check ----------------------------------------------------------------------

_MBFC: Mapping[str, Mapping[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("mbfc.yaml").read_text("utf-8")
)


def load_mbfc_json(file: Path, layout: TableLayout) -> RatingSet:
    """Read a snapshot of Media Bias/Fact Check (https://mediabiasfactcheck.com/methodology/).

    The layout is a list of objects with `Source URL`, `Bias`, `Factual Reporting`, `Credibility`
    and `Media Type`. The rating is the credibility (Factible, section 1.3.4), and no better than
    factual reporting and bias allow, which decide alone without one: see mbfc.yaml.

    A row on one section of a site rates the site only if at least two such rows agree and no row
    is on the site itself: one video channel says nothing of its platform. Of rows that disagree on
    one site the lower rating holds. Raises RatingFileError.
    """
    sites: dict[str, ListedRating] = {}
    sections: dict[str, list[ListedRating]] = defaultdict(list)
    left_out: Counter[str] = Counter()
    for row in _json_rows(file):
        url = str(row.get("Source URL") or "").strip().lower()
        address, _, path = re.sub(r"^https?:/*", "", url).partition("/")
        host, is_section = host_name(address), path.strip("/` )") not in _FRONT_PAGES
        rating = _mbfc_rating(layout, host, row) if host is not None else None
        if rating is None:
            left_out["no host" if host is None else "no rating"] += 1
        elif is_section:
            sections[rating.domain].append(rating)
        else:
            _enter(sites, rating)
    for host, rows in sections.items():
        if host not in sites and len(rows) > 1 and len({row.rating for row in rows}) == 1:
            sites[host] = rows[0]
        else:
            left_out["a section of a site"] += len(rows)
    return layout.made(sites, left_out)


def _mbfc_rating(layout: TableLayout, host: str, row: Mapping[str, object]) -> ListedRating | None:
    credibility, factual, bias, medium = (
        " ".join(str(row.get(key) or "").split()).lower()
        for key in ("Credibility", "Factual Reporting", "Bias", "Media Type")
    )
    bias = _MBFC["misspelt"].get(bias, bias)
    said = {"credibility": credibility, "factual": factual, "bias": bias}
    limits: list[Rating] = [_MBFC[key][word] for key, word in said.items() if word in _MBFC[key]]
    if not limits:
        return None
    source_class: SourceClass = _MBFC["classes"].get(medium, "unknown")
    if source_class == "academic" and bias != "pro-science":
        source_class = "news"
    return ListedRating(
        dataset=layout.name,
        domain=host,
        rating=min(limits, key=_LISTED_RATINGS.index),
        source_class="satire" if bias == "satire" else source_class,
        reason=f"credibility {credibility or 'not given'}, factual reporting "
        f"{factual or 'not given'}, bias {bias or 'not given'}",
        bias=bias or None,
        as_of=layout.as_of,
    )


def _json_rows(file: Path) -> Iterator[Mapping[str, object]]:
    text = _read_text(file)
    try:
        rows = json.loads(text)
    except json.JSONDecodeError as error:
        raise RatingFileError(file, error.lineno, f"this is not JSON: {error.msg}") from error
    except RecursionError as error:
        line = deepest_json_line(text)
        raise RatingFileError(file, line, "this JSON is nested too deeply") from error
    if not isinstance(rows, list):
        raise RatingFileError(file, None, "the file should hold a list of outlets")
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict) or "Source URL" not in row:
            problem = f"entry {number} should be an outlet with a Source URL"
            raise RatingFileError(file, None, problem)
        yield row


# --- Tables -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TableLayout:
    """Where a file keeps what a rating needs, as its description has it (corpora/README.md).

    `columns` are named by what they hold, none where a file's layout is known. A rating is a
    number, for which `thresholds` has the least of each rating, the best first, or a text of
    `scale`, without case and white space, or called by its name. Without `classes` classes have the
    project's own names.
    """

    name: str
    columns: Mapping[str, str] = field(default_factory=dict)
    description: str = ""
    thresholds: Mapping[Rating, float] | None = None
    most: float = math.inf
    """No number is larger; with one, none is below 0."""
    scale: Mapping[str, Rating] | None = None
    classes: Mapping[str, SourceClass] | None = None
    delimiter: str = ","
    licence: str = ""
    citation: str = ""
    as_of: date | None = None
    described_in: str = ""

    def made(self, ratings: Mapping[str, ListedRating], left_out: Mapping[str, int]) -> RatingSet:
        """Return the set that was read so."""
        about = self.description, dict(left_out), self.licence, self.citation
        return RatingSet(self.name, ratings, self.as_of, *about)

    def rating_of(self, text: str) -> Rating:
        """Return the rating that a text stands for; ValueError says why it is none."""
        if self.thresholds is not None:
            number = _number(text)
            if number is None:
                raise ValueError("not a number")
            if self.most < math.inf and not 0 <= number <= self.most:
                raise ValueError(f"not from 0 to {self.most:g}")
            reached = (rating for rating, least in self.thresholds.items() if number >= least)
            return next(reached, "very_low")
        word = " ".join(text.split()).casefold()
        if self.scale is not None and word not in self.scale:
            raise ValueError(f"it does not stand in the scale of {self.described_in}; add it there")
        if self.scale is not None:
            return self.scale[word]
        name = re.sub(r"[\s-]+", "_", word)
        for rating in _LISTED_RATINGS:
            if rating == name:
                return rating
        raise ValueError("not high, medium, low or very low")


# Lin et al. (2023) give no classes. The cuts were set where they part the outlets that Media
# Bias/Fact Check rates: 70 % of its high outlets lie above 0.65, 80 % of its medium ones above
# 0.50, 80 % of its low ones above 0.26, half of its very low ones below 0.25.
DOMAIN_QUALITY = TableLayout(
    "domain-quality",
    {"domain": "domain", "rating": "pc1"},
    "Domain quality, first principal component of six expert ratings "
    "(Lin et al. 2023, PNAS Nexus 2(9), doi:10.1093/pnasnexus/pgad286)",
    thresholds={"high": 0.65, "medium": 0.5, "low": 0.25},
    most=1.0,
)


OUTLETS = TableLayout("mbfc", description="Media Bias/Fact Check")


def load_rating_csv(file: Path, layout: TableLayout) -> RatingSet:
    """Read a CSV file with a header line, in the given layout.

    Of rows that disagree on one host the lower rating holds. Raises RatingFileError.
    """
    ratings: dict[str, ListedRating] = {}
    left_out: Counter[str] = Counter()
    for line, cells in _csv_rows(file, layout):
        host, value, named = host_name(cells["domain"]), cells["rating"], cells["class"]
        if host is None or not value:
            left_out["no host" if host is None else "no rating"] += 1
            continue
        column = layout.columns["rating"]
        try:
            rating = layout.rating_of(value)
        except ValueError as error:
            raise RatingFileError(file, line, f"{column} holds {value[:40]!r}: {error}") from error
        kind = (layout.classes or {}).get(named.casefold(), "unknown")
        if named and layout.classes is None:
            kind = _chosen(file, line, named, _CLASSES, "class")
        reason, bias = cells["reason"] or f"{column} {value[:12]}", cells["bias"].lower() or None
        _enter(ratings, ListedRating(layout.name, host, rating, kind, reason, bias, layout.as_of))
    return layout.made(ratings, left_out)


def _csv_rows(file: Path, layout: TableLayout) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Yield each row's line and its cells by what they hold, on one line each."""
    opened = io.StringIO(_read_text(file), newline="")
    reader = csv.DictReader(opened, strict=True, restval="", delimiter=layout.delimiter)
    try:
        missing = sorted({*layout.columns.values()} - {*(reader.fieldnames or ())})
        if missing:
            raise RatingFileError(file, 1, f"the column {missing[0]} is missing in the header")
        for row in reader:
            cells = {key: " ".join(row[column].split()) for key, column in layout.columns.items()}
            yield reader.line_num, defaultdict(str, cells)
    except csv.Error as error:
        # The count stands at the last record that was whole.
        raise RatingFileError(file, reader.line_num + 1, f"this is not CSV: {error}") from error


# --- Descriptions -------------------------------------------------------------------------------

DESCRIBES = ".yaml"
"""What the name of a description has beyond the name of the file that it describes."""
_READING = {"delimiter", "columns", "thresholds", "scale", "classes"}


def description_of(file: Path) -> Path:
    """Return where the description of a file would be."""
    return file.with_name(f"{file.name}{DESCRIBES}")


def load_description(file: Path) -> TableLayout:
    """Read a description, without columns where it names none; raise RatingFileError."""
    top = _read_yaml(file).mapping({"dataset"}, {"as_of"} | _ABOUT | _READING)
    for key in sorted(_READING & top.keys()) if "columns" not in top else ():
        raise top[key].wrong(f"{key} needs columns beside it")
    said: dict[str, Any] = {key: top[key].text() for key in sorted(_ABOUT & top.keys())}
    required, optional = {"domain", "rating"}, {"class", "bias", "reason"}
    columns = top["columns"].mapping(required, optional) if "columns" in top else {}
    if "thresholds" in top and "scale" in top:
        raise top["scale"].wrong("thresholds and scale exclude each other; keep one")
    delimiter = top["delimiter"].value if "delimiter" in top else ","
    delimiter = "\t" if delimiter == "tab" else delimiter
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in {'"', "\r", "\n"}:
        raise top["delimiter"].wrong('the delimiter should be one character, such as ";", or tab')
    return TableLayout(
        name=top["dataset"].text(),
        columns={key: node.text() for key, node in columns.items()},
        thresholds=_thresholds(top["thresholds"]) if "thresholds" in top else None,
        scale=_named(top["scale"], _LISTED_RATINGS, "rating") if "scale" in top else None,
        classes=_named(top["classes"], _CLASSES, "class") if "classes" in top else None,
        delimiter=delimiter,
        as_of=top["as_of"].day() if "as_of" in top else None,
        described_in=file.name,
        **said,
    )


def _thresholds(node: _Node) -> dict[Rating, float]:
    given = node.mapping({"high"}, {"medium", "low"})
    steps: dict[Rating, float] = {}
    for rating in (each for each in reversed(_LISTED_RATINGS) if each in given):
        least, above = _number(given[rating].text()), next(reversed(steps), None)
        if least is None:
            raise given[rating].wrong(f"{rating} should be a number")
        if above is not None and least >= steps[above]:
            raise given[rating].wrong(f"{rating} should lie below {above}")
        steps[rating] = least
    return steps


def _named(node: _Node, known: Sequence[Name], what: str) -> Mapping[str, Name]:
    """Read what texts of the table stand for; they are compared without case and white space."""
    if not isinstance(node.value, dict) or not node.value:
        raise node.wrong("here should stand a mapping of the texts")
    found: dict[str, Name] = {}
    for key in node.value:
        text, named = " ".join(key.split()).casefold(), node.child(key)
        if not text:
            raise named.wrong("here should stand a text")
        if text in found:
            raise named.wrong(f"{text} stands here twice")
        found[text] = named.choice(known, what)
    return found
