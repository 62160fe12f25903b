"""The standard strategy: search, read, and count the votes of the sources."""

from factible_assets.stages.flow import STANDARD

STRATEGY = STANDARD
