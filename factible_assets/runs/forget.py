"""Removes everything that the data folder holds on a video.

The warehouse knows which pages, model calls and cached answers belong to the video, so its rows go
last, and a user can repeat an interrupted removal. Pages of other videos stay, and so do corpora
outside the data folder and page collections that a person imported.
"""

import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import dagster as dg
import duckdb

from factible_assets.corpora.editing import remove_video
from factible_assets.corpora.reading import GROUND_TRUTH_FOLDER, load_corpora
from factible_assets.corpora.writing import RECORDINGS, TRANSCRIPTS
from factible_assets.errors import FactibleError
from factible_assets.pipeline import run_erasure
from factible_assets.pipeline.locks import video_lock
from factible_assets.pipeline.run_records import refuse_busy
from factible_assets.report.writing import read_index_data, write_index
from factible_assets.runs.instance import open_instance
from factible_assets.settings import Settings
from factible_assets.stages.urls import canonical_url
from factible_assets.wording import plain
from resources.files import INDEX, file_stem, report_name, write_whole
from resources.llm.prompt import PromptFolder
from resources.statements import statements
from resources.storage.answers import DiskCache
from resources.storage.archive import FETCHED, Archive
from warehouse.erasure import Erasure, erase_video
from warehouse.errors import WarehouseError
from warehouse.publication import remove_database
from warehouse.store import Warehouse
from warehouse.upkeep import compact

_SQL = statements("factible_assets.runs", "forget.sql")
_COMMON_WORD, _MATCHES_NOTHING = re.compile("[a-z]+"), re.compile("(?!)")
_DATABASES = {".duckdb", ".db", ".sqlite", ".parquet"}
_NOT_SEARCHED = {"models", "video_locks"}
"""Folders that never name a video."""


@dataclass
class Forgotten:
    """The number of removed items of one video by place; of a dry run, those that would go.

    `remarks` are sentences about places that stay; `still_named_in` are the files that name the
    video afterwards.
    """

    video_id: str
    dry_run: bool
    counts: dict[str, int] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    still_named_in: list[Path] = field(default_factory=list)

    def add(self, place: str, count: int) -> None:
        if count:
            self.counts[place] = self.counts.get(place, 0) + count


def forget(video_ids: Sequence[str], settings: Settings, *, dry_run: bool) -> list[Forgotten]:
    """Remove videos from the data folder, or with `dry_run` count what would go.

    Raises FactibleError: A video is unknown, or a run is checking it. Nothing is lost then.
    Raises WarehouseError: A warehouse is not readable or writable.
    """
    copies, unreadable = _replaced_copies(settings)
    stores = [*map(Warehouse, sorted(settings.experiments.glob("*.duckdb"))), *copies]
    if settings.warehouse.exists():
        stores.insert(0, Warehouse(settings.warehouse))
    with open_instance(settings) as instance:
        refuse_busy(instance, video_ids)
        found = [
            _forget_one(video_id, settings, instance, stores, dry_run=True)
            for video_id in video_ids
        ]
        for video in found:
            if video.counts:
                continue
            # Free space of a file may still name a video after an interrupted removal.
            named_in = _still_naming([video.video_id], settings)[video.video_id]
            if dry_run or not named_in:
                words = f"The data folder has nothing about a video {plain(video.video_id, 120)}."
                if named_in:
                    words += f" These letters stand in {', '.join(map(str, named_in))}."
                raise FactibleError(words, "All: factible corpus list --all")
        done = found
        if not dry_run:
            done = [
                _forget_one(video_id, settings, instance, stores, dry_run=False)
                for video_id in video_ids
            ]
    for video in done:
        video.remarks += unreadable
    if not dry_run:
        _reclaim_space(settings, stores, done)
        naming = _still_naming(video_ids, settings)
        for video in done:
            video.still_named_in = naming[video.video_id]
    return done


def _forget_one(
    video_id: str,
    settings: Settings,
    instance: dg.DagsterInstance,
    stores: Sequence[Warehouse],
    *,
    dry_run: bool,
) -> Forgotten:
    done = Forgotten(video_id, dry_run)
    with video_lock(instance, video_id):
        traces = [erase_video(store, video_id, dry_run=True) for store in stores]
        _forget_entries(done, settings)
        done.add("runs at Dagster", len(run_erasure.runs_of(instance, video_id)))
        if not dry_run:
            run_erasure.forget_video(instance, video_id, _mention_pattern(video_id))
        _forget_answers(done, settings, traces)
        _forget_files(done, settings)
        for erasure in traces:
            for table, count in erasure.rows.items():
                done.add(f"rows of {table}", count)
        for store in () if dry_run else stores:
            erase_video(store, video_id, dry_run=False)
    return done


def _reclaim_space(
    settings: Settings, stores: Sequence[Warehouse], done: Sequence[Forgotten]
) -> None:
    """Compact the files that still contain removed rows, and renew the copy and the index."""
    for store in stores:
        compact(store)
    published, live = settings.published, settings.warehouse
    if not live.is_shared and live.exists():
        for copy in (published.path, *settings.home.glob(f".{published.path.name}.*")):
            remove_database(copy)
        Warehouse(live).publish(published)
    if live.exists() and (settings.reports / INDEX).exists():
        write_index(read_index_data(Warehouse(live)), settings.reports)
    for video in done:
        try:
            run_erasure.vacuum(settings.dagster_home, video.video_id.encode())
        except sqlite3.Error as error:
            video.remarks.append(
                f"Removed records of Dagster still take room in {settings.dagster_home} ({error}). "
                "Close the Dagster UI, and run the command again."
            )


def _replaced_copies(settings: Settings) -> tuple[list[Warehouse], list[str]]:
    """Return the readable files that another warehouse replaced, and a sentence on each other one.

    `factible restore` and `factible upgrade` leave such files.
    """
    readable, unreadable = [], []
    for file in sorted(settings.home.glob("warehouse.duckdb.replaced-*Z")):
        copy = Warehouse(file)
        try:
            with copy.connection(read_only=True):
                readable.append(copy)
        except WarehouseError as error:
            why = str(error).partition(". ")[0]
            unreadable.append(f"Nothing was removed from an old copy. {why}. Delete that file.")
    return readable, unreadable


def _forget_entries(done: Forgotten, settings: Settings) -> None:
    """Remove the video from the data folder's corpora, with the files that only it names."""
    corpora, video_id = settings.home_corpora, done.video_id
    # A person may have removed the entry and left its files.
    copied = (file for folder in (TRANSCRIPTS, RECORDINGS) for file in _files(corpora / folder))
    obsolete = [file for file in copied if file.stem == video_id]
    obsolete += filter(Path.exists, [corpora / GROUND_TRUTH_FOLDER / f"{video_id}.yaml"])
    done.add("files beside corpora", len(obsolete))
    listed = [entry for corpus in load_corpora([corpora]).corpora for entry in corpus.videos]
    files = {entry.file for entry in listed if entry.video.video_id == video_id}
    done.add("entries of corpora", len(files))
    for file in () if done.dry_run else files:
        freed = (path.resolve() for path in remove_video(file, video_id))
        obsolete += (path for path in freed if corpora.resolve() in path.parents)
    for file in () if done.dry_run else obsolete:
        file.unlink(missing_ok=True)
    entry = load_corpora([settings.project_corpora]).find(video_id)
    if entry is not None:
        done.remarks.append(
            f"{entry.file}, line {entry.line}, lists the video, and comes with the program. The "
            "video can be checked again until that entry is taken out."
        )


def _forget_answers(done: Forgotten, settings: Settings, traces: list[Erasure]) -> None:
    """Remove cached pages, searches and model answers."""
    addresses = {address for trace in traces for address in trace.addresses}
    requests = {request for trace in traces for request in trace.requests}
    sentences = {sentence for trace in traces for sentence in trace.sentences}
    if settings.cache.exists():
        cache = DiskCache(settings.cache, settings.cache_policy)
        about = {done.video_id} | addresses | requests | sentences
        removed = cache.forget_about(about, dry_run=done.dry_run)
        if not done.dry_run:
            cache.delete_former_files()
        for kind, count in (removed or {}).items():
            done.add(f"kept answers ({kind})", count)
        if removed is None:
            done.remarks.append(f"The cache in {settings.cache} could not be read. Delete it.")
    if settings.archive.exists():
        archive = Archive(settings.archive, canonicalise=canonical_url)
        done.add("stored pages", archive.remove(addresses, FETCHED, dry_run=done.dry_run))
    prompts = PromptFolder(settings.prompts)
    done.add("kept prompts", prompts.forget(requests, sentences, dry_run=done.dry_run))


def _forget_files(done: Forgotten, settings: Settings) -> None:
    """Remove the video's report, the files that name it, and its lines in the SQL history."""
    home, video_id = settings.home, done.video_id
    report, pages = settings.reports / report_name(video_id), settings.experiments.glob("*.html")
    places = {
        "reports": [report] if report.exists() else [],
        "exports": _naming(_files(home / "exports"), [video_id])[video_id],
        "experiments": _naming(pages, [video_id])[video_id],
    }
    for place, files in places.items():
        done.add(f"files of {place}", len(files))
        for file in () if done.dry_run else files:
            file.unlink(missing_ok=True)
    history, mention = home / ".sql_history", _mention_pattern(video_id)
    if history.exists():
        lines = history.read_text("utf-8", "replace").splitlines(keepends=True)
        kept = [line for line in lines if not mention.search(line)]
        done.add("lines of the SQL history", len(lines) - len(kept))
        if not done.dry_run and len(kept) < len(lines):
            write_whole(history, "".join(kept).encode(), mode=history.stat().st_mode)


def _mention_pattern(video_id: str) -> re.Pattern[str]:
    """Return a pattern that finds the id in a text; a common word such as claims finds nothing."""
    if _COMMON_WORD.fullmatch(video_id):
        return _MATCHES_NOTHING
    return re.compile(rf"(?<![A-Za-z0-9_-]){re.escape(video_id)}(?![A-Za-z0-9_-])")


def _files(folder: Path) -> Iterator[Path]:
    return (file for file in sorted(folder.rglob("*")) if file.is_file())


def _naming(files: Iterable[Path], video_ids: Sequence[str]) -> dict[str, list[Path]]:
    """Return, by video, the files that have its id as their name or in their content."""
    naming: dict[str, list[Path]] = {video_id: [] for video_id in video_ids}
    for file in files:
        mentioned = _mentioned(file, video_ids)
        for video_id in video_ids:
            # The export of one claim has the id of the claim behind that of the video.
            name = rf"{re.escape(file_stem(video_id))}(-c[0-9a-f]{{16}})?"
            if video_id in mentioned or re.fullmatch(name, file.stem):
                naming[video_id].append(file)
    return naming


def _mentioned(file: Path, video_ids: Sequence[str]) -> list[str]:
    """Return the ids that the content of a file names."""
    if file.suffix == ".parquet":
        parameters = {"file": str(file), "video_ids": video_ids}
        try:
            with duckdb.connect() as reader:
                rows = reader.execute(_SQL["videos_in_parquet"], parameters).fetchall()
        except duckdb.Error:  # a table without videos
            return []
        return [video_id for (video_id,) in rows]
    content = file.read_bytes()
    patterns = {video_id: _mention_pattern(video_id) for video_id in video_ids}
    if file.suffix in _DATABASES or "-wal" in file.suffix:
        searched = (
            video_id for video_id, pattern in patterns.items() if pattern is not _MATCHES_NOTHING
        )
        return [video_id for video_id in searched if video_id.encode() in content]
    text = content.decode("latin-1")
    return [video_id for video_id, pattern in patterns.items() if pattern.search(text)]


def _still_naming(video_ids: Sequence[str], settings: Settings) -> dict[str, list[Path]]:
    home = settings.home
    searched = (f for f in _files(home) if _NOT_SEARCHED.isdisjoint(f.relative_to(home).parts))
    return _naming(searched, video_ids)
