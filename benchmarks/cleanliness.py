"""Measures whether the embedded engine's claims are whole sentences.

Run: `python -m benchmarks.cleanliness [--half one|other] [--claims 7] [--quiet]`. First, an exact
measure: it removes punctuation and case from punctuated transcripts, as in raw captions, and
compares each claim with the true sentences: cut at the head, cut at the tail, or run on past a
sentence's end. Second, for a person to read: the claims of the original transcripts with their
context and flags for visible defects. The halves are fixed, so that fixes made on one can be judged
on the other.
"""

from __future__ import annotations

import argparse
import re
import sys
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.claims import extract
from benchmarks.sentences import Stripped, is_punctuated, strip
from benchmarks.shared import AnnotatedVideo, load_annotated_videos
from factible_assets.stages.ports import ClaimDraft

AROUND = 60
"""Characters of the transcript shown before and after a claim."""

FLAGS = {
    "head": re.compile(
        r"(?:of|than|is|are|was|were|be|been|has|have|had|do|does|did|can|could|will|would|may"
        r"|might|must|and|or|but|so|which|whom|whose|that|to|into|up|out|not|also|then|because)\b"
        r"(?!.*\?$)|\w+ly,? (?:is|are|was|the)\b",
        re.IGNORECASE,
    ),
    "tail": re.compile(
        r".*\b(?:a|an|the|my|your|its|our|their|of|to|in|on|at|for|from|by|with|into|as|than|and|or"
        r"|but|so|because|if|when|where|which|who|what|how|i|we|he|they|is|are|was|were|it's|very"
        r"|not|have|has|can|will|would|that's)[.?!]*$",
        re.IGNORECASE,
    ),
    "run-on": re.compile(
        r"(?:\S+ ){30}|.*\b(?:and|so|but) (?:then |so )?(?:i|we|you|he|she|it|they|there|that's"
        r"|this|that|it's|he's|they're|we're)\b",
        re.IGNORECASE,
    ),
    "reference": re.compile(
        r"(?:it|its|it's|they|their|they're|he|she|his|her|he's|she's)\b"
        r"|.*\b(?:this|these|those|such|that) (?!(?:is|are|was|were|has|have|can|will|the|a|an|year"
        r"|month|week|day|time|century|country|planet|they|it|he|she|we|you|i|in|of|at|there)\b)\w+",
        re.IGNORECASE,
    ),
    "filler": re.compile(
        r".*\b(?:um+|uh+|you know|i mean|kind of|sort of|basically|okay|yeah|well,|gonna"
        r"|(\w+) \1)\b|(?:well|now|so|right|look|see|again|actually|really)\b",
        re.IGNORECASE,
    ),
    "talk": re.compile(
        r".*\b(?:i|i'm|i've|i'll|my|me|you|your|you're|we'll|let's|here's|video|subscribe|welcome"
        r"|thank)\b|.*\?$",
        re.IGNORECASE,
    ),
    "short": re.compile(r"(?:\S+ ){0,4}\S+$"),
}
"""Defects that the wording alone shows."""


@dataclass(frozen=True, slots=True)
class Ends:
    """The position of a claim of a stripped transcript relative to the true sentences."""

    head: bool
    tail: bool
    run_on: bool

    @property
    def clean(self) -> bool:
        """Whether the claim is one whole sentence, or its part after a lead-in."""
        return not (self.head or self.tail or self.run_on)


LEAD_IN = 4
"""Words that a claim may omit at a sentence's head or tail and still be whole."""

JOINTS = frozenset(
    ["and", "but", "so", "or", "because", "which", "while", "whereas", "although", "then"]
)
"""Words that join independent statements of a compound sentence."""


def held_against(stripped: Stripped, claim: ClaimDraft) -> Ends:
    """Compare a claim with the true sentences word by word, tolerating a lead-in."""
    starts, words = stripped.word_starts, stripped.text.split(" ")
    assert claim.char_start is not None
    assert claim.char_end is not None
    first = bisect_right(starts, claim.char_start) - 1
    last = bisect_left(starts, claim.char_end) - 1
    opens = {0, *(end + 1 for end in stripped.ends)}
    closes = {len(starts) - 1, *stripped.ends}
    return Ends(
        head=words[first - 1] not in JOINTS and opens.isdisjoint(range(first - LEAD_IN, first + 1)),
        tail=last not in closes and words[last + 1] not in JOINTS,
        run_on=any(first <= end < last for end in stripped.ends),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Count the defects of the engine's claims.")
    parser.add_argument("--half", choices=("one", "other"), help="of the videos; all if not given")
    parser.add_argument("--claims", type=int, default=7, help="claims of each video")
    parser.add_argument("--quiet", action="store_true", help="only the counts")
    given = parser.parse_args()
    videos = load_annotated_videos()
    halves = {"one": videos[::2], "other": videos[1::2], None: videos}
    chosen = halves[given.half]
    for line in (*exact(chosen, given.claims), *for_reading(chosen, given.claims, given.quiet)):
        sys.stdout.write(line + "\n")


def exact(videos: Sequence[AnnotatedVideo], limit: int) -> Iterator[str]:
    """Count the positions of claims of stripped transcripts."""
    found = []
    for video in filter(is_punctuated, videos):
        stripped = strip(video)
        claims = extract(video, limit, stripped.text, stripped.segments)
        found += [held_against(stripped, claim) for claim in claims]
    yield (
        f"stripped of punctuation: {sum(each.clean for each in found)} of {len(found)} claims"
        f" whole; head cut {sum(each.head for each in found)}, tail cut"
        f" {sum(each.tail for each in found)}, run-on {sum(each.run_on for each in found)}"
    )


def for_reading(videos: Sequence[AnnotatedVideo], limit: int, quiet: bool) -> Iterator[str]:
    """Print claims with context and flags, and count the flags."""
    counts: dict[str, Counter[str]] = {"punctuated": Counter(), "raw captions": Counter()}
    number = 0
    for video in videos:
        kind = "punctuated" if is_punctuated(video) else "raw captions"
        if not quiet:
            yield f"\n{video.video.title} ({kind})"
        raw = video.transcript.text
        for claim in extract(video, limit):
            number += 1
            flags = [name for name, sign in FLAGS.items() if sign.match(claim.text.lstrip("["))]
            counts[kind].update([*flags, "claims", *([] if flags else ["unflagged"])])
            if not quiet:
                begin, end = claim.char_start or 0, claim.char_end or 0
                before, after = raw[max(0, begin - AROUND) : begin], raw[end : end + AROUND]
                yield f"{number:>3} {claim.text}  [{', '.join(flags) or '-'}]"
                yield f"      …{' '.join(before.split())} ¦ {' '.join(after.split())}…"
    for kind, count in counts.items():
        told = ", ".join(f"{name} {count[name]}" for name in FLAGS)
        yield f"{kind}: {count['unflagged']} of {count['claims']} without a flag; {told}"


if __name__ == "__main__":
    main()
