"""The strategies: each a named composition of steps, in the module of its name."""

from __future__ import annotations

from importlib import import_module

from factible_assets.config import StrategyName
from factible_assets.stages.flow import Strategy


def strategy_named(name: StrategyName) -> Strategy:
    """Return a strategy; this imports its module."""
    strategy: Strategy = import_module(f"{__name__}.{name}").STRATEGY
    return strategy


def described(name: StrategyName) -> str:
    """Return the first sentence of a strategy's module, without its name."""
    words = (import_module(f"{__name__}.{name}").__doc__ or name).partition("\n")[0]
    return words.partition(": ")[2].rstrip(".") or name
