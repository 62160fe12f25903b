"""The HTTP service: fact-checks for programs, followed live, and what earlier ones found.

What belongs here: routes, the events that a client hears, launching and following runs, tokens and
quotas. What does not: fact-checking itself (assets/, running/), arguments of the command
(cli/serve.py).
"""
