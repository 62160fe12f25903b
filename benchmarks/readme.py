"""Keeps the README's printed outputs equal to those of the demo in a fresh data folder.

Run: `python -m benchmarks.readme --write`. Without `--write` it reports whether they are still
true.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType

README = Path(__file__).resolve().parents[1] / "README.md"

_DEMO = re.compile(r"```\nThe demo reads .*?```", re.DOTALL)
_QUERY = re.compile(
    r"```\n(?P<command>factible sql .*?)\n```\n\n```\n(?P<answer>.*?)```", re.DOTALL
)
_CLAIM, _VERDICT = re.compile(r"  \d+\. "), re.compile(r"verdict (\d+)/\d+: ")
_CLAIMS_SHOWN, _VERDICTS_SHOWN, _WIDTH = 3, 4, 98


class Fresh:
    """A data folder with one run of the demo."""

    def __init__(self, home: Path, given: Mapping[str, str] = MappingProxyType({})) -> None:
        """Run the demo with no settings but the folder and the given ones."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("FACTIBLE_", "OPENAI_", "OLLAMA_"))
            and not name.endswith("_API_KEY")
        }
        self.environment = {**kept, **given, "FACTIBLE_HOME": str(home), "COLUMNS": "160"}
        self.run = cache(self._run)
        self.demo = self.run("demo").splitlines()

    def _run(self, *arguments: str) -> str:
        """Return a command's output, including notes; each command runs once.

        Raises subprocess.CalledProcessError if it fails.
        """
        return subprocess.run(
            [sys.executable, "-m", "factible_assets", *arguments],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=True,
            timeout=1_800,
        ).stdout


def excerpt(demo: Sequence[str]) -> str:
    """Shorten the demo's output: the beginning, three claims, the first four verdicts."""
    start = next(place for place, line in enumerate(demo) if _CLAIM.match(line))
    claims = [line for line in demo if _CLAIM.match(line)][:_CLAIMS_SHOWN]
    verdicts = [line for line in demo if _VERDICT.match(line)][:_VERDICTS_SHOWN]
    return "\n".join(map(_cut, [*demo[:start], *claims, "  …", *verdicts, "…"]))


def _cut(line: str) -> str:
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…"


def refreshed(document: str, fresh: Fresh) -> str:
    """Return the README with the current output of the demo and its queries."""

    def answer(found: re.Match[str]) -> str:
        _, *arguments = shlex.split(found["command"])
        lines = [line.rstrip() for line in fresh.run(*arguments).splitlines()]
        shown = "\n".join(line for line in lines if line)
        return f"```\n{found['command']}\n```\n\n```\n{shown}\n```"

    with_demo = _DEMO.sub(lambda _: f"```\n{excerpt(fresh.demo)}\n```", document)
    return _QUERY.sub(answer, with_demo)


def untrue(document: str, fresh: Fresh) -> list[str]:
    """List the lines of the README's outputs that are no longer printed.

    Verdicts arrive in a different order in every run, so only their words count.
    """
    now = refreshed(document, fresh)
    printed = {_unnumbered(line) for line in [*map(_cut, fresh.demo), *now.splitlines()]}
    shown = [
        line
        for block in (*_DEMO.finditer(document), *_QUERY.finditer(document))
        for line in block[0].splitlines()
    ]
    return [line for line in shown if _unnumbered(line) not in printed]


def _unnumbered(line: str) -> str:
    """Return a verdict's line without its number, which also changes where the line is cut."""
    found = _VERDICT.match(line)
    return line if found is None else line[found.end() :].removesuffix("…")[: _WIDTH - 18]


def main() -> int:
    """Compare the README with the current output, or write it; return 1 if it is not true."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"Write {README.name}.")
    write = parser.parse_args().write
    document = README.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        fresh = Fresh(Path(folder) / "home")
        wrong = untrue(document, fresh)
        if write:
            README.write_text(refreshed(document, fresh), encoding="utf-8")
    print("\n".join(wrong))
    return 1 if wrong and not write else 0


if __name__ == "__main__":
    sys.exit(main())
