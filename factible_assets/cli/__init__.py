"""The command line. Commands import Dagster and the warehouse late, so that --help is quick."""
