"""The services that a run is handed: which implementation stands behind each door.

What belongs here: choosing, from the settings, the web and the source of transcripts (web.py,
search.py), the reasoner (reasoning.py) and the rating sets (ratings.py); the Dagster resources that
hand them out (resource.py); asking whether they answer (checkup.py); what runs of this machine have
in common: who is alive, whose turn it is, stopping one (alive.py), Dagster's private names
(dagster_internals.py). What does not: the clients (resources/), what they are used for (stages/).
"""
