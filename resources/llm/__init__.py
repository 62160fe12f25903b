"""Language model clients: typed requests in, typed answers with real usage out."""
