"""Rating sets: the project's own, those of others as they are, and several at once."""

from __future__ import annotations

import json
from collections import Counter
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factible_assets.stages import ports
from resources.ratings.base import journal_key
from resources.ratings.datasets import (
    DOMAIN_QUALITY,
    OUTLETS,
    RatingSet,
    RatingSets,
    TableLayout,
    host_name,
    load_rating_yaml,
    load_table,
)
from resources.text_files import PlacedError
from tests.shared_data import shared_data

YAML = """\
dataset: own
as_of: 2026-11-01
description: Written for a test.
ratings:
  - {domain: agency.example, rating: high, class: government, reason: "An agency."}
  - {domain: www.Spoof.example, rating: very_low, class: satire, bias: None Stated, reason: Jokes.}
"""


def written(folder: Path, text: str, name: str = "ratings.yaml") -> Path:
    file = folder / name
    file.write_text(text, "utf-8")
    return file


def outlet(url: str, **values: str) -> dict[str, str]:
    return {
        "Source": "An outlet",
        "Source URL": url,
        "Credibility": values.get("credibility", "High"),
        "Factual Reporting": values.get("factual", "High"),
        "Bias": values.get("bias", "Least Biased"),
        "Media Type": values.get("medium", "Newspaper"),
    }


def mbfc(folder: Path, *rows: dict[str, str]) -> RatingSet:
    return load_table(written(folder, json.dumps(rows), "mbfc.json"), OUTLETS)


def test_the_projects_layout_is_read_whole(tmp_path: Path) -> None:
    found = load_rating_yaml(written(tmp_path, YAML))
    assert (found.name, found.as_of) == ("own", date(2026, 11, 1))
    agency, spoof = found.ratings["agency.example"], found.ratings["spoof.example"]
    assert (agency.rating, agency.source_class, agency.reason, agency.bias) == (
        "high",
        "government",
        "An agency.",
        None,
    )
    assert (spoof.rating, spoof.source_class, spoof.bias) == ("very_low", "satire", "none stated")


def test_an_entry_rates_a_journal_instead_of_a_domain(tmp_path: Path) -> None:
    journal = "domain: agency.example", 'journal: "The Lancet & Co."'
    found = load_rating_yaml(written(tmp_path, YAML.replace(*journal)))
    assert found.ratings[journal_key("Lancet and Co")].rating == "high"
    both = written(tmp_path, YAML.replace("domain: agency.example", "domain: a.org, journal: B"))
    with pytest.raises(PlacedError, match="either a domain or a journal"):
        load_rating_yaml(both)


@pytest.mark.parametrize(
    ("line", "replacement", "number", "words"),
    [
        ("rating: high", "rating: splendid", 5, "rating is 'splendid': it should be"),
        ("class: government", "class: ministry", 5, "class is 'ministry': it should be"),
        ("class: satire", "clas: satire", 6, "'clas' is not a key here. Did you mean 'class'"),
        ("domain: agency.example", "domain: http//", 5, "host name such as example.org"),
        ('reason: "An agency."', 'reason: ""', 5, "reason is '': it is empty"),
        (', reason: "An agency."', "", 5, "reason is missing"),
        ("www.Spoof.example", "agency.example", 6, "agency.example is listed twice"),
        ("as_of: 2026-11-01", "as_of: yesterday", 2, "write the date as 2026-01-31"),
    ],
)
def test_a_mistake_is_named_with_its_file_and_line(
    tmp_path: Path, line: str, replacement: str, number: int, words: str
) -> None:
    assert line in YAML
    with pytest.raises(PlacedError, match=words) as mistake:
        load_rating_yaml(written(tmp_path, YAML.replace(line, replacement)))
    assert mistake.value.line == number


@pytest.mark.parametrize(
    ("values", "rating", "source_class"),
    [
        ({}, "high", "news"),
        ({"credibility": "HIgh", "factual": "Mostly Factual"}, "high", "news"),
        ({"credibility": "Medium", "factual": "High"}, "medium", "news"),
        ({"credibility": "Mixed", "factual": "Mixed"}, "medium", "news"),
        ({"credibility": "High", "factual": "MIXED"}, "medium", "news"),
        ({"credibility": "Low", "factual": "High"}, "low", "news"),
        ({"credibility": "Low", "factual": "Very Low"}, "very_low", "news"),
        ({"credibility": "High", "bias": "Questionable"}, "low", "news"),
        ({"credibility": "Medium", "bias": "Conspiracy-Pseuscience"}, "low", "news"),
        ({"credibility": "N/A", "factual": "N/A", "bias": "Satire"}, "very_low", "satire"),
        ({"credibility": "", "factual": "Very High"}, "high", "news"),
        ({"medium": "Journal", "bias": "Pro-Science"}, "high", "academic"),
        ({"medium": "Journal", "bias": "Left"}, "high", "news"),
        ({"medium": " Organization/Foundation"}, "high", "organisation"),
        ({"medium": "Website "}, "high", "unknown"),
    ],
)
def test_mbfc_values_become_ratings(
    tmp_path: Path, values: dict[str, str], rating: str, source_class: str
) -> None:
    listed = mbfc(tmp_path, outlet("paper.example", **values)).ratings["paper.example"]
    assert (listed.rating, listed.source_class) == (rating, source_class)
    assert listed.bias == listed.bias.lower() if listed.bias else True


@pytest.mark.parametrize(
    "url",
    [
        "paper.example",
        "Paper.Example",
        "www.paper.example",
        "https://www.paper.example/",
        "https:/paper.example",
        "paper.example`",
        "paper.example)",
        "paper,example",
        " paper.example ",
        "paper.example/en/",
        "paper.example:443/",
    ],
)
def test_mbfc_hosts_are_cleaned(tmp_path: Path, url: str) -> None:
    assert list(mbfc(tmp_path, outlet(url)).ratings) == ["paper.example"]


def test_rows_that_rate_no_host_are_left_out(tmp_path: Path) -> None:
    nothing = {"credibility": "N/A", "factual": "", "bias": "N/A"}
    found = mbfc(
        tmp_path,
        *(outlet(url) for url in ("DEAD", "Offline", "", "thestarphoenix")),
        outlet("unrated.example", **nothing),
        outlet("videos.example/channel"),
    )
    assert found.ratings == {}


def test_sections_do_not_rate_their_site(tmp_path: Path) -> None:
    found = mbfc(
        tmp_path,
        outlet("social.example/one"),
        outlet("social.example/two"),
        outlet("paper.example/sports", credibility="Low"),
        outlet("paper.example"),
    )
    assert set(found.ratings) == {"paper.example"}
    assert found.ratings["paper.example"].rating == "high"


def test_of_rows_that_disagree_the_lower_holds(tmp_path: Path) -> None:
    for order in (("High", "Low"), ("Low", "High")):
        rows = [outlet("paper.example", credibility=value) for value in order]
        assert mbfc(tmp_path, *rows).ratings["paper.example"].rating == "low"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[\n{,", "This is not JSON"),
        ("{}", "should hold a list"),
        ("[1]", "entry 1 should be an outlet"),
        ('[{"name": "x"}]', "entry 1 should be an outlet"),
        ("[\n" + "[" * 100_000, "This is not JSON: nested too deeply"),
    ],
)
def test_a_file_that_is_no_snapshot_is_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(PlacedError, match=words):
        load_table(written(tmp_path, text, "mbfc.json"), OUTLETS)


def test_a_table_is_read_by_its_layout(tmp_path: Path) -> None:
    columns = {"domain": "site", "rating": "trust", "class": "kind", "bias": "leaning"}
    layout = TableLayout(dataset="mine", columns={**columns, "reason": "why"})
    text = (
        "why,site,trust,kind,leaning\n"
        '"Long, careful\nreview",https://www.Paper.example/about,Very Low,news,Left\n'
        ",journal.example,HIGH,,\n"
        ",not a host,high,,\n"
        ",empty.example,,,\n"
    )
    found = load_table(written(tmp_path, text, "mine.csv"), layout)
    paper, journal = found.ratings["paper.example"], found.ratings["journal.example"]
    assert (paper.rating, paper.source_class, paper.bias) == ("very_low", "news", "left")
    assert paper.reason == "Long, careful review"
    assert (journal.rating, journal.source_class, journal.reason) == (
        "high",
        "unknown",
        "trust HIGH",
    )
    assert len(found.ratings) == 2


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("domain,quality\na.example,1\n", 1, "column pc1 is missing"),
        ("", 1, "column domain is missing"),
        ("domain,pc1\na.example,1\nb.example,good\n", 3, "pc1 holds 'good'"),
        ("domain,pc1\na.example,nan\n", 2, "not a number"),
        ('domain,pc1\n"a.example,1\n', 2, "this is not CSV"),
    ],
)
def test_a_mistake_in_a_table_is_named_with_its_line(
    tmp_path: Path, text: str, line: int, words: str
) -> None:
    with pytest.raises(PlacedError, match=words) as mistake:
        load_table(written(tmp_path, text, "q.csv"), DOMAIN_QUALITY)
    assert mistake.value.line == line


@pytest.mark.parametrize(
    ("quality", "rating"),
    [("1", "high"), ("0.65", "high"), ("0.6", "medium"), ("0.3", "low"), ("0", "very_low")],
)
def test_quality_is_cut_at_stated_points(quality: str, rating: str) -> None:
    assert DOMAIN_QUALITY.rating_of(quality) == rating


@given(st.floats(0, 1), st.floats(0, 1))
def test_more_quality_is_never_a_worse_rating(one: float, other: float) -> None:
    order = ["very_low", "low", "medium", "high"]
    low, high = sorted((one, other))
    assert order.index(DOMAIN_QUALITY.rating_of(repr(low))) <= order.index(
        DOMAIN_QUALITY.rating_of(repr(high))
    )


async def test_several_sets_apply_in_order_and_to_the_exact_host(tmp_path: Path) -> None:
    own = load_rating_yaml(written(tmp_path, YAML))
    other = mbfc(tmp_path, outlet("agency.example", credibility="Medium"), outlet("b.example"))
    directory: ports.RatingDirectory = RatingSets([own, other])
    found = directory.lookup("WWW.agency.example.")
    assert [(rating.dataset, rating.rating) for rating in found] == [
        ("own", "high"),
        ("mbfc", "medium"),
    ]
    assert [rating.dataset for rating in directory.lookup("b.example")] == ["mbfc"]
    assert directory.lookup("news.agency.example") == ()


@given(st.text(max_size=60))
def test_a_host_name_is_clean_or_none(text: str) -> None:
    host = host_name(text)
    if host is not None:
        assert host_name(host) == host
        assert host.isascii()
        assert "." in host


def test_a_name_with_a_sharp_s_is_not_the_name_with_two() -> None:
    assert host_name("https://www.straße.example/") == "xn--strae-oqa.example"


def test_the_published_snapshot_is_read() -> None:
    (file,) = shared_data("factible", "mbfc").glob("*.json")
    found = load_table(file, OUTLETS)
    assert len(found.ratings) > 7_500
    ratings = Counter(rating.rating for rating in found.ratings.values())
    assert ratings["high"] > ratings["low"] > ratings["medium"] > ratings["very_low"] > 100
    directory = RatingSets([found])
    assert directory.lookup("reuters.com")[0].rating == "high"
    assert directory.lookup("infowars.com")[0].rating in {"low", "very_low"}
    satire = [rating for rating in found.ratings.values() if rating.source_class == "satire"]
    assert len(satire) > 50
    assert {rating.rating for rating in satire} == {"very_low"}
    assert not directory.lookup("facebook.com")


def test_the_published_qualities_are_read() -> None:
    found = load_table(shared_data("domain_ratings", "domain_pc1.csv"), DOMAIN_QUALITY)
    assert len(found.ratings) > 11_000
    assert found.ratings["reuters.com"].rating == "high"
    assert found.ratings["naturalnews.com"].rating == "very_low"
