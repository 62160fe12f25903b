"""Turns claims without a video into a corpus, and reads such claims from a table.

The columns of a table, in any order and case: `claim` (required), `date` (2026-01-31, the date
limit of the evidence), `label` (of any scale in scales.py), `speaker`, `language` and `id`. The
reader ignores other columns.

Each claim becomes one entry. The claim is its whole transcript and its given claim, so factible
checks it word for word. The date of the claim is the entry's date limit, because a later page may
be the fact-check itself (a temporal leak: AVeriTeC, arXiv:2305.13117). Claims grouped by speaker
would share one date limit.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, TypeAlias

from pydantic import ValidationError

from factible_assets.corpora.format import ClaimEntry, CorpusFile, VideoEntry
from factible_assets.records.scales import stance_of_claim_review
from factible_assets.stages.ids import normalise_text
from factible_assets.wording import plain
from resources.text_files import FileProblem, PlacedError, problem_words, quoted

COLUMNS: Final = ("claim", "date", "label", "speaker", "language", "id")
_KEY_DIGITS: Final = 12
_MAX_KEY: Final = 40
_TITLE_CHARACTERS: Final = 120
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class AnnotatedClaim:
    """One claim of a data set with its annotations.

    `key` is the data set's own id; without one, the id is a hash of claim, speaker and date.
    `channel` is the publisher of the claim.
    """

    claim: ClaimEntry
    line: int | None = None
    key: str | None = None
    language: str | None = None
    channel: str | None = None
    tags: tuple[str, ...] = ()


ClaimsAndProblems: TypeAlias = Iterator[AnnotatedClaim | FileProblem]
"""The claims and problems of a file, in file order."""


def corpus_of_claims(
    name: str, claims: Iterable[AnnotatedClaim], file: Path, *, web: str, limit: int | None = None
) -> tuple[CorpusFile, dict[str, bytes], list[FileProblem]]:
    """Turn claims into a corpus with one entry per claim.

    Returns the corpus, its transcripts by file name, and the problems. Ids start with the corpus
    name. `file` appears in the problems.
    """
    entries: dict[str, VideoEntry] = {}
    first: dict[str, AnnotatedClaim] = {}
    transcripts: dict[str, bytes] = {}
    problems: list[FileProblem] = []
    for annotated in claims:
        if limit is not None and len(entries) >= limit:
            break
        claim, video_id = annotated.claim, f"{name}.{_key(annotated)}"
        if first.setdefault(video_id, annotated) is not annotated:
            sentence = _repeated(annotated, first[video_id])
            problems.append(FileProblem(file, annotated.line, sentence))
            continue
        transcript = f"{name}/{video_id}.json"
        try:
            entries[video_id] = VideoEntry(
                id=video_id,
                title=plain(claim.text, _TITLE_CHARACTERS),
                channel=annotated.channel,
                language=annotated.language,
                tags=annotated.tags,
                published_on=claim.said_on,
                published_before=claim.said_on,
                transcript=transcript,
                claims=(claim,),
                claims_are_given=True,
            )
        except ValidationError as error:
            words = problem_words(error.errors(include_url=False)[0], VideoEntry)
            problems.append(FileProblem(file, annotated.line, f"{quoted(claim.text)}: {words}"))
            continue
        transcripts[transcript] = json.dumps({"text": claim.text}, ensure_ascii=False).encode()
    corpus = CorpusFile(corpus=name, web=web, videos=tuple(entries.values()))
    return corpus, transcripts, problems


def _key(annotated: AnnotatedClaim) -> str:
    """Return the data set's id of a claim if a file name can hold it, otherwise a hash."""
    claim, key = annotated.claim, annotated.key or ""
    if key and key == _UNSAFE.sub("-", key)[:_MAX_KEY].strip("-"):
        return key
    said_on = claim.said_on.isoformat() if claim.said_on else ""
    data = "\x1f".join((key, normalise_text(claim.text), claim.speaker or "", said_on))
    return hashlib.sha256(data.encode()).hexdigest()[:_KEY_DIGITS]


def _repeated(second: AnnotatedClaim, first: AnnotatedClaim) -> str:
    where = f" on line {first.line}" if first.line else " before"
    claim = f"The claim {second.claim.text[:60]!r}"
    if second.claim.text == first.claim.text:
        return f"{claim} stands{where} too. Remove one of the two."
    return f"{claim} has the id {second.key} of another,{where}. Give each an id of its own."


# --- A list of claims as a table ------------------------------------------------------------------


def read_claim_list(text: str, file: Path) -> ClaimsAndProblems:
    """Read a table of claims and problems. Raises PlacedError if there is no column `claim`."""
    delimiter = max((",", ";", "\t"), key=text.partition("\n")[0].count)
    reader = csv.DictReader(io.StringIO(text), delimiter=delimiter, strict=True)
    header: list[str] = []
    with suppress(csv.Error):  # a first line that cannot be read names no column
        header = [name.strip().casefold() for name in reader.fieldnames or ()]
    if "claim" not in header:
        raise PlacedError(
            f"There is no column claim, but {', '.join(filter(None, header)) or 'nothing'}. Name "
            "the column of the claims so in the first line.",
            1,
        )
    for column in COLUMNS:
        if header.count(column) > 1:
            raise PlacedError(f"There are two columns {column}. Rename one in the first line.", 1)
    reader.fieldnames = header
    while True:
        before = reader.line_num
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            words = f"This row cannot be read ({error})."
            remedy = "Close its quotation marks, and write those inside a text twice."
            yield FileProblem(file, before + 1, f"{words} {remedy}")
            continue
        line = reader.line_num
        if None in row:  # where DictReader keeps the cells that no column names
            words = f"This row has more cells than the {len(header)} columns of the first line."
            remedy = f"Put text that contains {delimiter!r} in quotation marks."
            yield FileProblem(file, line, f"{words} {remedy}")
            continue
        cells = {column: (row.get(column) or "").strip() or None for column in COLUMNS}
        if cells["claim"] is None:
            sentence = "There is no claim in this row. Word it, or take the row out."
            yield FileProblem(file, line, sentence)
            continue
        try:
            moment = datetime.fromisoformat(cells["date"]) if cells["date"] else None
        except ValueError:
            sentence = f"The date is {cells['date']!r}. Write it as 2026-01-31, or leave it out."
            yield FileProblem(file, line, sentence)
            continue
        entry = ClaimEntry(
            text=cells["claim"],
            said_on=moment.date() if moment else None,
            label=cells["label"],
            stance=stance_of_claim_review(cells["label"]),
            speaker=cells["speaker"],
        )
        yield AnnotatedClaim(entry, line, cells["id"], cells["language"])
