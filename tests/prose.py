"""Counts constructions that make English hard to read: headless relative clauses and passives.

The counts are rough on purpose: two patterns over words, no parser. They follow a trend over
thousands of sentences and cannot judge a single one.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# "what" and "whoever" rarely have a head. "who" has one if a word stands right before it in the
# same clause ("reviewers who sign"), so it counts only after punctuation, a verb or a preposition.
HEADLESS = re.compile(
    r"\b(?:what|whatever|whoever|whomever|whichever)\b"
    r"|(?:^|[.:;,(–—]\s*|\b(?:by|of|to|for|from|with|at|in|on|as|is|are|tells?|says?|knows?|and|or|"
    r"but|if|than|that|when|while|see|sees|shows?|names?|about) )who\b",
    re.IGNORECASE | re.MULTILINE,
)
IRREGULAR = (
    "known|given|taken|made|kept|held|left|told|said|seen|found|done|gone|drawn|shown|written"
    "|read|sent|set|built|bought|brought|caught|chosen|cut|driven|felt|forgotten|got|heard"
    "|hidden|hit|laid|led|lent|let|lost|meant|met|paid|put|run|sought|sold|spent|split|spoken"
    "|stood|sworn|thought|thrown|torn|understood|won|worn|begun|broken|borne|bound|eaten"
    "|fallen|fed|flown|frozen|grown|hung|hurt|overruled|proven|quoted|ridden|risen|shaken"
    "|shut|slept|sunk|swept|taught|woken"
)
PASSIVE = re.compile(
    rf"\b(?:is|are|was|were|be|been|being|gets?|got)(?: (?:not|never|only|also|still|then|thus|"
    rf"always|[a-z]+ly))? (?:[a-z]+ed|{IRREGULAR})\b",
    re.IGNORECASE,
)
WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*")
PROSE = re.compile(
    r'^ *"""(?P<docstring>(?s:.*?))"""$|"""(?s:.*?)"""'  # a docstring, or another string
    r"|(?P<block>(?:^ *#.*\n)+)|  #(?P<comment>.*)",
    re.MULTILINE,
)
CODE = re.compile(r"```.*?```|`[^`]*`|https?://\S+", re.DOTALL)


@dataclass(frozen=True)
class Count:
    """The words of some prose, with its headless relative clauses and passives."""

    words: int = 0
    headless: int = 0
    passives: int = 0

    def __add__(self, other: "Count") -> "Count":
        """Count both."""
        return Count(
            self.words + other.words, self.headless + other.headless, self.passives + other.passives
        )

    def per_thousand(self) -> tuple[float, float]:
        """Headless relatives and passives in 1,000 words."""
        words = max(self.words, 1)
        return 1000 * self.headless / words, 1000 * self.passives / words


def count(text: str) -> Count:
    """Count one text, without the code that it quotes."""
    prose = CODE.sub(" x ", text)
    joined = re.sub(r"(?<!\n)\n(?![\n*|#-])[ \t]*", " ", prose)
    return Count(
        len(WORD.findall(prose)), len(HEADLESS.findall(joined)), len(PASSIVE.findall(joined))
    )


def prose_of(source: str) -> Iterator[str]:
    """Yield a module's docstrings (those of attributes too) and its blocks of comments."""
    for found in PROSE.finditer(source):
        yield found["docstring"] or re.sub(r"\s*#+", " ", found["block"] or found["comment"] or "")


def count_file(path: Path) -> Count:
    """Count a Python module's docstrings and comments, or a page whole."""
    text = path.read_text(encoding="utf-8")
    parts = prose_of(text) if path.suffix == ".py" else [text]
    return sum(map(count, parts), Count())


def report(names: list[str]) -> None:
    """Print the rates of files and folders, and of all of them."""
    total = Count()
    for name in [*names, ""]:
        given = Path(name)
        files = sorted(given.rglob("*.py")) if name and given.is_dir() else [given] * bool(name)
        found = sum(map(count_file, files), Count()) if name else total
        total += found if name else Count()
        headless, passives = found.per_thousand()
        print(f"{found.words:7} words  headless {headless:5.1f}  passives {passives:5.1f}  {name}")


if __name__ == "__main__":
    import sys

    report(sys.argv[1:])
