"""Reads corpus files and reports every problem with its place and remedy.

An unreadable file is a problem, never an empty corpus. So check `CorporaReading.problems` before
you treat a missing video as removed. An entry with a problem is left out, and the other entries
stay; a problem of the file leaves out the whole file.

Videos of an `on_demand` corpus are found by `find`, but `videos` does not yield them, and an entry
in another corpus takes precedence. Annotations may also be in the folder `ground_truth/` next to
corpus files: each file there is merged into the video that it names.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from factible_assets.corpora.format import ClaimEntry, CorpusFile, PublishedClaimEntry, VideoEntry
from factible_assets.records.tables import Video
from factible_assets.stages.ids import normalise_text
from resources.text_files import EntryReader, FileProblem, Place, PlacedError, quoted, read_document
from resources.transcripts.youtube_ids import is_video_id, watch_url

if TYPE_CHECKING:
    from factible_assets.stages.ports import ClaimDrafts

SUFFIXES: Final = (".yaml", ".yml")

GROUND_TRUTH_FOLDER: Final = "ground_truth"
"""The folder next to corpus files with annotations in separate files."""


@dataclass(frozen=True, slots=True)
class CorpusVideo:
    """One valid entry, with resolved paths."""

    entry: VideoEntry
    video: Video
    web: str
    transcript: Path | None
    claims: tuple[ClaimEntry, ...] | None
    """The annotated claims. None: not annotated. Empty: the video makes no claim."""
    file: Path
    line: int
    media: Path | None = None
    """The recording, or a picture of the video."""

    @property
    def given_claims(self) -> ClaimDrafts | None:
        """The claims to check as they are; None if the pipeline extracts claims.

        A claim without an annotated importance has importance 1.
        """
        # It loads asyncio, which commands that only read a corpus can do without.
        from factible_assets.stages.ports import ClaimDraft, ClaimDrafts  # noqa: PLC0415

        if not self.entry.claims_are_given or self.claims is None:
            return None
        return ClaimDrafts(
            None,
            tuple(
                ClaimDraft(
                    claim.text,
                    1.0 if claim.importance is None else claim.importance,
                    1.0,
                    speaker=claim.speaker,
                )
                for claim in self.claims
                if claim.checkable
            ),
        )


@dataclass(frozen=True, slots=True)
class Corpus:
    """The valid entries of one file."""

    name: str
    description: str | None
    web: str
    file: Path
    videos: tuple[CorpusVideo, ...]
    on_demand: bool = False


@dataclass(frozen=True)
class CorporaReading:
    """The corpora and problems of some folders."""

    corpora: tuple[Corpus, ...] = ()
    problems: tuple[FileProblem, ...] = ()
    ignored: tuple[Path, ...] = ()
    """Other YAML files in the folders, such as rating sets."""

    def videos(self) -> Iterator[CorpusVideo]:
        """Return every entry except those of on-demand corpora."""
        return (entry for corpus in self.corpora if not corpus.on_demand for entry in corpus.videos)

    def everything(self) -> Iterator[CorpusVideo]:
        """Return every entry, on-demand ones last."""
        ordered = sorted(self.corpora, key=lambda each: each.on_demand)
        return (entry for corpus in ordered for entry in corpus.videos)

    def find(self, video_id: str) -> CorpusVideo | None:
        """Return the entry of one video, including on-demand ones."""
        return self._by_id.get(video_id)

    @cached_property
    def _by_id(self) -> dict[str, CorpusVideo]:
        return {entry.video.video_id: entry for entry in reversed([*self.everything()])}

    def corpus(self, name: str) -> Corpus | None:
        return next((corpus for corpus in self.corpora if corpus.name == name), None)


@dataclass(frozen=True, slots=True)
class GroundTruth:
    """Annotated claims from a separate file."""

    claims: tuple[ClaimEntry, ...] = ()
    video_id: str | None = None
    video_title: str | None = None
    duration_seconds: float | None = None
    line: int = 1
    """The line that names the video."""
    problems: tuple[FileProblem, ...] = ()


# --- Folders and files --------------------------------------------------------------------------


def load_corpora(folders: Iterable[Path]) -> CorporaReading:
    """Read every corpus file in some folders. Never raises: failures become problems.

    Files are read in the order of the folders and of their names. If two entries name one video,
    the first counts and the second is a problem; an on-demand entry gives way silently. A missing
    folder has no files. Annotations in `ground_truth/` are merged in.
    """
    read: list[Corpus] = []
    truths: list[Path] = []
    problems: list[FileProblem] = []
    ignored: list[Path] = []
    for folder in folders:
        for file in _yaml_files(folder, problems):
            reading = load_corpus(file)
            problems.extend(reading.problems)
            ignored.extend(reading.ignored)
            read.extend(reading.corpora)
        truths += _yaml_files(folder / GROUND_TRUTH_FOLDER, problems)
    seen: dict[str, CorpusVideo] = {}
    for corpus in sorted(read, key=lambda each: each.on_demand):
        for entry in corpus.videos:
            first = seen.setdefault(entry.video.video_id, entry)
            if first is not entry and not corpus.on_demand:
                words = _listed_before(entry.video.video_id, first.file, first.line)
                problems.append(FileProblem(entry.file, entry.line, words))
    annotated = _ground_truth(truths, seen, problems)
    corpora = (
        replace(
            corpus,
            videos=tuple(
                replace(entry, claims=annotated.get(entry.video.video_id, entry.claims))
                for entry in corpus.videos
                if seen[entry.video.video_id] is entry
            ),
        )
        for corpus in read
    )
    return CorporaReading(tuple(corpora), tuple(problems), tuple(ignored))


def load_corpus(file: Path) -> CorporaReading:
    """Read one corpus file. Never raises: failures become problems."""
    try:
        document = read_document(file)
    except PlacedError as error:
        return CorporaReading(problems=(error.at(file),))
    # Distinguish a corpus with a misspelt key from other YAML, such as a rating set. An experiment
    # has the key `videos`, too.
    data = document.data
    if isinstance(data, dict) and data:
        near = (difflib.get_close_matches(key, ("corpus", "videos"), cutoff=0.7) for key in data)
        if "experiment" in data or not any(near):
            return CorporaReading(ignored=(file,))
    reader = _CorpusReader(file=file, document=document)
    corpus = reader.corpus()
    return CorporaReading((corpus,) if corpus else (), tuple(reader.problems))


def yaml_files(folder: Path) -> list[Path]:
    """Return the YAML files in a folder, sorted by name; none if the folder is missing."""
    files = folder.iterdir() if folder.exists() else ()
    return sorted(
        path
        for path in files
        if path.suffix in SUFFIXES and path.is_file() and not path.name.startswith(".")
    )


def _yaml_files(folder: Path, problems: list[FileProblem]) -> list[Path]:
    """Return the YAML files in a folder, and report if it cannot be listed."""
    try:
        return yaml_files(folder)
    except OSError as error:
        sentence = f"The folder cannot be read ({error.strerror}). Check its rights."
        problems.append(FileProblem(folder, None, sentence))
        return []


def _ground_truth(
    files: Sequence[Path], entries: Mapping[str, CorpusVideo], problems: list[FileProblem]
) -> dict[str, tuple[ClaimEntry, ...]]:
    """Return the annotations in separate files, by video."""
    annotated: dict[str, tuple[ClaimEntry, ...]] = {}
    for file in files:
        truth = load_ground_truth(file)
        problems.extend(truth.problems)
        video_id = truth.video_id or file.stem
        entry = entries.get(video_id)
        known = annotated.get(video_id, entry.claims if entry else ())
        if entry is None:
            sentence = (
                f"This ground truth is for the video {video_id!r}, which no corpus lists. "
                "List the video in a corpus, or take the file away."
            )
            problems.append(FileProblem(file, truth.line, sentence))
        elif known is not None and known != truth.claims:
            sentence = (
                f"The video {video_id!r} has other annotated claims already, in {entry.file}, "
                f"line {entry.line}, or in another file of this folder. Keep one of the two."
            )
            problems.append(FileProblem(file, truth.line, sentence))
        elif not truth.problems:
            annotated[video_id] = truth.claims
    return annotated


def _listed_before(video_id: str, file: Path, line: int) -> str:
    words = f"The video {video_id!r} is listed before, in {file}, line {line}."
    return f"{words} Remove one of the two entries."


# --- One file -----------------------------------------------------------------------------------


class _CorpusReader(EntryReader):
    """Reads one file, collects its problems, and leaves out entries with a problem."""

    def corpus(self) -> Corpus | None:
        """Return the corpus of the file; None if the file itself has a problem."""
        data = self.document.data
        if not isinstance(data, dict):
            state = "empty" if data is None else "not a mapping"
            self.report((), f"The file is {state}. Begin with videos: and a list of them.")
            return None
        listed = data.get("videos")
        if listed is not None and not isinstance(listed, list):
            self.report(("videos",), "videos is not a list. Begin each video with a dash.")
        head = self.entry(CorpusFile, {**data, "videos": ()}, ())
        is_valid = head is not None and not self.problems
        head = head or CorpusFile()
        name = head.corpus or self.file.stem
        # Read the entries of a rejected file too, to report all problems at once.
        first_places: dict[str, Place] = {}
        videos = [
            self._video(("videos", index), name, head.web, first_places)
            for index in range(len(listed) if isinstance(listed, list) else 0)
        ]
        if not is_valid:
            return None
        valid = tuple(video for video in videos if video is not None)
        return Corpus(name, head.description, head.web, self.file, valid, head.on_demand)

    def _video(
        self, place: Place, corpus: str, web: str, first_places: dict[str, Place]
    ) -> CorpusVideo | None:
        """Return an entry; `first_places` has the place of each id before it."""
        problems_before = len(self.problems)
        value = self.document.at(place)
        # An entry with another problem reports its missing files, too.
        keys = value if isinstance(value, dict) else {}
        transcript, media, truth = (
            self._existing(keys.get(key), (*place, key))
            for key in ("transcript", "media", "ground_truth")
        )
        entry = self.entry(VideoEntry, value, place)
        if entry is None:
            return None
        first = first_places.setdefault(entry.video_id, place)
        if first != place:
            line = self.document.line(first)
            self.report(place, _listed_before(entry.video_id, self.file, line))
        sources = (entry.transcript, entry.media, entry.transcript_url, entry.recording_url)
        if not (any(sources) or is_video_id(entry.video_id)):
            self.report(
                place,
                f"The video {entry.video_id!r} has neither a transcript nor a recording, and is "
                "not on YouTube. Name a transcript file, or under `media` a recording.",
            )
        claims = entry.claims
        if claims is not None:
            self.report_repeated_claims(
                ((*place, "claims", index), claim) for index, claim in enumerate(claims)
            )
        elif truth is not None:
            claims = self._own_ground_truth(entry, truth)
        if len(self.problems) > problems_before:
            return None
        return CorpusVideo(
            entry=entry,
            video=_record(entry, corpus),
            web=entry.web or web,
            transcript=transcript,
            claims=claims,
            file=self.file,
            line=self.document.line(place),
            media=media,
        )

    def _own_ground_truth(self, entry: VideoEntry, path: Path) -> tuple[ClaimEntry, ...]:
        truth = load_ground_truth(path)
        self.problems.extend(truth.problems)
        if truth.video_id not in {None, entry.video_id}:
            sentence = (
                f"This ground truth is for the video {truth.video_id!r}, and the entry of "
                f"{entry.video_id!r} in {self.file} refers to it. Correct one of the two."
            )
            self.problems.append(FileProblem(path, truth.line, sentence))
        return truth.claims

    def _existing(self, name: object, place: Place) -> Path | None:
        """Return the path of a named file; report a missing or empty one."""
        if not isinstance(name, str):
            return None
        path = self.file.parent / name
        # A corpus may come from a stranger: it must not reach other files of this machine.
        if not path.resolve().is_relative_to(self.file.parent.resolve()):
            words = f"{name!r} leads out of the folder of this file. Put the file that is meant "
            self.report(place, f"{words}there.")
            return None
        if path.is_file() and path.stat().st_size:
            return path
        missing = f"There is no file {name!r} beside this one (looked for as {path}). Correct it."
        empty = f"The file {name!r} is empty. Put something into it."
        self.report(place, empty if path.is_file() else missing)
        return None

    def report_repeated_claims(self, claims: Iterable[tuple[Place, ClaimEntry]]) -> None:
        """Report claims that repeat an earlier one."""
        first: dict[str, Place] = {}
        for place, claim in claims:
            earlier = first.setdefault(normalise_text(claim.text), place)
            if earlier != place:
                line = self.document.line(earlier)
                words = f"The claim {quoted(claim.text)} stands before, on line {line}."
                self.report(place, f"{words} Remove one of the two.")


def _record(entry: VideoEntry, corpus: str) -> Video:
    """Return the row of an entry. A video on YouTube without a transcript file has a URL."""
    copied = (Video.model_fields.keys() & VideoEntry.model_fields.keys()) - {"title", "url"}
    url = entry.url
    if url is None and entry.transcript is None and is_video_id(entry.video_id):
        url = watch_url(entry.video_id)
    return Video(
        **entry.model_dump(include=copied),
        video_id=entry.video_id,
        title=entry.title or entry.video_id,
        url=url,
        corpus=corpus,
    )


# --- Ground truth in a file of its own ----------------------------------------------------------


def load_ground_truth(file: Path) -> GroundTruth:
    """Read annotated claims from a corpus-style or a published file.

    Never raises: failures become problems, and the claims are then not usable.
    """
    try:
        document = read_document(file)
    except PlacedError as error:
        return GroundTruth(problems=(error.at(file),))
    data = document.data if isinstance(document.data, dict) else {}
    listed = data.get("claims")
    reader = _CorpusReader(file=file, document=document)
    if not isinstance(listed, list):
        reader.report(("claims",), "There is no list of claims. Add one.")
        listed = []
    claims: dict[Place, ClaimEntry] = {}
    for index, value in enumerate(listed):
        is_published = isinstance(value, dict) and "claim_text" in value
        place = ("claims", index)
        claim = reader.entry(PublishedClaimEntry if is_published else ClaimEntry, value, place)
        if claim is not None:
            fields = claim.model_dump(include=set(ClaimEntry.model_fields))
            claims[place] = ClaimEntry.model_validate(fields)
    reader.report_repeated_claims(claims.items())
    return GroundTruth(
        claims=tuple(claims.values()),
        video_id=_text(data.get("video_id")),
        video_title=_text(data.get("video_title")),
        duration_seconds=_seconds(data.get("video_duration_seconds")),
        line=document.line(("video_id",)),
        problems=tuple(reader.problems),
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _seconds(value: object) -> float | None:
    try:
        seconds = float(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return seconds if seconds is not None and 0 <= seconds < float("inf") else None
