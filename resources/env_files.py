"""Files of environment variables, as NAME=VALUE on each line (`.env`)."""

from __future__ import annotations

import io
import re
from collections.abc import Collection
from pathlib import Path

from dotenv.parser import parse_stream

from resources.lines import PlacedError, read_text


def read_env_file(path: Path, known: Collection[str]) -> dict[str, str]:
    """Return the variables of a file with a value, their names in capitals. Nothing is expanded.

    Raises PlacedError: The file is not UTF-8, or a line on a `known` variable is not NAME=VALUE.
    The lines of other programs may have any form.
    """
    values = {}
    for binding in parse_stream(io.StringIO(read_text(path))):
        words = re.findall(r"\w+", binding.original.string.upper())
        if binding.error and not set(words).isdisjoint(known):
            raise PlacedError(
                binding.original.line,
                "The line cannot be read as NAME=VALUE. Close its quotation marks, or correct it.",
            )
        if binding.value:
            values[(binding.key or "").upper()] = binding.value
    return values
