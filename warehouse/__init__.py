"""The DuckDB warehouse: schema, views, store and the Dagster bindings of the store."""
