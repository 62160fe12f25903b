from __future__ import annotations

import base64
import gzip
import itertools
import json
import os
import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from factible_assets.report.writing import (
    filter_choices,
    publish_all,
    publish_report,
    read_index_data,
    render_index,
    write_index,
)
from resources.files import INDEX, report_name
from tests.cli.stored import VIDEO_ID, store_sample
from tests.report import samples
from tests.report.page import Page
from warehouse.rows import Stamp
from warehouse.sets import AssetRows

HREFS = {samples.VIDEO_ID: "one.html", "second-talk": "two.html"}


@pytest.fixture(scope="module")
def page() -> Page:
    return Page(render_index(samples.index_data(), HREFS))


def unpacked(page: Page) -> dict[str, Any]:
    """Return the packed rows of videos, and the columns of claims."""
    rows = json.loads(gzip.decompress(base64.b64decode(page.text("//*[@id='packed']"))))
    assert isinstance(rows, dict)
    return rows


def test_the_index_has_a_row_for_every_video_and_every_claim(page: Page) -> None:
    titles = [
        each.text_content() for each in page.all("//section[@id='videos']//*[@class='title']")
    ]
    assert titles == ["Six things people believe", "A second talk", "A third talk"]
    assert [tuple(video[-2:]) for video in unpacked(page)["videos"]] == [(0, 6), (6, 2), (0, 0)]
    assert "3 videos, 8 claims" in page.text("//header")
    assert "$0.0123 paid for language models" in page.text("//header")


def test_a_video_links_its_report_and_a_claim_its_place_there(page: Page) -> None:
    assert page.all("//section[@id='videos']//tbody//a")[0].get("href") == "one.html"
    packed = unpacked(page)
    assert packed["videos"][0][1] == "one.html"
    beginning = packed["claims"]["claim_id"][0]  # The report finds the rest of the id.
    assert len(beginning) == 5
    assert samples.claim(0).claim_id.startswith(beginning)


def test_an_odd_id_of_a_claim_is_left_out() -> None:
    claims = [samples.indexed_claim(0), samples.indexed_claim(1, claim_id='"><b>')]
    page = Page(render_index(samples.index([samples.indexed(claims=claims)]), {}))
    assert unpacked(page)["claims"]["claim_id"] == [samples.claim(0).claim_id[:5], ""]


def test_a_video_without_a_report_file_says_so_and_links_nothing(page: Page) -> None:
    row = page.all("//section[@id='videos']//tbody/tr")[2]
    assert row.xpath(".//a") == []
    assert "no report file yet" in row.text_content()


def test_the_index_of_500_videos_weighs_less_than_half_a_megabyte() -> None:
    dice = random.Random(7)
    letters = "aaaabcddeeeeeefghhiiiijkllmmnnnooooppqrrrsssttttuuvwxyz"
    words = ["".join(dice.choices(letters, k=dice.randint(2, 10))) for _ in range(3_000)]
    often = [1 / place for place in range(1, 3_001)]  # Zipf's law

    def claim(of: dict[str, Any]) -> dict[str, Any]:
        text = " ".join(dice.choices(words, often, k=15))
        at, name = int(dice.uniform(0, 3_600)), f"{dice.getrandbits(64):016x}"
        return {**of, "claim_id": name, "text": text, "start_seconds": at}

    many = [
        samples.indexed(
            video_id=f"talk-{number}",
            title=" ".join(dice.choices(words, k=6)),
            claims=[claim(each) for each in samples.indexed()["claims"] * 2],
        )
        for number in range(500)
    ]
    source = render_index(samples.index(many), {"talk-7": "seven.html", "talk-499": "last.html"})
    assert len(source.encode()) <= 500_000
    page = Page(source)
    shown = unpacked(page)
    assert shown["claims"]["text"] == [each["text"] for video in many for each in video["claims"]]
    # Packed claims need no elements.
    assert len(page.all("//section[@id='videos']//tbody/tr")) == 25
    assert len(page.all("//*[not(ancestor::noscript)]")) < 1_500
    others = page.all("//noscript//li")
    assert [each.text_content() for each in others] == [each["title"] for each in many[25:]]
    assert page.links() == ["#content", "seven.html", "last.html"]


def test_every_filter_offers_its_values_with_counts() -> None:
    found = {
        name: [(value, number) for value, _, number in offered]
        for name, offered in filter_choices(samples.index_data()).items()
    }
    assert found["outcome"] == [
        ("supports", 2),
        ("refutes", 2),
        ("mixed", 1),
        ("unclear", 1),
        ("incomplete", 1),
        ("unjudged", 1),
    ]
    assert found["confidence"] == [("high", 3), ("medium", 1), ("low", 2)]
    assert found["corpus"] == [("kitchen", 1), ("talks", 1)]
    assert found["category"] == [("food", 1), ("science", 1)]
    assert found["channel"] == [("Kitchen Table", 2), ("Other", 1)]


def test_without_scripts_there_are_videos_but_no_filters(page: Page) -> None:
    assert page.all("//section[@id='videos'][@hidden]") == []
    assert [each.tag for each in page.all("//search[@hidden]")] == ["search"]
    assert "the claims in the reports of their videos" in page.text("//main")


def test_the_index_has_ordered_headings_and_no_frames(page: Page) -> None:
    assert "frame-src 'none'" in page.policy
    levels = [int(heading.tag[1]) for heading in page.all("//h1|//h2|//h3|//h4")]
    assert all(later - earlier <= 1 for earlier, later in itertools.pairwise(levels))
    identifiers = [element.get("id") for element in page.all("//*[@id]")]
    assert len(identifiers) == len(set(identifiers))


def test_an_empty_index_says_that_no_video_was_checked() -> None:
    assert "No video has been checked yet" in Page(render_index(samples.index(()), {})).text(
        "//main"
    )


def test_the_index_reads_every_video_with_its_current_verdicts(tmp_path: Path) -> None:
    (video,), claims = read_index_data(store_sample(tmp_path))
    assert video["video_id"] == VIDEO_ID
    assert video["title"] == "Six things people believe"
    assert video["checked_at"] == samples.report_data().checked_at
    assert claims["text"] == list(samples.SENTENCES[:5])
    assert claims["outcome"] == list(samples.OUTCOMES[:5])


def test_the_claims_of_a_video_come_in_order_of_time(tmp_path: Path) -> None:
    store = store_sample(tmp_path)
    kept = store.read_video(VIDEO_ID)
    starts = dict(
        zip((each.claim_id for each in kept.claims), (None, 70.5, 5.75, None), strict=False)
    )
    rows = [
        each.model_copy(update={"start_seconds": starts.get(each.claim_id, 30.0)})
        for each in kept.claims
    ]
    stamp = Stamp("later", datetime(2026, 6, 1, tzinfo=UTC))
    store.write_assets(VIDEO_ID, {"claims": AssetRows(rows, code_version="1")}, stamp=stamp)
    _, claims = read_index_data(store)
    assert claims["start_seconds"] == [5, 30, 70, None, None]
    assert set(claims["video_id"]) == {VIDEO_ID}


def test_the_index_links_the_written_reports(tmp_path: Path) -> None:
    folder = tmp_path / "reports"
    written = publish_all(store_sample(tmp_path), folder)
    assert written == {VIDEO_ID: folder / f"{VIDEO_ID}.html"}
    index = Page((folder / INDEX).read_text("utf-8"))
    href = index.all("//section[@id='videos']//tbody//a")[0].get("href")
    report = Page((folder / href).read_text("utf-8"))
    assert "index.html" in report.links()


def test_the_index_links_no_missing_report(tmp_path: Path) -> None:
    path = write_index(read_index_data(store_sample(tmp_path)), tmp_path / "reports")
    assert Page(path.read_text("utf-8")).all("//section[@id='videos']//tbody//a") == []


def test_a_video_called_index_does_not_replace_the_index() -> None:
    for video_id in ("index", "Index", "INDEX"):
        assert report_name(video_id).casefold() != INDEX
    assert report_name("-LDjqcvSbP4") == "-LDjqcvSbP4.html"


def test_a_large_new_index_is_not_rewritten(tmp_path: Path) -> None:
    store = store_sample(tmp_path)
    index = tmp_path / INDEX
    index.write_text("x" * 600_000)
    assert publish_report(store, tmp_path, VIDEO_ID) == tmp_path / report_name(VIDEO_ID)
    assert (tmp_path / report_name(VIDEO_ID)).exists()
    assert index.read_text().startswith("xxx")
    os.utime(index, (0, 0))
    publish_report(store, tmp_path, VIDEO_ID)
    assert index.read_text().startswith("<!")
