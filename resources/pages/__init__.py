"""Page clients: fetching and text extraction."""
