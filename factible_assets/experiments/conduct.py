"""An experiment from beginning to end: run, scored, kept, published.

What belongs here: the order of these steps. What does not: the steps.
"""

from __future__ import annotations

from datetime import UTC, datetime

from factible_assets.corpora.reading import CorporaReading
from factible_assets.evaluation.matching import default_matcher
from factible_assets.experiments.reading import Experiment
from factible_assets.experiments.results import findings, score_variants
from factible_assets.experiments.runner import DEFAULT_JOBS, RunOutcome, Watcher, run_experiment
from factible_assets.experiments.store import write_findings
from factible_assets.settings import Settings
from warehouse.store import Warehouse


def conduct(
    experiment: Experiment,
    corpora: CorporaReading,
    settings: Settings,
    *,
    jobs: int = DEFAULT_JOBS,
    fresh: bool = False,
    watcher: Watcher | None = None,
) -> RunOutcome:
    """Run an experiment, score its variants, and put the figures where analysts look.

    Raises:
        ExperimentError: Another process runs it.
        SetupError: A variant asks for a service that is not set up.
    """
    started = datetime.now(UTC)
    ran, ledger = run_experiment(
        experiment, corpora, settings, jobs=jobs, fresh=fresh, watcher=watcher
    )
    scored = score_variants(experiment, ledger, default_matcher())
    main = Warehouse(settings.warehouse)
    rows = findings(experiment, settings, ran, ledger, scored, started_at=started)
    write_findings(main, experiment.name, rows)
    main.publish(settings.published)
    return ran
