"""Rating sets and domain ages: who is held to be reliable, and since when a domain exists."""
