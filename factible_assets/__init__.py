"""factible-assets: fact-check a corpus of YouTube videos as Dagster data assets."""

import atexit
import gc

__version__ = "0.1.0"


def _keep_what_is_imported(*_: object) -> None:
    gc.callbacks.remove(_keep_what_is_imported)
    gc.freeze()
    gc.set_threshold(50_000)


# The imports of Dagster create 220,000 objects that live until the end. Collecting garbage among
# them, during the start and at the exit, would take a quarter of the start.
gc.set_threshold(300_000)
gc.callbacks.append(_keep_what_is_imported)
atexit.register(gc.freeze)
