"""Compares claim localisation with the plain sliding window of its source.

Run: `python -m benchmarks.localisation`. For several kinds of claims in a generated transcript of
twenty minutes (3,000 words) it prints the seconds of both methods, their ratio, and the score of
both results by one measure. The slow method is Factible's (section 1.3.2):
`difflib.SequenceMatcher` on every window of the claim's length plus or minus two words.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from time import perf_counter

from factible_assets.stages.localisation import MIN_SCORE, SLACK_WORDS, Localiser, similarity

WORDS = 3_000
SEED = 7

VOCABULARY = """
people energy water climate doctors sugar vaccines ocean market school children cities history
evidence research decades million percent temperature carbon protein sunlight memory language
scientists farmers engineers rivers winter summer power storage hospital medicine exercise because
although increases reduces causes prevents measured reported showed before after during between
almost never always about every many several the a of and to in that is was for with on as they we
it this have from or by not but what all were when there can an your which
"""


@dataclass(frozen=True)
class Comparison:
    """One claim, located by both methods."""

    kind: str
    slow_seconds: float
    fast_seconds: float
    slow_score: float
    fast_score: float


def plain_sliding_window(text: str, claim: str) -> tuple[int, int] | None:
    """Return the raw offsets of the best window by difflib."""
    spans = [match.span() for match in re.finditer(r"\S+", text)]
    words = [_normal(text[start:end]) for start, end in spans]
    wanted = " ".join(_normal(word) for word in claim.split())
    length = len(claim.split())
    best_score, best = 0.0, None
    for size in range(max(1, length - SLACK_WORDS), length + SLACK_WORDS + 1):
        for first in range(len(words) - size + 1):
            window = " ".join(words[first : first + size])
            score = SequenceMatcher(None, window, wanted).ratio()
            if score > best_score:
                best_score, best = score, (spans[first][0], spans[first + size - 1][1])
    return best if best_score >= MIN_SCORE else None


def _normal(word: str) -> str:
    return re.sub(r"[^\w]", "", word.lower())


def generated_transcript(randomness: random.Random) -> str:
    """Return a text of sentences of six to twenty words, with a skewed vocabulary."""
    vocabulary = VOCABULARY.split()
    weights = [1 / (rank + 1) ** 0.5 for rank in range(len(vocabulary))]
    words: list[str] = []
    while len(words) < WORDS:
        length = randomness.randint(6, 20)
        sentence = randomness.choices(vocabulary, weights, k=length)
        words += [sentence[0].capitalize(), *sentence[1:-1], f"{sentence[-1]}."]
    return " ".join(words[:WORDS])


def generated_claims(text: str, randomness: random.Random) -> Iterator[tuple[str, str]]:
    """Yield claims as reasoners word them: verbatim, changed, and shortened."""
    words = text.split()
    for kind in ("verbatim", "two words changed", "five words changed", "three words left out"):
        start = randomness.randrange(WORDS - 30)
        claim = words[start : start + 18]
        if kind.endswith("changed"):
            for place in randomness.sample(range(18), 2 if kind.startswith("two") else 5):
                claim[place] = randomness.choice(VOCABULARY.split())
        elif kind.endswith("left out"):
            claim = [word for place, word in enumerate(claim) if place not in {3, 8, 13}]
        yield kind, " ".join(claim)


def compare(text: str, kind: str, claim: str) -> Comparison:
    """Locate one claim by both methods. The fast method's time includes preparing the text."""
    started = perf_counter()
    place = Localiser(text).locate(claim)
    fast_seconds = perf_counter() - started
    started = perf_counter()
    span = plain_sliding_window(text, claim)
    slow_seconds = perf_counter() - started
    return Comparison(
        kind=kind,
        slow_seconds=slow_seconds,
        fast_seconds=fast_seconds,
        slow_score=similarity(text[slice(*span)], claim) if span else 0.0,
        fast_score=similarity(text[place.char_start : place.char_end], claim) if place else 0.0,
    )


def print_comparisons(comparisons: Sequence[Comparison]) -> float:
    """Print a table and return the ratio of the total times."""
    print(f"{'claim':<24}{'difflib':>10}{'here':>10}{'ratio':>8}{'score difflib':>15}{'here':>8}")
    for each in comparisons:
        print(
            f"{each.kind:<24}{each.slow_seconds:>9.2f}s{1000 * each.fast_seconds:>8.1f}ms"
            f"{each.slow_seconds / each.fast_seconds:>8.0f}"
            f"{each.slow_score:>15.3f}{each.fast_score:>8.3f}"
        )
    ratio = sum(each.slow_seconds for each in comparisons) / sum(
        each.fast_seconds for each in comparisons
    )
    worse = sum(each.fast_score < each.slow_score - 1e-9 for each in comparisons)
    print(f"All together {ratio:.0f} times faster; a worse place in {worse} of {len(comparisons)}.")
    return ratio


def main() -> int:
    """Print the comparison; exit with 1 below a hundredfold speed."""
    randomness = random.Random(SEED)  # noqa: S311 - words for a measurement, not secrets
    text = generated_transcript(randomness)
    print(f"A generated transcript of {WORDS} words (20 minutes):")
    ratio = print_comparisons(
        [compare(text, kind, claim) for kind, claim in generated_claims(text, randomness)]
    )
    return 0 if ratio >= 100 else 1


if __name__ == "__main__":
    sys.exit(main())
