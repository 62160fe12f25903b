"""The check on `evidence` that warns if many readings contradict their own quotes.

It never blocks: such readings become `unclear`, so nothing wrong is stored. A high share means that
the model is too small, or that pages give it instructions.
"""

import dagster as dg

from factible_assets.evaluation.metrics.evidence import contradicted_readings
from factible_assets.pipeline.checks.integrity import check_spec
from factible_assets.records.rows import VideoRows

CONTRADICTIONS = check_spec(
    "readings_rest_on_quotes",
    "evidence",
    "Warns if more than one reading in ten contradicts the passage that it quotes.",
    blocking=False,
)

_MAX_SHARE = 0.1


def check_contradictions(rows: VideoRows) -> dg.AssetCheckResult:
    share = contradicted_readings(rows)
    return dg.AssetCheckResult(
        asset_key=CONTRADICTIONS.asset_key,
        check_name=CONTRADICTIONS.name,
        passed=share.numerator <= _MAX_SHARE * share.denominator,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={
            "readings": dg.MetadataValue.int(int(share.denominator)),
            "contradicted": dg.MetadataValue.int(int(share.numerator)),
        },
        description=f"{share.numerator} of {share.denominator} readings contradicted their quote.",
    )
