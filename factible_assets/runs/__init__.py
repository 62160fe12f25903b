"""Running a fact-check: what the command line, the service and Dagster's workers have in common.

What belongs here: which video is meant, starting a check, a re-check or a review, what still
stands, what a check has left. Raises errors (errors.py) and prints nothing. What does not: what a
run does (assets/), who is alive and whose turn it is (services/), commands (cli/), routes
(http_service/).
"""
