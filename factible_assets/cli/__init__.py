"""The command line: `factible`.

What belongs here: arguments, progress, tables, exit codes; one module per noun. What does not: any
work itself. Nothing heavy is imported at the top of a module, so that help is shown at once.
"""
