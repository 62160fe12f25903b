"""Asset checks: what is said of rows and of figures in Dagster, and what that stops."""
