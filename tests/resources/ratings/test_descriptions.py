"""Descriptions beside rating sets: any table with a small mapping; errors name the line."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from factible_assets.services.ratings import rating_directory
from resources.errors import SetupError
from resources.ratings.datasets import RatingSet, description_of, load_description
from resources.text_files import PlacedError

TABLE = """\
Website;Points;Kind;Remark
https://www.Good.example/;91,5;Newspaper;Corrects itself.
fair.example;60;Podcast;
poor.example;12;newspaper;"Sells; what it writes about."
unrated.example;;Newspaper;
"""
MAPPING = """\
dataset: newsroom-survey
as_of: 2026-03-01
licence: CC BY 4.0
citation: The Surveyors (2026), Newsrooms
description: Newsrooms asked about corrections.
delimiter: ";"
columns: {domain: Website, rating: Points, class: Kind, reason: Remark}
thresholds: {high: 75, medium: 50}
classes: {Newspaper: news}
"""


def written(folder: Path, mapping: str, table: str = TABLE, name: str = "own.csv") -> Path:
    file = folder / name
    file.write_text(table, "utf-8")
    description_of(file).write_text(mapping, "utf-8")
    return file


def loaded(file: Path) -> RatingSet:
    (made,) = rating_directory([file, description_of(file)]).sets
    return made


def test_any_table_can_be_described(tmp_path: Path) -> None:
    made = loaded(written(tmp_path, MAPPING, TABLE.replace("91,5", "91.5")))
    assert (made.name, made.as_of) == ("newsroom-survey", date(2026, 3, 1))
    assert made.licence == "CC BY 4.0"
    rated = {host: (each.rating, each.source_class) for host, each in made.ratings.items()}
    assert rated == {
        "good.example": ("high", "news"),
        "fair.example": ("medium", "unknown"),
        "poor.example": ("very_low", "news"),
    }
    good = made.ratings["good.example"]
    assert (good.dataset, good.as_of) == ("newsroom-survey", date(2026, 3, 1))
    assert good.reason == "Corrects itself."
    assert made.ratings["fair.example"].reason == "Points 60"


def test_ratings_in_words_are_translated_by_a_scale(tmp_path: Path) -> None:
    mapping = (
        "dataset: words\ncolumns: {domain: site, rating: verdict}\n"
        "scale: {Very Trustworthy: high, doubtful: low, 5: very_low}\n"
    )
    table = "site,verdict\na.example,very  trustworthy\nb.example,Doubtful\nc.example,5\n"
    made = loaded(written(tmp_path, mapping, table))
    assert {host: each.rating for host, each in made.ratings.items()} == {
        "a.example": "high",
        "b.example": "low",
        "c.example": "very_low",
    }
    assert made.as_of is None


def test_without_a_scale_ratings_are_called_by_their_names(tmp_path: Path) -> None:
    mapping = "dataset: named\ncolumns: {domain: site, rating: verdict, class: kind}\n"
    made = loaded(written(tmp_path, mapping, "site,verdict,kind\na.example,Very Low,shop\n"))
    rating = made.ratings["a.example"]
    assert (rating.rating, rating.source_class) == ("very_low", "shop")


@pytest.mark.parametrize(
    ("line", "instead", "number", "words"),
    [
        ("dataset: newsroom-survey", "data: x", 1, "'data' is not a key here"),
        ("as_of: 2026-03-01", "as_of: March", 2, "write the date as 2026-01-31"),
        ('delimiter: ";"', "delimiter: semicolon", 6, "one character"),
        (
            "thresholds: {high: 75, medium: 50}",
            "scale: {a: great}",
            8,
            "a is 'great': it should be",
        ),
        ("thresholds: {high: 75, medium: 50}", "scale: []", 8, "scale is no mapping of keys"),
        ("thresholds: {high: 75, medium: 50}", "scale: {a: low, A: low}", 8, "stands here twice"),
        ("high: 75, medium: 50", "high: much", 8, "high is 'much': it should be a valid number"),
        ("high: 75, medium: 50", "high: .nan", 8, "high is '.nan': it should be a valid number"),
        ("high: 75, medium: 50", "medium: 50", 8, "high should be given"),
        (
            "high: 75, medium: 50",
            "high: 50, medium: 75",
            8,
            "should lie below that of the better rating",
        ),
        ("{Newspaper: news}", "{Newspaper: paper}", 9, "Newspaper is 'paper': it should be"),
        ("domain: Website, ", "", 7, "name domain and rating"),
        ("classes:", "scale: {a: low}\nclasses:", 9, "exclude each other"),
        (
            "columns: {domain: Website, rating: Points, class: Kind, reason: Remark}\n",
            "",
            6,
            "this needs columns too",
        ),
    ],
)
def test_a_mistake_in_a_description_is_named_with_its_line(
    tmp_path: Path, line: str, instead: str, number: int, words: str
) -> None:
    assert line in MAPPING
    file = description_of(written(tmp_path, MAPPING.replace(line, instead)))
    with pytest.raises(PlacedError) as mistake:
        load_description(file)
    assert words in str(mistake.value)
    assert mistake.value.line == number


@pytest.mark.parametrize(
    ("mapping", "table", "words"),
    [
        (MAPPING, TABLE, r"own\.csv:2: Points holds '91,5': not a number"),
        (
            MAPPING.replace("{high: 75, medium: 50}", "{high: 75}").replace("Points", "Score"),
            TABLE,
            r"own\.csv:1: the column Score is missing in the header",
        ),
        (
            MAPPING.replace("thresholds: {high: 75, medium: 50}", "scale: {fine: high}"),
            TABLE,
            r"csv:2: Points holds '91,5': the scale of the description lacks it",
        ),
    ],
)
def test_a_table_that_contradicts_its_description_is_reported_with_its_line(
    tmp_path: Path, mapping: str, table: str, words: str
) -> None:
    with pytest.raises(SetupError, match=words):
        loaded(written(tmp_path, mapping, table))


def test_a_description_without_its_table_is_refused(tmp_path: Path) -> None:
    file = written(tmp_path, MAPPING)
    with pytest.raises(SetupError, match=r"own\.csv\.yaml:\d+: .* is not a key here"):
        rating_directory([description_of(file)])


def test_a_description_dates_and_names_a_file_of_a_known_layout(tmp_path: Path) -> None:
    about = "dataset: quality-2023\nas_of: 2023-09-04\nlicence: CC BY 4.0\n"
    quality = loaded(written(tmp_path, about, "domain,pc1\ngood.example,0.9\n", "quality.csv"))
    assert (quality.name, quality.as_of, quality.licence) == (
        "quality-2023",
        date(2023, 9, 4),
        "CC BY 4.0",
    )
    outlets = (
        '[{"Source URL": "a.example", "Credibility": "High", "Bias": "", "Factual Reporting": ""}]'
    )
    snapshot = loaded(written(tmp_path, about, outlets, "outlets.json"))
    assert snapshot.ratings["a.example"].dataset == "quality-2023"
    assert snapshot.ratings["a.example"].as_of == date(2023, 9, 4)
    with pytest.raises(SetupError, match="`columns` describes tables"):
        loaded(written(tmp_path, MAPPING, outlets, "outlets.json"))


@pytest.mark.parametrize(
    ("name", "day"),
    [
        ("20251207_media_bias.csv", date(2025, 12, 7)),
        ("media-bias-2025-12-07.csv", date(2025, 12, 7)),
        ("20259999.csv", None),
        ("mine.csv", None),
    ],
)
def test_an_undated_set_takes_its_day_from_its_name(
    tmp_path: Path, name: str, day: date | None
) -> None:
    file = tmp_path / name
    file.write_text("domain,rating\na.example,high\n", "utf-8")
    (made,) = rating_directory([file]).sets
    assert made.as_of == made.ratings["a.example"].as_of == day


def test_a_changed_description_is_read_again(tmp_path: Path) -> None:
    table = TABLE.replace("91,5", "91.5")
    file = written(tmp_path, MAPPING, table)
    assert loaded(file).ratings["fair.example"].rating == "medium"
    written(tmp_path, MAPPING.replace("medium: 50", "medium: 70.25"), table)
    assert loaded(file).ratings["fair.example"].rating == "very_low"
