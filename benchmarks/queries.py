"""Measures the embedded engine's search queries.

Run: `python -m benchmarks.queries [--read N]`. Part one compares them with gpt-4o-mini's queries
for the same claims (recorded runs, 5 claims each): the cosine of each query to the nearest recorded
one by MiniLM, and the share of the recorded hits that ours find (BM25 over titles and snippets, top
10). Part two counts defects on the engine's own claims of the annotated videos, and with `--read N`
prints that many queries for a person.
"""

from __future__ import annotations

import argparse
import json
import re
import sqlite3
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.shared import AnnotatedVideo, load_annotated_videos, require
from factible_assets.reasoners.embedded.claims.selection import extract_claims
from factible_assets.reasoners.embedded.embedder import Embedder, OnnxEmbedder
from factible_assets.reasoners.embedded.queries import write_queries
from factible_assets.reasoners.embedded.text import content_stems, tokenise
from factible_assets.records.tables import Claim
from factible_assets.stages.ports import QueryDraft

CLAIMS = 5
ASKED = 3
"""The default number of queries per claim."""
_FIGURE = re.compile(r"\d[\d.,]*\d|\d")
_PROMPT = re.compile(r"^Claim: (?P<claim>.*?)$(?:\nContext: (?P<context>.*?)$)?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Recorded:
    """A claim of the recorded runs with a language model's queries."""

    claim: Claim
    queries: tuple[str, ...]
    found: frozenset[str]


def recorded() -> list[Recorded]:
    """Read each distinct claim once, with the URLs that its queries found."""
    hits: dict[str, set[str]] = defaultdict(set)
    for row in _hits():
        hits[row["query"]].update(hit["url"] for hit in row["hits"])
    claims: dict[str, Recorded] = {}
    for path in sorted(require("factible", "runs", "max_claims_5").glob("*/llm_calls.json")):
        for call in json.loads(path.read_text(encoding="utf-8")):
            if call["component"] != "query_generation" or not isinstance(call["output"], dict):
                continue
            told = _PROMPT.search(call["input_prompt"])
            queries = tuple(each["query"] for each in call["output"].get("queries", ()))
            if told and queries:
                claim = _claim(told["claim"], told["context"])
                found = frozenset[str]().union(*(hits[query] for query in queries))
                claims[claim.text] = Recorded(claim, queries, found)
    return list(claims.values())


def _hits() -> Iterator[Any]:
    with require("recorded_web", "hits.jsonl").open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def _claim(text: str, context: str | None) -> Claim:
    return Claim(
        claim_id="c",
        video_id="v",
        rank=1,
        text=text,
        context=context,
        importance=0.5,
        extraction_confidence=0.5,
        basis="embedded",
    )


class Index:
    """All hits of the recorded searches, searchable by BM25."""

    def __init__(self) -> None:
        self._base = sqlite3.connect(":memory:")
        self._base.execute(
            "CREATE VIRTUAL TABLE page USING fts5(url UNINDEXED, words, tokenize=porter)"
        )
        texts = {
            hit["url"]: f"{hit['title']} {hit['snippet']}" for row in _hits() for hit in row["hits"]
        }
        self._base.executemany("INSERT INTO page VALUES (?, ?)", texts.items())

    def search(self, query: str, limit: int) -> list[str]:
        """Return the URLs of the best pages that share a word with the query."""
        terms = " OR ".join(f'"{term}"' for term in re.findall(r"\w+", query))
        rows = self._base.execute(
            "SELECT url FROM page WHERE page MATCH ? ORDER BY rank LIMIT ?", (terms, limit)
        )
        return [url for (url,) in rows]


def against_recorded(claims: Sequence[Recorded]) -> None:
    """Print the similarity to recorded queries, and the shared hits."""
    embedder, index = OnnxEmbedder(), Index()
    likeness, recall = defaultdict(list), defaultdict(list)
    for each in claims:
        drafts = write_queries(each.claim, embedder=embedder, max_queries=8)
        vectors = embedder.embed([draft.text for draft in drafts])
        nearest = (vectors @ embedder.embed(each.queries).T).max(axis=1)
        for place, (draft, cosine) in enumerate(zip(drafts, nearest, strict=True), start=1):
            kind = f"{draft.query_type}{', contrary' if draft.seeks_opposite else ''}"
            likeness[kind].append(float(cosine))
            if place == 1:
                likeness["first"].append(float(cosine))
        asked = [draft.text for draft in drafts[:ASKED]]
        for name, queries in (
            ("ours", asked),
            ("first of ours", asked[:1]),
            ("recorded", each.queries),
        ):
            if each.found:
                found = {url for query in queries for url in index.search(query, 10)}
                recall[name].append(len(found & each.found) / len(each.found))
    _say(f"Recorded claims: n = {len(claims)}")
    for kind, values in sorted(likeness.items()):
        _say(f"  cosine to the nearest recorded query, {kind:<22} {statistics.mean(values):.3f}")
    for name, values in recall.items():
        mean, n = statistics.mean(values), len(values)
        _say(f"  found of what the recorded queries found, {name:<14} {mean:.3f} (n = {n})")


def lost_figures(claim: str, query: str) -> set[str]:
    """Return the figures of a claim that a query lacks."""
    return set(_FIGURE.findall(claim)) - set(_FIGURE.findall(query))


def is_cut(claim: str, question: str) -> bool:
    """Tell whether a question stops in the middle of one of the claim's phrases."""
    asked = [word.norm for word in tokenise(question)]
    words = tokenise(claim)
    norms = [word.norm for word in words]
    for place in range(len(norms) - 1, -1, -1):
        if norms[max(0, place - 1) : place + 1] == asked[-2:]:
            if place == len(words) - 1:
                return False
            between = claim[words[place].end : words[place + 1].start]
            return not re.search(r"[.;:,!?\u2013\u2014]", between)
    return False


def repeats(query: str) -> bool:
    """Tell whether a query has a content word twice."""
    stems = content_stems(query)
    return len(set(stems)) < len(stems)


def defects(written: Sequence[tuple[Claim, Sequence[QueryDraft]]]) -> None:
    """Print the frequency of each defect."""
    count: dict[str, list[bool]] = defaultdict(list)
    for claim, drafts in written:
        if _FIGURE.search(claim.text):
            count["claims with figures whose first query loses one"].append(
                bool(lost_figures(claim.text, drafts[0].text))
            )
        count[f"claims whose {ASKED} queries are of fewer than {ASKED} types"].append(
            len({(draft.query_type, draft.seeks_opposite) for draft in drafts[:ASKED]}) < ASKED
        )
        for place, draft in enumerate(drafts[:5]):
            if draft.text.endswith("?"):
                count["questions cut off mid-phrase"].append(is_cut(claim.text, draft.text))
            elif place == 0:
                length = len(draft.text.split())
                count["first queries of fewer than 5 or more than 10 words"].append(
                    not 5 <= length <= 10
                )
            if draft.seeks_opposite:
                count["contrary queries that repeat a word"].append(repeats(draft.text))
    _say(f"The engine's claims: n = {len(written)}")
    for name, found in count.items():
        _say(f"  {name}: {sum(found)} of {len(found)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--read", type=int, default=0, help="Also print the queries of N claims.")
    read = parser.parse_args().read
    against_recorded(recorded())
    embedder = OnnxEmbedder()
    written = [
        (claim, write_queries(claim, embedder=embedder, video=video.video, max_queries=8))
        for video in load_annotated_videos()
        for claim in _claims(video, embedder)
    ]
    defects(written)
    for claim, drafts in written[:: max(1, len(written) // read)] if read else ():
        _say(f"\n{claim.category}: {claim.text}")
        for draft in drafts[:5]:
            _say(f"  {draft.query_type:<12}{'!' if draft.seeks_opposite else ' '} {draft.text}")


def _claims(video: AnnotatedVideo, embedder: Embedder) -> list[Claim]:
    """Return the engine's claims of a video, as the flow passes them on."""
    found = extract_claims(video.transcript, video.segments, max_claims=CLAIMS, embedder=embedder)
    return [
        _claim(draft.text, draft.context).model_copy(update={"category": draft.category})
        for draft in found.claims
    ]


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
