"""Writes corpora, adds a video to a corpus file and removes one.

Entries are inserted and cut as text, so that comments, order and style of the file stay. Before the
result replaces the file, it is read again: its content must be the old one with or without that
entry.
"""

from __future__ import annotations

import contextlib
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
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
    before, mark, parameters = link.partition("?")
    try:
        return video_id_of(f"{before}{mark}{parameters.replace('?', '&')}")
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
            f"{video_id!r} is neither a video on YouTube nor a file. Give the captions of the "
            "video as a transcript file, or its recording."
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
            before = _text_of(target)
            if before.strip() and (problems := load_corpus(target).problems):
                raise CorpusError(f"{problems[0]} Nothing was added to this file.")
            item = _item_of(entry)
            after = _Listing.of(target, before).with_item(item)
            videos = [*(_parsed(target, before).get("videos") or []), *parse_document(item).data]
            _replace(target, before, after, videos, entry.video_id)
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
        before = _text_of(target)
        videos = _parsed(target, before).get("videos") or []
        numbers = [n for n, each in enumerate(videos) if _id_of(each) == video_id]
        if not numbers:
            raise CorpusError(f"{target} does not list the video {video_id!r}.")
        left = [each for number, each in enumerate(videos) if number not in numbers]
        named = {name for number in numbers for name in _files_of(videos[number])}
        named -= {name for each in left for name in _files_of(each)}
        after = _Listing.of(target, before).without(numbers)
        _replace(target, before, after, left, video_id)
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


def _text_of(target: Path) -> str:
    try:
        return (_bytes_of(target) or b"").decode()
    except UnicodeDecodeError as error:
        raise CorpusError(f"{target} is not UTF-8. Save it as UTF-8.") from error


# --- The text of a corpus file -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Listing:
    """The lines of a corpus file, and the half-open spans of lines of its videos.

    `head` is the line of the key `videos`; without one, the line at which it would be added.
    Comments and blank lines before an entry belong to it. Entries begin at the column `indent`.
    """

    lines: list[str]
    head: int
    spans: list[tuple[int, int]]
    indent: int

    @classmethod
    def of(cls, target: Path, text: str) -> _Listing:
        lines = text.rstrip().replace("\r\n", "\n").split("\n") if text.strip() else []
        root: Any = yaml.compose(text, Loader=_Loader)
        values = {
            key.value: (key.start_mark.line, value) for key, value in (root.value if root else ())
        }
        if "videos" not in values:
            return cls(lines, len(lines), [], 2)
        head, videos = values["videos"]
        items = videos.value if isinstance(videos, yaml.SequenceNode) else []
        if items and videos.flow_style:
            raise CorpusError(
                f"{target}, line {videos.start_mark.line + 1}: videos stands in brackets. Write "
                "each video on lines of its own, beginning with a dash, or edit the file by hand."
            )
        indent = videos.start_mark.column if items else 2
        margin = re.compile(f" {{0,{indent}}}#")
        later = (line for line, _ in values.values() if line > head)
        starts = [*(item.start_mark.line for item in items), min(later, default=len(lines))]
        spans = []
        for start, following in pairwise(starts):
            own = range(start + 1, following)
            is_content = (
                n for n in reversed(own) if lines[n].strip() and not margin.match(lines[n])
            )
            spans.append((start, next(is_content, start) + 1))
        return cls(lines, head, spans, indent)

    def with_item(self, item: str) -> list[str]:
        """Return the lines with one more video at the end of the list."""
        new = textwrap.indent(item.rstrip("\n"), " " * self.indent).split("\n")
        if not self.spans:
            key = [line.replace(" []", "") for line in self.lines[self.head : self.head + 1]]
            head = key or ["videos:"]
            return [*self.lines[: self.head], *head, *new, *self.lines[self.head + 1 :]]
        end = self.spans[-1][1]
        if all(line.lstrip()[:1] in {"", "#"} for line in self.lines[end:]):
            end = len(self.lines)  # Only remarks follow.
        return [*self.lines[:end], *new, *self.lines[end:]]

    def without(self, numbers: Iterable[int]) -> list[str]:
        """Return the lines without the videos at these positions."""
        cut = [self.spans[number] for number in numbers]
        if len(cut) == len(self.spans):
            return [*self.lines[: self.head], "videos: []", *self.lines[cut[-1][1] :]]
        gone = {line for span in cut for line in range(*span)}
        return [line for number, line in enumerate(self.lines) if number not in gone]


def _item_of(entry: VideoEntry) -> str:
    values = entry.model_dump(mode="json", exclude_defaults=True)
    # Write whole seconds without the decimal zero.
    plain = {
        key: int(each) if isinstance(each, float) and each.is_integer() else each
        for key, each in values.items()
    }
    return yaml.safe_dump(
        [plain], sort_keys=False, allow_unicode=True, width=_WIDTH, default_flow_style=False
    )


def _replace(
    target: Path, before: str, lines: Sequence[str], videos: list[Any], video_id: str
) -> None:
    """Write the new lines of a file if only its list of `videos` differs."""
    after = "\n".join([*lines, ""])
    if _parsed(target, after) != {**_parsed(target, before), "videos": videos}:
        raise CorpusError(
            f"{target}: the video {video_id!r} cannot be added or taken out without changing other "
            "entries. Edit the file by hand."
        )
    _write(target, after.replace("\n", "\r\n" if "\r\n" in before else "\n").encode())


def _parsed(target: Path, text: str) -> dict[str, Any]:
    try:
        return dict(parse_document(text.removeprefix("\ufeff")).data or {})
    except PlacedError as error:
        raise CorpusError(str(error.at(target))) from error
