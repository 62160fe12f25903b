"""Builds the wheel: puts `resources`, `warehouse` and `corpora` inside `factible_assets`.

In the repository these are top-level folders. As top-level packages of site-packages they could
shadow a user's own `resources` or be shadowed by it. So the wheel holds them as
`factible_assets._resources`, `factible_assets._warehouse` and `factible_assets/_corpora`, and every
import of them names the new place. An editable install uses the repository as it is.
"""

import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "factible_assets"
MOVED = ("resources", "warehouse", "corpora")
_NAMES = "|".join(MOVED[:2])
IMPORT = re.compile(rf"^(\s*(?:from|import) )({_NAMES})(?=[. ])", re.MULTILINE)
QUOTED = re.compile(rf'(?<=")({_NAMES})(?=(?:\.[a-z_]+)+"|", "[a-z_]+\.sql")')


def relocated(source: str) -> str:
    """Return a module's source with its imports and quoted module names moved."""
    moved = IMPORT.sub(rf"\1{PACKAGE}._\2", source)
    return QUOTED.sub(rf"{PACKAGE}._\1", moved)


class WheelLayout(BuildHookInterface[Any]):
    """Stages the package in a temporary folder and includes that."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or version == "editable":
            return
        root = Path(self.root)
        stage = Path(tempfile.mkdtemp(prefix="factible-wheel-"))
        self._stage = stage
        ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
        shutil.copytree(root / PACKAGE, stage / PACKAGE, ignore=ignored)
        for name in MOVED:
            shutil.copytree(root / name, stage / PACKAGE / f"_{name}", ignore=ignored)
        shutil.copy(root / ".env.example", stage / PACKAGE)
        for module in stage.rglob("*.py"):
            module.write_text(relocated(module.read_text(encoding="utf-8")), encoding="utf-8")
        build_data["force_include"][str(stage / PACKAGE)] = PACKAGE

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if stage := getattr(self, "_stage", None):
            shutil.rmtree(stage)
