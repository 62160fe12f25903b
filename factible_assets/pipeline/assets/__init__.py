"""The data assets: one thin module each, which reads, calls a stage, and returns rows."""
