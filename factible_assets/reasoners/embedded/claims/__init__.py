"""Which statements of a transcript are its check-worthy claims, and how they are worded."""
