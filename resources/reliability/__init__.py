"""Rating sets and domain ages."""
