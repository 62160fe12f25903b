"""What each rule by which pages are read is worth, on claims with given evidence.

What belongs here: the data sets as claims with sources, the vote over what sources say, and the
ablation: every rule of `reading/` taken away in turn. What does not: the page of figures
(quality.py). Run: `python -m benchmarks.evidence`; a first run embeds for some minutes, later ones
find the vectors in the temporary folder.

The sets: annotated claims with a recorded web (the published runs' pages, also labelled page by
page with what most of those runs read there), AVeriTeC (Schlichtkrull et al., 2023; the annotators'
questions and answers are the sources), Climate-FEVER (Diggelmann et al., 2020) and VitaminC
(Schuster et al., 2021; CC BY-SA 3.0), the last two sampled with a fixed seed.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import re
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np
import yaml

from benchmarks.shared import DATA
from factible_assets.config import VerdictsConfig
from factible_assets.reasoners.embedded import lexicon, page_text
from factible_assets.reasoners.embedded.embedder import Embedder, OnnxEmbedder, Vectors
from factible_assets.reasoners.embedded.reading import (
    denials,
    passages,
    quantities,
    stance,
    statements,
)
from factible_assets.reasoners.embedded.reading import evidence as pages
from factible_assets.reasoners.embedded.reading.passages import Selection, select_passages
from factible_assets.reasoners.embedded.reading.stance import StatementsAndTone
from factible_assets.records import Evidence, Rating, Stance
from factible_assets.services.ratings import rating_directory
from factible_assets.stages.origins import StoryIndex
from factible_assets.stages.ports import PageExcerpt
from factible_assets.stages.reliability import rate
from factible_assets.stages.urls import host_of
from factible_assets.stages.verdict import decide, tally

CORPORA = Path(__file__).resolve().parents[1] / "corpora"
SAME_CLAIM = 0.7
"""Cosine from which an extracted claim is taken for an annotated one."""
SAMPLE = 250
"""Sources of Climate-FEVER and of VitaminC each that the ablation reads. Of the annotated claims it
reads every second one."""

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
"""What a source was held to say, how surely and why; None if it does not speak of the claim."""


class Remembering:
    """An embedder that embeds every text once and keeps the vectors in the temporary folder."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.name = embedder.name
        folder = Path(tempfile.gettempdir()) / "factible-benchmarks"
        folder.mkdir(exist_ok=True)
        file = folder / f"{self.name}.sqlite"
        self._file = sqlite3.connect(file, timeout=60, check_same_thread=False)
        self._file.execute("CREATE TABLE IF NOT EXISTS kept (text BLOB PRIMARY KEY, vector BLOB)")

    @cached_property
    def _known(self) -> dict[bytes, bytes]:
        return dict(self._file.execute("SELECT text, vector FROM kept"))

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text."""
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
    """A claim with its label, and the sources that are given for it with theirs, None if none."""

    name: str
    text: str
    label: Stance
    sources: tuple[PageExcerpt, ...]
    ratings: tuple[Rating, ...]
    source_labels: tuple[Stance | None, ...]


def climate_claims() -> Iterator[GivenClaim]:
    """Read Climate-FEVER: five sentences of Wikipedia for each claim."""
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
    """Give each annotated claim the sources of the extracted claims that are nearest to it.

    A page that was not recorded is its search result's excerpt, as in the pipeline. A source's
    label is what most of the published runs that read it said of it.
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

    A failed call left the snippet as its summary and the stance "unclear".
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


def vote(claim: GivenClaim, said: Sequence[Said]) -> tuple[Stance, float]:
    """Return the stance of the vote over what a claim's sources say, and its confidence."""
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
            basis="embedded",
        )
        for number, (source, rating, each) in enumerate(
            zip(claim.sources, claim.ratings, said, strict=True)
        )
        if each is not None
    ]
    stories = StoryIndex({each.canonical_url: each.text for each in claim.sources})
    found = decide(tally(rows, stories), VerdictsConfig(), "embedded")
    return found.stance, found.score


# --- The ablation -------------------------------------------------------------------------------

NEVER = re.compile(r"(?!)")


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule, as what takes it away.

    `words` are fields of the lexicon with what takes their place, `parts` attributes of modules (or
    classes), `grounds` the decisions that are not heard. `of_passages` tells that passages are
    chosen anew without it.
    """

    name: str
    words: dict[str, Any] = field(default_factory=dict)
    parts: tuple[tuple[Any, str, Any], ...] = ()
    grounds: frozenset[str] = frozenset()
    of_passages: bool = False


def _never(name: str, *fields: str) -> Rule:
    return Rule(name, dict.fromkeys(fields, NEVER))


def _without_part(name: str, place: Any, attribute: str, instead: Any) -> Rule:
    return Rule(name, parts=((place, attribute, instead),))


def _no(*_: object) -> bool:
    return False


def _yes(*_: object) -> bool:
    return True


def _none(*_: object, **__: object) -> int:
    return -1


def _itself(claim: statements.ClaimWords, _: object) -> statements.ClaimWords:
    return claim


_with_subject = statements._with_subject


def _unnamed(claim: statements.ClaimWords, statement: statements.Statement, _: object) -> str:
    return _with_subject(claim, statement, frozenset())


def _nothing(*_: object) -> None:
    return None


def _all(*_: object) -> int:
    return sys.maxsize


RULES: tuple[Rule, ...] = (
    *(
        Rule(f"ground: {each}", grounds=frozenset({each}))
        for each in ("assertion", "denial", "number", "opposite", "divided")
    ),
    _without_part("ground: another", statements, "_other_role", lambda *_: None),
    _without_part("ground: tone", StatementsAndTone, "_leaning", lambda *_: -1.0),
    _without_part("tone against what denies", stance, "LEAST_AGAINST", 9.0),
    _never("negations", "negations"),
    _never("phrases that deny what follows", "denies_what_follows"),
    _never("phrases that deny what precedes", "denies_what_precedes"),
    _never("phrases that only look like denials", "not_denials"),
    _without_part("what denies a part only", statements, "_PARTLY", NEVER),
    _never("set aside: who is meant otherwise", "set_aside"),
    _never(
        "a sentence that answers the one before",
        "denies_previous_sentence",
        "affirms_previous_sentence",
    ),
    _without_part("a question answered by no", statements, "_ANSWERED", 2.0),
    Rule("a question answered further down", {"ruling": NEVER}, of_passages=True),
    _never("claims that are labelled", "labels"),
    _never("what nobody knows", "unknown"),
    _never("findings both ways", "divided"),
    _never("reports of what some say", "reports"),
    _never("what sets right keeps tone silent", "corrects"),
    Rule("some are not all", parts=((stance, "SWEEPING", NEVER), (statements, "SWEEPING", NEVER))),
    _without_part("denials of short claims", statements, "_SHORT", 0),
    _without_part("headings state nothing", statements, "STATED", re.compile("")),
    _without_part("clauses", statements, "JOINT", NEVER),
    _without_part("a claim's reasons and remarks", statements, "_REMARKS", NEVER),
    _without_part("what a claim says it is not", statements, "_OTHER", NEVER),
    _without_part("claims of two sides", statements, "_CONTRASTS", NEVER),
    _without_part("pronouns", statements, "_PRONOUN", NEVER),
    _without_part("the subject before what means it", statements, "_with_subject", _unnamed),
    _without_part("the same for another reason", stance, "_reasons_otherwise", _no),
    Rule("words that stand for one another", {"synonyms": {}}),
    Rule("opposites", {"opposites": {}}),
    Rule("words of little topic", {"light": frozenset()}),
    _without_part("who compares says than", statements, "_compares", _yes),
    _without_part("who does and to whom", statements, "_is_reversed", _no),
    _without_part("what was is not", statements, "_FORMER", NEVER),
    _without_part("the second is not the first", statements, "_RANK", NEVER),
    _without_part("the largest hot one is not the largest", statements, "_MOST", NEVER),
    _without_part("another in one place", statements, "_told_instead", _nothing),
    _without_part("a short claim's last word", stance, "_FEW", 0),
    _without_part("a clause's denial is its own", statements.ClaimWords, "as_told_by", _itself),
    _without_part(
        "of another place or doer, or of what never was", statements, "_is_of_others", _no
    ),
    _without_part("another name in its place", statements, "_said_of_others", lambda *_: {}),
    _without_part("kinds of which nothing is two", statements, "_is_of_another_kind", _no),
    _without_part("figures that the page has too", statements, "numbers_stated", _none),
    _without_part(
        "statements against keep tone silent",
        statements,
        "_AGAINST",
        {"denies": 2.0, "divided": 2.0, "open": 2.0},
    ),
    _without_part("tone needs half of the numbers", stance, "numbers_stated", _all),
    _without_part("tone needs names in one sentence", stance, "_is_named_at_once", _yes),
    _without_part("more than, less than, about", quantities, "_BOUNDS", {}),
    _without_part("before and after a year", quantities, "_BOUNDS_OF_YEAR", {}),
    _without_part("few things are counted exactly", quantities, "_is_counted", _no),
)
_MODULES: tuple[ModuleType, ...] = (denials, page_text, passages, quantities, stance, statements)


@contextmanager
def without(rule: Rule) -> Iterator[None]:
    """Take a rule away."""
    changed = replace(lexicon.load_lexicon(), **rule.words)
    decide_with = statements._decide

    def decide_without(*args: Any, **named: Any) -> statements.Decision | None:
        found = decide_with(*args, **named)
        return None if found is None or found.ground in rule.grounds else found

    with ExitStack() as stack:
        stack.enter_context(patch.object(statements, "_decide", decide_without))
        for module in _MODULES:
            if hasattr(module, "load_lexicon"):
                stack.enter_context(patch.object(module, "load_lexicon", lambda: changed))
        for place, attribute, instead in rule.parts:
            stack.enter_context(patch.object(place, attribute, instead))
        _forget()
        yield
    _forget()


def _forget() -> None:
    for module in _MODULES:
        for each in vars(module).values():
            if hasattr(each, "cache_clear"):
                each.cache_clear()


def select(claim: GivenClaim, embedder: Embedder) -> list[Selection]:
    """Choose the passages of each of a claim's sources, as `read_page` does."""
    return [
        select_passages(claim.text, each.text, each.snippet, embedder) for each in claim.sources
    ]


def read(
    claim: GivenClaim, selections: Sequence[Selection], model: StatementsAndTone
) -> list[Said]:
    """Return what each of a claim's sources says, as `read_page` does."""
    said: list[Said] = []
    for source, selection in zip(claim.sources, selections, strict=True):
        found = model.read(claim.text, selection, title=source.title)
        is_silent = found.stance == "unclear" and selection.relevance < pages.LEAST_RELEVANCE
        said.append(None if is_silent else (found.stance, found.confidence, found.ground))
    return said


@dataclass(frozen=True, slots=True)
class Score:
    """How the vote over sources does on one set of claims."""

    decided: float
    right: float
    macro_f1: float
    refuted: tuple[int, int]

    @classmethod
    def of(cls, answers: Sequence[tuple[Stance, Stance]]) -> Score:
        """Score pairs of what was said and the label."""
        decided = [(said, label) for said, label in answers if said != "unclear"]
        refuted = [label for said, label in decided if said == "refutes"]
        scores = []
        for label in {label for _, label in answers}:
            hits = sum(said == gold == label for said, gold in answers)
            scores.append(
                2 * hits / sum((said == label) + (gold == label) for said, gold in answers)
            )
        return cls(
            len(decided) / max(1, len(answers)),
            sum(said == label for said, label in decided) / max(1, len(decided)),
            sum(scores) / max(1, len(scores)),
            (refuted.count("refutes"), len(refuted)),
        )


def load_sets(embedder: Embedder) -> dict[str, list[GivenClaim]]:
    """Read the sets that are there, as the ablation reads them."""
    sets: dict[str, tuple[str, Callable[[], list[GivenClaim]]]] = {
        "recorded web": ("recorded_web", lambda: recorded_claims(embedder)[::2]),
        "AVeriTeC": ("averitec", lambda: list(averitec_claims())),
        "Climate-FEVER": ("climate_fever", lambda: list(climate_claims())[: SAMPLE // 5]),
        "VitaminC": ("vitaminc", lambda: vitaminc_claims()[:SAMPLE]),
    }
    return {name: load() for name, (folder, load) in sets.items() if (DATA / folder).exists()}


def ablate(embedder: Embedder) -> str:
    """Return the table of what is lost without each rule, in Markdown."""
    sets = load_sets(embedder)
    model = StatementsAndTone(embedder)
    chosen = {name: [select(each, embedder) for each in claims] for name, claims in sets.items()}

    def scores(rule: Rule) -> dict[str, Score]:
        found = {}
        with without(rule):
            for name, claims in sets.items():
                answers = []
                for claim, kept in zip(claims, chosen[name], strict=True):
                    selections = select(claim, embedder) if rule.of_passages else kept
                    answers.append((vote(claim, read(claim, selections, model))[0], claim.label))
                found[name] = Score.of(answers)
        return found

    whole = scores(Rule("all rules"))
    head = ["without", *sets, "refutations"]
    lines = [head, ["---"] * len(head)]
    for rule in (Rule("all rules"), *RULES):
        found = whole if rule.name == "all rules" else scores(rule)
        sys.stderr.write(f"\rwithout {rule.name:50}")
        if rule.name != "all rules" and found == whole:
            lines.append([rule.name, *["="] * len(sets), "="])
            continue
        cells = [
            f"{each.decided:.3f} · {each.right:.3f} · {each.macro_f1:.3f}"
            for each in found.values()
        ]
        right, said = (
            sum(pair) for pair in zip(*(each.refuted for each in found.values()), strict=True)
        )
        lines.append([rule.name, *cells, f"{right} of {said}"])
    sys.stderr.write("\n")
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """Print the ablation, and how sure each ground may be."""
    sys.stdout.write(f"{ablate(Remembering(OnnxEmbedder()))}\n")


if __name__ == "__main__":
    main()
