"""Writes whole corpora, and adds a video to a corpus file without touching anything else in it.

What belongs here: the place and the form of entries, and replacing files atomically. What does
not: reading (reading.py), transcripts (resources).

A new entry is inserted as text, so that comments, order and style of the rest stay. What comes out
is read again before it replaces the file: it must say what the file said before, and the entry.
"""

from __future__ import annotations

import contextlib
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import yaml
from filelock import FileLock, Timeout

from factible_assets.corpora.format import CorpusError, CorpusFile, VideoEntry
from factible_assets.corpora.reading import load_corpora, load_corpus
from factible_assets.files import write_whole
from resources.lines import MAX_BYTES, Document, PlacedError, parse_document

_TURN_SECONDS: Final = 30
_WIDTH: Final = 92
# Written in C, it is many times faster than the other, which takes minutes for large data sets.
_Dumper: Final = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def add_video(file: Path, entry: VideoEntry) -> str:
    """Append a video to a corpus file, which is created if it is not there; return the id.

    Paths in the entry are relative to the file. Processes that add to one file take turns, so that
    none puts its entry on top of what another has just replaced.

    Raises:
        CorpusError: if the video is listed already in this file or beside it, if the file or the
            entry has a problem, or if it cannot be written. The file is then as it was.
    """
    target = file.resolve()
    with _turn_at(target):
        _refuse_duplicate(target, entry.video_id)
        after = _with_entry(target, _bytes_of(target), entry)
        _check_result(target, after, entry.video_id)
        write_atomically(target, after)
    return entry.video_id


@contextlib.contextmanager
def _turn_at(target: Path) -> Iterator[None]:
    """Hold the lock of a corpus file, which lies beside it."""
    lock = FileLock(target.with_name(f".{target.name}.lock"), timeout=_TURN_SECONDS)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with lock:
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


def write_atomically(target: Path, content: bytes) -> None:
    """Put content into a file in one step, so that no reader sees half of it; its rights stay.

    Raises:
        CorpusError: if the place cannot be written; the file is then as it was.
    """
    try:
        mode = target.stat().st_mode if target.exists() else None
        write_whole(target, content, mode=mode)
    except OSError as error:
        raise CorpusError(
            f"{target}: the file cannot be written ({error.strerror}). Choose a folder that can."
        ) from error


def write_corpus(
    destination: Path,
    corpus: CorpusFile,
    beside: Mapping[str, bytes],
    *,
    replace: bool = False,
) -> Path:
    """Write `destination/NAME.yaml` and the files that it names; return its path.

    Writing the same again changes nothing.

    Args:
        destination: A folder of corpora.
        corpus: The corpus, with a name.
        beside: The files that its entries name, by their path relative to the destination.
        replace: Whether a corpus file of that name with other content may be overwritten.

    Raises:
        CorpusError: if the corpus has no entry or is too large for one file, if a different corpus
            of that name or another entry for one of its videos is there, or if the place cannot
            be written.
    """
    file = destination / f"{corpus.corpus}.yaml"
    if not corpus.videos:
        raise CorpusError(f"{file}: there is nothing to write, because no entry can be used.")
    content = render_corpus(corpus)
    if len(content) > MAX_BYTES:
        raise CorpusError(
            f"{file}: the corpus would have {len(content) >> 20} MB, and a corpus file has at most "
            f"{MAX_BYTES >> 20}. Import a part with --limit."
        )
    if file.exists() and not replace and _bytes_of(file) != content:
        raise CorpusError(
            f"{file}: there is a different corpus of this name. Give another name, or replace it "
            "with --replace."
        )
    _refuse_known(file, corpus)
    for name, data in beside.items():
        write_atomically(destination / name, data)
    # Last, so that no corpus is ever seen that names files which are not there.
    write_atomically(file, content)
    return file


def render_corpus(corpus: CorpusFile) -> bytes:
    """Return a corpus as YAML, keys in the order of the format."""
    values = corpus.model_dump(mode="json", exclude_defaults=True)
    text = yaml.dump(values, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH)
    return str(text).encode()


def _refuse_known(file: Path, corpus: CorpusFile) -> None:
    known = {
        listed.video.video_id: listed
        for listed in load_corpora([file.parent]).videos()
        if listed.file != file
    }
    for entry in corpus.videos:
        if (listed := known.get(entry.video_id)) is not None:
            raise CorpusError(
                f"The video {entry.video_id!r} is listed already, in {listed.file}, line "
                f"{listed.line}. Remove that entry, or leave the video out."
            )


def render_entry(entry: VideoEntry) -> str:
    """Return an entry as an item of a YAML list, keys in the order of the format."""
    values = entry.model_dump(mode="json", exclude_defaults=True)
    # A whole number of seconds is written without its zero.
    plain = {
        key: int(each) if isinstance(each, float) and each.is_integer() else each
        for key, each in values.items()
    }
    return yaml.safe_dump(
        [plain], sort_keys=False, allow_unicode=True, width=_WIDTH, default_flow_style=False
    )


def _refuse_duplicate(target: Path, video_id: str) -> None:
    reading = load_corpora([target.parent])
    listed = reading.find(video_id)
    # An entry on demand gives way, but not to a second one in its own file.
    if listed is not None and (listed in reading.videos() or listed.file == target):
        raise CorpusError(
            f"The video {video_id!r} is listed already, in {listed.file}, line {listed.line}. "
            "Edit that entry instead."
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
    item = render_entry(entry)
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
    """Return the text of the file with one more item in its list of videos."""
    # The text was parsed before, so its depth is known to be small.
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if not isinstance(root, yaml.MappingNode):
        raise CorpusError(f"{target}: the file is not a mapping. Begin with videos: and a list.")
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
        end = _before(lines, root.value[position + 1][0].start_mark.line, indent)
    new = textwrap.indent(item.rstrip("\n"), " " * indent).split("\n")
    return "\n".join([*lines[:end], *new, *lines[end:]]) + "\n"


def _before(lines: list[str], following: int, indent: int) -> int:
    """Step back from the next key over the comments and blank lines that belong to it."""
    end = following
    while end > 0:
        line = lines[end - 1]
        is_comment = line.lstrip().startswith("#") and len(line) - len(line.lstrip()) <= indent
        if line.strip() and not is_comment:
            break
        end -= 1
    return end


def _check_result(target: Path, after: bytes, video_id: str) -> None:
    """Refuse what does not say what the file said before, and one video more."""
    result = _parsed(target, after.decode("utf-8-sig")).data
    earlier = _bytes_of(target)
    previous = _parsed(target, earlier.decode("utf-8-sig")).data if earlier else None
    before = dict(previous or {})
    videos = list(before.pop("videos", None) or [])
    rest = dict(result)
    added = list(rest.pop("videos", None) or [])
    if rest != before or added[:-1] != videos or len(added) != len(videos) + 1:
        raise CorpusError(
            f"{target}: the video {video_id!r} cannot be added without changing other entries. "
            "Add it by hand."
        )


def _parsed(target: Path, text: str) -> Document:
    try:
        return parse_document(text)
    except PlacedError as error:
        raise CorpusError(str(error.at(target))) from error
