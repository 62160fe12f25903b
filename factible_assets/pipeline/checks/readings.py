"""The check on evidence that tells how often a reading contradicted its own quote.

The share from which the check warns, and its wording, belong here. The comparison of a quote with
its reading does not (reasoners/llm/evidence.py), nor the stance that follows (stages.evidence).

A reading that its quote contradicts is not believed, so nothing wrong is stored: the check warns
and never blocks. A high share says that the model is too small, or that pages give it orders.
"""

import dagster as dg

from factible_assets.evaluation.metrics.evidence import contradicted_readings
from factible_assets.pipeline.checks.structural import check_spec
from factible_assets.rows import VideoRows

CONTRADICTIONS = check_spec(
    "readings_rest_on_quotes",
    "evidence",
    "Warns when more than one reading in ten says the contrary of the passage that it quotes.",
    blocking=False,
)

_MOST = 0.1


def contradictions(rows: VideoRows) -> dg.AssetCheckResult:
    """Return how the check judges the readings of one video."""
    share = contradicted_readings(rows)
    told = f"{share.numerator} of {share.denominator} readings contradicted their own quote."
    return dg.AssetCheckResult(
        asset_key=CONTRADICTIONS.asset_key,
        check_name=CONTRADICTIONS.name,
        passed=share.numerator <= _MOST * share.denominator,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={
            "readings": dg.MetadataValue.int(int(share.denominator)),
            "contradicted": dg.MetadataValue.int(int(share.numerator)),
        },
        description=told,
    )
