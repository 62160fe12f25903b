"""Chooses and opens the clients behind each service, from the settings and a run's options."""
