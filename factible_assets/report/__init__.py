"""The HTML reports: one self-contained file per video, and an index of all videos."""
