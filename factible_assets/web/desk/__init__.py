"""The desk: where fact-checkers start checks, work a queue, review claims and take them away.

What belongs here: its addresses and forms on the wire (routes.py), what its pages show and ask of
the warehouse, their templates and styles (pages.py). What does not: recording and running what a
reviewer wants (runs/review.py), the report that its pages are made of (report/).
"""
