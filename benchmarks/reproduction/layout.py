"""Reads the folder of a published, annotated evaluation of YouTube videos.

The layout: `eval_results/max_claims_K/VIDEO.json` (the evaluator's values of one video at the
setting K), `runs/max_claims_K/DATE_TIME_VIDEO/` (`outputs.json`, `metrics.json`, `config.json` of
one run), `ground_truth/VIDEO.yaml` (annotated claims). A missing or unreadable file affects only
the values that need it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from factible_assets.corpora.format import ClaimEntry
from factible_assets.corpora.reading import load_ground_truth
from factible_assets.errors import FactibleError

JsonObject = Mapping[str, Any]

_RESULTS: Final = "eval_results"
_RUNS: Final = "runs"
_TRUTHS: Final = "ground_truth"
_SETTING: Final = re.compile(r"max_claims_(\d{1,4})")
_RUN: Final = re.compile(r"\d{8}_\d{6}_(.+)")

_DISTRIBUTION: Final = "source_reliability_distribution"
_PROVENANCE: Final = {"video_id", "timestamp", "evaluated_run_dir", "ground_truth_dir"}

RATINGS: Final = ("high", "medium", "low", "unknown")
"""The reliability ratings of sources."""


class PublishedLayoutError(FactibleError):
    """A folder has another layout. The message names it and the remedy."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The evaluator's record of one video at one setting."""

    setting: int
    video_id: str
    file: Path
    values: JsonObject

    def section(self, name: str) -> JsonObject:
        return mapping(self.values.get(name))

    def flattened(self) -> Iterator[tuple[str, float | None]]:
        """Return every value as `section.name`, in the order of the file.

        A list or an object gives its number of items, and None if it is empty. The file omits a
        rating that no source had; here it is 0.
        """
        for name, value in self.values.items():
            if name in _PROVENANCE:
                continue
            if not isinstance(value, Mapping):
                yield name, _counted(value)
                continue
            for inner, each in value.items():
                if inner != _DISTRIBUTION:
                    yield f"{name}.{inner}", _counted(each)
                    continue
                counts = mapping(each)
                for rating in dict.fromkeys([*RATINGS, *counts]):
                    yield f"{name}.{inner}.{rating}", number(counts.get(rating, 0))


@dataclass(frozen=True, slots=True)
class Run:
    """The outputs of one run; a missing part is empty."""

    name: str
    outputs: JsonObject
    metrics: JsonObject
    config: JsonObject

    @property
    def claims(self) -> list[JsonObject]:
        """Return the claims in the order of extraction."""
        return mappings(mapping(self.outputs.get("extracted_claims")).get("claims"))

    @property
    def reports(self) -> list[JsonObject] | None:
        """Return the claims' reports; None if the run stopped before it made any."""
        final = self.outputs.get("final_output")
        return mappings(final.get("claim_reports")) if isinstance(final, Mapping) else None

    @property
    def seconds(self) -> float | None:
        return number(mapping(self.metrics.get("timing")).get("total_seconds"))

    @property
    def cost(self) -> float | None:
        """Return the estimated cost of the run in US dollars."""
        return number(mapping(self.metrics.get("llm")).get("total_cost_usd"))

    @property
    def queries_per_claim(self) -> int | None:
        """Return the number of queries per claim."""
        count = self.config.get("max_queries_per_claim")
        return count if isinstance(count, int) and count > 0 else None


@dataclass(frozen=True, slots=True)
class PublishedFolder:
    """The content of the folder.

    Attributes:
        folder: Its path.
        evaluations: By setting, then video.
        runs: By setting and video, in order of time.
        gold: Annotated claims by video.
        problems: A sentence for each unreadable part.
    """

    folder: Path
    evaluations: tuple[Evaluation, ...]
    runs: Mapping[tuple[int, str], Sequence[Run]]
    gold: Mapping[str, tuple[ClaimEntry, ...]]
    problems: tuple[str, ...] = field(default=())

    @property
    def settings(self) -> tuple[int, ...]:
        """Return the evaluated settings in ascending order."""
        return tuple(sorted({each.setting for each in self.evaluations}))


def read_published(folder: Path) -> PublishedFolder:
    """Read a folder in the published layout.

    Raises PublishedLayoutError if it has another layout, or records no evaluation.
    """
    if not folder.is_dir():
        raise PublishedLayoutError(
            f"There is no folder {folder}. Give the folder that contains {_RESULTS}/."
        )
    problems: list[str] = []
    evaluations = tuple(_evaluations(folder, problems))
    if not evaluations:
        raise PublishedLayoutError(
            f"{folder} is not in the published layout: no file {_RESULTS}/max_claims_K/VIDEO.json "
            f"can be read in it. Give the folder that contains {_RESULTS}/, {_RUNS}/ and "
            f"{_TRUTHS}/."
        )
    videos = sorted({each.video_id for each in evaluations})
    found = {video: _gold(folder, video, problems) for video in videos}
    gold = {video: claims for video, claims in found.items() if claims is not None}
    return PublishedFolder(folder, evaluations, _runs(folder, problems), gold, tuple(problems))


def _settings(folder: Path) -> Iterator[tuple[int, Path]]:
    found = [(_SETTING.fullmatch(path.name), path) for path in folder.glob("max_claims_*")]
    yield from sorted((int(match[1]), path) for match, path in found if match and path.is_dir())


def _evaluations(folder: Path, problems: list[str]) -> Iterator[Evaluation]:
    for setting, place in _settings(folder / _RESULTS):
        for file in sorted(place.glob("*.json")):
            values = _json_object(file, problems)
            if values is not None:
                yield Evaluation(setting, file.stem, file, values)


def _runs(folder: Path, problems: list[str]) -> dict[tuple[int, str], list[Run]]:
    runs: dict[tuple[int, str], list[Run]] = {}
    for setting, place in _settings(folder / _RUNS):
        for path in sorted(place.iterdir()):
            named = _RUN.fullmatch(path.name)
            if named is None or not (path / "outputs.json").is_file():
                continue
            parts = [
                _json_object(path / f"{part}.json", problems) or {}
                for part in ("outputs", "metrics", "config")
            ]
            runs.setdefault((setting, named[1]), []).append(Run(path.name, *parts))
    return runs


def _gold(folder: Path, video_id: str, problems: list[str]) -> tuple[ClaimEntry, ...] | None:
    path = folder / _TRUTHS / f"{video_id}.yaml"
    if not path.is_file():
        problems.append(f"{path}: there is no ground truth for this video.")
        return None
    truth = load_ground_truth(path)
    problems.extend(str(problem) for problem in truth.problems)
    return truth.claims


def _json_object(file: Path, problems: list[str]) -> JsonObject | None:
    try:
        value = json.loads(file.read_bytes())
    except FileNotFoundError:
        problems.append(f"{file}: the file is missing.")
        return None
    except (OSError, ValueError) as error:
        problems.append(f"{file}: this is no readable JSON ({error}).")
        return None
    if not isinstance(value, dict):
        problems.append(f"{file}: this JSON is no object.")
        return None
    return value


# --- Reading what may be missing ----------------------------------------------------------------


def mapping(value: object) -> JsonObject:
    return value if isinstance(value, Mapping) else {}


def mappings(value: object) -> list[JsonObject]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def strings(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _counted(value: object) -> float | None:
    return float(len(value)) if isinstance(value, list | Mapping) else number(value)


def number(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else None  # type: ignore[arg-type]
