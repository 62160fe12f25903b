"""The desk: pages where fact-checkers start checks, work a queue, and review claims."""
