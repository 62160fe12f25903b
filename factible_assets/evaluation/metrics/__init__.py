"""The metrics, each defined where it is computed: formula, source, and when it is undefined.

What belongs here: one module per kind of question: `claims` (what was found), `stances` (what was
said of it), `evidence` (what it rests on). What does not: averages over videos (measures.py),
matching, intervals, thresholds of acceptance (targets.py).
"""
