"""The strategies: each a named composition of steps, in the module of its name.

What belongs here: finding a strategy by its name. What does not: what a strategy is
(stages/flow.py), what can be done for a claim (stages/claim_check.py), how a run chooses
(config.py).
"""

from __future__ import annotations

from importlib import import_module

from factible_assets.config import StrategyName
from factible_assets.stages.flow import Strategy


def strategy_named(name: StrategyName) -> Strategy:
    """Return a strategy; its module is read when it is asked for."""
    found: Strategy = import_module(f"{__name__}.{name}").STRATEGY
    return found
