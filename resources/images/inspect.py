"""Frames of a video, by ffmpeg, and the size, metadata and compression of a picture, by Pillow.

The results are hints, not proof: honest editing and platforms leave the same traces.
"""

from __future__ import annotations

import asyncio
import io
import shutil
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from PIL import ExifTags, Image, ImageChops

from resources.images.base import ImageFacts, NoPictureError

_MAX_PIXELS = 50_000_000
_READABLE = ("JPEG", "PNG", "WEBP", "GIF", "BMP")
_RESAVED_QUALITY = 90
_BLOCK = 16
"""The side of a block of error level analysis, in pixels."""
_STRIKING = 3
"""A block is striking if it changes this many times more than the median block."""
_FRAME_SECONDS = 30.0
_MAX_BYTES = 20_000_000


def inspect(picture: bytes) -> ImageFacts:
    """Read a picture; NoPictureError if it is damaged, enormous or no picture at all."""
    try:
        image = Image.open(io.BytesIO(picture), formats=_READABLE)
        if image.width * image.height > _MAX_PIXELS:
            raise NoPictureError(
                f"The picture has {image.width:,} by {image.height:,} pixels, too many to read."
            )
        image.load()
        tags = image.getexif()
        within = tags.get_ifd(ExifTags.IFD.Exif)
        named = {
            ExifTags.TAGS.get(tag, ""): str(text) for tag, text in (*tags.items(), *within.items())
        }
        level = _error_level(image) if image.format in {"JPEG", "WEBP"} else None
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise NoPictureError(f"The picture cannot be read ({type(error).__name__}).") from error
    words = {name: " ".join(text.replace("\0", " ").split())[:200] for name, text in named.items()}
    taken_at = None
    with suppress(ValueError):
        taken_at = datetime.strptime(  # noqa: DTZ007 - in the camera's own time
            words.get("DateTimeOriginal", ""), "%Y:%m:%d %H:%M:%S"
        )
    return ImageFacts(
        width=image.width,
        height=image.height,
        taken_at=taken_at,
        camera=" ".join(filter(None, (words.get("Make"), words.get("Model")))) or None,
        software=words.get("Software") or None,
        error_level=level,
    )


def _error_level(image: Image.Image) -> float:
    """Return the share of blocks that compression changes unusually much (error level analysis).

    A pasted region was compressed less often than the rest, so saving the picture again changes it
    more.
    """
    picture = image.convert("RGB")
    saved = io.BytesIO()
    picture.save(saved, "JPEG", quality=_RESAVED_QUALITY)
    change = ImageChops.difference(picture, Image.open(saved)).convert("L")
    blocks = (max(1, change.width // _BLOCK), max(1, change.height // _BLOCK))
    levels = sorted(change.resize(blocks, Image.Resampling.BOX).tobytes())
    median = max(levels[len(levels) // 2], 1)
    return sum(level > _STRIKING * median for level in levels) / len(levels)


async def frame_at(video: Path, seconds: float) -> bytes:
    """Return the frame of a video at a moment, as PNG.

    NoPictureError if ffmpeg is missing, cannot read the file, or takes longer than 30 seconds.
    """
    program = shutil.which("ffmpeg")
    if program is None:
        raise NoPictureError("Frames of a video need ffmpeg; install it (apt-get install ffmpeg).")
    # The whitelist keeps playlists from reading other files and addresses.
    reading = f"-nostdin -v error -protocol_whitelist file -ss {seconds:.3f} -i".split()
    shape = r"scale=min(1280\,iw):-2"
    writing = f"-vf {shape} -frames:v 1 -f image2pipe -c:v png pipe:1"
    running = await asyncio.create_subprocess_exec(
        program,
        *reading,
        f"file:{video}",
        *writing.split(),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(_FRAME_SECONDS):
            picture, _ = await running.communicate()
    except TimeoutError:
        raise NoPictureError(f"{video.name}: no frame within {_FRAME_SECONDS:g} seconds.") from None
    finally:
        if running.returncode is None:
            running.kill()
            await running.wait()
    if not picture or len(picture) > _MAX_BYTES:
        raise NoPictureError(f"{video.name} shows no picture at {seconds:g} seconds.")
    return picture
