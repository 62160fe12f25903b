"""Single pictures out of a video file on this machine, by ffmpeg.

What belongs here: running it, within limits. What does not: which moments are worth a picture.

A program of its own, and not a library in this process: video files are among the most attacked
formats there are, and a process can be ended.
"""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

_SECONDS = 30.0
_MOST_BYTES = 20_000_000


class FrameError(Exception):
    """There is no picture at this moment. The text is a sentence for a person."""


async def frame_at(video: Path, seconds: float) -> bytes:
    """Return the picture that a video shows at a moment, as PNG.

    Raises:
        FrameError: There is no ffmpeg, it cannot read the file, or it takes longer than 30 seconds.
    """
    program = shutil.which("ffmpeg")
    if program is None:
        raise FrameError("Frames of a video need ffmpeg; install it (apt-get install ffmpeg).")
    # The whitelist keeps playlists from naming addresses and other files.
    before = f"-nostdin -v error -protocol_whitelist file -ss {seconds:.3f}"
    after = "-frames:v 1 -f image2pipe -c:v png pipe:1"
    running = await asyncio.create_subprocess_exec(
        program,
        *before.split(),
        "-i",
        f"file:{video}",
        "-vf",
        "scale=min(1280\\,iw):-2",
        *after.split(),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(_SECONDS):
            picture, _ = await running.communicate()
    except TimeoutError:
        raise FrameError(f"{video.name}: no frame within {_SECONDS:g} seconds.") from None
    finally:
        if running.returncode is None:
            running.kill()
            await running.wait()
    if not picture or len(picture) > _MOST_BYTES:
        raise FrameError(f"{video.name} shows no picture at {seconds:g} seconds.")
    return picture
