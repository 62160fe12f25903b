"""Adds a video to a corpus file and removes one, as text: comments, order and style stay.

Before the result replaces the file, it is read again: its content must be the old one with or
without that entry.
"""

from __future__ import annotations

import contextlib
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import yaml
from filelock import FileLock, Timeout

from factible_assets.corpora.format import CorpusError, VideoEntry
from factible_assets.corpora.reading import CorpusVideo, load_corpora, load_corpus
from resources.files import write_whole
from resources.text_files import PlacedError, errors_naming, parse_document, read_text
from resources.transcripts.youtube_ids import NotAVideoLinkError, bare_id

_TURN_SECONDS: Final = 30
LINE_WIDTH: Final = 92
_Loader: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def add_video(file: Path, entry: VideoEntry) -> str:
    """Append a video to a corpus file, create the file if necessary, and return the video's id.

    Paths in the entry are relative to the file. A lock keeps two processes from overwriting each
    other.

    Raises CorpusError and leaves the file unchanged if the video is already listed in this folder,
    the file or the entry has a problem, or the file cannot be written.
    """
    target = file.resolve()
    with _locked(target):
        reading = load_corpora([target.parent])
        listed = reading.find(entry.video_id)
        # An on-demand entry gives way, but not to a second one in its own file.
        if listed is not None and (listed in reading.videos() or listed.file == target):
            raise CorpusError(f"{listed_already(listed)} Edit that entry instead.")
        before, videos = _read(target)
        if before.strip() and (problems := load_corpus(target).problems):
            raise CorpusError(f"{problems[0]} Nothing was added to this file.")
        item = _item_of(entry)
        after = _Listing.of(before).with_item(item)
        _replace(target, before, after, [*videos, *parse_document(item).data])
    return entry.video_id


def remove_video(file: Path, video_id: str) -> tuple[Path, ...]:
    """Remove a video from a corpus file; return the files that only this video named.

    These are its transcript, media and annotations; the caller decides whether to delete them.

    Raises CorpusError and leaves the file unchanged if the file does not list the video, if
    removing it would change other entries, or if the file cannot be written.
    """
    target = file.resolve()
    with _locked(target):
        before, videos = _read(target)
        numbers = [number for number, entry in enumerate(videos) if _id_of(entry) == video_id]
        if not numbers:
            raise CorpusError(f"{target} does not list the video {video_id!r}.")
        rest = [entry for number, entry in enumerate(videos) if number not in numbers]
        files = {name for number in numbers for name in _files_of(videos[number])}
        files -= {name for entry in rest for name in _files_of(entry)}
        _replace(target, before, _Listing.of(before).without(numbers), rest)
    return tuple(sorted(target.parent / name for name in files))


def listed_already(video: CorpusVideo) -> str:
    name = video.video.video_id
    return f"The video {name!r} is listed already, in {video.file}, line {video.line}."


@contextlib.contextmanager
def writable(target: Path) -> Iterator[None]:
    """Turn errors of writing a file in a block into CorpusError."""
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


@contextlib.contextmanager
def _locked(target: Path) -> Iterator[None]:
    with writable(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(target.with_name(f".{target.name}.lock"), timeout=_TURN_SECONDS):
            yield


def _read(target: Path) -> tuple[str, list[Any]]:
    """Return the text of a file, which may not exist yet, and its videos."""
    with errors_naming(target, CorpusError):
        text = read_text(target) if target.exists() else ""
        return text, list(_mapping(text).get("videos") or ())


def _mapping(text: str) -> dict[str, Any]:
    data = parse_document(text).data
    return data if isinstance(data, dict) else {}


def _id_of(entry: Any) -> str | None:
    if not isinstance(entry, dict):
        return None
    with contextlib.suppress(NotAVideoLinkError):
        return entry.get("id") or bare_id(str(entry.get("url") or ""))
    return None


def _files_of(entry: Any) -> set[str]:
    values = entry if isinstance(entry, dict) else {}
    return {str(values[key]) for key in ("transcript", "ground_truth", "media") if values.get(key)}


def _item_of(entry: VideoEntry) -> str:
    values = entry.model_dump(mode="json", exclude_defaults=True)
    # Write whole seconds without the decimal zero.
    plain = {
        key: int(value) if isinstance(value, float) and value.is_integer() else value
        for key, value in values.items()
    }
    return yaml.safe_dump(
        [plain], sort_keys=False, allow_unicode=True, width=LINE_WIDTH, default_flow_style=False
    )


def _replace(target: Path, before: str, lines: Sequence[str], videos: list[Any]) -> None:
    """Write the new lines of a file, with its permissions, if only its list of videos differs."""
    after = "\n".join([*lines, ""])
    with contextlib.suppress(PlacedError):
        if _mapping(after) == {**_mapping(before), "videos": videos}:
            content = after.replace("\n", "\r\n" if "\r\n" in before else "\n").encode()
            mode = target.stat().st_mode if target.exists() else None
            write_whole(target, content, mode=mode)
            return
    raise CorpusError(
        f"{target}: the video cannot be added or taken out without changing other entries. Edit "
        "the file by hand: write each video on lines of its own, beginning with a dash."
    )


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
    def of(cls, text: str) -> _Listing:
        lines = text.rstrip().replace("\r\n", "\n").split("\n") if text.strip() else []
        root: Any = yaml.compose(text, Loader=_Loader)
        values = {
            key.value: (key.start_mark.line, value) for key, value in (root.value if root else ())
        }
        if "videos" not in values:
            return cls(lines, len(lines), [], 2)
        head, videos = values["videos"]
        items = videos.value if isinstance(videos, yaml.SequenceNode) else []
        indent = videos.start_mark.column if items else 2
        margin = re.compile(f" {{0,{indent}}}#")
        later = (line for line, _ in values.values() if line > head)
        starts = [*(item.start_mark.line for item in items), min(later, default=len(lines))]
        spans = []
        for start, following in pairwise(starts):
            last = following - 1
            while last > start and (not lines[last].strip() or margin.match(lines[last])):
                last -= 1
            spans.append((start, last + 1))
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
