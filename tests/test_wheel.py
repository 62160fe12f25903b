"""The wheel holds every package inside factible_assets and works without the repository."""

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from hatch_build import relocated

ROOT = Path(__file__).resolve().parent.parent

PROBE = """
import importlib, importlib.util, pkgutil, sys
sys.path = [path for path in sys.path if "site-packages" not in path] + sys.argv[1:]
import factible_assets
for module in pkgutil.walk_packages(factible_assets.__path__, "factible_assets."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
assert not {"resources", "warehouse", "corpora"} & sys.modules.keys()
from factible_assets.settings import Settings
from factible_assets.corpora.reading import load_corpora
print(len(load_corpora([Settings().project_corpora]).corpora))
"""


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "unpacked")
    return folder / "unpacked"


def test_a_users_own_package_called_resources_cannot_be_ours(unpacked: Path) -> None:
    roots = {path.name for path in unpacked.iterdir()}
    assert {name for name in roots if not name.endswith(".dist-info")} == {"factible_assets"}


def test_every_module_of_the_wheel_imports_without_the_repository(
    unpacked: Path, tmp_path: Path
) -> None:
    libraries = sysconfig.get_path("purelib")
    done = subprocess.run(
        [sys.executable, "-S", "-c", PROBE, str(unpacked), libraries],
        check=False,
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "FACTIBLE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 1


def test_imports_and_quoted_modules_are_moved_and_nothing_else() -> None:
    source = (
        "from resources.http import get\n"
        "import resources.images.base as images\n"
        "from importlib import resources\n"
        'SQL = statements("warehouse", "store.sql")\n'
        'LATE = "resources.llm.openai"\n'
        'NAME = "warehouse"\n'
    )
    assert relocated(source) == (
        "from factible_assets._resources.http import get\n"
        "import factible_assets._resources.images.base as images\n"
        "from importlib import resources\n"
        'SQL = statements("factible_assets._warehouse", "store.sql")\n'
        'LATE = "factible_assets._resources.llm.openai"\n'
        'NAME = "warehouse"\n'
    )
