"""The options of a run: one pydantic model per stage, with ranges and defaults.

An option is declared here only. Dagster's launchpad, the command line and the JSON Schema of
experiments read these models.
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

from factible_assets.records.tables import Rating, SourceClass
from resources.text_files import reason_of

if TYPE_CHECKING:
    StrategyName: TypeAlias = str
else:
    _FILES = Path(__file__).with_name("strategies").glob("[a-z]*.py")
    StrategyName = Literal[
        tuple(sorted(file.stem for file in _FILES if "\nSTRATEGY = " in file.read_text("utf-8")))
    ]
    """The strategies: the modules in strategies/ that define `STRATEGY`."""


class StageConfig(BaseModel):
    """The base of the options of a stage: immutable, and without unknown names."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _number(default: float, least: float, most: float, words: str) -> Any:
    """Declare an option with a range."""
    return Field(default=default, ge=least, le=most, description=words)


def listed(value: object) -> object:
    """Read `a, b` as a list, for the command line and the environment."""
    if not isinstance(value, str):
        return value
    return tuple(part for part in (item.strip() for item in value.split(",")) if part)


_LISTED = BeforeValidator(listed)


def _matching(pattern: str, error: str, normalise: Callable[[str], str] = str) -> AfterValidator:
    """Return a validator that normalises a text and then matches it against a pattern."""

    def validate(value: str) -> str:
        text = normalise(value)
        if re.fullmatch(pattern, text) is None:
            raise ValueError(error)
        return text

    return AfterValidator(validate)


_WEB = r"(auto|live|miniature|annotated|archive(:[\w.-]+)?)"
_WEBS = "auto, live, archive, archive:NAME, annotated and miniature"
Web = Annotated[str, _matching(_WEB, f"web is one of {_WEBS}")]
_CODE = "write it as a code of two letters, such as en"
TwoLetters = Annotated[str, _matching(r"[a-z]{2}", _CODE, lambda it: it.strip().lower())]
_LABEL = r"[a-z0-9]([a-z0-9-]*[a-z0-9])?"
_DOMAIN = _matching(
    rf"{_LABEL}(\.{_LABEL})+",
    "it is no domain; write it as example.org, without https://",
    lambda each: each.lower().strip(".").removeprefix("www."),
)
ReaderName = Literal["lexical", "plain", "entailment", "labels", "llm"]
Day = Annotated[date, Field(ge=date(1000, 1, 1))]
"""A day; earlier ones would break date arithmetic."""


class JudgementOptions(StageConfig):
    """The maker of each of the four judgements; auto: the reasoner of the run."""

    claims_by: Literal["auto", "embedded", "llm"] = Field(
        "auto", description="The reasoner that finds claims, if not that of the run."
    )
    queries_by: Literal["auto", "embedded", "llm"] = Field(
        "auto", description="The reasoner that writes queries, if not that of the run."
    )
    evidence_by: Literal["auto", ReaderName] = Field(
        "auto",
        description="The reader of pages: indicator words (a weak baseline), plain rules, an "
        "entailment model, the label probabilities of a small language model, or the language "
        "model.",
    )
    verdicts_by: Literal["auto", "template", "llm"] = Field(
        "auto",
        description="The writer of verdicts: a template (auto), or also the language model, in one "
        "call for all claims. Sentences that do not support the verdict are dropped.",
    )


class Reasoners(JudgementOptions):
    """The reasoner of a run, and the exceptions for single judgements."""

    reasoner: Literal["auto", "embedded", "llm"] = Field(
        "auto",
        description="The reasoner: the embedded engine with the best reader on this machine, or a "
        "language model. auto takes the language model if one is set up.",
    )


class ClaimsConfig(StageConfig):
    """Options of the claim extraction."""

    max_claims: int = _number(5, 1, 50, "Number of claims per video, the most important first.")


class QueriesConfig(StageConfig):
    """Options of the queries."""

    max_queries: int = _number(3, 1, 10, "Queries per claim.")
    claim_classes: Literal["words", "published"] = Field(
        "words",
        description="How the strategy confidence finds a claim's class: by whole words, or as "
        "published by letters, also within words.",
    )


class SearchConfig(StageConfig):
    """Options of the search for evidence."""

    web: Web = Field(
        "auto",
        json_schema_extra={"pattern": f"^{_WEB}$"},
        description="Where to look for evidence: live (search providers), archive (stored pages; "
        "archive:NAME for one collection), annotated (the corpus's own evidence for its claims, to "
        "measure reading alone), miniature (the demo's web). auto takes the web of the video's "
        "corpus, else live if a provider is set up, else archive.",
    )
    pages_rating: Rating | None = Field(
        None,
        description="Reliability of unrated pages in a collection (archive:NAME). The default is "
        "that of the video's corpus, else unknown.",
    )
    max_results: int = _number(3, 1, 10, "Sources per query.")
    minimum_rating: Rating = Field(
        "unknown", description="Read sources with a lower rating only if there are too few others."
    )
    published_before: Day | None = Field(None, description="Drop sources from this day or later.")
    published_after: Day | None = Field(None, description="Drop sources from before this day.")
    exclude_domains: Annotated[tuple[Annotated[str, _DOMAIN], ...], _LISTED] = Field(
        (),
        max_length=100,
        description="Drop these domains with their subdomains, such as example.org.",
    )
    exclude_kinds: Annotated[tuple[SourceClass | Literal["pdf"], ...], _LISTED] = Field(
        (),
        max_length=14,
        description="Drop sources of these kinds, such as fact_checker, video or pdf. The rating "
        "sets decide, and for fact checks, videos and PDFs also the address.",
    )
    undated: Literal["keep", "drop"] = Field(
        "keep", description="With a date limit: keep or drop sources without a date."
    )
    language: TwoLetters | None = Field(
        None, description="Search in this language (ISO 639-1, such as en), if the provider can."
    )
    prefer_primary: bool = Field(
        default=False,
        description="Among equal ratings, read academic and government sources first.",
    )
    answers: bool = Field(
        default=False,
        description="Read Perplexity's answer, with its sources, as one more source of the class "
        "answer_engine. It weighs as one rated low, and never settles a claim alone.",
    )

    @field_validator("published_after")
    @classmethod
    def _period_has_days(cls, value: date | None, info: ValidationInfo) -> date | None:
        before = info.data.get("published_before")
        if value is not None and before is not None and value >= before:
            raise ValueError(f"it leaves no day before {before}, where the period ends")
        return value


class EvidenceConfig(StageConfig):
    """Options of reading pages."""

    enough_origins: int | None = Field(
        None,
        ge=1,
        description="Judge a claim once this many independent, reliable sources agree, and skip "
        "its other pages. Unset: read every selected page.",
    )
    leave_slowest: bool = Field(
        default=False,
        description="Do not wait for the slowest page of a claim if it cannot change the verdict's "
        "stance, whatever it says.",
    )
    together: bool = Field(
        default=False,
        description="Let a language model read the pages of a claim in one call, six at most, "
        "instead of one by one. Small models mix pages up.",
    )
    summaries: Literal["few_shot", "zero_shot"] = Field(
        "few_shot",
        description="Summary prompts of the strategy raw_evidence: with or without examples.",
    )
    spans_by: Literal["questions", "claim"] = Field(
        "questions",
        description="The BM25 query of the strategy raw_evidence: all questions, as in the paper's "
        "default system, or the claim.",
    )


class BudgetConfig(StageConfig):
    """Limits per claim for every strategy but `standard`; at one, the evidence so far decides."""

    max_calls: int = _number(60, 1, 1_000, "Model calls per claim, of 5,000 tokens on average.")
    max_cost_usd: float = Field(
        1.0, gt=0.0, le=100.0, description="US dollars per claim, for its model calls."
    )
    max_seconds: float = Field(900.0, gt=0.0, le=36_000.0, description="Seconds per claim.")
    escalate: bool = Field(
        default=False,
        description="Repeat the search once if the vote and the model's own verdict disagree "
        "(strategy agentic).",
    )

    @property
    def max_tokens(self) -> int:
        """The limit of tokens per claim, in and out; it grows with the limit of calls."""
        return 5_000 * self.max_calls


class VerdictsConfig(StageConfig):
    """Options of the vote."""

    calculus: Literal["corrected", "published"] = Field(
        "corrected",
        description="The calculus of the strategy confidence: without its oddities, or exactly as "
        "published.",
    )
    min_weight: float = Field(
        0.36,
        ge=0.0,
        le=10.0,
        description="With less evidence weight the verdict is unclear. One source that no rating "
        "set lists weighs at most 0.35, so it settles nothing alone.",
    )
    min_margin: float = _number(0.2, 0.0, 1.0, "Below this margin the vote abstains.")
    reuse_days: int = _number(
        *(0, 0, 3_650),
        "If another video made the same claim and its check is at most this many days old, judge "
        "the claim by the sources of that check, without a search. 0: never. Only for the strategy "
        "standard, and only if the two claims have the same words, names and figures.",
    )


class FactCheckConfig(Reasoners):
    """All options of one fact-check."""

    claims: ClaimsConfig = ClaimsConfig()
    queries: QueriesConfig = QueriesConfig()
    search: SearchConfig = SearchConfig()
    evidence: EvidenceConfig = EvidenceConfig()
    verdicts: VerdictsConfig = VerdictsConfig()
    budget: BudgetConfig = BudgetConfig()
    strategy: StrategyName = Field(
        default="standard", description="The way to check a claim; see docs/strategies.md."
    )
    only_claims: tuple[str, ...] = Field(
        default=(),
        description=(
            "Check only these claims, by claim_id, and reuse their valid queries. The other claims "
            "keep the rows of the previous check."
        ),
    )
    renew: bool = Field(
        default=False,
        description=(
            "Check again: reuse valid queries, repeat every search, and ask every page whether it "
            "changed, whatever the cache holds."
        ),
    )

    @property
    def keeps_queries(self) -> bool:
        """Whether the run reuses the valid queries of the previous check."""
        return self.renew or bool(self.only_claims)

    def limited_to(self, day: date | None) -> FactCheckConfig:
        """Return these options with a video's own date limit, unless the run sets one itself."""
        if day is None or self.search.published_before is not None:
            return self
        search = self.search.model_copy(update={"published_before": day})
        return self.model_copy(update={"search": search})


# --- Options by name ------------------------------------------------------------------------------

Value: TypeAlias = str | int | float | bool | None
"""One value of an option, as in JSON; a list is written as text: `a, b`."""

Values: TypeAlias = Mapping[str, Value]


COMMON = {
    *("max_claims", "max_queries", "max_results", "web", "published_before", "exclude_domains"),
    *("pages_rating", "language", "reasoner", "evidence_by", "strategy"),
}
"""The options that `factible check --help` shows; `--help-all` shows every one."""


class OptionError(ValueError):
    """A value that an option cannot take: its name, a sentence, and the bare reason."""

    def __init__(self, option: str, sentence: str, reason: str = "") -> None:
        super().__init__(sentence)
        self.option, self.sentence, self.reason = option, sentence, reason


@dataclass(frozen=True, slots=True)
class RunOption:
    """One option: its `place` in FactCheckConfig and its JSON Schema with description and range."""

    name: str
    place: tuple[str, ...]
    default: Value
    schema: Mapping[str, Any]

    @property
    def section(self) -> str:
        """The field of FactCheckConfig that holds its model; empty for its own fields."""
        return self.place[0] if len(self.place) > 1 else ""


@cache
def run_options() -> Mapping[str, RunOption]:
    """Return every option that users set by name. No two sections share a name."""
    fields = FactCheckConfig.model_fields.items()
    sections = {
        name: field.default for name, field in fields if isinstance(field.default, StageConfig)
    }
    options = {}
    for section, defaults in [*sections.items(), ("", FactCheckConfig())]:
        properties = type(defaults).model_json_schema()["properties"]
        for name, default in defaults.model_dump(mode="json").items():
            if name in sections or name in _OF_SINGLE_RUNS:
                continue
            schema = properties[name]
            schema = {key: schema[key] for key in schema if key not in {"title", "default"}}
            if isinstance(default, list):
                # In an experiment a list holds the values to compare, so a list option is text.
                schema = {"type": "string", "description": f"{schema['description']} Write: a, b"}
            place = (section, name) if section else (name,)
            options[name] = RunOption(name, place, plain_value(default), schema)
    return options


_OF_SINGLE_RUNS = {"only_claims", "renew"}
"""Options that `factible review` and `factible recheck` set."""


def plain_value(value: Any) -> Value:
    """Return a value as users write it: a list as `a, b`."""
    plain: Value = ", ".join(value) if isinstance(value, list) else value
    return plain


def in_sections(
    values: Mapping[str, object], base: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return `base` with the values added, each in the section where FactCheckConfig reads it.

    Raises KeyError: There is no such option.
    """
    config = deepcopy(dict(base or {}))
    for name, value in values.items():
        section = run_options()[name].section
        (config.setdefault(section, {}) if section else config)[name] = value
    return config


def config_of(values: Mapping[str, object]) -> FactCheckConfig:
    """Return the configuration of a run; options that are not given keep their defaults.

    Raises KeyError: There is no such option.
    Raises OptionError: A value is out of range.
    """
    try:
        return FactCheckConfig.model_validate(in_sections(values))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = next((str(step) for step in first["loc"] if step in values), "")
        words = reason_of(first)
        raise OptionError(
            name, f"{name} is {first['input']!r}: {words[:1].upper()}{words[1:]}.", words
        ) from error


DEMO_VIDEO = "everyday-beliefs-talk"


def demo_config() -> FactCheckConfig:
    """Return the options of the demo. With 14 claims it shows verdicts of every kind."""
    return config_of({"max_claims": 14, "web": "miniature", "reasoner": "embedded"})
