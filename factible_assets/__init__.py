"""factible-assets: fact-check a corpus of YouTube videos as Dagster data assets.

Keep this module empty of imports: `factible --help` and every stage import it first.
"""

__version__ = "0.1.0"
