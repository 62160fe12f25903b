"""The embedded engine: claims, queries and verdicts without a key, a server or a download."""

import os

# These models multiply small matrices, thousands of times. On a busy machine the threads of
# OpenBLAS wait for each other longer than they compute. It reads this when numpy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
