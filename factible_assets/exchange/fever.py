"""Reads and writes FEVER-style JSON Lines: one claim per line, with a label and its passages.

FEVER (Thorne et al. 2018, arXiv:1803.05355) has id, claim, label and evidence, a list of sets of
[annotation, evidence, page, sentence]. Climate-FEVER (Diggelmann et al. 2020, arXiv:2012.00614) has
claim_id, claim, claim_label and evidences, each with article, evidence (the sentence), evidence_id
and evidence_label. Import and export keep ids, claims, labels, pages, sentence numbers, texts and
labels of passages. They drop votes, entropies, annotation numbers, `verifiable` (it follows from
the label), and the grouping of FEVER's sentences into sets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field

from factible_assets.corpora.format import ClaimEntry, PassageEntry
from factible_assets.corpora.reading import CorpusVideo
from factible_assets.exchange.claims import AnnotatedClaim, ClaimsAndProblems
from factible_assets.exchange.json_items import DataSetModel, items_of_lines, validated
from factible_assets.records.scales import FEVER, stance_of
from factible_assets.records.stances import SIDES, STANCES
from factible_assets.records.tables import Stance
from resources.text_files import FileProblem

_INTEGER: Final = re.compile(r"0|[1-9][0-9]{0,14}")
_PAGE, _SENTENCE = 2, 3

Pointer = list[int | float | str | None]
"""One sentence of FEVER's evidence: annotation, evidence, page, sentence."""


def _known(label: str | None) -> str | None:
    if label is not None:
        stance_of(label, FEVER)
    return label


Label = Annotated[str | None, AfterValidator(_known)]
Claimed = Annotated[str, Field(min_length=1, pattern=r"\S")]


class _Passage(DataSetModel):
    place: str | None = Field(None, alias="evidence_id")
    label: Label = Field(None, alias="evidence_label")
    source: str = Field(alias="article", min_length=1)
    text: str | None = Field(None, alias="evidence")


class _Fever(DataSetModel):
    key: int | str | None = Field(None, alias="id")
    claim: Claimed
    label: Label = None
    evidence: tuple[tuple[Pointer, ...], ...] = ()

    def passages(self) -> list[PassageEntry]:
        stance = stance_of(self.label, FEVER) if self.label else None
        # A pointer without a page belongs to a claim without evidence.
        pointers = [
            (str(line[_PAGE]), line[_SENTENCE] if len(line) > _SENTENCE else None)
            for group in self.evidence
            for line in group
            if len(line) > _PAGE and line[_PAGE] not in {None, ""}
        ]
        return [
            PassageEntry(
                source=page,
                place=None if sentence is None else str(sentence),
                stance=stance if stance in SIDES else None,
            )
            for page, sentence in dict.fromkeys(pointers)
        ]


class _ClimateFever(DataSetModel):
    key: int | str | None = Field(None, alias="claim_id")
    claim: Claimed
    label: Label = Field(None, alias="claim_label")
    evidences: tuple[_Passage, ...] = ()

    def passages(self) -> list[PassageEntry]:
        return [
            PassageEntry(
                source=group.source,
                text=group.text,
                place=group.place,
                stance=stance_of(group.label, FEVER) if group.label else None,
            )
            for group in self.evidences
        ]


def read_fever(lines: Iterable[bytes], file: Path) -> ClaimsAndProblems:
    """Read JSON Lines in FEVER's or Climate-FEVER's form, recognised line by line.

    Unusable lines become problems. Raises PlacedError if the file is unreadable.
    """
    for item in items_of_lines(lines, file):
        if isinstance(item, FileProblem):
            yield item
            continue
        value = item.value
        is_climate = isinstance(value, dict) and ("claim_label" in value or "evidences" in value)
        model: type[_Fever | _ClimateFever] = _ClimateFever if is_climate else _Fever
        read = validated(model, item, file)
        if isinstance(read, list):
            yield from read
            continue
        claim = ClaimEntry(
            text=read.claim,
            stance=stance_of(read.label, FEVER) if read.label else None,
            label=read.label,
            passages=tuple(read.passages()),
        )
        key = None if read.key is None else str(read.key)
        yield AnnotatedClaim(claim, item.line, key, "en")


def write_fever(claims: Iterable[tuple[CorpusVideo, ClaimEntry]]) -> Iterator[str]:
    """Yield annotated claims as lines, in Climate-FEVER's form if passages have text, else FEVER's.

    A claim without a stance has no label, as in FEVER's test set.
    """
    for number, (listed, claim) in enumerate(claims):
        # Use the data set's own id if the entry's id contains it, else the position.
        _, dot, data_set_id = listed.video.video_id.rpartition(".")
        key = data_set_id if dot else str(number)
        if any(passage.text is not None for passage in claim.passages):
            values: dict[str, Any] = {"claim_id": key, "claim": claim.text}
            if claim.stance is not None:
                values["claim_label"] = _climate_label(claim.stance)
            values["evidences"] = [
                {
                    "evidence_id": passage.place,
                    "evidence_label": _climate_label(passage.stance) if passage.stance else None,
                    "article": passage.source,
                    "evidence": passage.text,
                }
                for passage in claim.passages
            ]
        else:
            evidence = [
                [[None, None, passage.source, _number(passage.place)]] for passage in claim.passages
            ]
            values = {"id": _number(key), "claim": claim.text}
            if claim.stance is not None:
                is_unclear = claim.stance == "unclear"
                values["verifiable"] = "NOT VERIFIABLE" if is_unclear else "VERIFIABLE"
                values["label"] = STANCES[claim.stance].fever
                evidence = evidence or [[[None, None, None, None]]]
            if evidence:
                values["evidence"] = evidence
        yield json.dumps(values, ensure_ascii=False) + "\n"


def _climate_label(stance: Stance) -> str:
    return STANCES[stance].fever.replace(" ", "_")  # Climate-FEVER writes NOT_ENOUGH_INFO


def _number(text: str | None) -> int | str | None:
    """Return a numeric id as a number if that loses nothing, as FEVER does."""
    return int(text) if text is not None and _INTEGER.fullmatch(text) else text
