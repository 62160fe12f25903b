"""Findings on pictures are rows with their status: hints, no verdicts."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from datetime import UTC, date, datetime

from PIL import Image

from factible_assets.records.tables import Claim, MediaFinding, Video
from factible_assets.stages.media import MediaServices, Picture, examine, frame_moments
from resources.images.base import ImageAnswer, ImageMatch, NoPictureError
from resources.images.inspect import inspect
from resources.pages.base import FetchedPage
from resources.promises import Promise

VIDEO = Video(video_id="abcdefghijk", title="A talk", published_on=date(2024, 5, 1))
CLAIM = Claim(
    claim_id="c1",
    video_id=VIDEO.video_id,
    rank=1,
    text="The dam broke in March and flooded the village",
    importance=0.9,
    extraction_confidence=0.9,
    basis="given",
)


@dataclass
class Reverse:
    """A reverse search that knows the answer."""

    answer: ImageAnswer

    async def ask(self, picture: bytes) -> ImageAnswer:
        assert picture
        return self.answer


@dataclass
class Pages:
    """Pages by their address, with the day of each."""

    texts: dict[str, tuple[date | None, str]]
    asked: list[str] = field(default_factory=list)

    async def fetch(self, url: str, *, promise: Promise | None = None) -> FetchedPage:
        self.asked.append(url)
        now = datetime(2025, 1, 1, tzinfo=UTC)
        if url not in self.texts:
            return FetchedPage(url, "outage", now, reason="down")
        day, text = self.texts[url]
        return FetchedPage(url, "ok", now, published_on=day, text=text, title="Earlier")


async def picture() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (64, 48), "grey").save(file, "JPEG")
    return file.getvalue()


THUMBNAIL = Picture("thumbnail", picture)


def of_kind(rows: tuple[MediaFinding, ...], kind: str) -> list[MediaFinding]:
    return [row for row in rows if row.kind == kind]


async def test_an_older_page_with_the_picture_is_compared_with_each_claim() -> None:
    matches = (
        ImageMatch("partial", page_url="http://late.example/", page_title="Late"),
        ImageMatch("exact", page_url="http://undated.example/"),
        ImageMatch("exact", page_url="http://early.example/", page_title="Early"),
        ImageMatch("exact", page_url="https://www.youtube.com/watch?v=abcdefghijk"),
        ImageMatch("similar", image_url="http://d.example/4.jpg"),
        ImageMatch("partial", page_url="http://silent.example/"),
    )
    pages = Pages(
        {
            "http://late.example/": (date(2024, 6, 1), "After the video."),
            "http://undated.example/": (None, "Some day."),
            "http://early.example/": (date(2024, 3, 2), "The village dam, seen on a holiday."),
        }
    )
    reverse = Reverse(ImageAnswer("vision", "ok", matches, latency_seconds=0.2))
    rows = await examine(VIDEO, [THUMBNAIL], [CLAIM], MediaServices(inspect, pages, reverse))
    found = of_kind(rows, "match")
    assert [(row.match_class, row.url, row.published_on) for row in found] == [
        ("exact", "http://early.example/", date(2024, 3, 2)),
        ("exact", "http://undated.example/", None),
        ("partial", "http://late.example/", date(2024, 6, 1)),
        ("partial", "http://silent.example/", None),
        ("similar", "http://d.example/4.jpg", None),
    ]
    reasons = {row.url: row.reason for row in found}
    assert reasons["http://undated.example/"] is None
    assert "could not be read for its date: down" in str(reasons["http://silent.example/"])
    (held,) = of_kind(rows, "miscaption")
    assert held.claim_id == "c1"
    assert held.published_on == date(2024, 3, 2)
    assert held.score == 0.6  # of dam, broke, March, flooded, village the page has two
    assert "60 days before" in (held.reason or "")
    assert len({row.finding_id for row in rows}) == len(rows)


async def test_pages_of_the_same_day_give_no_miscaption() -> None:
    matches = (ImageMatch("exact", page_url="http://late.example/"),)
    pages = Pages({"http://late.example/": (date(2024, 5, 1), "That day.")})
    services = MediaServices(inspect, pages, Reverse(ImageAnswer("vision", "ok", matches)))
    assert not of_kind(await examine(VIDEO, [THUMBNAIL], [CLAIM], services), "miscaption")


async def test_not_set_up_is_skipped_a_failure_is_an_outage_and_nothing_found_is_no_evidence() -> (
    None
):
    alone = await examine(VIDEO, [THUMBNAIL], [], MediaServices(inspect, Pages({})))
    assert [(row.kind, row.status) for row in alone] == [
        ("metadata", "ok"),
        ("error_level", "ok"),
        ("match", "skipped"),
        ("deepfake", "skipped"),
    ]
    down = Reverse(ImageAnswer("vision", "outage", reason="vision: it is down"))
    services = MediaServices(
        inspect, Pages({}), down, Reverse(ImageAnswer("faces", "ok", score=0.4))
    )
    rows = await examine(VIDEO, [THUMBNAIL], [], services)
    (match,) = of_kind(rows, "match")
    assert (match.status, match.reason) == ("infra_error", "vision: it is down")
    (face,) = of_kind(rows, "deepfake")
    assert (face.provider, face.score) == ("faces", 0.4)
    nowhere = MediaServices(inspect, Pages({}), Reverse(ImageAnswer("vision", "ok")))
    (match,) = of_kind(await examine(VIDEO, [THUMBNAIL], [], nowhere), "match")
    assert match.status == "no_evidence"


async def test_a_missing_picture_is_one_row_and_stops_no_other() -> None:
    async def gone() -> bytes:
        raise NoPictureError("The thumbnail could not be had.", is_outage=True)

    async def no_picture() -> bytes:
        return b"<html>"

    pictures = [Picture("thumbnail", gone), Picture("a.jpg", no_picture), Picture("b.jpg", picture)]
    rows = await examine(VIDEO, pictures, [], MediaServices(inspect, Pages({})))
    first = {row.picture: row.status for row in reversed(rows)}
    assert first == {"thumbnail": "infra_error", "a.jpg": "skipped", "b.jpg": "ok"}


def test_frames_are_taken_amid_equal_parts() -> None:
    assert frame_moments(80) == (10, 30, 50, 70)
