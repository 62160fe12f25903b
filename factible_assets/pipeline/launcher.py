"""Dagster's run launcher, which can also terminate runs of the command line and the service.

Those run in a process of their own, which Dagster's launcher does not know. The process watches the
status of its run (runs/launch.py) and stops once Dagster marks the run as being canceled.
"""

import dagster as dg


class RunLauncher(dg.DefaultRunLauncher):
    """Launches runs like Dagster, and terminates every run that is not finished."""

    def terminate(self, run_id: str) -> bool:
        if super().terminate(run_id):  # type: ignore[no-untyped-call]
            return True
        run = self._instance.get_run_by_id(run_id)
        if run is None or run.is_finished:
            return False
        self._instance.report_run_canceling(run)
        return True
