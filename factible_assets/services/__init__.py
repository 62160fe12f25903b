"""The services that a run is handed: which implementation stands behind each door.

What belongs here: choosing, from the settings, the web (web.py, search.py), the reasoner
(reasoning.py, embedded.py), the source of transcripts (transcripts.py) and the rating sets
(ratings.py); the Dagster resource that opens and closes them (resource.py); asking whether they
answer (checkup.py). What does not: the clients (resources/), what they are used for (stages/).
"""

from factible_assets.services.resource import FactCheckServices, Occasion

__all__ = ["FactCheckServices", "Occasion"]
