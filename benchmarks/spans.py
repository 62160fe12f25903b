"""Compares the BM25 queries of `raw_evidence`: a claim's questions, or the claim itself.

Run: `python -m benchmarks.spans`. The documents are the answers that annotators of AVeriTeC gave to
their questions, of each claim together with 95 answers about other claims (100 documents in the
paper). It measures how many of a claim's own answers are among the four chosen documents. The
annotators' questions stand for a model's. The default follows the paper, not
these figures.
"""

from __future__ import annotations

import json
import random
from statistics import mean

from benchmarks.shared import DATA
from factible_assets.evaluation.figures import paired_bootstrap
from factible_assets.strategies.excerpts import KEPT_DOCUMENTS, select

_OTHERS, _FEWEST_WORDS = 95, 6


def main() -> None:
    """Print the mean share for both queries, and the difference with its interval."""
    rows = json.loads((DATA / "averitec" / "dev_even.json").read_text(encoding="utf-8"))
    answers = {
        (number, place): " ".join(each["answer"] for each in question["answers"])
        for number, row in enumerate(rows)
        for place, question in enumerate(row["questions"])
    }
    told = {key: text for key, text in answers.items() if len(text.split()) >= _FEWEST_WORDS}
    draw, shares = random.Random(0), list[tuple[float, float]]()  # noqa: S311 - draws a sample
    for number, row in enumerate(rows):
        own = {key for key in told if key[0] == number}
        if own:
            others = draw.sample([key for key in told if key not in own], _OTHERS)
            pool = {str(key): told[key] for key in (*own, *others)}
            by_questions, by_claim = (
                len({each.key for each in select(asked, pool)} & {*map(str, own)})
                / min(KEPT_DOCUMENTS, len(own))
                for asked in ([each["question"] for each in row["questions"]], [row["claim"]])
            )
            shares.append((by_questions, by_claim))
    questions, claim = zip(*shares, strict=True)
    found = paired_bootstrap(claim, questions)
    assert found is not None
    assert found.interval is not None
    print(
        f"{len(shares)} claims: by questions {mean(questions):.3f}, by claim {mean(claim):.3f}, "
        f"difference {found.difference:.3f} ({found.interval.low:.3f} to {found.interval.high:.3f})"
    )


if __name__ == "__main__":
    main()
