"""Checks that YAML and TOML files parse; pre-commit passes the kind and the files."""

import sys
import tomllib
from pathlib import Path

import yaml


def problem(kind: str, path: Path) -> str | None:
    """Return the syntax error of a file; None if it parses."""
    try:
        if kind == "toml":
            tomllib.loads(path.read_text(encoding="utf-8"))
        else:
            list(yaml.safe_load_all(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, yaml.YAMLError) as error:
        return f"{path}: {error}"
    return None


def main() -> int:
    """Print each file's problem; return 1 if there is one."""
    kind, *names = sys.argv[1:]
    problems = [found for name in names if (found := problem(kind, Path(name)))]
    for found in problems:
        print(found, file=sys.stderr)
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
