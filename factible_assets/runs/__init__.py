"""Starts checks, re-checks, reviews, judgings and experiments for the command line and the desk."""
