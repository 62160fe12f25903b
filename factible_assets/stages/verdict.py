"""Turns the evidence on one claim into its verdict: the bundle, the vote, completeness, the words.

The vote over the sources decides, because on the published runs of Factible it agreed with the
annotation more often (.677) than a model's own verdict on the same claims (.582). A verdict is
complete only if no missing source, rated by its address, could change its stance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Literal

from factible_assets.config import VerdictsConfig
from factible_assets.records import tables as records
from factible_assets.records.stances import DEFINITE, SIDES, STANCES
from factible_assets.stages import ports
from factible_assets.stages.origins import StoryIndex, claim_probability, independent_weight
from factible_assets.stages.reliability import RATING_ORDER, RELIABLE
from factible_assets.wording import counted

DECLINED = "The reader declined to read it: "
"""Begins the reason of a source that the reader declined."""
UNIT = 1_000_000
"""Weights are whole millionths, so that sums are exact in any order."""
VOTE_WEIGHTS: Mapping[records.Rating, float] = {
    "high": 1.0, "medium": 0.7, "unknown": 0.35, "low": 0.1, "very_low": 0.0
}  # fmt: skip
"""The weight of a source by its rating, because the score changes when a registry is down.

This project's choice: the order and rough distance of Factible's scores (section 1.3.4), with lower
weights for the lower half, because a source known as unreliable is not half as good a witness."""
SATURATION = 3
"""Sources after which more of the same add nothing (Factible, table 5)."""
_HIGH, _MEDIUM = 0.7, 0.4
"""Confidence scores from which a verdict is high and medium. This project's choice: if all agree,
two reliable origins of full weight are medium and three are high."""
_SIDE_LEAST = 0.25
_SIDE_MOST = 0.9
_SIDE_WEIGHT = 0.7
"""Probability that an undisputed side is right, unless a language model read its sources: it rises
in a straight line from `_SIDE_LEAST` at weight 0 to `_SIDE_MOST` at weight `_SIDE_WEIGHT`, that of
one source rated medium. Such a source's plain statement, of confidence 0.8, gives 0.77. Fitted in
November 2026 to Brier scores on AVeriTeC, Climate-FEVER, VitaminC and annotated claims with a
recorded web; without any one of the four the fit is the same."""
_SIDE_MIXED = 0.5
_SIDE_MEDIUM = 0.75
"""Probability from which such a side is medium; it is never high."""


# --- The bundle ---------------------------------------------------------------------------------


def bundle(evidence: Iterable[records.Evidence]) -> tuple[records.Evidence, ...]:
    """Return the evidence on a claim that its verdict rests on, in a fixed order.

    Factible, section 1.3.5, step 1: evidence of status ok, by stance, rating, score and title; a
    claim has one row per URL. Section 1.3.4: unclear rows are left out if more than half of all
    rows are definite.
    """

    def order(row: records.Evidence) -> tuple[int, int, float, str, str]:
        stance = list(STANCES).index(row.stance or "unclear")
        return stance, -RATING_ORDER[row.rating], -row.rating_score, row.title, row.canonical_url

    rows = tuple(sorted((row for row in evidence if row.status == "ok"), key=order))
    definite = tuple(row for row in rows if row.stance in DEFINITE)
    return definite if 2 * len(definite) > len(rows) else rows


def by_stance(
    rows: Iterable[records.Evidence],
) -> dict[records.Stance, tuple[records.Evidence, ...]]:
    """Group a bundle by stance; every stance has an entry."""
    rows = tuple(rows)
    return {stance: tuple(row for row in rows if row.stance == stance) for stance in STANCES}


def quality(rows: Sequence[records.Evidence]) -> float:
    """Return the quality of a bundle, from 0 to 1 (Factible, section 1.3.5, table 5).

    0.3 for any evidence + 0.3·min(1, definite/3) + 0.4·min(1, reliable/3). One text at several
    addresses counts once.
    """
    if not rows:
        return 0.0
    # A bundle begins with its best sources, so the best copy of a text counts.
    texts = {row.content_hash or row.canonical_url: row for row in reversed(rows)}.values()
    definite = sum(row.stance in DEFINITE for row in texts)
    reliable = sum(row.rating in RELIABLE for row in texts)
    score = 0.3 + 0.3 * min(1, definite / SATURATION) + 0.4 * min(1, reliable / SATURATION)
    return round(score, 6)


# --- The vote -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Vote:
    """The reliability-weighted vote over a bundle of evidence."""

    stance: records.Stance
    margin: float
    confidence: records.Confidence
    score: float


@dataclass(frozen=True, slots=True)
class Tally:
    """The weight of each side's independent origins, in millionths, and of the reliable ones."""

    supports: int = 0
    refutes: int = 0
    mixed: int = 0
    reliable_supports: int = 0
    reliable_refutes: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(*map(sum, zip(astuple(self), astuple(other), strict=True)))


def weight(row: records.Evidence) -> int:
    """Return the weight of one source, in millionths: by its rating, times its confidence."""
    return round(UNIT * VOTE_WEIGHTS[row.rating] * (row.stance_confidence or 0.0))


def tally(evidence: Iterable[records.Evidence], stories: StoryIndex) -> Tally:
    """Add up the weights of each side's independent origins, each by its strongest source.

    An origin whose copies take both sides counts on both. Unclear sources weigh nothing.
    """
    rows = [row for row in evidence if row.status == "ok"]

    def weigh(side: int, *, reliable: bool = False) -> int:
        of_side = [row for row in rows if STANCES[row.stance or "unclear"].weight == side]
        of_side = [row for row in of_side if not reliable or row.rating in RELIABLE]
        return independent_weight(of_side, weight, stories)

    return Tally(
        supports=weigh(1),
        refutes=weigh(-1),
        mixed=weigh(0),
        reliable_supports=weigh(1, reliable=True),
        reliable_refutes=weigh(-1, reliable=True),
    )


def agreeing_origins(evidence: Iterable[records.Evidence], stories: StoryIndex) -> int:
    """Return the largest number of independent, reliable sources that share a definite stance."""
    whole = (row for row in evidence if row.status == "ok" and not row.page_due)
    sides = by_stance(row for row in whole if row.rating in RELIABLE)
    return max(independent_weight(sides[stance], lambda _: 1, stories) for stance in DEFINITE)


def decide(weights: Tally, config: VerdictsConfig, basis: records.Basis) -> Vote:
    """Return the vote over a tally.

    S, R and M are the weights for, against and mixed, T is their sum, the margin is (S - R)/T:

    - `supports` if S is at least `min_weight` and above M, and the margin at least `min_margin`;
      `refutes` likewise;
    - else `mixed` if reliable sources of at least `min_weight` stand on both sides, or if M is at
      least `min_weight` and outweighs both;
    - else `unclear`: the vote abstains.

    `min_weight` is at least just above the weight of one source rated low. The confidence score of
    unclear is 0. That of the other stances depends on the basis:

    - language model: |margin|·min(1, side/3) for a side, min(1, (min(S, R) + M)/3) for mixed; high
      from 0.7, medium from 0.4;
    - embedded engine and label probabilities: the probability that the side is right,
      |margin|·(0.25 + 0.65·min(1, side/0.7)), and 0.5 for mixed; medium from 0.75, never high.

    Each condition changes at most once as one weight grows; `settled_vote` relies on that.
    """
    total = weights.supports + weights.refutes + weights.mixed
    margin = (weights.supports - weights.refutes) / total if total else 0.0
    stance: records.Stance
    if _wins(weights.supports, weights.mixed, margin, config):
        stance, score = "supports", margin * _sureness(weights.supports, basis)
    elif _wins(weights.refutes, weights.mixed, -margin, config):
        stance, score = "refutes", -margin * _sureness(weights.refutes, basis)
    elif _in_conflict(weights, config) or _mostly_mixed(weights, config):
        both = _volume(min(weights.supports, weights.refutes) + weights.mixed)
        stance, score = "mixed", both if basis == "llm" else _SIDE_MIXED
    else:
        stance, score = "unclear", 0.0
    word = confidence_of(score)
    if basis != "llm":
        word = "medium" if score >= _SIDE_MEDIUM else "low"
    return Vote(stance, margin, word, round(score, 6))


def confidence_of(score: float) -> records.Confidence:
    """Return the word for a confidence score."""
    if score >= _HIGH:
        return "high"
    return "medium" if score >= _MEDIUM else "low"


def _wins(side: int, mixed: int, margin: float, config: VerdictsConfig) -> bool:
    return (
        side >= _deciding_weight(config)
        and side > mixed
        and margin > 0.0
        and margin >= config.min_margin
    )


def _in_conflict(weights: Tally, config: VerdictsConfig) -> bool:
    return min(weights.reliable_supports, weights.reliable_refutes) >= _deciding_weight(config)


def _mostly_mixed(weights: Tally, config: VerdictsConfig) -> bool:
    return weights.mixed >= max(_deciding_weight(config), weights.supports, weights.refutes)


def _deciding_weight(config: VerdictsConfig) -> int:
    """Return the weight that decides: `min_weight`, but more than that of a source rated low."""
    return max(1 + round(UNIT * VOTE_WEIGHTS["low"]), round(UNIT * config.min_weight))


def _sureness(side: int, basis: records.Basis) -> float:
    if basis == "llm":
        return _volume(side)
    share = min(1.0, side / (_SIDE_WEIGHT * UNIT))
    return _SIDE_LEAST + (_SIDE_MOST - _SIDE_LEAST) * share


def _volume(side: int) -> float:
    return min(1.0, side / (SATURATION * UNIT))


# --- Completeness -------------------------------------------------------------------------------


def settled_vote(
    weights: Tally, missing: Iterable[records.Rating], config: VerdictsConfig, basis: records.Basis
) -> tuple[Vote, Vote] | None:
    """Return the vote if no missing source can change its stance, else None.

    The result is the vote with its lowest and with its highest possible confidence.

    A missing source adds at most the full weight of its rating in `missing` to one side and takes
    nothing from any other (origins.py). Four extremes are enough: all missing sources say nothing,
    or all support, refute or are mixed. Every possible addition is a weighted mean of these four.
    The conditions of `decide` are monotone, and linear or linear-fractional in the addition, so a
    side that wins at all four wins throughout. The lowest and highest scores lie there too, because
    an addition against a side lowers its margin and adds no volume. Two cases need a test of their
    own: a conflict needs weight on both sides, and "mixed" must hold for one reason throughout.
    """
    maxima = [(rating, round(UNIT * VOTE_WEIGHTS[rating])) for rating in missing]
    most = sum(maximum for _, maximum in maxima)
    reliable = sum(maximum for rating, maximum in maxima if rating in RELIABLE)
    supporting = Tally(supports=most, reliable_supports=reliable)
    refuting = Tally(refutes=most, reliable_refutes=reliable)
    extremes = [weights + add for add in (Tally(), supporting, refuting, Tally(mixed=most))]
    votes = sorted(
        (decide(extreme, config, basis) for extreme in extremes), key=lambda vote: vote.score
    )
    stance = votes[0].stance
    if any(vote.stance != stance for vote in votes):
        return None
    if stance == "unclear" and _in_conflict(weights + supporting + refuting, config):
        return None
    always_mixed = _in_conflict(weights, config) or all(
        _mostly_mixed(extreme, config) for extreme in extremes
    )
    return None if stance == "mixed" and not always_mixed else (votes[0], votes[-1])


def is_settled(
    rows: Iterable[records.Evidence],
    missing: Iterable[records.Rating],
    stories: StoryIndex,
    config: VerdictsConfig,
    *,
    basis: records.Basis,
) -> bool:
    """Whether no unread page, of these rows or of the `missing` ratings, can change the stance."""
    rows = tuple(rows)
    ratings = [*missing, *(row.rating for row in rows if _is_unread(row))]
    weights = tally((row for row in bundle(rows) if not row.page_due), stories)
    return settled_vote(weights, map(_rating_if_missing, ratings), config, basis) is not None


def _rating_if_missing(rating: records.Rating) -> records.Rating:
    """Return the rating that counts for a missing page: at least unknown, because it may redirect.

    No verdict waits for a redirect to a better rated site. If one page in ten fails, counting each
    as high leaves .25 of 376 claims with published readings incomplete, instead of .20, and of
    1,024 addresses of real searches none belongs to a link shortener.
    """
    return "unknown" if rating in {"low", "very_low"} else rating


# --- The opinion --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CaseFile:
    """All rows on one claim."""

    claim: records.Claim
    queries: Sequence[records.Query] = ()
    searches: Sequence[records.Search] = ()
    hits: Sequence[records.SearchHit] = ()
    evidence: Sequence[records.Evidence] = ()


@dataclass(frozen=True, slots=True)
class Opinion:
    """A case after the vote, before the words of its verdict."""

    case: CaseFile
    basis: records.Basis
    """The reader of the evidence."""
    rows: tuple[records.Evidence, ...]
    """The bundle."""
    vote: Vote
    """The vote over the bundle, with the lowest confidence that the missing sources leave."""
    origins: int
    """The number of independent sources in the bundle."""
    doubt: str | None
    """Why the verdict is incomplete; None if it is complete."""
    is_due: bool = False
    """Whether failed services made it incomplete, so that a later check may complete it."""
    recheck_reason: str | None = None
    """Why a complete verdict is due for a re-check (sources that failed); None if it is not."""
    declined: str | None = None
    """How many sources the reader declined. They make no re-check due."""


class _MissingSources:
    """The sources that a case lacks, and the sentences about them.

    A search that was answered in part lacks as many sources as its query has places left, of
    `places` in all.
    """

    def __init__(self, case: CaseFile, places: int) -> None:
        self.unread = [row for row in case.evidence if _is_unread(row)]
        self.partial = [row for row in case.searches if row.status != "infra_error" and row.reason]
        taken = Counter(row.query_id for row in case.evidence if row.status != "skipped")
        queries = {row.query_id for row in self.partial}
        self.unfound = sum(max(0, places - taken[query]) for query in queries)
        self.declined = [row for row in case.evidence if _is_declined(row)]
        self._read = sum(row.status in {"ok", "no_evidence"} for row in case.evidence)
        self.is_mostly_declined = len(self.declined) > self._read

    @property
    def ratings(self) -> list[records.Rating]:
        """The ratings that count for the missing sources; a source that was not found is high."""
        rows = [*self.unread, *(self.declined if self.is_mostly_declined else ())]
        unfound: list[records.Rating] = ["high"] * self.unfound
        return unfound + [_rating_if_missing(row.rating) for row in rows]

    @property
    def failures(self) -> str:
        """The failures of pages and searches in words; empty if there are none."""
        failures = []
        if self.unread:
            sources = counted(len(self.unread), "source")
            failures.append(f"{sources} could not be read ({_reasons(self.unread)})")
        if self.unfound:
            searches = counted(len(self.partial), "search", "searches")
            failures.append(f"{searches} were answered in part ({_reasons(self.partial)})")
        return "; ".join(failures)

    @property
    def refused(self) -> str:
        """The number of sources that the reader declined, in words."""
        return f"The reader declined to read {counted(len(self.declined), 'source')}"

    @property
    def refusal(self) -> str:
        """The same, with the reasons; a model's own words stay in the row."""
        reasons = {str(row.reason) for row in self.declined if row.basis != "llm"}
        why = "".join(f" ({text.removeprefix(DECLINED).rstrip('.')})" for text in sorted(reasons))
        total = len(self.declined) + self._read
        return f"{self.refused} of {total}{why}; another model may read them"


def form_opinion(
    case: CaseFile,
    stories: StoryIndex,
    config: VerdictsConfig,
    *,
    basis: records.Basis,
    places: int = 0,
) -> Opinion:
    """Take the vote on a case, and decide whether missing sources could change it.

    `places` is the number of sources that a check reads for one query.
    """
    rows, missing = bundle(case.evidence), _MissingSources(case, places)
    vote = decide(tally(rows, stories), config, basis)
    # A snippet votes until its page is read, but the page may say the contrary.
    weights = tally((row for row in rows if not row.page_due), stories)
    settled = settled_vote(weights, missing.ratings, config, basis)
    lowest, highest = settled or (vote, vote)
    # If no source could be read, the verdict is incomplete, however low the missing ones are rated.
    has_read = any(row.status == "ok" or _is_silent(row) for row in case.evidence)
    may_change = settled is None or not has_read
    doubts = _failed_steps(case)
    if missing.failures and may_change:
        doubts.append(missing.failures)
    is_due = bool(doubts)
    if missing.is_mostly_declined and may_change:
        doubts.append(missing.refusal)
    effect, recheck_reason, declined = "", None, None
    if lowest.confidence != highest.confidence:
        effect = ", which could change the confidence, not the stance"
    # Failures that change neither words nor figures make no re-check due.
    if missing.failures and (effect or not rows or any(row.page_due for row in rows)):
        recheck_reason = f"{missing.failures}{effect}"
    if missing.declined:
        declined = missing.refused if recheck_reason else f"{missing.refused}{effect}"
    again = " Check the claim again." if is_due else ""
    return Opinion(
        case=case,
        basis=basis,
        rows=rows,
        vote=_scored(vote if doubts else lowest, rows, basis, score_is_open=lowest != highest),
        origins=independent_weight(rows, lambda _: 1, stories),
        doubt=f"{'; '.join(doubts)}.{again}" if doubts else None,
        is_due=is_due,
        recheck_reason=recheck_reason,
        declined=declined,
    )


def _failed_steps(case: CaseFile) -> list[str]:
    """Return in words the failures that hide which sources are missing."""
    failures = []
    if unwritten := [query for query in case.queries if query.status == "infra_error"]:
        failures.append(f"The queries could not be written ({_reasons(unwritten)})")
    if all(query.status == "skipped" for query in case.queries):
        failures.append("No query has been written for the claim")
    if failed := [search for search in case.searches if search.status == "infra_error"]:
        names = ", ".join(sorted({search.provider for search in failed}))
        searches = counted(len(failed), "search", "searches")
        failures.append(f"{searches} of {names} failed ({_reasons(failed)})")
    written = {query.query_id for query in case.queries if query.status == "ok"}
    if unasked := len(written - {search.query_id for search in case.searches}):
        failures.append(f"No search provider was asked for {unasked} of the claim's queries")
    judged = {row.canonical_url for row in case.evidence}
    if unjudged := len({hit.canonical_url for hit in case.hits} - judged):
        sources = counted(unjudged, "source")
        failures.append(f"No one looked at {sources} among the search results")
    return failures


def _scored(
    vote: Vote, rows: Sequence[records.Evidence], basis: records.Basis, *, score_is_open: bool
) -> Vote:
    """Replace the score of a vote over label probabilities: the readings are correlated.

    Copies of one story count once, by the surest reading. If missing sources leave the score open,
    it does not exceed that of the vote.
    """
    if basis != "labels" or vote.stance not in SIDES:
        return vote
    surest: dict[str, records.Evidence] = {}
    for row in sorted(rows, key=lambda row: (row.stance in DEFINITE, row.stance_confidence or 0.0)):
        surest[row.origin or row.domain] = row
    sides = ((STANCES[row.stance or "unclear"].weight or 0, row) for row in surest.values())
    holds = claim_probability(
        (side * (row.stance_confidence or 0.0), VOTE_WEIGHTS[row.rating]) for side, row in sides
    )
    probability = min(_SIDE_MOST, holds if vote.stance == "supports" else 1.0 - holds)
    score = round(min(probability, vote.score) if score_is_open else probability, 6)
    return replace(vote, score=score, confidence="medium" if score >= _SIDE_MEDIUM else "low")


def _is_silent(row: records.Evidence) -> bool:
    """Whether a source was read and says nothing on the claim."""
    return row.status == "no_evidence" and row.content_hash is not None


def _is_unread(row: records.Evidence) -> bool:
    """Whether a page is missing, even if its snippet was read."""
    return row.status == "infra_error" or row.page_due


def _is_declined(row: records.Evidence) -> bool:
    """Whether a reader declined to read a source; it would do so again."""
    return row.status == "skipped" and row.basis is not None


def _reasons(rows: Sequence[records.Query | records.Search | records.Evidence]) -> str:
    """Return the first three distinct reasons, and the number of others."""
    reasons = list(dict.fromkeys((row.reason or "no reason given").rstrip(".") for row in rows))
    if others := reasons[3:]:
        reasons[3:] = [f"and {len(others)} more reasons"]
    return "; ".join(reasons)


# --- The verdict --------------------------------------------------------------------------------


def conclude(
    opinion: Opinion,
    draft: ports.VerdictDraft | None = None,
    failure: ports.ReasonerError | None = None,
    *,
    ended: str | None = None,
    words: str = "",
) -> records.Verdict:
    """Return the verdict on a case; its rank is the claim's until `ranked` sorts the video's.

    `words` are the sentences of its argument. `draft` is a model's own verdict, if any; `failure`
    is the error of the model that should have given it. After an outage a re-check is due. Without
    evidence and failures the verdict is complete, unclear and of low confidence. `ended` says why
    the check ended early; if no source was read because of that, the verdict is incomplete.
    """
    why = failure.reason.rstrip(".") if failure else ""
    outage = refusal = None
    if isinstance(failure, ports.ReasonerOutageError):
        outage = f"The verdict could not be worded ({why})"
    elif isinstance(failure, ports.ReasonerRefusalError):
        refusal = f"The model declined to word it ({why})"
    elif isinstance(failure, ports.BudgetSpentError):
        ended = failure.reason
    was_cut_short = ended and any(row.reason == ended for row in opinion.case.evidence)
    if was_cut_short and not opinion.rows and opinion.doubt is None:
        doubt = "No source that was found had been read in time."
        opinion = replace(opinion, doubt=doubt, is_due=True)
    case, vote, is_complete = opinion.case, opinion.vote, opinion.doubt is None
    is_due = opinion.is_due or bool(opinion.recheck_reason or outage)
    again = "Check the claim again" if is_due else None
    remarks = filter(None, (opinion.recheck_reason, outage, opinion.declined, refusal, again))
    reasons = [opinion.doubt] if opinion.doubt else [f"{remark}." for remark in remarks]
    reasons += dict.fromkeys(row.reused_from for row in case.evidence if row.reused_from)
    sides = by_stance(row for row in case.evidence if row.status == "ok")
    statuses = [row.status for row in case.queries] + [row.status for row in case.searches]
    evidence_status: Literal["ok", "no_evidence", "infra_error"] = "infra_error"
    if not opinion.is_due:
        evidence_status = "ok" if opinion.rows else "no_evidence"
    return records.Verdict(
        claim_id=case.claim.claim_id,
        video_id=case.claim.video_id,
        rank=case.claim.rank,
        status="complete" if is_complete else "incomplete",
        evidence_status=evidence_status,
        reason=" ".join([*reasons, *([ended] if ended else [])]) or None,
        recheck_due=is_due,
        stance=vote.stance if is_complete else None,
        confidence=vote.confidence if is_complete else None,
        confidence_score=vote.score if is_complete else None,
        summary=_summary(opinion, draft, words),
        vote_stance=vote.stance,
        vote_margin=vote.margin,
        reasoner_stance=draft.stance if draft else None,
        disagreement=draft is not None and draft.stance != vote.stance,
        evidence_quality=quality(opinion.rows),
        **{label.column: len(sides[stance]) for stance, label in STANCES.items()},
        independent_origins=opinion.origins,
        missing=statuses.count("infra_error") + sum(map(_is_unread, case.evidence)),
        basis=opinion.basis,
    )


def _summary(opinion: Opinion, draft: ports.VerdictDraft | None, words: str) -> str:
    if opinion.doubt is not None:
        return f"There is no verdict yet. {opinion.doubt}"
    vote, rows = opinion.vote, opinion.rows
    if not rows and opinion.declined:
        return f"{opinion.declined}; nothing else that was found speaks of the claim."
    if not rows:
        silent = sum(map(_is_silent, opinion.case.evidence))
        many = f"None of the {silent} sources that were read"
        return f"{many if silent > 1 else 'No source that was found'} speaks of the claim."
    if words and opinion.basis == "embedded":
        return words
    sides = by_stance(rows)
    counts = ", ".join(
        f"{len(sides[stance])} {label.read}" for stance, label in STANCES.items() if sides[stance]
    )
    origins = "one origin" if opinion.origins == 1 else f"{opinion.origins} independent origins"
    sentence = (
        f"The sources, weighed by their reliability, {STANCES[vote.stance].sources}: the vote "
        f"counts {counted(len(rows), 'source')} of {origins}, {counts}."
    )
    return _with_words(f"{sentence} {words}".strip(), draft, vote.stance)


def _with_words(sentence: str, draft: ports.VerdictDraft | None, stance: records.Stance) -> str:
    """Add a draft's words to the sentence of a stance, if the draft has the same stance."""
    words = draft.summary if draft is not None and draft.stance == stance else ""
    return f"{sentence} {words}".strip()


def decided_by(
    draft: ports.VerdictDraft,
    verdict: records.Verdict,
    score: float | None = None,
    veracity: records.Veracity | None = None,
) -> records.Verdict:
    """Let a model's draft decide a complete verdict; the columns of the vote stay unchanged."""
    if verdict.status != "complete":
        return verdict
    summary = verdict.summary
    if draft.stance != verdict.vote_stance:
        read = sum(getattr(verdict, label.column) for label in STANCES.values())
        sentence = (
            f"The sources, as the model weighed them, {STANCES[draft.stance].sources}: "
            f"{counted(read, 'was', 'were')} read."
        )
        summary = _with_words(sentence, draft, draft.stance)
    return verdict.model_copy(
        update={
            "stance": draft.stance,
            "confidence": draft.confidence,
            "summary": summary,
            "confidence_score": score,
            "veracity": veracity,
        }
    )


def worded(verdict: records.Verdict, words: str) -> records.Verdict:
    """Add a model's words to a complete verdict."""
    if verdict.stance is None or not words.strip():
        return verdict
    return verdict.model_copy(update={"summary": f"{verdict.summary} {words.strip()}"})


def ranked(
    verdicts: Iterable[records.Verdict], claims: Sequence[records.Claim]
) -> tuple[records.Verdict, ...]:
    """Rank a video's verdicts by the quality of their evidence, then by claim (section 1.3.5)."""
    ranks = {claim.claim_id: claim.rank for claim in claims}
    ordered = sorted(verdicts, key=lambda row: (-row.evidence_quality, ranks[row.claim_id]))
    return tuple(row.model_copy(update={"rank": rank}) for rank, row in enumerate(ordered, 1))
