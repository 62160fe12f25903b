"""Reads, validates and writes corpora: the YAML files that list videos and their annotations."""
