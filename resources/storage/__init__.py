"""Pages, recorded searches and cached answers on disk, shared by runs and processes."""
