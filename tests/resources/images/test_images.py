"""Facts inside pictures, frames of videos, and picture services on loopback."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import random
import shutil
import struct
import subprocess
import zlib
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from PIL import Image

from resources.errors import SetupError
from resources.http import HttpClient
from resources.images.base import ImageMatch, NoPictureError
from resources.images.inspect import frame_at, inspect
from resources.images.services import GoogleVision, Sightengine
from tests.servers import (
    Asked,
    Behaviour,
    Exchange,
    MisbehavingServer,
    garbage,
    reset,
    respond_json,
)

KEY = "canary-4711"


def noise(width: int, height: int) -> Image.Image:
    chance = random.Random(7)
    picture = Image.new("RGB", (width // 8, height // 8))
    picture.putdata(
        [tuple(chance.randrange(256) for _ in "rgb") for _ in range(width * height // 64)]
    )
    return picture.resize((width, height), Image.Resampling.BICUBIC)


def as_bytes(picture: Image.Image, form: str = "JPEG", **options: object) -> bytes:
    file = io.BytesIO()
    picture.save(file, form, **options)
    return file.getvalue()


def of_size(width: int, height: int) -> bytes:
    """A small PNG with a header that states a large size."""
    head = b"IHDR" + struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    whole = as_bytes(Image.new("1", (8, 8)), "PNG")
    return whole[:12] + head + struct.pack(">I", zlib.crc32(head)) + whole[33:]


# --- Reverse search -----------------------------------------------------------------------------


async def test_a_reverse_search_names_each_page_and_picture_once_the_closest_first(
    server: MisbehavingServer, http: HttpClient
) -> None:
    found = {
        "fullMatchingImages": [
            {"url": "http://a.example/1.jpg"},
            {"url": "http://b.example/2.jpg"},
        ],
        "partialMatchingImages": [
            {"url": "http://b.example/2.jpg"},
            {"url": "http://a.example/5.jpg"},
        ],
        "pagesWithMatchingImages": [
            {
                "url": "http://a.example/flood",
                "pageTitle": "The flood of <b>2011</b>",
                "fullMatchingImages": [{"url": "http://a.example/1.jpg"}],
                "partialMatchingImages": [{"url": "http://a.example/5.jpg"}],
            },
            {
                "url": "http://c.example/crop",
                "partialMatchingImages": [{"url": "http://c.example/3.jpg"}],
            },
        ],
        "visuallySimilarImages": [{"url": "http://d.example/4.jpg"}],
        "bestGuessLabels": [{"label": "flood"}],
    }
    server.on("/v1/images:annotate", respond_json({"responses": [{"webDetection": found}]}))
    vision = GoogleVision(http, api_key=KEY, base_url="http://vision.example")
    answer = await vision.ask(b"picture")
    assert answer.outcome == "ok"
    assert answer.matches == (
        ImageMatch(
            "exact", "http://a.example/1.jpg", "http://a.example/flood", "The flood of <b>2011</b>"
        ),
        ImageMatch("exact", "http://b.example/2.jpg"),
        ImageMatch("partial", "http://c.example/3.jpg", "http://c.example/crop"),
        ImageMatch("similar", "http://d.example/4.jpg"),
    )
    (asked,) = server.asked
    assert KEY not in asked.path
    assert asked.headers["x-goog-api-key"] == KEY
    (request,) = json.loads(asked.body)["requests"]
    assert base64.b64decode(request["image"]["content"]) == b"picture"
    assert request["features"][0]["type"] == "WEB_DETECTION"


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        (respond_json({"error": {"message": KEY}}, status=403), "key was refused"),
        (respond_json({}, status=429), "too many requests"),
        (respond_json({"responses": [{"error": {"code": 3, "message": KEY}}]}), "code 3"),
        (respond_json({"responses": []}), "format"),
        (respond_json([1]), "no JSON object"),
        (garbage(), "google_vision: "),
        (reset(), "google_vision: "),
    ],
)
async def test_a_failed_reverse_search_is_an_outage_without_the_key(
    server: MisbehavingServer, http: HttpClient, behaviour: Behaviour, words: str
) -> None:
    server.on("/v1/images:annotate", behaviour)
    vision = GoogleVision(http, api_key=KEY, base_url="http://vision.example")
    answer = await vision.ask(b"picture")
    assert answer.outcome == "outage"
    assert not answer.matches
    assert words in (answer.reason or "")
    assert KEY not in (answer.reason or "")


# --- Deepfakes ----------------------------------------------------------------------------------


async def test_the_deepfake_detector_returns_a_score(
    server: MisbehavingServer, http: HttpClient
) -> None:
    seen: list[Asked] = []

    async def check(exchange: Exchange) -> None:
        seen.append(exchange.asked)
        await respond_json({"status": "success", "type": {"deepfake": 0.83}})(exchange)

    server.on("/1.0/check.json", check)
    faces = Sightengine(http, api_key="user:secret", base_url="http://faces.example")
    answer = await faces.ask(b"\x89picture\r\n")
    assert (answer.outcome, answer.score) == ("ok", 0.83)
    body = seen[0].body
    assert b'name="models"\r\n\r\ndeepfake\r\n' in body
    assert b'name="api_user"\r\n\r\nuser\r\n' in body
    assert b'name="api_secret"\r\n\r\nsecret\r\n' in body
    assert b"\r\n\r\n\x89picture\r\n\r\n--" in body


async def test_a_score_out_of_range_is_an_outage(
    server: MisbehavingServer, http: HttpClient
) -> None:
    server.on("/1.0/check.json", respond_json({"type": {"deepfake": 83}}))
    answer = await Sightengine(http, api_key="u:s", base_url="http://faces.example").ask(b"x")
    assert (answer.outcome, answer.score) == ("outage", None)
    with pytest.raises(SetupError, match="USER:SECRET"):
        Sightengine(http, api_key="justone")


# --- The picture itself -------------------------------------------------------------------------


def test_a_picture_says_when_and_with_what_it_was_taken() -> None:
    picture = Image.new("RGB", (320, 200), "grey")
    tags = Image.Exif()
    tags[271], tags[272], tags[305] = "Maker", "Model 1", "Editor\x00 2"
    tags.get_ifd(0x8769)[36867] = "2011:03:14 09:26:53"
    facts = inspect(as_bytes(picture, exif=tags))
    assert (facts.width, facts.height) == (320, 200)
    assert facts.taken_at == datetime(2011, 3, 14, 9, 26, 53)  # noqa: DTZ001 (a camera's own time)
    assert (facts.camera, facts.software) == ("Maker Model 1", "Editor 2")


def test_a_pasted_region_raises_the_error_level() -> None:
    often = noise(640, 480)
    for _ in range(4):
        often = Image.open(io.BytesIO(as_bytes(often, quality=60)))
    even = inspect(as_bytes(often, quality=90)).error_level
    forged = often.copy()
    pasted = Image.new("RGB", (160, 160))
    pasted.putdata([(255 * (i % 2), 255 * (i // 3 % 2), i % 256) for i in range(160 * 160)])
    forged.paste(pasted, (320, 160))
    uneven = inspect(as_bytes(forged, quality=95)).error_level
    assert even is not None
    assert uneven is not None
    assert even < 0.02
    assert uneven > 0.05
    assert inspect(as_bytes(often, "PNG")).error_level is None


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: b"", "cannot be read"),
        (lambda: b"<html>", "cannot be read"),
        (lambda: as_bytes(Image.new("RGB", (64, 64)))[:200], "cannot be read"),
        (lambda: of_size(9_000, 9_000), "too many to read"),
        (lambda: of_size(30_000, 30_000), "DecompressionBomb"),
    ],
    ids=["nothing", "a page", "half of one", "too many pixels", "a bomb"],
)
def test_what_is_no_picture_is_refused_with_a_sentence(
    made: Callable[[], bytes], words: str
) -> None:
    with pytest.raises(NoPictureError, match=f"picture .*{words}"):
        inspect(made())


# --- Frames -------------------------------------------------------------------------------------


@pytest.mark.skipif(
    shutil.which("ffmpeg") is None, reason="frames need ffmpeg: apt-get install ffmpeg"
)
async def test_a_frame_is_the_picture_at_its_moment(tmp_path: Path) -> None:
    video = tmp_path / "clip.mp4"
    source = "color=red:s=320x240:d=1[a];color=blue:s=320x240:d=1[b];[a][b]concat"
    make = ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", source, str(video)]
    await asyncio.to_thread(subprocess.run, make, check=True)
    first, last = [
        Image.open(io.BytesIO(await frame_at(video, at))).convert("RGB").getpixel((5, 5))
        for at in (0.5, 1.5)
    ]
    assert isinstance(first, tuple)
    assert isinstance(last, tuple)
    assert first[0] > 200
    assert first[2] < 50
    assert last[2] > 200
    assert last[0] < 50
    with pytest.raises(NoPictureError, match="shows no picture at 99 seconds"):
        await frame_at(video, 99)


@pytest.mark.skipif(
    shutil.which("ffmpeg") is None, reason="frames need ffmpeg: apt-get install ffmpeg"
)
async def test_a_playlist_posing_as_a_video_reads_no_other_file(tmp_path: Path) -> None:
    hostile = tmp_path / "clip.mp4"
    hostile.write_text("#EXTM3U\n#EXTINF:1,\nhttp://127.0.0.1:9/secret\n#EXT-X-ENDLIST\n")
    with pytest.raises(NoPictureError, match="shows no picture"):
        await frame_at(hostile, 0)
