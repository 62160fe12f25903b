"""What a worker is told: which video, with which knobs, as which run.

What belongs here: the order that travels from the service to a worker. What does not: sending it
(workers.py), carrying it out (worker.py).
"""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from factible_assets.config import FactCheckConfig


class Order(BaseModel):
    """One fact-check to run. `run_id` is the id of the Dagster run, a UUID."""

    model_config = ConfigDict(frozen=True)

    run_id: str
    video_id: str
    home: Path
    config: FactCheckConfig
    experiment_name: str = "default"

    @property
    def tags(self) -> dict[str, str]:
        """The tags of the Dagster run."""
        return {"launched_by": "factible serve", "experiment": self.experiment_name}

    def is_like(self, other: Order) -> bool:
        """Tell whether another order asks for the same work."""
        return self.video_id == other.video_id and self.config == other.config
