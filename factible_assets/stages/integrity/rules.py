"""The rules of integrity by asset, and their judgement.

What belongs here: which rules there are, what breaking one means, and the rules that hold for every
asset. What does not: the rules of one asset (words.py, sources.py, findings.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from pydantic import ValidationError

from factible_assets.records import ASSET_RECORDS, LlmCall, Record
from factible_assets.stages.integrity import findings, sources, words
from factible_assets.stages.integrity.judged_rows import JudgedRows, Violation, missing


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule over the rows of one asset.

    Attributes:
        asset: Whose rows it judges.
        name: Unique within the asset.
        description: What it demands, in a sentence.
        find: Yields the violations.
        blocking: Whether rows that break it are refused, and nothing is computed from them.
    """

    asset: str
    name: str
    description: str
    find: Callable[[JudgedRows], Iterator[Violation]]
    blocking: bool = True


@dataclass(frozen=True, slots=True)
class Finding:
    """What one rule found in the rows of one video. Without violations the rule holds."""

    rule: Rule
    violations: tuple[Violation, ...]

    @property
    def passed(self) -> bool:
        """Tell whether the rule holds."""
        return not self.violations

    @property
    def refuses(self) -> bool:
        """Tell whether the rows must not be written."""
        return self.rule.blocking and bool(self.violations)


def rules_of(asset: str) -> tuple[Rule, ...]:
    """Return the rules of one asset, in order."""
    return tuple(rule for rule in ALL_RULES if rule.asset == asset)


def judge(assets: Iterable[str], rows: JudgedRows) -> tuple[Finding, ...]:
    """Hold the rows of some assets against all of their rules. Pure and deterministic."""
    wanted = set(assets)
    return tuple(
        Finding(rule, tuple(rule.find(rows))) for rule in ALL_RULES if rule.asset in wanted
    )


# --- Rules of every asset -----------------------------------------------------------------------


def _valid(asset: str) -> Callable[[JudgedRows], Iterator[Violation]]:
    def rows_are_valid(rows: JudgedRows) -> Iterator[Violation]:
        for position, row in enumerate(rows.of_asset(asset)):
            name = f"{row.table} row {position}"
            owner = getattr(row, "video_id", rows.video.video_id)
            if owner != rows.video.video_id:
                yield Violation(name, f"it belongs to the video {owner}")
            yield from _invalid(name, row)

    return rows_are_valid


def _invalid(name: str, row: Record) -> Iterator[Violation]:
    values = {field: getattr(row, field, None) for field in type(row).model_fields}
    for field, value in values.items():
        if isinstance(value, float) and not math.isfinite(value):
            yield Violation(name, f"{field} is {value}, which is no number")
            return
    try:
        # Copies that were made with changes are not validated by pydantic.
        type(row).model_validate(values)
    except ValidationError as error:
        for problem in error.errors(include_input=False):
            where = ".".join(str(part) for part in problem["loc"])
            yield Violation(name, f"{where or 'the row'}: {problem['msg']}")


def _calls(asset: str) -> Callable[[JudgedRows], Iterator[Violation]]:
    def calls_refer_to_rows(rows: JudgedRows) -> Iterator[Violation]:
        queries = {query.query_id for query in rows.queries}
        for call in rows.llm_calls:
            if call.stage == asset:
                name = f"model call {call.call_id}"
                if call.claim_id is not None:
                    yield from missing(name, "claim", call.claim_id, rows.claim_ids)
                if call.query_id is not None:
                    yield from missing(name, "query", call.query_id, queries)

    return calls_refer_to_rows


# --- The rules ----------------------------------------------------------------------------------

_SPECIFIC: dict[str, tuple[Callable[[JudgedRows], Iterator[Violation]], ...]] = {
    "transcripts": (
        words.transcript_is_one_text,
        words.captions_stand_in_the_text,
        words.captions_fit_the_video,
    ),
    "claims": (
        words.claim_ids_are_derived,
        words.claims_are_in_order,
        words.claims_stand_in_the_transcript,
    ),
    "queries": (sources.query_ids_are_derived, sources.every_claim_has_queries),
    "search_hits": (
        sources.searches_belong_to_queries,
        sources.hits_are_identified,
        sources.hits_belong_to_searches,
        sources.fact_checks_belong_to_claims,
    ),
    "reliability_ratings": (sources.every_domain_is_rated_once,),
    "evidence": (
        findings.page_ids_are_derived,
        findings.every_text_has_its_page,
        findings.evidence_ids_are_derived,
        findings.evidence_refers_to_its_hit,
        findings.every_hit_is_accounted_for,
        findings.quotes_stand_in_their_pages,
        findings.no_source_is_the_video,
        findings.no_page_is_too_new,
    ),
    "verdicts": (
        findings.every_claim_has_a_verdict,
        findings.verdicts_are_in_order,
        findings.verdicts_count_their_evidence,
    ),
    "media": (findings.finding_ids_are_derived,),
}
_WARNINGS = frozenset({words.captions_fit_the_video})
"""Rules whose breach may be a mistake of the corpus file, which must not stop a fact-check."""

_VALIDITY = "Every row fits its table: fields, types, ranges, finite numbers, and this video."
_CALLS = "Model calls refer to claims and queries that are there."


def _rules() -> Iterator[Rule]:
    for asset in ASSET_RECORDS:
        yield Rule(asset, f"{asset}_rows_are_valid", _VALIDITY, _valid(asset))
        for find in _SPECIFIC.get(asset, ()):
            words_of_rule = (find.__doc__ or find.__name__).strip()
            yield Rule(asset, find.__name__, words_of_rule, find, find not in _WARNINGS)
        if LlmCall in ASSET_RECORDS[asset]:
            yield Rule(asset, f"calls_of_{asset}_refer_to_rows", _CALLS, _calls(asset))


ALL_RULES: tuple[Rule, ...] = tuple(_rules())
