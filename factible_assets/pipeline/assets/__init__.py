"""One thin module per asset: it reads its input, calls a stage, and returns rows."""
