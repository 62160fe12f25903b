"""The command line: `factible`.

What belongs here: arguments, progress, tables, exit codes; one module per noun, loaded when its
command is called. What does not: any work itself. What loads Dagster is imported where it is
needed, so that help is shown at once.
"""
