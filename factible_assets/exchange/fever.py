"""FEVER-style JSON Lines: one claim per line, with a label and the passages that decide it.

What belongs here: FEVER's form and Climate-FEVER's, in both directions. What does not: the corpus
format.

Sources of the forms: FEVER (Thorne et al. 2018, arXiv:1803.05355): id, claim, label and evidence,
a list of sets of [annotation, evidence, page, sentence]. Climate-FEVER (Diggelmann et al. 2020,
arXiv:2012.00614): claim_id, claim, claim_label and evidences, each with article, evidence (the
sentence), evidence_id and evidence_label.

Carried both ways: ids, claims, labels, pages, sentence numbers, texts and labels of passages. Not
carried: votes, entropies, annotation numbers, `verifiable` (it follows from the label), and which
sentences of FEVER form a set that decides only together.
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
from factible_assets.exchange.claims import StatedClaim, StatedClaims
from factible_assets.exchange.json_items import Item, Loose, items_of_lines, validated
from factible_assets.methods.scales import CLIMATE_FEVER_UNKNOWN, FEVER, label_of, stance_of
from factible_assets.records import Stance
from resources.lines import FileProblem

_INTEGER: Final = re.compile(r"0|[1-9][0-9]{0,14}")
_PAGE: Final = 2
_SENTENCE: Final = 3

Pointer = list[int | float | str | None]
"""One sentence of FEVER's evidence: annotation, evidence, page, sentence."""


def _checked(label: str | None) -> str | None:
    if label is not None:
        stance_of(label, FEVER)
    return label


Label = Annotated[str | None, AfterValidator(_checked)]
Claimed = Annotated[str, Field(min_length=1, pattern=r"\S")]


class _Fever(Loose):
    id: int | str | None = None
    claim: Claimed
    label: Label = None
    evidence: tuple[tuple[Pointer, ...], ...] = ()


class _Passage(Loose):
    article: str = Field(min_length=1)
    evidence: str | None = None
    evidence_id: str | None = None
    evidence_label: Label = None


class _ClimateFever(Loose):
    claim_id: int | str | None = None
    claim: Claimed
    claim_label: Label = None
    evidences: tuple[_Passage, ...] = ()


def read_fever(lines: Iterable[bytes], file: Path) -> StatedClaims:
    """Read JSON Lines in FEVER's or Climate-FEVER's form, told apart line by line.

    Never raises for what the lines say: what cannot be used is a problem with its line.

    Raises:
        PlacedError: the lines cannot be read from the file.
    """
    claims: list[StatedClaim] = []
    problems: list[FileProblem] = []
    for item in items_of_lines(lines, file):
        if isinstance(item, FileProblem):
            problems.append(item)
            continue
        stated, found = _stated(item, file)
        problems.extend(found)
        if stated is not None:
            claims.append(stated)
    return StatedClaims(tuple(claims), tuple(problems))


def write_fever(claims: Iterable[tuple[CorpusVideo, ClaimEntry]]) -> Iterator[str]:
    """Yield annotated claims as lines: Climate-FEVER's form where passages have text, else FEVER's.

    A claim without a stance has no label, as in FEVER's test set.
    """
    for number, (listed, claim) in enumerate(claims):
        has_text = any(passage.text is not None for passage in claim.passages)
        key = _key(listed, number)
        values = _as_climate_fever(key, claim) if has_text else _as_fever(key, claim)
        yield json.dumps(values, ensure_ascii=False) + "\n"


def _stated(item: Item, file: Path) -> tuple[StatedClaim | None, list[FileProblem]]:
    value = item.value
    is_climate = isinstance(value, dict) and ("claim_label" in value or "evidences" in value)
    if is_climate:
        climate, problems = validated(_ClimateFever, item, file)
        return (_from_climate_fever(climate, item) if climate else None), problems
    fever, problems = validated(_Fever, item, file)
    return (_from_fever(fever, item) if fever else None), problems


def _from_fever(given: _Fever, item: Item) -> StatedClaim:
    stance = stance_of(given.label, FEVER) if given.label else None
    # A pointer without a page belongs to a claim on which nothing was found.
    pointers = [
        (str(each[_PAGE]), each[_SENTENCE] if len(each) > _SENTENCE else None)
        for group in given.evidence
        for each in group
        if len(each) > _PAGE and each[_PAGE] not in {None, ""}
    ]
    passages = tuple(
        PassageEntry(
            source=page,
            place=None if sentence is None else str(sentence),
            stance=stance if stance in {"supports", "refutes"} else None,
        )
        for page, sentence in dict.fromkeys(pointers)
    )
    return _claim(given.claim, given.label, stance, passages, given.id, item)


def _from_climate_fever(given: _ClimateFever, item: Item) -> StatedClaim:
    passages = tuple(
        PassageEntry(
            source=each.article,
            text=each.evidence,
            place=each.evidence_id,
            stance=stance_of(each.evidence_label, FEVER) if each.evidence_label else None,
        )
        for each in given.evidences
    )
    label = given.claim_label
    stance = stance_of(label, FEVER) if label else None
    return _claim(given.claim, label, stance, passages, given.claim_id, item)


def _claim(
    text: str,
    label: str | None,
    stance: Stance | None,
    passages: tuple[PassageEntry, ...],
    key: int | str | None,
    item: Item,
) -> StatedClaim:
    claim = ClaimEntry(text=text, stance=stance, label=label, passages=passages)
    return StatedClaim(claim, line=item.line, key=None if key is None else str(key), language="en")


def _key(listed: CorpusVideo, number: int) -> str:
    """Return the data set's own id where the entry's id carries it, else the position."""
    _, dot, key = listed.video.video_id.rpartition(".")
    return key if dot else str(number)


def _as_fever(key: str, claim: ClaimEntry) -> dict[str, Any]:
    label = label_of(claim.stance, FEVER) if claim.stance else None
    evidence = [[[None, None, each.source, _number(each.place)]] for each in claim.passages]
    values: dict[str, Any] = {"id": _number(key), "claim": claim.text}
    if label is not None:
        values["verifiable"] = "NOT VERIFIABLE" if claim.stance == "unclear" else "VERIFIABLE"
        values["label"] = label
        values["evidence"] = evidence or [[[None, None, None, None]]]
    elif evidence:
        values["evidence"] = evidence
    return values


def _as_climate_fever(key: str, claim: ClaimEntry) -> dict[str, Any]:
    values: dict[str, Any] = {"claim_id": key, "claim": claim.text}
    if claim.stance is not None:
        values["claim_label"] = _climate_label(claim.stance)
    values["evidences"] = [
        {
            "evidence_id": each.place,
            "evidence_label": _climate_label(each.stance) if each.stance else None,
            "article": each.source,
            "evidence": each.text,
        }
        for each in claim.passages
    ]
    return values


def _climate_label(stance: Stance) -> str:
    return CLIMATE_FEVER_UNKNOWN if stance == "unclear" else label_of(stance, FEVER)


def _number(text: str | None) -> int | str | None:
    """Write a number as such where that loses nothing, as FEVER does."""
    return int(text) if text is not None and _INTEGER.fullmatch(text) else text
