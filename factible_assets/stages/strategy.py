"""What a strategy is: a named composition of steps that decides what happens to one claim.

What belongs here: the shape of its declaration. What does not: any strategy (strategies/), what can
be done for a claim (claim_check.py).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from factible_assets.config import FactCheckConfig
from factible_assets.records import StepKind, Video
from factible_assets.stages.claim_check import ClaimCheck, ClaimRows
from factible_assets.stages.progress import ALL_STAGES, Stage


class StrategyError(ValueError):
    """A strategy cannot do what a run asks of it. A sentence with the remedy."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """One way to check a claim.

    Attributes:
        name: As the knob `strategy` has it; also the name of its module.
        sentence: What it does, for a person who chooses.
        source: The document that it is taken from.
        steps: What each of its steps is done by, in the order of a claim's way.
        check: What happens to one claim.
        adapt: The run's knobs as the strategy needs them for a video.
        most_searches: How many searches it makes for a claim at most, for who estimates a run.
        needs_model: Whether it asks a language model; if not, it runs on the embedded engine too.
        in_rounds: Whether it searches again in the light of what it read, so that its assets can
            only be made together.
    """

    name: str
    sentence: str
    source: str
    steps: Mapping[StepKind, str]
    check: Callable[[ClaimCheck], Awaitable[ClaimRows]]
    adapt: Callable[[FactCheckConfig, Video], FactCheckConfig] = lambda config, _: config
    most_searches: Callable[[FactCheckConfig], int] = lambda config: config.queries.max_queries
    needs_model: bool = False
    in_rounds: bool = False

    def refuse_unfit(self, basis: str, stages: frozenset[Stage] = frozenset(ALL_STAGES)) -> None:
        """Refuse a run that the strategy cannot do, before anything is paid.

        Args:
            basis: Who judges, `embedded` or `llm`.
            stages: The selected stages.

        Raises StrategyError: It needs a model, or cannot be done in part.
        """
        if self.needs_model and basis == "embedded":
            raise StrategyError(
                f"The strategy {self.name} asks a language model, and the embedded engine judges. "
                "Set OPENAI_API_KEY, or FACTIBLE_MODEL for a model without a key, or choose the "
                "strategy standard."
            )
        if self.in_rounds and stages != frozenset(ALL_STAGES):
            raise StrategyError(
                f"The strategy {self.name} searches in rounds, so that {', '.join(ALL_STAGES)} can "
                "only be made together. Select all of them, or choose the strategy standard."
            )
