"""Reads experiment files, expands them into variants, and computes the keys of their stages.

Options have the names of a run's options (config.py). Besides, `model` names the language model of
all stages, and `model_claims`, `model_queries` and so on that of one stage. `prompt_files` is a
folder of prompt files that replace the project's.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, Final, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict, Field

from factible_assets import config
from factible_assets.config import FactCheckConfig, OptionError, Reasoners, RunOption, Value, Values
from factible_assets.corpora.reading import CorporaReading, CorpusVideo, yaml_files
from factible_assets.errors import FactibleError
from factible_assets.records.tables import CallStage
from factible_assets.services.models import plan_models
from factible_assets.services.reasoning import check_prompt_files
from factible_assets.settings import Settings
from factible_assets.stages.progress import ALL_STAGES
from resources import lines
from resources.errors import SetupError

STAGES: tuple[str, ...] = ("claims", *ALL_STAGES)
"""The stages of a variant; each depends on those before it, and all on the transcript."""

BASE = "base"
"""The name of the variant that has only the fixed settings."""

_STAGE_OF_SECTION: Mapping[str, str] = {
    "claims": "claims",
    "queries": "queries",
    "search": "search_hits",
    "evidence": "evidence",
    "verdicts": "verdicts",
    "strategy": "queries",
    "budget": "queries",
}
"""The first stage that a section of config.py, or the strategy, affects."""

FOLDER: Final = "experiments"
"""The folder of experiment files in a folder of corpora."""

STRATEGIES: Final[Mapping[str, Mapping[str, int]]] = {
    "minimal": {"max_claims": 1, "max_queries": 1, "max_results": 1},
    "deep": {"max_claims": 3, "max_queries": 4, "max_results": 5},
    "broad": {"max_claims": 10, "max_queries": 1, "max_results": 2},
}
"""The named strategies: a glance, few claims in depth, many claims on the surface."""

MAX_VARIANTS: Final = 200
"""More variants are likely a mistake: five lists of three values make 243."""

_VARIANT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_MOST_NAMES = 20

MODEL_OPTIONS: tuple[str, ...] = ("model", *(f"model_{stage}" for stage in get_args(CallStage)))
"""Outside of experiments, these are settings of the machine."""

PROMPT_FILES: Final = "prompt_files"
"""A folder of prompt files; like the models, a setting of the machine."""
_OF_THE_MACHINE: Final = (*MODEL_OPTIONS, PROMPT_FILES)


def _stage(option: str) -> str:
    return option.partition("_")[2]


Axis: TypeAlias = tuple[str, tuple[Value, ...]]
"""An option and the values to try."""


class ExperimentError(FactibleError):
    """An experiment cannot be read, planned or run."""


@cache
def options() -> Mapping[str, RunOption]:
    """Return every option by its name. The models have an empty `place`.

    An experiment measures every check, so no claim takes over an earlier one.
    """
    found = {name: each for name, each in config.run_options().items() if name != "reuse_days"}
    for name in MODEL_OPTIONS:
        stage = _stage(name)
        what = f"The model of the stage {stage}." if stage else "The model of all stages."
        words = f"{what} Named as in models.yaml, or PROVIDER/MODEL."
        found[name] = RunOption(name, (), None, {"type": "string", "description": words})
    words = "A folder of prompt files that replace ours; absolute, or relative to the data folder."
    found[PROMPT_FILES] = RunOption(
        PROMPT_FILES, (), None, {"type": "string", "description": words}
    )
    return found


def checked_value(name: str, value: object) -> Value:
    """Convert a value to its option's type: `"3"` becomes 3. Raises OptionError."""
    option = options()[name]
    if not option.place:
        if not isinstance(value, str) or not value.strip():
            what = (
                "a folder" if name == PROMPT_FILES else "the name of a model, such as gpt-4o-mini"
            )
            raise OptionError(name, f"{name} is {what}.")
        return value.strip()
    found: Any = config.config_of({name: value}).model_dump(mode="json")
    for step in option.place:
        found = found[step]
    return config.plain_value(found)


def settings_of(values: Values, settings: Settings) -> Settings:
    """Return the machine's settings with the models and the prompt files of a variant.

    A model for all stages also replaces this machine's models of single stages. Otherwise the
    variant would mean something else on another machine.
    """
    own: dict[str, Any] = {}
    stages = {} if "model" in values else dict(settings.stage_models)
    stages |= {_stage(name): str(values[name]) for name in MODEL_OPTIONS[1:] if name in values}
    if "model" in values:
        own["model"] = values["model"]
    if PROMPT_FILES in values:
        own[PROMPT_FILES] = settings.home / Path(str(values[PROMPT_FILES])).expanduser()
    return settings.model_copy(update={**own, "stage_models": stages})


@dataclass(frozen=True, slots=True)
class Design:
    """The settings of an experiment.

    Every variant has the `fixed` values and one of the named `strategies`, if there are any. The
    variants cover every combination of the `sweeps`; around each, every value of the `factors` is
    tried alone.
    """

    fixed: Values = field(default_factory=dict)
    strategies: Mapping[str, Values] = field(default_factory=dict)
    sweeps: tuple[Axis, ...] = ()
    factors: tuple[Axis, ...] = ()


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
        return any(name in self.values for name in _OF_THE_MACHINE)

    @property
    def reasoners(self) -> Reasoners:
        """The reasoners. A variant that names a language model uses it whatever the default."""
        config = self.config
        is_open = config.reasoner == "auto" and self.names_a_model
        return config.model_copy(update={"reasoner": "llm"}) if is_open else config


def expand(design: Design) -> tuple[Variant, ...]:
    """Return the variants of an experiment, named after their differences.

    A factor's value that equals the one around it adds no variant.
    """
    variants: dict[str, Variant] = {}

    def add(values: Values, *differences: str) -> None:
        name = ",".join(filter(None, differences)) or BASE
        variants.setdefault(name, Variant(name, values))

    names = [name for name, _ in design.sweeps]
    for strategy, chosen in (design.strategies or {"": {}}).items():
        for combination in product(*(values for _, values in design.sweeps)):
            swept = dict(zip(names, combination, strict=True))
            parts = [strategy, *(f"{name}={shown(value)}" for name, value in swept.items())]
            around = {**design.fixed, **chosen, **swept}
            add(around, *parts)
            for name, values in design.factors:
                for value in values:
                    if value != around.get(name, options()[name].default):
                        add({**around, name: value}, *parts, f"{name}={shown(value)}")
    return tuple(variants.values())


def count_of(design: Design) -> int:
    """Return an upper bound for the number of variants."""
    swept = math.prod(len(values) for _, values in design.sweeps)
    alone = sum(len(values) for _, values in design.factors)
    return max(1, len(design.strategies)) * swept * (1 + alone)


def shown(value: Value) -> str:
    """Write a value as in YAML."""
    return str(value) if isinstance(value, str) else json.dumps(value)


def stage_keys(
    config: FactCheckConfig, *, subject: str, makers: Mapping[str, str], code: str
) -> dict[str, str]:
    """Return the key of every stage; stages with equal keys share one computation.

    A key covers the options of its stage and, through the key before it, those of earlier stages.
    `subject` is the content of the video and its transcript; `makers` name what answers in a stage:
    reasoner, model, web, rating sets; `code` is the version of the code. The option `auto` counts
    as the reasoner that it chooses.
    """
    keys: dict[str, str] = {}
    before = f"{code}\n{subject}"
    given = config.model_dump(
        mode="json", exclude={**dict.fromkeys(Reasoners.model_fields, True), "search": {"web"}}
    )
    for stage in STAGES:
        # An unknown section may affect every stage.
        turned = {
            section: values
            for section, values in given.items()
            if _STAGE_OF_SECTION.get(section, STAGES[0]) == stage
        }
        content = [stage, before, makers.get(stage, ""), turned]
        before = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
        keys[stage] = before
    return keys


# --- Files --------------------------------------------------------------------------------------


class ExperimentFile(BaseModel):
    """An experiment file, before its options are validated."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    experiment: str = Field(
        pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$",
        description="Its name: small letters, digits, hyphens and underscores, at most 64.",
    )
    description: str | None = Field(default=None, description="The question that it answers.")
    videos: tuple[str, ...] = Field(
        default=(), description="Only these videos, by id; without it all that the corpora list."
    )
    tags: tuple[str, ...] = Field(
        default=(), description="Only videos with at least one of these tags."
    )
    settings: dict[str, Any] = Field(
        default_factory=dict,
        description="Options of every variant: a value is fixed, a list is swept. Several lists "
        "make every combination.",
    )
    strategies: tuple[str, ...] = Field(
        default=(), description=f"Named strategies: {', '.join(STRATEGIES)}."
    )
    variants: dict[str, dict[str, Any] | None] = Field(
        default_factory=dict, description="Strategies of your own: a name, and its options."
    )
    one_at_a_time: dict[str, Any] = Field(
        default_factory=dict,
        description="One factor at a time: lists of values, each tried alone around the settings.",
    )
    baseline: str | None = Field(
        default=None, description="The variant that others are compared with; the first if unset."
    )


def experiment_json_schema() -> dict[str, Any]:
    """Return the JSON Schema of an experiment file, for editors."""

    def closed(properties: Mapping[str, Any]) -> dict[str, Any]:
        return {"type": "object", "properties": dict(properties), "additionalProperties": False}

    schema = ExperimentFile.model_json_schema()
    one = {name: dict(option.schema) for name, option in options().items()}
    many = {name: {"type": "array", "items": each, "minItems": 1} for name, each in one.items()}
    either = {
        name: {"anyOf": [each, many[name]], "description": each.get("description", "")}
        for name, each in one.items()
    }
    properties = schema["properties"]
    properties["settings"] |= closed(either)
    properties["one_at_a_time"] |= closed(many)
    properties["variants"]["additionalProperties"] = {"anyOf": [closed(one), {"type": "null"}]}
    properties["strategies"]["items"] = {"type": "string", "enum": list(STRATEGIES)}
    return schema | {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Experiment",
    }


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment that can be run. `line` is the line of its name in `file`."""

    name: str
    description: str | None
    variants: tuple[Variant, ...]
    baseline: str
    videos: tuple[CorpusVideo, ...]
    file: Path
    line: int


@dataclass(frozen=True, slots=True)
class ExperimentsReading:
    """The experiments of some files, and the problems of these files."""

    experiments: tuple[Experiment, ...] = ()
    problems: tuple[lines.FileProblem, ...] = ()

    def find(self, name: str) -> Experiment | None:
        return next((one for one in self.experiments if one.name == name), None)


def experiment_files(settings: Settings) -> list[Path]:
    """Return the experiment files of the project and of the data folder."""
    return [path for folder in settings.corpus_folders for path in yaml_files(folder / FOLDER)]


def load_experiments(
    files: Iterable[Path], corpora: CorporaReading, settings: Settings
) -> ExperimentsReading:
    """Read experiment files. Errors are returned as problems; so is a second use of a name."""
    found: dict[str, Experiment] = {}
    problems: list[lines.FileProblem] = []
    for file in files:
        reading = load_experiment(file, corpora, settings)
        problems.extend(reading.problems)
        for one in reading.experiments:
            first = found.setdefault(one.name, one)
            if first is not one:
                sentence = (
                    f"The experiment {one.name!r} exists already, in {first.file}, line "
                    f"{first.line}. Give one of the two another name."
                )
                problems.append(lines.FileProblem(file, one.line, sentence))
    return ExperimentsReading(tuple(found.values()), tuple(problems))


def load_experiment(file: Path, corpora: CorporaReading, settings: Settings) -> ExperimentsReading:
    try:
        document = lines.read_document(file)
    except lines.PlacedError as error:
        return ExperimentsReading(problems=(error.at(file),))
    reader = _Reader(file=file, document=document, corpora=corpora, settings=settings)
    experiment = reader.experiment()
    problems = tuple(sorted(reader.problems, key=lambda problem: problem.line or 0))
    return ExperimentsReading((experiment,) if experiment and not problems else (), problems)


@dataclass(kw_only=True)
class _Reader(lines.EntryReader):
    corpora: CorporaReading
    settings: Settings

    def experiment(self) -> Experiment | None:
        self.problems += self.document.repeated_keys(self.file)
        data = self.document.data
        if not isinstance(data, dict):
            what = "empty" if data is None else "not a mapping"
            self.report((), f"The file is {what}. Begin with experiment: and its name.")
            return None
        given = {key: value for key, value in data.items() if value is not None}
        written = self.entry(ExperimentFile, given, ())
        if written is None:
            return None
        videos = self._videos(written)
        design = self._design(written)
        if self.problems:
            return None
        if (most := count_of(design)) > MAX_VARIANTS:
            words = f"These lists make up to {most:,} variants, and {MAX_VARIANTS} are the most. "
            self.report((), f"{words}Shorten them, or try one factor at a time.")
            return None
        variants = expand(design)
        self._refuse_contradictions(variants)
        names = [variant.name for variant in variants]
        baseline = written.baseline or names[0]
        self._expect(baseline, names, ("baseline",), "There is no variant {!r}.")
        name, line = written.experiment, self.document.line(("experiment",))
        return Experiment(name, written.description, variants, baseline, videos, self.file, line)

    def _expect(
        self, name: str, known: Iterable[str], place: lines.Place, sentence: str, more: str = ""
    ) -> bool:
        """Report a name that is not known, with the nearest one."""
        names = list(known)
        if name in names:
            return True
        rest = " …" if len(names) > _MOST_NAMES else ""
        every = f"Known: {', '.join(sorted(names)[:_MOST_NAMES])}{rest}."
        near = lines.did_you_mean(name, names, every if names else "None is known.")
        self.report(place, f"{sentence.format(name)} {near}{more}")
        return False

    def _videos(self, written: ExperimentFile) -> tuple[CorpusVideo, ...]:
        listed = list(self.corpora.videos())
        unread = ""
        if self.corpora.problems:
            unread = f" Not every corpus could be read, such as {self.corpora.problems[0]}"
        tags = {tag for one in listed for tag in one.video.tags}
        for index, tag in enumerate(written.tags):
            self._expect(tag, tags, ("tags", index), "No corpus has a tag {!r}.", unread)
        if written.videos:
            # A video with a name may also be in a corpus on demand.
            everything = {one.video.video_id: one for one in self.corpora.everything()}
            for index, video_id in enumerate(written.videos):
                place: lines.Place = ("videos", index)
                self._expect(video_id, everything, place, "No corpus has a video {!r}.", unread)
            named = map(self.corpora.find, dict.fromkeys(written.videos))
            listed = [one for one in named if one is not None]
        chosen = tuple(
            one for one in listed if not written.tags or set(one.video.tags) & set(written.tags)
        )
        if not chosen and not self.problems:
            words = "No video of the corpora passes these filters. Widen videos or tags."
            self.report(("tags",) if written.tags else ("videos",), words)
        return chosen

    def _design(self, written: ExperimentFile) -> Design:
        fixed: dict[str, Value] = {}
        sweeps: list[Axis] = []
        for name, given in written.settings.items():
            place: lines.Place = ("settings", name)
            if isinstance(given, list):
                sweeps += self._axis(name, given, place)
            else:
                fixed |= self._value(name, given, place)
        swept = {name for name, _ in sweeps}
        factors: list[Axis] = []
        for name, given in written.one_at_a_time.items():
            place = ("one_at_a_time", name)
            if name in options() and not isinstance(given, list):
                words = f"{name} is one value here. Give a list, or put it in settings."
                self.report(place, words)
            elif axes := self._axis(name, given, place):
                factors += axes
                if name in swept:
                    words = f"{name} is swept under settings as well. Keep one of the two lists."
                    self.report(place, words)
        return Design(fixed, self._strategies(written, swept), tuple(sweeps), tuple(factors))

    def _is_option(self, name: str, place: lines.Place) -> bool:
        return self._expect(name, options(), place, "There is no option {!r}.")

    def _axis(self, name: str, given: list[Any], place: lines.Place) -> list[Axis]:
        if not self._is_option(name, place):
            return []
        values: dict[str, Value] = {}
        for index, each in enumerate(given):
            for value in self._value(name, each, (*place, index)).values():
                label = shown(value)
                if label in values:
                    self.report(
                        (*place, index), f"The list has the value {label} twice. Remove one."
                    )
                values[label] = value
        if not given:
            self.report(place, f"The list of {name} is empty. Give values, or leave it out.")
        return [(name, tuple(values.values()))] if values else []

    def _value(self, name: str, given: object, place: lines.Place) -> dict[str, Value]:
        """Return the option with its value; empty, with a problem reported, if it is invalid."""
        if not self._is_option(name, place):
            return {}
        try:
            value = checked_value(name, given)
            if name in MODEL_OPTIONS:
                plan_models(settings_of({"model": value}, self.settings))
            elif name == PROMPT_FILES:
                check_prompt_files(settings_of({name: value}, self.settings))
        except OptionError as error:
            self.report(place, error.sentence)
        except SetupError as error:
            self.report(place, f"{name}: {error}")
        else:
            return {name: value}
        return {}

    def _strategies(self, written: ExperimentFile, swept: set[str]) -> dict[str, dict[str, Value]]:
        chosen: dict[str, dict[str, Value]] = {}
        places: dict[str, lines.Place] = {}
        for index, name in enumerate(written.strategies):
            place: lines.Place = ("strategies", index)
            more = " Others can be described under variants:."
            if name in chosen:
                self.report(place, f"The list has the strategy {name!r} twice. Remove one.")
            elif self._expect(name, STRATEGIES, place, "There is no strategy {!r}.", more):
                chosen[name], places[name] = dict(STRATEGIES[name]), place
        for name, given in written.variants.items():
            place = ("variants", name)
            if not _VARIANT.fullmatch(name) or name in STRATEGIES:
                self.report(
                    place,
                    f"A variant cannot be called {name!r}. Take letters, digits, dots, hyphens "
                    "and underscores, and none of the named strategies.",
                )
                continue
            chosen[name], places[name] = {}, place
            for option, value in (given or {}).items():
                chosen[name] |= self._value(option, value, (*place, option))
        for name, values in chosen.items():
            for option in swept.intersection(values):
                words = f"{name} sets {option}, which is swept under settings. Keep one of the two."
                self.report(places[name], words)
        return chosen

    def _refuse_contradictions(self, variants: tuple[Variant, ...]) -> None:
        for variant in variants:
            try:
                config = variant.config
            except OptionError as error:
                # Each value is valid alone, but two contradict each other.
                self.report(("settings",), f"In the variant {variant.name}, {error.sentence}")
                return
            if variant.names_a_model and config.reasoner == "embedded":
                self.report(
                    ("settings",),
                    f"The variant {variant.name} names a model and wants the reasoner embedded, "
                    "which asks none. Remove one of the two.",
                )
                return
