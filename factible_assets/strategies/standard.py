"""The standard strategy; stages/flow.py defines it."""

from factible_assets.stages.flow import STANDARD

STRATEGY = STANDARD
