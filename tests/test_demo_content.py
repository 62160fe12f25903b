"""Tests the demo's files in `corpora/`: talk, ground truth, miniature web and ratings."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urljoin, urlsplit

import yaml
from lxml import html

from factible_assets.records.tables import Rating, SourceClass, Stance
from resources.transcripts.file import read_transcript

CORPORA = Path(__file__).resolve().parents[1] / "corpora"
WEB = CORPORA / "miniature_web"
LOADING = "//@src | //@srcset | //@data | //@action | //link[not(@rel='canonical')]/@href"
FUNCTION_WORDS = "a and are at for have in is of on only than that the their to was with you your"
STOP_WORDS = frozenset(FUNCTION_WORDS.split())


def load(name: str) -> Any:
    return yaml.safe_load((CORPORA / name).read_text(encoding="utf-8"))


def video() -> Any:
    (only,) = load("everyday_beliefs.yaml")["videos"]
    return only


def url_of(file: Path) -> str:
    host, *path = file.relative_to(WEB).with_suffix("").parts
    return f"http://{host}/" + "/".join(path if path[-1] != "index" else path[:-1])


FILES = {url_of(file): file for file in sorted(WEB.rglob("*.html"))}


def content_words(text: str) -> set[str]:
    return set(re.findall(r"[\w,-]*\w", text.lower())) - STOP_WORDS


def test_every_annotated_claim_is_said_in_the_talk() -> None:
    said = read_transcript(CORPORA / video()["transcript"]).cues
    heard = content_words(" ".join(cue.text for cue in said))
    missing = [each["text"] for each in video()["claims"] if content_words(each["text"]) - heard]
    assert missing == []


def test_the_ground_truth_is_complete_and_covers_all_four_stances() -> None:
    claims = video()["claims"]
    assert all(
        set(claim) == {"text", "checkable", "importance", "stance", "reasoning"} for claim in claims
    )
    counts = Counter(claim["stance"] for claim in claims)
    assert set(counts) == set(get_args(Stance))
    assert min(counts.values()) >= 3


def test_pages_link_to_pages_of_the_miniature_web_and_load_nothing() -> None:
    for url, file in FILES.items():
        page = html.fromstring(file.read_bytes())
        for href in page.xpath("//a/@href"):
            target, _, _ = urljoin(url, href).partition("#")
            assert target in FILES, (url, href)
        assert page.xpath(LOADING) == [], url
        assert not page.xpath("//meta[@http-equiv='refresh']"), url
        assert not re.search(r"@import|url\(", "".join(page.xpath("//style/text()"))), url
        scripts = "".join(page.xpath("//script/text()"))
        assert not re.search(r"https?:|fetch\(|import\b", scripts), url


def test_the_only_addresses_written_in_a_page_are_reserved_ones() -> None:
    for file in FILES.values():
        _, after_doctype = file.read_bytes().split(b"<html", 1)
        for host in re.findall(rb"(?:https?:)?//([\w.-]+)", after_doctype):
            assert host.endswith(b".example"), file


def test_special_answers_name_pages_that_exist() -> None:
    responses = load("miniature_web/web.yaml")["responses"]
    assert {entry["url"] for entry in responses} <= set(FILES)
    assert {403, 404, 410} <= {entry["status"] for entry in responses}


def test_every_claim_has_several_pages_that_bear_on_it() -> None:
    texts = {
        url: html.fromstring(file.read_bytes()).text_content().lower()
        for url, file in FILES.items()
    }
    for claim in video()["claims"]:
        wanted = {word[:5] for word in content_words(claim["text"])}
        bearing = {
            urlsplit(url).hostname
            for url, text in texts.items()
            if sum(word in text for word in wanted) >= 0.75 * len(wanted)
        }
        assert len(bearing) >= 3, claim["text"]


def test_ratings_use_the_known_words_give_a_reason_and_are_sorted() -> None:
    for name in ("domain_ratings.yaml", "miniature_ratings.yaml"):
        ratings = load(name)["ratings"]
        order = [(entry["class"], entry["domain"]) for entry in ratings]
        assert order == sorted(set(order))
        for entry in ratings:
            assert set(entry) - {"bias"} == {"domain", "rating", "class", "reason"}
            assert entry["rating"] in set(get_args(Rating)) - {"unknown"}
            assert entry["class"] in set(get_args(SourceClass)) - {"unknown"}
            assert entry["class"] != "satire" or entry["rating"] == "very_low"
            assert entry["reason"].endswith(".")
