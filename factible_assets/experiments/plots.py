"""The pictures of single variants: what evaluation draws of any set of results.

What belongs here: which pictures a comparison carries. What does not: drawing them
(evaluation/plots.py).
"""

from __future__ import annotations

from factible_assets.evaluation.matching import default_matcher
from factible_assets.evaluation.plots import (
    confusion_plot,
    precision_recall_plot,
    reliability_plot,
    stages_plot,
)
from factible_assets.evaluation.scoring import Evaluation
from factible_assets.experiments.page import Drawing
from factible_assets.experiments.reading import Experiment
from factible_assets.experiments.results import score_variants
from factible_assets.experiments.store import Ledger, experiment_file
from factible_assets.settings import Settings

MOST_VARIANTS = 12
"""Beyond that the page would carry megabytes of pictures; its tables cover every variant."""


def draw_variants(experiment: Experiment, settings: Settings) -> dict[str, list[Drawing]]:
    """Return the pictures of each variant; none where the rows are gone, or variants are many."""
    file = experiment_file(settings, experiment.name)
    if not file.exists() or len(experiment.variants) > MOST_VARIANTS:
        return {}
    # Pictures show no intervals, so one resample is enough.
    scored = score_variants(
        experiment, Ledger(experiment.name, file), default_matcher(), bootstrap=1
    )
    return {name: _pictures(each) for name, each in scored.evaluations.items() if each.videos}


def _pictures(evaluation: Evaluation) -> list[Drawing]:
    drawings = []
    if evaluation.annotated:
        drawings.append(
            Drawing("Precision and recall", precision_recall_plot(evaluation.precision_recall))
        )
        drawings.append(Drawing("Stances", confusion_plot(evaluation.confusion)))
        drawings.append(
            Drawing("Confidence and accuracy", reliability_plot(evaluation.reliability))
        )
    return [*drawings, Drawing("Time and cost by stage", stages_plot(evaluation.figures))]
