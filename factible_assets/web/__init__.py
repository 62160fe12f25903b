"""The HTTP service: the API for programs, the desk for fact-checkers, and access to both."""
