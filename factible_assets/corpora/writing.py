"""Writes corpora, adds a video to a corpus file and removes one.

Entries are inserted and cut as text, so that comments, order and style of the file stay. Before the
result replaces the file, it is read again: its content must be the old one with or without that
entry.
"""

from __future__ import annotations

import contextlib
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml
from filelock import FileLock, Timeout
from pydantic import ValidationError

from factible_assets.corpora.format import CorpusError, CorpusFile, VideoEntry
from factible_assets.corpora.reading import CorporaReading, CorpusVideo, load_corpora, load_corpus
from factible_assets.errors import ExitCode
from resources.files import copy_whole, write_whole
from resources.lines import MAX_BYTES, PlacedError, parse_document, problem_words
from resources.transcripts.youtube_ids import (
    NotAVideoLinkError,
    is_video_id,
    video_id_of,
    watch_url,
)

_TURN_SECONDS: Final = 30
_WIDTH: Final = 92
# The C dumper is many times faster; the other takes minutes for large data sets.
_Dumper: Final = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_Loader: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

LOCAL_CORPUS = "local.yaml"
"""The corpus in the data folder for videos that a person added without naming a file."""

TRANSCRIPTS, _MEDIA = "transcripts", "recordings"
"""The folders next to a corpus file for added transcripts and recordings."""
_LINK = re.compile(
    r"(?:[a-z][a-z0-9+.-]*://|(?:www\.|m\.|music\.)?(?:youtube(?:-nocookie)?\.com|youtu\.be)/)",
    re.IGNORECASE,
)

_AROUND = " \t\r\n<>()[]{}\"'\u2018\u2019\u201c\u201d\u00ab\u00bb.,;:!?"


def bare_id(target: str) -> str:
    """Return the id in a YouTube link; return any other text unchanged.

    Raises NotAVideoLinkError if it is a link, but not to a YouTube video.
    """
    # People paste a link with surrounding punctuation and invisible characters.
    seen = (each for each in target if each.isprintable() or each.isspace())
    link = "".join(seen).strip(_AROUND)
    if not _LINK.match(link):
        return target
    before, _, parameters = link.partition("?")
    try:
        return video_id_of(f"{before}?{parameters.replace('?', '&')}")
    except NotAVideoLinkError as error:
        if len(link.split()) > 1 or link.count("://") > 1:
            raise NotAVideoLinkError(target, "holds more than one link or word") from error
        raise


def list_new_video(
    file: Path,
    video: str,
    *,
    listing: CorporaReading,
    transcript: Path | None = None,
    media: Path | None = None,
    **details: str | None,
) -> VideoEntry:
    """List a video in a corpus file, and copy its transcript or recording next to it.

    The file is created if necessary and keeps its content. `video` is a YouTube link or id, or an
    id of your own, which needs a transcript or a recording (`media`). The transcript's language
    applies unless `details` (fields of VideoEntry) has one. An on-demand entry in `listing` gives
    way. Returns the entry.

    Raises:
        NotAVideoLinkError: `video` is a link, but not to a video.
        CorpusError: the video is listed already or has no transcript, a detail is invalid, or the
            file cannot be written.
        TranscriptError: the file is no transcript.
    """
    # Readers of caption files load only where one is read.
    from resources.transcripts.file import read_transcript  # noqa: PLC0415

    video_id = bare_id(video)
    listed = listing.find(video_id)
    if listed is not None and listed in listing.videos():
        raise CorpusError(f"{_listed(listed)} Edit that entry instead.")
    if transcript is None and media is None and not is_video_id(video_id):
        raise CorpusError(
            f"The video {video_id!r} is not on YouTube and has no transcript. Give its captions "
            "as a transcript file, or its recording."
        )
    words = read_transcript(transcript) if transcript else None
    copied = f"{TRANSCRIPTS}/{video_id}{transcript.suffix.lower()}" if transcript else None
    given = {
        **details,
        "id": video_id,
        "url": watch_url(video_id) if is_video_id(video_id) else None,
        "language": details.get("language") or (words.language if words else None),
        "transcript": copied,
        "media": f"{_MEDIA}/{video_id}{media.suffix.lower()}" if media else None,
    }
    try:
        entry = VideoEntry.model_validate({key: each for key, each in given.items() if each})
    except ValidationError as error:
        why = problem_words(error.errors()[0], VideoEntry)
        raise CorpusError(why, code=ExitCode.USAGE) from error
    if transcript is not None:
        write_whole(file.parent / str(entry.transcript), transcript.read_bytes())
    if media is not None:
        copy_whole(media, file.parent / str(entry.media))
    add_video(file, entry)
    return entry


def add_video(file: Path, entry: VideoEntry) -> str:
    """Append a video to a corpus file, create the file if necessary, and return the video's id.

    Paths in the entry are relative to the file. A lock keeps two processes from overwriting each
    other.

    Raises CorpusError and leaves the file unchanged if the video is already listed in this folder,
    the file or the entry has a problem, or the file cannot be written.
    """
    target = file.resolve()
    with _writable(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(target.with_name(f".{target.name}.lock"), timeout=_TURN_SECONDS):
            reading = load_corpora([target.parent])
            listed = reading.find(entry.video_id)
            # An on-demand entry gives way, but not to a second one in its own file.
            if listed is not None and (listed in reading.videos() or listed.file == target):
                raise CorpusError(f"{_listed(listed)} Edit that entry instead.")
            before = _bytes_of(target)
            after = _with_entry(target, before, entry)
            _check_result(target, before, after, entry.video_id)
            _write(target, after)
    return entry.video_id


def remove_video(file: Path, video_id: str) -> tuple[Path, ...]:
    """Remove a video from a corpus file; return the files that only this video named.

    These are its transcript, media and annotations; the caller decides whether to delete them.

    Raises CorpusError and leaves the file unchanged if the file does not list the video, if
    removing it would change other entries, or if the file cannot be written.
    """
    target = file.resolve()
    with (
        _writable(target),
        FileLock(target.with_name(f".{target.name}.lock"), timeout=_TURN_SECONDS),
    ):
        before = _bytes_of(target) or b""
        videos = _parsed(target, before).get("videos") or []
        numbers = [n for n, each in enumerate(videos) if _id_of(each) == video_id]
        if not numbers:
            raise CorpusError(f"{target} does not list the video {video_id!r}.")
        after = before
        for number in reversed(numbers):
            after = _without_entry(target, after, number, video_id)
        left = [each for number, each in enumerate(videos) if number not in numbers]
        named = {name for number in numbers for name in _files_of(videos[number])}
        named -= {name for each in left for name in _files_of(each)}
        _write(target, after)
    return tuple(sorted(target.parent / name for name in named))


def _id_of(entry: Any) -> str | None:
    if not isinstance(entry, dict):
        return None
    with contextlib.suppress(NotAVideoLinkError):
        return entry.get("id") or bare_id(str(entry.get("url") or ""))
    return None


def _files_of(entry: Any) -> set[str]:
    named = entry if isinstance(entry, dict) else {}
    return {str(named[key]) for key in ("transcript", "ground_truth", "media") if named.get(key)}


def _without_entry(target: Path, before: bytes, number: int, video_id: str) -> bytes:
    """Return the file without one item of its list of videos."""
    root: Any = yaml.compose(before.decode("utf-8-sig"), Loader=_Loader)
    videos: Any = next(value for key, value in root.value if key.value == "videos")
    by_hand = CorpusError(
        f"{target}: the video {video_id!r} cannot be taken out without changing other entries. "
        "Take it out by hand."
    )
    if videos.flow_style:
        raise by_hand
    # Split as YAML counts lines; splitlines knows more line ends.
    lines = re.split(rb"(?<=\n)", before)
    keys = [key for key, _ in root.value]
    position = [key.value for key in keys].index("videos")
    following = [*videos.value[number + 1 :][:1], *keys[position + 1 :][:1]]
    first = videos.value[number].start_mark.line
    end = following[0].start_mark.line if following else len(lines)
    # Comments and blank lines before the next entry belong to it.
    margin = rb" {0,%d}#" % videos.start_mark.column
    while end > first + 1 and (not lines[end - 1].strip() or re.match(margin, lines[end - 1])):
        end -= 1
    emptied = []
    if len(videos.value) == 1:
        first, emptied = keys[position].start_mark.line, [b"videos: []\n"]
    after = b"".join([*lines[:first], *emptied, *lines[end:]])
    earlier, now = _parsed(target, before), _parsed(target, after)
    entries, kept = (list(each.pop("videos", None) or []) for each in (earlier, now))
    if now != earlier or kept != [*entries[:number], *entries[number + 1 :]]:
        raise by_hand
    return after


@contextlib.contextmanager
def _writable(target: Path) -> Iterator[None]:
    try:
        yield
    except Timeout as error:
        raise CorpusError(
            f"{target}: another process has been adding to the file for {_TURN_SECONDS} seconds. "
            "Try again when it is done."
        ) from error
    except OSError as error:
        raise CorpusError(
            f"{target}: the file cannot be written ({error.strerror}). Choose a folder that can."
        ) from error


def _write(target: Path, content: bytes) -> None:
    """Replace a file in one step, so that no reader sees half of it. Keeps its permissions."""
    with _writable(target):
        mode = target.stat().st_mode if target.exists() else None
        write_whole(target, content, mode=mode)


def _listed(video: CorpusVideo) -> str:
    name = video.video.video_id
    return f"The video {name!r} is listed already, in {video.file}, line {video.line}."


@dataclass(frozen=True, slots=True)
class WrittenCorpus:
    """A written corpus, and a sentence for each omitted item."""

    file: Path
    name: str
    video_ids: tuple[str, ...]
    claims: int
    transcripts: int
    left_out: tuple[str, ...]


def write_corpus(
    destination: Path,
    corpus: CorpusFile,
    beside: Mapping[str, bytes],
    left_out: Iterable[str] = (),
    *,
    replace: bool = False,
) -> WrittenCorpus:
    """Write `destination/NAME.yaml` and the transcripts that it names.

    A repeated call changes nothing. `beside` holds the files of the entries, by their path relative
    to the destination. With `replace`, files with other content are overwritten.

    Raises CorpusError if the corpus is empty or too large for one file, if another corpus of that
    name or another entry for one of its videos exists, or if the place cannot be written.
    """
    file = destination / f"{corpus.corpus}.yaml"
    if not corpus.videos:
        raise CorpusError(f"{file}: there is nothing to write, because no entry can be used.")
    values = corpus.model_dump(mode="json", exclude_defaults=True)
    text = yaml.dump(values, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH)
    content = str(text).encode()
    if len(content) > MAX_BYTES:
        raise CorpusError(
            f"{file}: the corpus would have {len(content) >> 20} MB, and a corpus file has at most "
            f"{MAX_BYTES >> 20}. Import a part: set a limit (--limit on the command line) where "
            "claims are listed, or divide the file."
        )
    if file.exists() and not replace and _bytes_of(file) != content:
        raise CorpusError(
            f"{file}: there is a different corpus of this name. Give another name, or set "
            "replace (--replace on the command line)."
        )
    others = (each for each in load_corpora([destination]).videos() if each.file != file)
    known = {listed.video.video_id: listed for listed in others}
    for entry in corpus.videos:
        if (listed := known.get(entry.video_id)) is not None:
            raise CorpusError(f"{_listed(listed)} Remove that entry, or leave the video out.")
    for name, data in beside.items():
        _write(destination / name, data)
    # Last, so that no reader sees a corpus without its files.
    _write(file, content)
    return WrittenCorpus(
        file=file,
        name=corpus.corpus or file.stem,
        video_ids=tuple(entry.video_id for entry in corpus.videos),
        claims=sum(len(entry.claims or ()) for entry in corpus.videos),
        transcripts=len(beside),
        left_out=tuple(left_out),
    )


def _bytes_of(target: Path) -> bytes | None:
    try:
        return target.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CorpusError(
            f"{target}: the file cannot be read ({error.strerror}). Check its rights."
        ) from error


def _with_entry(target: Path, before: bytes | None, entry: VideoEntry) -> bytes:
    values = entry.model_dump(mode="json", exclude_defaults=True)
    # Write whole seconds without the decimal zero.
    plain = {
        key: int(each) if isinstance(each, float) and each.is_integer() else each
        for key, each in values.items()
    }
    item = yaml.safe_dump(
        [plain], sort_keys=False, allow_unicode=True, width=_WIDTH, default_flow_style=False
    )
    if before is None or not before.strip():
        return f"videos:\n{textwrap.indent(item, '  ')}".encode()
    problems = load_corpus(target).problems
    if problems:
        raise CorpusError(f"{problems[0]} Nothing was added to this file.")
    text = before.decode("utf-8-sig")
    newline = "\r\n" if "\r\n" in text else "\n"
    inserted = _inserted(target, text.replace("\r\n", "\n"), item)
    mark = b"\xef\xbb\xbf" if before.startswith(b"\xef\xbb\xbf") else b""
    return mark + inserted.replace("\n", newline).encode()


def _inserted(target: Path, text: str, item: str) -> str:
    """Return the file's text with one more item in its list of videos."""
    # The text has been read as a corpus: it is a shallow mapping.
    root: Any = yaml.compose(text, Loader=yaml.SafeLoader)
    lines = text.rstrip("\n").split("\n")
    keys = [key.value for key, _ in root.value]
    if "videos" not in keys:
        return "\n".join([*lines, "videos:", textwrap.indent(item, "  ")])
    position = keys.index("videos")
    videos = root.value[position][1]
    is_list = isinstance(videos, yaml.SequenceNode)
    if is_list and videos.flow_style:
        if videos.value:
            raise CorpusError(
                f"{target}, line {videos.start_mark.line + 1}: videos stands in brackets. Write "
                "each video on lines of its own, beginning with a dash, to let this add one."
            )
        emptied = text[: videos.start_mark.index].rstrip(" ") + text[videos.end_mark.index :]
        return _inserted(target, emptied, item)
    indent = videos.start_mark.column if is_list and videos.value else 2
    end = len(lines)
    if position + 1 < len(keys):
        # The comments and blank lines before the next key belong to that key.
        end = root.value[position + 1][0].start_mark.line
        while end > 0:
            line = lines[end - 1]
            is_comment = line.lstrip().startswith("#") and len(line) - len(line.lstrip()) <= indent
            if line.strip() and not is_comment:
                break
            end -= 1
    new = textwrap.indent(item.rstrip("\n"), " " * indent).split("\n")
    return "\n".join([*lines[:end], *new, *lines[end:]]) + "\n"


def _check_result(target: Path, before: bytes | None, after: bytes, video_id: str) -> None:
    """Verify that the new text equals the old one plus one video."""
    earlier, now = (_parsed(target, text or b"") for text in (before, after))
    videos, added = (list(each.pop("videos", None) or []) for each in (earlier, now))
    if now != earlier or added[:-1] != videos or len(added) != len(videos) + 1:
        raise CorpusError(
            f"{target}: the video {video_id!r} cannot be added without changing other entries. "
            "Add it by hand."
        )


def _parsed(target: Path, text: bytes) -> dict[str, Any]:
    try:
        return dict(parse_document(text.decode("utf-8-sig")).data or {})
    except PlacedError as error:
        raise CorpusError(str(error.at(target))) from error
