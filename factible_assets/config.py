"""The run's knobs: one pydantic model per stage, ranges enforced, defaults that work.

What belongs here: numbers and choices that a user may set per run, and the list of them by one flat
name each. What does not: keys and paths (settings.py), constants that a published method fixes
(beside the code that uses them).

A knob is declared here and nowhere else. Dagster's launchpad (launchpad.py), the options of the
command line (cli/arguments.py) and the schema of experiments (runs/experiments/plan.py) follow.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from factible_assets.records import Rating, SourceClass

if TYPE_CHECKING:
    StrategyName: TypeAlias = str
else:
    _FILES = Path(__file__).with_name("strategies").glob("[a-z]*.py")
    StrategyName = Literal[
        tuple(sorted(file.stem for file in _FILES if "\nSTRATEGY = " in file.read_text("utf-8")))
    ]
    """The strategies: the modules in strategies/ that define `STRATEGY`."""

ReasonerKnob = Annotated[
    Literal["auto", "embedded", "llm"],
    Field(
        description="Who judges: the embedded engine with the best reader on this machine, or a "
        "language model; auto takes the language model if one is set up."
    ),
]


class StageConfig(BaseModel):
    """The base of every stage's knobs: immutable, and strict about names."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Reasoners(StageConfig):
    """Who makes each of the four judgements of a check."""

    reasoner: ReasonerKnob = "auto"
    claims_by: Literal["auto", "embedded", "llm"] = Field(
        default="auto", description="Who finds the claims, if not the reasoner."
    )
    queries_by: Literal["auto", "embedded", "llm"] = Field(
        default="auto", description="Who words the queries, if not the reasoner."
    )
    evidence_by: Literal["auto", "plain", "entailment", "labels", "llm"] = Field(
        default="auto",
        description=(
            "Who reads the pages, if not the reasoner: plain rules, an entailment model, the label "
            "probabilities of a small language model, or the language model itself."
        ),
    )
    verdicts_by: Literal["auto", "template", "llm"] = Field(
        default="auto",
        description="Who words the verdicts: a template (auto), or the language model too, in one "
        "call for all claims. Words that do not speak for the verdict are left out.",
    )


class ClaimsConfig(StageConfig):
    """What to extract from a transcript."""

    max_claims: int = Field(
        default=5, ge=1, le=50, description="The most important claims that are kept per video."
    )


class ExtractionConfig(ClaimsConfig):
    """The knobs of a run that extracts claims: what to extract, and who does."""

    keep: bool = Field(
        default=False,
        description="Keep the claims that stand, but for what reviewers changed since.",
    )
    reasoner: ReasonerKnob = "auto"


class QueriesConfig(StageConfig):
    """How many queries to write, and which to ask."""

    max_queries: int = Field(default=3, ge=1, le=10, description="Queries asked per claim.")
    max_priority: int = Field(
        default=3,
        ge=1,
        le=5,
        description="Queries of a lower priority (a higher number) are left out.",
    )


def listed(value: object) -> object:
    """Read `a, b` as a list, which is how a command line and an environment write one."""
    if not isinstance(value, str):
        return value
    return tuple(part for part in (each.strip() for each in value.split(",")) if part)


_LISTED = BeforeValidator(listed)


def of_form(form: str, otherwise: str, bare: Callable[[str], str] = str) -> AfterValidator:
    """Return what makes a text `bare`, and refuses it, in these words, if it has another form."""

    def checked(value: str) -> str:
        found = bare(value)
        if re.fullmatch(form, found) is None:
            raise ValueError(otherwise)
        return found

    return AfterValidator(checked)


_WEB = r"(auto|live|miniature|archive(:[\w.-]+)?)"
Web = Annotated[str, of_form(_WEB, "web is one of auto, live, archive, archive:NAME and miniature")]
_CODE = of_form(
    r"[a-z]{2}",
    "write it as a code of two letters, such as en or us",
    lambda it: it.strip().lower(),
)
TwoLetters = Annotated[str, _CODE]
_DOMAIN = of_form(
    r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+",
    "it is no domain; write it as example.org, without https://",
    lambda each: each.lower().strip(".").removeprefix("www."),
)
_FILE_TYPE = of_form(
    r"[a-z0-9]{1,10}",
    "it is no type of file; write it as pdf",
    lambda each: each.lower().lstrip("."),
)
_CLAIM_ID = of_form(r"[A-Za-z0-9_-]{1,128}", "it is no claim_id; factible review lists them")
Day = Annotated[date, Field(ge=date(1000, 1, 1))]
"""A day from which calendars can go back."""


class SearchConfig(StageConfig):
    """Where and how to look for evidence."""

    web: Web = Field(
        default="auto",
        json_schema_extra={"pattern": f"^{_WEB}$"},
        description=(
            "Where evidence is looked for: live (search providers with a key), archive (stored "
            "pages; archive:NAME for one collection), miniature (the demo's web), or auto (what "
            "the video's corpus says, else live if a key is set, else archive)."
        ),
    )
    pages_rating: Rating | None = Field(
        default=None,
        description=(
            "How reliable the pages of a named collection (archive:NAME) are that no rating set "
            "lists; by default what the video's corpus says, else unknown."
        ),
    )
    max_results: int = Field(default=3, ge=1, le=10, description="Sources read per query.")
    minimum_rating: Rating = Field(
        default="unknown",
        description="Sources rated lower are read only to meet the minimum guarantee.",
    )
    published_before: Day | None = Field(
        default=None, description="Leave out sources published on or after this day."
    )
    published_after: Day | None = Field(
        default=None, description="Leave out sources published before this day."
    )
    exclude_domains: Annotated[tuple[Annotated[str, _DOMAIN], ...], _LISTED] = Field(
        default=(),
        max_length=100,
        description="Leave out these domains and all below them, such as example.org.",
    )
    exclude_file_types: Annotated[tuple[Annotated[str, _FILE_TYPE], ...], _LISTED] = Field(
        default=(), max_length=20, description="Leave out files of these types, such as pdf."
    )
    exclude_classes: Annotated[tuple[SourceClass, ...], _LISTED] = Field(
        default=(),
        max_length=13,
        description=(
            "Leave out sources of these kinds, such as fact_checker or video: by the rating sets, "
            "and fact checks and videos by their addresses too."
        ),
    )
    undated: Literal["keep", "drop"] = Field(
        default="keep",
        description="What becomes of sources without a known date where a date limit is set.",
    )
    language: TwoLetters | None = Field(
        default=None,
        description="Search in this language (ISO 639-1, such as en), where a provider can choose.",
    )
    country: TwoLetters | None = Field(
        default=None, description="Search as from this country (ISO 3166-1, such as us), likewise."
    )
    prefer_primary: bool = Field(
        default=False,
        description="Read academic and government sources first, among those of one rating.",
    )
    answers: bool = Field(
        default=False,
        description=(
            "Read what Perplexity answers, with its sources, as one more source of a claim, of the "
            "kind answer_engine. It weighs as one rated low, and never settles a claim alone."
        ),
    )

    @field_validator("published_after")
    @classmethod
    def _period_has_days(cls, value: date | None, info: ValidationInfo) -> date | None:
        before = info.data.get("published_before")
        if value is not None and before is not None and value >= before:
            raise ValueError(f"it leaves no day before {before}, where the period ends")
        return value


class EvidenceConfig(StageConfig):
    """How much of a page is kept, and when enough has been read."""

    enough_origins: int | None = Field(
        default=None,
        ge=1,
        description=(
            "Judge a claim once this many independent, reliable sources agree, and leave its "
            "stragglers unread (recorded as skipped). Unset: read everything that was selected."
        ),
    )
    together: bool = Field(
        default=False,
        description=(
            "Whether a language model reads the pages of a claim in one call, six at most. Small "
            "models mix pages up; otherwise each page is read alone."
        ),
    )
    summaries: Literal["few_shot", "zero_shot"] = Field(
        default="few_shot",
        description="How the strategy raw_evidence asks for summaries: with examples or without.",
    )


class BudgetConfig(StageConfig):
    """What one claim may cost with any strategy but `standard`, before what is known judges it."""

    max_calls: int = Field(default=60, ge=1, le=1_000, description="Model calls per claim.")
    max_tokens: int = Field(
        default=300_000, ge=1_000, le=10_000_000, description="Tokens per claim, in and out."
    )
    max_cost_usd: float = Field(
        default=1.0, gt=0.0, le=100.0, description="US dollars per claim, for its model calls."
    )
    max_seconds: float = Field(default=900.0, gt=0.0, le=36_000.0, description="Seconds per claim.")
    max_plans: int = Field(
        default=3, ge=1, le=10, description="Plans per claim: the first, and its revisions."
    )
    escalate: bool = Field(
        default=False,
        description="Go round once more where the vote and the model's own verdict disagree "
        "(strategy agentic).",
    )


class VerdictsConfig(StageConfig):
    """When a leaning becomes a verdict."""

    min_weight: float = Field(
        default=0.36,
        ge=0.0,
        le=10.0,
        description="Evidence weight below which all is unclear. One source that no rating set "
        "lists weighs at most 0.35, and so settles nothing alone.",
    )
    min_margin: float = Field(
        default=0.2, ge=0.0, le=1.0, description="Margin of the vote below which it abstains."
    )


class FactCheckConfig(Reasoners):
    """All knobs of one fact-check."""

    claims: ClaimsConfig = ClaimsConfig()
    queries: QueriesConfig = QueriesConfig()
    search: SearchConfig = SearchConfig()
    evidence: EvidenceConfig = EvidenceConfig()
    verdicts: VerdictsConfig = VerdictsConfig()
    budget: BudgetConfig = BudgetConfig()
    strategy: StrategyName = Field(
        default="standard", description="How a claim is checked; docs/strategies.md compares them."
    )
    only_claims: Annotated[tuple[Annotated[str, _CLAIM_ID], ...], _LISTED] = Field(
        default=(),
        max_length=50,
        description=(
            "Check these claims alone, by their ids (claim_id). Their queries are kept if they are "
            "good; the rows of all other claims are carried over from the last check."
        ),
    )
    renew: bool = Field(
        default=False,
        description=(
            "Check again: keep the queries that are good, ask every search anew, and ask every "
            "page whether it changed, whatever was kept since the last check."
        ),
    )

    @property
    def keeps_queries(self) -> bool:
        """Tell whether the queries of the last check are asked again, where they are good."""
        return self.renew or bool(self.only_claims)

    def limited_to(self, day: date | None) -> FactCheckConfig:
        """Return these knobs with a video's own date limit, unless the run sets one itself."""
        if day is None or self.search.published_before is not None:
            return self
        search = self.search.model_copy(update={"published_before": day})
        return self.model_copy(update={"search": search})


# --- The knobs by their names -------------------------------------------------------------------

Value: TypeAlias = str | int | float | bool | None
"""One value of a knob, as JSON has it; a list is written as text: `a, b`."""

Values: TypeAlias = Mapping[str, Value]
"""Values of some knobs, by name."""

_OF_EVERY_STAGE = (*Reasoners.model_fields, "strategy")
"""The knobs outside of a section that are set by name; the others concern re-checks."""


class KnobError(ValueError):
    """A value that a knob cannot take: which knob, a sentence, and the reason alone."""

    def __init__(self, knob: str, sentence: str, reason: str = "") -> None:
        super().__init__(sentence)
        self.knob, self.sentence, self.reason = knob, sentence, reason


COMMON = {
    *("max_claims", "max_queries", "max_results", "web", "published_before", "exclude_domains"),
    *("language", "reasoner", "evidence_by", "strategy"),
}
"""The options that `factible check --help` shows; `--help-all` shows every one."""


@dataclass(frozen=True, slots=True)
class Knob:
    """One knob, its `place` in FactCheckConfig, and its JSON Schema: type, range, words."""

    name: str
    place: tuple[str, ...]
    default: Value
    schema: Mapping[str, Any]


@cache
def knobs() -> Mapping[str, Knob]:
    """Return every knob by its name; SECTION.NAME where two sections have the name."""
    sections = {
        name: field.annotation
        for name, field in FactCheckConfig.model_fields.items()
        if isinstance(field.annotation, type) and issubclass(field.annotation, StageConfig)
    }
    places = [(section, name) for section, model in sections.items() for name in model.model_fields]
    names = [name for _, name in places]
    models: list[type[StageConfig]] = [*sections.values(), FactCheckConfig]
    schemas = {model: model.model_json_schema()["properties"] for model in models}
    found = {}
    for place in [*places, *((name,) for name in _OF_EVERY_STAGE)]:
        name, model = place[-1], sections.get(place[0], FactCheckConfig)
        label = ".".join(place) if names.count(name) > 1 else name
        schema = schemas[model][name]
        described = {key: each for key, each in schema.items() if key not in {"title", "default"}}
        default = model().model_dump(mode="json")[name]
        if isinstance(default, list):
            # A list is what an experiment sweeps, so a knob that is one is written as text.
            described = {"type": "string", "description": f"{schema['description']} Write: a, b"}
        found[label] = Knob(label, place, plain_value(default), described)
    return found


def plain_value(value: Any) -> Value:
    """Return a value of a run's knobs as it is written: a list as `a, b`."""
    plain: Value = ", ".join(value) if isinstance(value, list) else value
    return plain


def placed(values: Mapping[str, object], beside: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return values of knobs as JSON has them, in their sections, in place of those `beside` them.

    Raises KeyError for an unknown knob.
    """
    nested = deepcopy(dict(beside or {}))
    for name, value in values.items():
        *sections, knob = knobs()[name].place
        inner = nested
        for section in sections:
            inner = inner.setdefault(section, {})
        inner[knob] = value
    return nested


def config_of(values: Mapping[str, object]) -> FactCheckConfig:
    """Return the knobs of a run; those that are not given keep their defaults.

    Raises KeyError for an unknown knob, KnobError for a value out of its range.
    """
    try:
        return FactCheckConfig.model_validate(placed(values))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = tuple(str(step) for step in first["loc"])
        name = next((n for n in values if knobs()[n].place == place[: len(knobs()[n].place)]), "")
        words = first["msg"].removeprefix("Value error, ")
        raise KnobError(
            name, f"{name} is {first['input']!r}: {words[:1].upper()}{words[1:]}.", words
        ) from error


DEMO_VIDEO = "everyday-beliefs-talk"
"""The talk that the demo checks; a corpus of the project lists it."""


def demo_config() -> FactCheckConfig:
    """Return the knobs of the demo, which needs no key and no network."""
    # So many claims that true, false, mixed and unsettled ones are among them.
    return FactCheckConfig(
        claims=ClaimsConfig(max_claims=14),
        search=SearchConfig(web="miniature"),
        reasoner="embedded",
    )
