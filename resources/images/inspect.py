"""What a picture says of itself: its size, its metadata, and how evenly it was compressed.

What belongs here: looking into the bytes of one picture, with Pillow. What does not: comparing it
with others, and any judgement: these are hints, which honest editing and every platform that
compresses anew leave too.
"""

from __future__ import annotations

import io
from datetime import datetime

from PIL import ExifTags, Image, ImageChops, UnidentifiedImageError

from resources.images.base import ImageFacts, UnreadableImageError

_MOST_PIXELS = 50_000_000
_READABLE = ("JPEG", "PNG", "WEBP", "GIF", "BMP")
_QUALITY = 90
_BLOCK = 16


def inspect(picture: bytes) -> ImageFacts:
    """Look into a picture.

    Raises:
        UnreadableImageError: It is none, is damaged, or has over fifty million pixels.
    """
    try:
        image = Image.open(io.BytesIO(picture), formats=_READABLE)
        if image.width * image.height > _MOST_PIXELS:
            raise UnreadableImageError(
                f"The picture has {image.width:,} by {image.height:,} pixels, too many to read."
            )
        image.load()
        tags = image.getexif()
        within = tags.get_ifd(ExifTags.IFD.Exif)
        named = {
            ExifTags.TAGS.get(tag, ""): str(text) for tag, text in (*tags.items(), *within.items())
        }
        level = _error_level(image) if image.format in {"JPEG", "WEBP"} else None
    except UnreadableImageError:
        raise
    except (
        UnidentifiedImageError,
        OSError,
        ValueError,
        SyntaxError,
        Image.DecompressionBombError,
    ) as error:
        raise UnreadableImageError(
            f"The picture cannot be read ({type(error).__name__})."
        ) from error
    words = {name: " ".join(text.replace("\0", " ").split())[:200] for name, text in named.items()}
    return ImageFacts(
        width=image.width,
        height=image.height,
        taken_at=_time(words.get("DateTimeOriginal", "")),
        camera=" ".join(filter(None, (words.get("Make"), words.get("Model")))) or None,
        software=words.get("Software") or None,
        error_level=level,
    )


def _time(written: str) -> datetime | None:
    try:
        return datetime.strptime(written, "%Y:%m:%d %H:%M:%S")  # noqa: DTZ007 (a camera's own time)
    except ValueError:
        return None


def _error_level(image: Image.Image) -> float:
    once = image.convert("RGB")
    again = io.BytesIO()
    once.save(again, "JPEG", quality=_QUALITY)
    change = ImageChops.difference(once, Image.open(again)).convert("L")
    blocks = (max(1, change.width // _BLOCK), max(1, change.height // _BLOCK))
    levels = sorted(change.resize(blocks, Image.Resampling.BOX).tobytes())
    usual = max(levels[len(levels) // 2], 1)
    return sum(level > 3 * usual for level in levels) / len(levels)
