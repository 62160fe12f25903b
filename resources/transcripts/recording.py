"""Recognises the speech of a recording, with faster-whisper (MIT, the extra `[audio]`)."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, TypeVar

from resources.errors import install_command
from resources.text_files import PlacedError
from resources.transcripts import base
from resources.transcripts.base import Caption
from resources.transcripts.cleaning import NothingSaidError, transcript_of
from resources.transcripts.json_and_tables import captions_of_words

Done = TypeVar("Done")
OnProgress = Callable[[str, float], None]
"""Receives the progress of a slow transcript, in words and as a share from 0 to 1."""

_SOUNDS = ".aac .aif .aiff .flac .m4a .m4b .mka .mp3 .oga .ogg .opus .wav .weba .wma"
_VIDEOS = ".avi .m4v .mkv .mov .mp4 .mpeg .mpg .ogv .ts .webm .wmv"
SOUNDS: Final = frozenset(_SOUNDS.split())
SUFFIXES: Final = SOUNDS.union(_VIDEOS.split())
MAX_HOURS: Final = 6
"""Limit of a recording: each hour of sound takes 0.12 GB of memory."""
MODELS: Final = ("whisper", "whisper-en")
"""The models of the manifest that recognise speech, in order of preference."""
_REPORT_SECONDS: Final = 15.0
_RATE: Final = 16_000
_CHUNK_SECONDS, _CUT_SECONDS, _FRAME_SECONDS = 600, 30, 0.25
_MAX_THREADS: Final = 4
_MOST_DAMAGED: Final = 0.1
# FFmpeg would follow playlists that name other files and addresses.
_ONLY_ITSELF: Final = {
    "protocol_whitelist": "file",
    "format_whitelist": "aac,aiff,asf,avi,caf,flac,flv,matroska,mov,mp3,mpeg,mpegts,ogg,w64,wav",
}


def is_recording(path: Path | None) -> bool:
    """Tell by its name whether a file is a sound or a video."""
    return path is not None and path.suffix.lower() in SUFFIXES


def missing_requirement(model: Path | None) -> str | None:
    """Return a sentence about a missing package or model, None if nothing is missing."""
    if find_spec("faster_whisper") is None:
        return (
            "Recordings need speech recognition, which is not installed. Install it "
            f"({install_command('audio')}), or give the captions of the recording."
        )
    if model is None:
        return (
            "Recordings need a model for speech recognition, and none is on this machine. Fetch "
            f"one: factible models pull {MODELS[0]}, or give the captions of the recording."
        )
    return None


@dataclass(slots=True)
class _Progress:
    """The progress of the recognising thread in seconds of sound, and the signal to stop it."""

    done: float = 0.0
    total: float = 0.0
    stop: threading.Event = field(default_factory=threading.Event)

    def report(self) -> tuple[str, float]:
        if not self.total:
            return "recognising speech: reading the sound", 0.0
        done, total = (f"{int(now) // 60}:{int(now) % 60:02}" for now in (self.done, self.total))
        return f"recognising speech: {done} of {total}", min(1.0, self.done / self.total)


@dataclass(frozen=True, slots=True)
class RecordingTranscript:
    """The provider of the words of a recording in a file.

    `model` is the folder of a Whisper model in CTranslate2's format, if any. Without a `language`
    the model detects it. `on_progress` receives the progress every 15 seconds.
    """

    path: Path
    model: Path | None
    language: str | None = None
    on_progress: OnProgress = lambda _, __: None

    async def transcript(self, video_id: str) -> base.TranscriptAnswer:
        del video_id
        if (problem := missing_requirement(self.model)) is not None:
            return base.Missing(problem)
        progress = _Progress()
        try:
            work = asyncio.to_thread(self._recognise, progress)
            transcript = await with_progress(work, self.on_progress, progress.report)
        except NothingSaidError:
            return base.Missing(f"{self.path.name}: nobody speaks in this recording.")
        except PlacedError as error:
            outcome = base.Outage if error.may_pass else base.Missing
            return outcome(f"{self.path.name}: {error.sentence}")
        finally:
            progress.stop.set()
        return base.Found(transcript, "speech recognition")

    def _recognise(self, progress: _Progress) -> base.TimedText:
        from faster_whisper import WhisperModel  # noqa: PLC0415

        sound = _decoded(self.path, progress.stop)
        progress.total = len(sound) / _RATE
        try:
            model = WhisperModel(
                str(self.model),
                device="cpu",
                compute_type="int8",
                cpu_threads=min(_MAX_THREADS, os.cpu_count() or 1),
                local_files_only=True,
            )
        except (RuntimeError, ValueError, OSError) as error:
            remedy = "Remove it with `factible models remove`, and pull it again."
            raise PlacedError(f"The speech model cannot be loaded. {remedy}") from error
        language = (self.language or "").partition("-")[0].lower() or None
        if language not in {None, *model.supported_languages}:
            raise PlacedError(
                f"The speech model does not know the language {language!r}. Fetch the one for many "
                f"languages with `factible models pull {MODELS[0]}`, or correct the language."
            )
        words: list[Caption] = []
        for begins, chunk in chunks_of(sound):
            segments, detected = model.transcribe(
                chunk.astype("float32") / 32_768,
                language=language,
                word_timestamps=True,
                vad_filter=True,
                # Otherwise it may repeat a wrong sentence for minutes.
                condition_on_previous_text=False,
            )
            for segment in segments:
                if progress.stop.is_set():
                    raise PlacedError("The recognition was stopped.", may_pass=True)
                progress.done = begins + float(segment.end)
                for word in segment.words or ():
                    start, end = (round(begins + float(at), 3) for at in (word.start, word.end))
                    words.append(Caption(word.word, start, end))
            # Without speech the detected language is meaningless.
            language = detected.language if words else language
        transcript = transcript_of(captions_of_words(words))
        return base.TimedText(cues=transcript.cues, language=language, kind="generated")


def chunks_of(sound: Any) -> Iterator[tuple[float, Any]]:
    """Divide samples into chunks of at most ten minutes, each with its start in seconds.

    The model takes thirty times the memory of the sound. A chunk ends in the quietest quarter of a
    second of its last half minute, so that it cuts no word.
    """
    begins, frame = 0, int(_FRAME_SECONDS * _RATE)
    while begins < len(sound):
        end = begins + _CHUNK_SECONDS * _RATE
        if end < len(sound):
            frames = abs(sound[end - _CUT_SECONDS * _RATE : end].astype("int32")).reshape(-1, frame)
            end += (int(frames.sum(axis=1).argmin()) - len(frames)) * frame + frame // 2
        yield begins / _RATE, sound[begins:end]
        begins = end


async def with_progress(
    work: Coroutine[Any, Any, Done],
    on_progress: OnProgress,
    report: Callable[[], tuple[str, float]],
) -> Done:
    """Wait for slow work, and report its progress every 15 seconds."""
    task = asyncio.ensure_future(work)
    try:
        while not (await asyncio.wait({task}, timeout=_REPORT_SECONDS))[0]:
            on_progress(*report())
        return task.result()
    finally:
        task.cancel()


def _decoded(path: Path, stop: threading.Event) -> Any:
    """Return the sound of a file as an array of 16-bit samples, 16,000 a second.

    faster-whisper's own decoder has no limit and follows playlists. PlacedError if there is no
    sound, it is unreadable, or it is longer than MAX_HOURS.
    """
    import av  # noqa: PLC0415
    import numpy as np  # noqa: PLC0415

    blocks, samples, packets, damaged, promised = [], 0, 0, 0, 0.0
    try:
        with av.open(str(path), options=_ONLY_ITSELF) as container:
            if not container.streams.audio:
                raise PlacedError("This video has no sound. Give its captions.")
            stream = container.streams.audio[0]
            promised = float((stream.duration or 0) * (stream.time_base or 0))
            resampler = av.AudioResampler(format="s16", layout="mono", rate=_RATE)
            for packet in container.demux(stream):
                packets += 1
                try:
                    frames = packet.decode()
                except av.error.InvalidDataError:
                    damaged += 1
                    continue
                for frame in frames:
                    frame.pts = None
                    parts = [part.to_ndarray().reshape(-1) for part in resampler.resample(frame)]
                    blocks += parts
                    samples += sum(map(len, parts))
                if samples > MAX_HOURS * 3600 * _RATE:
                    raise PlacedError(f"It is longer than {MAX_HOURS} hours. Divide it.")
                if stop.is_set():
                    raise PlacedError("The recognition was stopped.", may_pass=True)
    except (av.FFmpegError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "its form is unknown"
        raise PlacedError(
            f"This recording cannot be read ({reason}). Convert it to MP3 or MP4."
        ) from error
    if not blocks or damaged > _MOST_DAMAGED * packets:
        raise PlacedError("The sound of this recording is damaged. Export or fetch it again.")
    if samples < (1 - _MOST_DAMAGED) * promised * _RATE:
        raise PlacedError(
            f"This recording is cut off: it should last {promised:,.0f} seconds and has "
            f"{samples / _RATE:,.0f}. Fetch it again."
        )
    return np.concatenate(blocks)
