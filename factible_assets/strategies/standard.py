"""The standard strategy. What does not belong here: its order (stages/flow.py)."""

from factible_assets.stages.flow import STANDARD

STRATEGY = STANDARD
