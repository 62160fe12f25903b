"""factible-assets: fact-check a corpus of YouTube videos as Dagster data assets.

Keep this module empty of all but what every process needs: everything imports it first.
"""

import gc

# What is imported stays: it is not searched for garbage every 700 objects, a fifth of a start.
gc.set_threshold(50_000)

__version__ = "0.1.0"
