"""Public data sets as claims with given evidence, and the vote over it.

The sets: annotated claims with a recorded web (the published runs' pages, labelled by the majority
of those runs), AVeriTeC (Schlichtkrull et al., 2023; its questions and answers are the sources),
Climate-FEVER (Diggelmann et al., 2020) and VitaminC (Schuster et al., 2021; CC BY-SA 3.0), the last
in a fixed random order.

The vote's constants were fitted on all four sets (stages/verdict.py, stages/origins.py).
"""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import sqlite3
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from benchmarks.shared import DATA
from factible_assets.config import VerdictsConfig
from factible_assets.reasoners.embedded.embedder import Embedder, Vectors
from factible_assets.records.tables import Basis, Evidence, Rating, Stance
from factible_assets.services.ratings import rating_directory
from factible_assets.stages.origins import StoryIndex
from factible_assets.stages.ports import PageExcerpt
from factible_assets.stages.reliability import rate
from factible_assets.stages.urls import host_of
from factible_assets.stages.verdict import decide, tally

CORPORA = Path(__file__).resolve().parents[1] / "corpora"
SAME_CLAIM = 0.7
"""The cosine at which an extracted claim counts as an annotated one."""

_STANCES: dict[str, Stance] = {
    "SUPPORTS": "supports",
    "REFUTES": "refutes",
    "NOT_ENOUGH_INFO": "unclear",
    "NOT ENOUGH INFO": "unclear",
    "DISPUTED": "mixed",
    "Supported": "supports",
    "Refuted": "refutes",
    "Not Enough Evidence": "unclear",
    "Conflicting Evidence/Cherrypicking": "mixed",
}

Said = tuple[Stance, float, str | None] | None
"""The stance of a source with confidence and reason; None if it does not mention the claim."""


class Remembering:
    """An embedder that keeps the vectors of all texts in the temporary folder."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.name = embedder.name
        self._turn = threading.Lock()
        folder = Path(tempfile.gettempdir()) / "factible-benchmarks"
        folder.mkdir(exist_ok=True)
        file = folder / f"{self.name}.sqlite"
        self._file = sqlite3.connect(file, timeout=60, check_same_thread=False)
        self._file.execute("CREATE TABLE IF NOT EXISTS kept (text BLOB PRIMARY KEY, vector BLOB)")

    @cached_property
    def _known(self) -> dict[bytes, bytes]:
        return dict(self._file.execute("SELECT text, vector FROM kept"))

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, using threads."""
        with self._turn:
            return self._embed(texts)

    def _embed(self, texts: Sequence[str]) -> Vectors:
        keys = [hashlib.sha1(text.encode(), usedforsecurity=False).digest()[:12] for text in texts]
        missing = {
            key: text for key, text in zip(keys, texts, strict=True) if key not in self._known
        }
        if missing:
            vectors = self._embedder.embed(list(missing.values()))
            rows = [
                (key, vector.astype(np.float32).tobytes())
                for key, vector in zip(missing, vectors, strict=True)
            ]
            self._known.update(rows)
            self._file.executemany("INSERT OR IGNORE INTO kept VALUES (?, ?)", rows)
            self._file.commit()
        return np.stack([np.frombuffer(self._known[key], np.float32) for key in keys])


# --- The data -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GivenClaim:
    """A claim with its label, and its sources with their labels (None if unlabelled)."""

    name: str
    text: str
    label: Stance
    sources: tuple[PageExcerpt, ...]
    ratings: tuple[Rating, ...]
    source_labels: tuple[Stance | None, ...]
    said_by: str = ""
    """The speaker and the venue of the claim, if the set names them."""


def climate_claims() -> Iterator[GivenClaim]:
    """Read Climate-FEVER: five sentences of Wikipedia per claim."""
    with (DATA / "climate_fever" / "dev.jsonl").open(encoding="utf-8") as file:
        for row in map(json.loads, file):
            found = row["evidences"]
            yield GivenClaim(
                name=row["claim_id"],
                text=row["claim"],
                label=_STANCES[row["claim_label"]],
                sources=tuple(
                    _excerpt(f"{row['claim_id']}/{number}", each["article"], each["evidence"])
                    for number, each in enumerate(found)
                ),
                ratings=_alike(len(found)),
                source_labels=tuple(_STANCES[each["evidence_label"]] for each in found),
            )


def averitec_claims() -> Iterator[GivenClaim]:
    """Read AVeriTeC: each question with its answers is one source."""
    rows = json.loads((DATA / "averitec" / "dev_even.json").read_text(encoding="utf-8"))
    for number, row in enumerate(rows):
        sources = tuple(
            _excerpt(f"{number}/{place}", "", _question_and_answers(each))
            for place, each in enumerate(row["questions"])
        )
        yield GivenClaim(
            name=str(number),
            text=row["claim"],
            label=_STANCES[row["label"]],
            sources=sources,
            ratings=_alike(len(sources)),
            source_labels=(None,) * len(sources),
            said_by=" ".join(filter(None, (row["speaker"], row["reporting_source"]))),
        )


def _question_and_answers(question: Any) -> str:
    told = [
        f"{answer['answer'].strip().rstrip('.')}. {answer.get('boolean_explanation') or ''}"
        for answer in question["answers"]
    ]
    return " ".join([f"{question['question'].strip().rstrip('?')}?", *told]).strip()


def _alike(count: int) -> tuple[Rating, ...]:
    return tuple("medium" for _ in range(count))


def _excerpt(place: str, title: str, text: str) -> PageExcerpt:
    return PageExcerpt(f"https://given.example/{place}", title, "", text)


def vitaminc_claims() -> list[GivenClaim]:
    """Read VitaminC in a fixed random order; its one sentence has the claim's label."""
    rows = []
    for name in ("real_even", "synthetic_even"):
        with gzip.open(DATA / "vitaminc" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
            rows += [json.loads(line) for line in file]
    random.Random(0).shuffle(rows)  # noqa: S311 - draws a sample, guards nothing
    return [
        GivenClaim(
            name=f"{number}",
            text=row["claim"],
            label=_STANCES[row["label"]],
            sources=(_excerpt(f"vitaminc/{number}", row["page"], row["evidence"]),),
            ratings=("medium",),
            source_labels=(_STANCES[row["label"]],),
        )
        for number, row in enumerate(rows)
    ]


def recorded_claims(embedder: Embedder) -> list[GivenClaim]:
    """Give each annotated claim the sources of the nearest extracted claims.

    If a page was not recorded, the search result's excerpt stands in, as in the pipeline. The label
    of a source is the majority of the published runs.
    """
    directory = rating_directory([CORPORA / "domain_ratings.yaml"])
    texts: dict[str, str] = {}
    with (DATA / "recorded_web" / "pages.jsonl").open(encoding="utf-8") as file:
        for row in map(json.loads, file):
            if isinstance(row["url"], str):
                texts.setdefault(row["url"], row["text"])
    readings = _published_readings()
    found = []
    for path in sorted((DATA / "factible" / "ground_truth").glob("*.yaml")):
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        video_id = document["video_id"]
        gold = {
            claim["claim_text"]: claim["verdict"]["overall_stance"].lower()
            for claim in document["claims"]
            if claim.get("verdict")
        }
        own = [(claim, source) for video, claim, source in readings if video == video_id]
        extracted, annotated = sorted({claim for claim, _ in own}), list(gold)
        if not extracted or not annotated:
            continue
        near = embedder.embed(extracted) @ embedder.embed(annotated).T
        for place, text in enumerate(annotated):
            same = {
                claim
                for claim, row in zip(extracted, near, strict=True)
                if row[place] > SAME_CLAIM and int(row.argmax()) == place
            }
            sources = {source["url"]: source for claim, source in own if claim in same}
            if not sources:
                continue
            read: dict[str, Counter[Stance]] = {}
            for claim, source in own:
                if claim in same and not source["failed"]:
                    read.setdefault(source["url"], Counter())[source["stance"]] += 1
            found.append(
                GivenClaim(
                    name=video_id,
                    text=text,
                    label=gold[text],
                    sources=tuple(
                        PageExcerpt(
                            url, each["title"], each["snippet"], texts.get(url, each["snippet"])
                        )
                        for url, each in sources.items()
                    ),
                    ratings=tuple(
                        rate(video_id, host_of(url), directory).rating for url in sources
                    ),
                    source_labels=tuple(
                        read[url].most_common(1)[0][0] if url in read else None for url in sources
                    ),
                )
            )
    return found


def _published_readings() -> list[tuple[str, str, dict[str, Any]]]:
    """Read every (video, claim, source) of the published runs.

    A failed call left the snippet as summary and the stance "unclear".
    """
    found = []
    for path in sorted((DATA / "factible" / "runs").glob("*/*/outputs.json")):
        output = json.loads(path.read_text(encoding="utf-8")).get("final_output")
        for report in output["claim_reports"] if output else ():
            for side, sources in report["evidence_by_stance"].items():
                for source in sources:
                    snippet = source.get("snippet") or ""  # some rows have none, nor a summary
                    told = {
                        "url": source["url"],
                        "title": source.get("title") or "",
                        "snippet": snippet,
                        "stance": side,
                        "failed": (source.get("evidence_summary") or "").strip() == snippet.strip(),
                    }
                    found.append(
                        (output["transcript_data"]["video_id"], report["claim_text"], told)
                    )
    return found


def vote(claim: GivenClaim, said: Sequence[Said], basis: Basis) -> tuple[Stance, float]:
    """Return stance and confidence of the vote over a claim's sources."""
    rows = [
        Evidence(
            evidence_id=f"e{number}",
            claim_id=claim.name,
            video_id="given",
            hit_id=f"h{number}",
            query_id="given",
            canonical_url=source.canonical_url,
            domain=host_of(source.canonical_url),
            title=source.title,
            status="ok",
            stance=each[0],
            stance_confidence=each[1],
            ground=each[2],
            relevance=0.0,
            rating=rating,
            rating_score=0.0,
            content_hash=source.canonical_url,
            basis=basis,
        )
        for number, (source, rating, each) in enumerate(
            zip(claim.sources, claim.ratings, said, strict=True)
        )
        if each is not None
    ]
    stories = StoryIndex({each.canonical_url: each.text for each in claim.sources})
    found = decide(tally(rows, stories), VerdictsConfig(), basis)
    return found.stance, found.score
