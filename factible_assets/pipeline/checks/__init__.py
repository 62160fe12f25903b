"""Asset checks on rows and on verdicts."""
