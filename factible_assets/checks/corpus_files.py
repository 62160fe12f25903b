"""The check on the files of corpora: one that cannot be read shows where everybody looks.

What belongs here: how problems of the files appear in Dagster. What does not: finding them
(corpora/reading.py), adding partitions (automation/new_videos.py).

It hangs on `transcripts`, the asset that is made from what corpora list. The sensor that reads the
files every half minute reports it whenever its outcome changes; no fact-check is judged by it.
"""

import dagster as dg

from factible_assets.corpora.reading import CorporaReading
from factible_assets.services.resource import CorporaResource

ASSET, READABLE = "transcripts", "corpora_are_readable"

_SHOWN = 5


def told(reading: CorporaReading) -> str:
    """Say what could not be read, or that all could be."""
    problems = [str(problem) for problem in reading.problems]
    more = f" And {len(problems) - _SHOWN:,} more." if len(problems) > _SHOWN else ""
    return " ".join(problems[:_SHOWN]) + more or "Every file of the corpora can be read."


@dg.asset_check(
    asset=ASSET,
    name=READABLE,
    description="Every corpus file can be read; if not, its file, line and what to do. A file that "
    "cannot be read removes no partition.",
)
def corpora_are_readable(corpora: CorporaResource) -> dg.AssetCheckResult:
    """Read all corpora."""
    reading = corpora.read()
    return dg.AssetCheckResult(passed=not reading.problems, description=told(reading))


def evaluation(reading: CorporaReading) -> dg.AssetCheckEvaluation:
    """Return the outcome as a sensor reports it."""
    return dg.AssetCheckEvaluation(
        asset_key=dg.AssetKey(ASSET),
        check_name=READABLE,
        passed=not reading.problems,
        description=told(reading),
    )
