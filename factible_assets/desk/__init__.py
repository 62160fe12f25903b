"""The desk: where fact-checkers start checks, work a queue, review claims and take them away.

What belongs here: what its pages show and ask of the warehouse, their templates and styles. What
does not: routes and forms on the wire (http_service/desk.py), recording and running what a reviewer
wants (running/review.py), the report that its pages are made of (report/).
"""
