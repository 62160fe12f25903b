"""Everything that Dagster runs: assets, checks, jobs, sensors, schedules and their resources."""
