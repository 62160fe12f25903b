"""Reads experiment files, and reports all their problems with lines and remedies."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from factible_assets.config import OptionError, Value
from factible_assets.corpora.reading import CorporaReading, CorpusVideo, yaml_files
from factible_assets.evaluation.measures import CATALOGUE
from factible_assets.runs.experiments.plan import (
    MODEL_OPTIONS,
    PRESETS,
    PROMPT_FILES,
    Experiment,
    Variant,
    checked_value,
    expand,
    options,
    settings_of,
    shown,
)
from factible_assets.services.models import plan_models
from factible_assets.services.reasoning import check_prompt_files
from factible_assets.settings import Settings
from resources.errors import SetupError
from resources.text_files import (
    EntryReader,
    FileProblem,
    Place,
    PlacedError,
    did_you_mean,
    read_document,
)

FOLDER: Final = "experiments"
"""The folder of experiment files in a folder of corpora."""

MAX_VARIANTS: Final = 200
"""More variants are likely a mistake: five lists of three values make 243."""

_VARIANT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_MOST_NAMES = 20


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
        default=(), description=f"Named strategies: {', '.join(PRESETS)}."
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
    metrics: tuple[str, ...] = Field(
        default=(), description="The metrics that its tables show; the main ones if unset."
    )


def experiment_json_schema() -> dict[str, Any]:
    """Return the JSON Schema of an experiment file, for editors."""

    def closed(properties: Mapping[str, Any]) -> dict[str, Any]:
        return {"type": "object", "properties": dict(properties), "additionalProperties": False}

    schema = ExperimentFile.model_json_schema()
    values = {name: dict(option.schema) for name, option in options().items()}
    lists = {
        name: {"type": "array", "items": schema, "minItems": 1} for name, schema in values.items()
    }
    both = {
        name: {"anyOf": [schema, lists[name]], "description": schema.get("description", "")}
        for name, schema in values.items()
    }
    properties = schema["properties"]
    properties["settings"] |= closed(both)
    properties["one_at_a_time"] |= closed(lists)
    properties["variants"]["additionalProperties"] = {"anyOf": [closed(values), {"type": "null"}]}
    properties["strategies"]["items"] = {"type": "string", "enum": list(PRESETS)}
    return schema | {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Experiment",
    }


@dataclass(frozen=True, slots=True)
class ExperimentsReading:
    """The experiments of some files, and the problems of these files."""

    experiments: tuple[Experiment, ...] = ()
    problems: tuple[FileProblem, ...] = ()


def experiment_files(settings: Settings) -> list[Path]:
    """Return the experiment files of the project and of the data folder."""
    return [path for folder in settings.corpus_folders for path in yaml_files(folder / FOLDER)]


def load_experiments(
    files: Iterable[Path], corpora: CorporaReading, settings: Settings
) -> ExperimentsReading:
    """Read experiment files. Errors are returned as problems; so is a second use of a name."""
    by_name: dict[str, Experiment] = {}
    problems: list[FileProblem] = []
    for file in files:
        try:
            document = read_document(file)
        except PlacedError as error:
            problems.append(error.at(file))
            continue
        reader = _ExperimentReader(file=file, document=document, corpora=corpora, settings=settings)
        new = reader.experiment()
        if new is not None and (first := by_name.setdefault(new.name, new)) is not new:
            words = f"exists already, in {first.file}, line {first.line}."
            reader.report(
                ("experiment",),
                f"The experiment {new.name!r} {words} Give one of the two another name.",
            )
        problems += sorted(reader.problems, key=lambda problem: problem.line or 0)
    return ExperimentsReading(tuple(by_name.values()), tuple(problems))


@dataclass(kw_only=True)
class _ExperimentReader(EntryReader):
    corpora: CorporaReading
    settings: Settings

    def experiment(self) -> Experiment | None:
        """Return the experiment of the file; None if it has problems."""
        data = self.document.data
        if not isinstance(data, dict):
            state = "empty" if data is None else "not a mapping"
            self.report((), f"The file is {state}. Begin with experiment: and its name.")
            return None
        values = {key: value for key, value in data.items() if value is not None}
        content = self.entry(ExperimentFile, values, ())
        if content is None:
            return None
        videos, variants = self._videos(content), self._variants(content)
        if self.problems:
            return None
        if len(variants) > MAX_VARIANTS:
            words = f"These lists make more than {MAX_VARIANTS} variants, which are the most. "
            self.report((), f"{words}Shorten them, or try one factor at a time.")
            return None
        self._refuse_contradictions(variants)
        names = [variant.name for variant in variants]
        baseline = content.baseline or names[0]
        self._expect(baseline, names, ("baseline",), "There is no variant {!r}.")
        for index, name in enumerate(content.metrics):
            self._expect(name, CATALOGUE, ("metrics", index), "There is no metric {!r}.")
        if self.problems:
            return None
        name, about = content.experiment, content.description
        line = self.document.line(("experiment",))
        return Experiment(name, about, variants, baseline, videos, self.file, line, content.metrics)

    def _expect(
        self, name: str, known: Iterable[str], place: Place, sentence: str, more: str = ""
    ) -> bool:
        """Report an unknown name with the nearest known one, and tell whether it is known."""
        names = list(known)
        if name in names:
            return True
        rest = " …" if len(names) > _MOST_NAMES else ""
        listed = f"Known: {', '.join(sorted(names)[:_MOST_NAMES])}{rest}."
        nearest = did_you_mean(name, names, listed if names else "None is known.")
        self.report(place, f"{sentence.format(name)} {nearest}{more}")
        return False

    def _videos(self, content: ExperimentFile) -> tuple[CorpusVideo, ...]:
        listed = list(self.corpora.videos())
        unread = ""
        if self.corpora.problems:
            unread = f" Not every corpus could be read, such as {self.corpora.problems[0]}"
        tags = {tag for entry in listed for tag in entry.video.tags}
        for index, tag in enumerate(content.tags):
            self._expect(tag, tags, ("tags", index), "No corpus has a tag {!r}.", unread)
        if content.videos:
            # A video with a name may also be in a corpus on demand.
            by_id = {entry.video.video_id: entry for entry in self.corpora.everything()}
            for index, video_id in enumerate(content.videos):
                place: Place = ("videos", index)
                self._expect(video_id, by_id, place, "No corpus has a video {!r}.", unread)
            listed = [
                by_id[video_id] for video_id in dict.fromkeys(content.videos) if video_id in by_id
            ]
        chosen = tuple(
            entry
            for entry in listed
            if not content.tags or set(entry.video.tags) & set(content.tags)
        )
        if not chosen and not self.problems:
            words = "No video of the corpora passes these filters. Widen videos or tags."
            self.report(("tags",) if content.tags else ("videos",), words)
        return chosen

    def _variants(self, content: ExperimentFile) -> tuple[Variant, ...]:
        """Return the variants, or the first ones if they are too many."""
        settings = self._values(content.settings, "settings")
        factors = self._values(content.one_at_a_time, "one_at_a_time")
        lists = {name for name, value in content.settings.items() if isinstance(value, list)}
        sweeps = {name: values for name, values in settings.items() if name in lists}
        for name in factors:
            place = ("one_at_a_time", name)
            if not isinstance(content.one_at_a_time[name], list):
                words = f"{name} is one value here. Give a list, or put it in settings."
                self.report(place, words)
            elif name in sweeps:
                words = f"{name} is swept under settings as well. Keep one of the two lists."
                self.report(place, words)
        strategies = self._strategies(content, sweeps)
        if self.problems:
            return ()
        fixed = {name: values[0] for name, values in settings.items() if name not in lists}
        return tuple(islice(expand(fixed, strategies, sweeps, factors), MAX_VARIANTS + 1))

    def _values(self, options_set: Mapping[str, Any], *place: str) -> dict[str, tuple[Value, ...]]:
        """Return the values of each option, without invalid ones, which it reports."""
        values_of: dict[str, tuple[Value, ...]] = {}
        for name, listed in options_set.items():
            if not self._expect(name, options(), (*place, name), "There is no option {!r}."):
                continue
            values: dict[str, Value] = {}
            for index, item in enumerate(listed if isinstance(listed, list) else [listed]):
                at: Place = (*place, name, index)
                try:
                    value = self._checked(name, item)
                except (OptionError, SetupError) as error:
                    self.report(at, str(error))
                    continue
                if (label := shown(value)) in values:
                    self.report(at, f"The list has the value {label} twice. Remove one.")
                values[label] = value
            if listed == []:
                words = f"The list of {name} is empty. Give values, or leave it out."
                self.report((*place, name), words)
            values_of[name] = tuple(values.values())
        return values_of

    def _checked(self, name: str, given: object) -> Value:
        """Return a valid value. Raises OptionError or SetupError."""
        value = checked_value(name, given)
        try:
            if name in MODEL_OPTIONS:
                plan_models(settings_of({"model": value}, self.settings))
            elif name == PROMPT_FILES:
                check_prompt_files(settings_of({name: value}, self.settings))
        except SetupError as error:
            raise SetupError(f"{name}: {error}") from error
        return value

    def _strategies(
        self, content: ExperimentFile, swept: Collection[str]
    ) -> dict[str, dict[str, Value]]:
        """Return the values of the named strategies, and of those that the file describes."""
        chosen: dict[str, dict[str, Value]] = {}
        places: dict[str, Place] = {}
        for index, name in enumerate(content.strategies):
            place: Place = ("strategies", index)
            more = " Others can be described under variants:."
            if name in chosen:
                self.report(place, f"The list has the strategy {name!r} twice. Remove one.")
            elif self._expect(name, PRESETS, place, "There is no strategy {!r}.", more):
                chosen[name], places[name] = dict(PRESETS[name]), place
        for name, options_set in content.variants.items():
            at = places[name] = "variants", name
            if not _VARIANT.fullmatch(name) or name in PRESETS:
                self.report(
                    at,
                    f"A variant cannot be called {name!r}. Take letters, digits, dots, hyphens "
                    "and underscores, and none of the named strategies.",
                )
                continue
            # A variant has one value of each option.
            single = {option: [value] for option, value in (options_set or {}).items()}
            lists = self._values(single, *at)
            chosen[name] = {option: choices[0] for option, choices in lists.items() if choices}
        for name, values in chosen.items():
            for option in swept & values.keys():
                words = f"{name} sets {option}, which is swept under settings. Keep one of the two."
                self.report(places[name], words)
        return chosen

    def _refuse_contradictions(self, variants: Iterable[Variant]) -> None:
        """Report the first variant whose values are valid alone, but contradict each other."""
        for variant in variants:
            try:
                reasoner = variant.config.reasoner
            except OptionError as error:
                self.report(("settings",), f"In the variant {variant.name}, {error.sentence}")
                return
            if variant.names_a_model and reasoner == "embedded":
                words = "names a model and wants the reasoner embedded, which asks none. Remove one"
                self.report(("settings",), f"The variant {variant.name} {words} of the two.")
                return
