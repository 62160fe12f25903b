"""The options of an experiment, and the variants into which its settings expand.

Options have the names of a run's options (config.py). Besides, `model` names the language model of
all stages, and `model_claims`, `model_queries` and so on that of one stage. `prompt_files` is a
folder of prompt files that replace the project's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, get_args

from factible_assets import config
from factible_assets.config import FactCheckConfig, OptionError, Reasoners, RunOption, Value, Values
from factible_assets.corpora.reading import CorpusVideo
from factible_assets.errors import FactibleError
from factible_assets.records.tables import CallStage
from factible_assets.settings import Settings
from factible_assets.stages.progress import ALL_STAGES

STAGES: tuple[str, ...] = ("claims", *ALL_STAGES)
"""The stages of a variant; each depends on those before it, and all on the transcript."""

BASE = "base"
"""The name of the variant that has only the fixed settings."""

PRESETS: Final[Mapping[str, Mapping[str, int]]] = {
    "minimal": {"max_claims": 1, "max_queries": 1, "max_results": 1},
    "deep": {"max_claims": 3, "max_queries": 4, "max_results": 5},
    "broad": {"max_claims": 10, "max_queries": 1, "max_results": 2},
}
"""The strategies that an experiment can name. They set amounts.

The option `strategy` is something else: the order of the steps (factible_assets/strategies)."""

MODEL_OPTIONS: tuple[str, ...] = ("model", *(f"model_{stage}" for stage in get_args(CallStage)))
"""Outside of experiments, these are settings of the machine."""

PROMPT_FILES: Final = "prompt_files"
"""A folder of prompt files; like the models, a setting of the machine."""
_MACHINE_OPTIONS: Final = (*MODEL_OPTIONS, PROMPT_FILES)


def _stage_of(option: str) -> str:
    return option.partition("_")[2]


class ExperimentError(FactibleError):
    """An experiment cannot be read, planned or run."""


@cache
def options() -> Mapping[str, RunOption]:
    """Return every option by its name; settings of the machine have an empty `place`.

    `reuse_days` is left out: an experiment measures checks, so no claim takes over an earlier one.
    """
    known = {name: option for name, option in config.run_options().items() if name != "reuse_days"}
    words = "A folder of prompt files that replace ours; absolute, or relative to the data folder."
    texts = {PROMPT_FILES: words}
    for name in MODEL_OPTIONS:
        stages = f"the stage {_stage_of(name)}" if _stage_of(name) else "all stages"
        texts[name] = f"The model of {stages}. Named as in models.yaml, or PROVIDER/MODEL."
    for name, words in texts.items():
        known[name] = RunOption(name, (), None, {"type": "string", "description": words})
    return known


def checked_value(name: str, value: object) -> Value:
    """Convert a value to its option's type: `"3"` becomes 3. Raises OptionError."""
    option = options()[name]
    if not option.place:
        if not isinstance(value, str) or not value.strip():
            kind = (
                "a folder" if name == PROMPT_FILES else "the name of a model, such as gpt-4o-mini"
            )
            raise OptionError(name, f"{name} is {kind}.")
        return value.strip()
    document: Any = config.config_of({name: value}).model_dump(mode="json")
    for step in option.place:
        document = document[step]
    return config.plain_value(document)


def settings_of(values: Values, settings: Settings) -> Settings:
    """Return the machine's settings with the models and the prompt files of a variant.

    A model for all stages also replaces this machine's models of single stages. Otherwise the
    variant would mean something else on another machine.
    """
    changed: dict[str, Any] = {}
    stages = {} if "model" in values else dict(settings.stage_models)
    stages |= {_stage_of(name): str(values[name]) for name in MODEL_OPTIONS[1:] if name in values}
    if "model" in values:
        changed["model"] = values["model"]
    if PROMPT_FILES in values:
        changed[PROMPT_FILES] = settings.home / Path(str(values[PROMPT_FILES])).expanduser()
    return settings.model_copy(update={**changed, "stage_models": stages})


@dataclass(frozen=True, slots=True)
class Variant:
    """One set of options. `values` are those that the experiment sets, in its order."""

    name: str
    values: Values

    @property
    def config(self) -> FactCheckConfig:
        """The options of a run. Raises OptionError: Two values contradict each other."""
        placed = {name: value for name, value in self.values.items() if options()[name].place}
        return config.config_of(placed)

    @property
    def names_a_model(self) -> bool:
        """Whether it names a model, or prompts for one."""
        return any(name in self.values for name in _MACHINE_OPTIONS)

    @property
    def reasoners(self) -> Reasoners:
        """The reasoners. `auto` means a language model if the variant names one."""
        options = self.config
        uses_llm = options.reasoner == "auto" and self.names_a_model
        return options.model_copy(update={"reasoner": "llm"}) if uses_llm else options


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment that can be run. `line` is the line of its name in `file`.

    `metrics` are those that its tables show; without any, the main ones.
    """

    name: str
    description: str | None
    variants: tuple[Variant, ...]
    baseline: str
    videos: tuple[CorpusVideo, ...]
    file: Path
    line: int
    metrics: tuple[str, ...] = ()


def expand(
    fixed: Values = MappingProxyType({}),
    strategies: Mapping[str, Values] = MappingProxyType({}),
    sweeps: Mapping[str, Sequence[Value]] = MappingProxyType({}),
    factors: Mapping[str, Sequence[Value]] = MappingProxyType({}),
) -> Iterator[Variant]:
    """Yield the variants of an experiment, named after their differences.

    There is a variant for each of the `strategies` (values by name) with each combination of the
    `sweeps`, on top of the `fixed` values. Around each variant, each value of each of the `factors`
    that differs from the variant's adds one more, with only this option changed.
    """
    for strategy, chosen in (strategies or {"": {}}).items():
        for combination in product(*sweeps.values()):
            swept = dict(zip(sweeps, combination, strict=True))
            parts = [strategy, *(f"{name}={shown(value)}" for name, value in swept.items())]
            around = {**fixed, **chosen, **swept}
            yield _variant(around, *parts)
            for name, values in factors.items():
                for value in values:
                    if value != around.get(name, options()[name].default):
                        yield _variant({**around, name: value}, *parts, f"{name}={shown(value)}")


def _variant(values: Values, *differences: str) -> Variant:
    return Variant(",".join(filter(None, differences)) or BASE, values)


def shown(value: Value) -> str:
    """Write a value as in YAML."""
    return str(value) if isinstance(value, str) else json.dumps(value)
