"""The warehouse in DuckDB or a lake: schema and views, reading and writing, and its upkeep."""
