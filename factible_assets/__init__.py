"""factible-assets: fact-check a corpus of YouTube videos as Dagster data assets.

Keep this module empty of all but what every process needs: everything imports it first.
"""

import atexit
import gc

__version__ = "0.1.0"


def _keep_what_is_imported(*_: object) -> None:
    gc.callbacks.remove(_keep_what_is_imported)
    gc.freeze()
    gc.set_threshold(50_000)


# What is imported stays: it is not searched for garbage every 700 objects, nor again when the
# process ends. Both are a quarter of a start with Dagster, which makes 220,000 objects.
gc.set_threshold(300_000)
gc.callbacks.append(_keep_what_is_imported)
atexit.register(gc.freeze)
