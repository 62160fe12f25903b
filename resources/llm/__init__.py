"""Language model clients."""
