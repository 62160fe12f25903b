"""Search clients: live providers and the local archive."""
