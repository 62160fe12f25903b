"""Recognises the format of a path and imports it as a corpus."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn, get_args

from factible_assets.corpora.format import CorpusError, CorpusFile
from factible_assets.corpora.published import read_published
from factible_assets.corpora.reading import SUFFIXES, CorporaReading, load_corpus
from factible_assets.corpora.writing import WrittenCorpus, write_corpus
from factible_assets.exchange import ImportFormat
from factible_assets.exchange.averitec import read_averitec
from factible_assets.exchange.claim_review_import import read_claim_reviews
from factible_assets.exchange.claims import (
    AnnotatedClaim,
    ClaimsAndProblems,
    corpus_of_claims,
    read_claim_list,
)
from factible_assets.exchange.fever import read_fever
from factible_assets.exchange.json_items import MAX_BYTES, read_lines
from resources.text_files import FileProblem, PlacedError, read_text

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,60}")
_HEAD_BYTES: Final = 64 * 1024
_MAX_TOLD: Final = 20
_READERS: Final[Mapping[ImportFormat, Callable[[str, Path], ClaimsAndProblems]]] = {
    "averitec": read_averitec,
    "claimreview": read_claim_reviews,
    "csv": read_claim_list,
}
_OF_VIDEOS: Final[Mapping[ImportFormat, str]] = {
    "corpus": "a corpus file",
    "published": "a folder of published runs",
}


def import_corpus(
    path: Path,
    destination: Path,
    *,
    form: ImportFormat = "auto",
    name: str | None = None,
    web: str | None = None,
    limit: int | None = None,
    replace: bool = False,
    listing: CorporaReading | None = None,
) -> WrittenCorpus:
    """Import a file or a published folder: write a corpus file and its transcripts.

    The corpus gets the name of `path` unless another is given. `web` is where checks look for
    evidence; the default is the archive for published runs and auto for everything else. `listing`
    fills in details that the path lacks. `limit` applies only to data sets of claims.

    Raises CorpusError if nothing can be imported, with file, line and remedy.
    """
    form = detect(path) if form == "auto" else form
    corpus_name = _name(name, path)
    known = listing.corpus(corpus_name) if listing else None
    if known and not known.on_demand and known.file.parent.resolve() != destination.resolve():
        raise CorpusError(
            f"{known.file}: there is a corpus {corpus_name!r} already. Give another name "
            "(--name on the command line)."
        )
    if limit is not None and form in _OF_VIDEOS:
        raise CorpusError(
            f"{path}: a limit counts the claims of a list, and {_OF_VIDEOS[form]} lists "
            "videos with all of theirs. Leave the limit out."
        )
    if form == "published":
        content = read_published(path, corpus_name, web or "archive", listing)
        return write_corpus(destination, *content, replace=replace)
    if path.is_dir():
        raise CorpusError(f"{path}: this is a folder, and {form} is a file. Give the file.")
    if form == "corpus":
        if path.resolve().parent == destination.resolve() and not replace:
            raise CorpusError(
                f"{path} is listed already: it lies in the folder of your corpora. Edit "
                "it there; nothing is to be imported."
            )
        copy = _read_listing(path, corpus_name if name else None, web)
        return write_corpus(destination, *copy, replace=replace)
    try:
        if form == "fever":
            items = list(read_fever(read_lines(path), path))
        else:
            items = list(_READERS[form](read_text(path, MAX_BYTES), path))
    except PlacedError as error:
        raise CorpusError(str(error.at(path))) from error
    claims = [item for item in items if isinstance(item, AnnotatedClaim)]
    corpus, transcripts, unused = corpus_of_claims(
        corpus_name, claims, path, web=web or "auto", limit=limit
    )
    problems = [*(item for item in items if isinstance(item, FileProblem)), *unused]
    more = len(problems) - _MAX_TOLD
    if not corpus.videos:
        _refuse(path, problems)
    # A large file may have a million problems.
    left_out = [str(problem) for problem in problems[:_MAX_TOLD]]
    left_out += [f"{more:,} more problems like these."] if more > 0 else []
    return write_corpus(destination, corpus, transcripts, left_out, replace=replace)


def detect(path: Path) -> ImportFormat:
    """Recognise the format of a path. Raises CorpusError if it is unknown."""
    if path.is_dir():
        return "published"
    try:
        with path.open("rb") as stream:
            head = stream.read(_HEAD_BYTES).decode("utf-8-sig", "ignore").lstrip()
    except OSError as error:
        raise CorpusError(
            f"{path} cannot be read ({error.strerror}). Check the path and its rights."
        ) from error
    by_name: dict[str, ImportFormat] = {
        **dict.fromkeys(SUFFIXES, "corpus"),
        **dict.fromkeys((".csv", ".tsv"), "csv"),
        **dict.fromkeys((".jsonl", ".ndjson"), "fever"),
    }
    if path.suffix in by_name:
        return by_name[path.suffix]
    if "ClaimReview" in head or "schema.org" in head:
        return "claimreview"
    if head.startswith("["):
        return "averitec"
    first_line = head.partition("\n")[0].rstrip()
    if first_line.startswith("{") and first_line.endswith("}") and '"claim"' in first_line:
        return "fever"
    raise CorpusError(
        f"{path}: the beginning of this file has no known format. Set the format (--format on the "
        f"command line): {', '.join(get_args(ImportFormat)[1:])}."
    )


def _name(name: str | None, path: Path) -> str:
    if name is not None:
        if not _NAME.fullmatch(name):
            raise CorpusError(
                f"The name {name!r} cannot be used. Write it in letters, digits, hyphens and "
                "underscores, at most 60."
            )
        return name
    return re.sub(r"[^A-Za-z0-9_-]+", "-", path.resolve().stem)[:60].strip("-") or "imported"


def _refuse(path: Path, problems: Sequence[FileProblem]) -> NoReturn:
    if not problems:
        raise CorpusError(f"{path}: there is no claim in this file. Give one that has some.")
    more = f" There are {len(problems) - 1:,} more." if len(problems) > 1 else ""
    raise CorpusError(f"{problems[0]}{more} Nothing was imported.")


# --- A corpus of this project's own form ---------------------------------------------------------


def _read_listing(
    path: Path, name: str | None, web: str | None
) -> tuple[CorpusFile, dict[str, Path], list[str]]:
    """Return a corpus file, and its transcripts and recordings by their new names.

    The import lists its on-demand videos permanently and includes ground truth from other files.
    """
    reading = load_corpus(path)
    if reading.problems or not reading.corpora:
        nothing = FileProblem(path, 1, "This is no corpus. Begin it with videos: and a list.")
        _refuse(path, reading.problems or (nothing,))
    corpus = reading.corpora[0]
    name = _name(name or corpus.name, path)
    files: dict[str, Path] = {}
    entries = []
    for listed in corpus.videos:
        changes: dict[str, Any] = {"claims": listed.claims, "ground_truth": None}
        for key, file in (("transcript", listed.transcript), ("media", listed.media)):
            if file is None:
                continue
            try:
                file.open("rb").close()
            except OSError as error:
                raise CorpusError(
                    f"{file} cannot be read ({error.strerror}). Check its rights."
                ) from error
            changes[key] = f"{name}/{listed.video.video_id}{file.suffix.lower()}"
            files[changes[key]] = file
        entries.append(listed.entry.model_copy(update=changes))
    copy = CorpusFile(
        corpus=name, description=corpus.description, web=web or corpus.web, videos=tuple(entries)
    )
    return copy, files, []
