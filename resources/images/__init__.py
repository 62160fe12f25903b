"""Clients for pictures: where else a picture is, and what it says of itself."""
