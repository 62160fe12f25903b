"""The allowed imports between folders, and the docstring of every module."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("factible_assets", "resources", "warehouse")

FORBIDDEN = {
    "factible_assets/stages": ("dagster", "duckdb", "httpx", "resources", "warehouse"),
    "factible_assets/reasoners": ("dagster", "duckdb", "httpx", "warehouse"),
    "factible_assets/evaluation": ("dagster", "duckdb", "httpx", "resources", "warehouse"),
    "factible_assets/report": ("dagster", "duckdb", "httpx", "resources"),
    "factible_assets/exchange": ("dagster", "duckdb", "httpx"),
    "factible_assets/strategies": ("dagster", "duckdb", "httpx", "warehouse"),
    "factible_assets/records": ("dagster", "duckdb", "httpx", "resources", "warehouse"),
    "factible_assets/config.py": ("dagster", "duckdb", "httpx", "resources", "warehouse"),
    "resources": ("dagster", "duckdb", "factible_assets", "warehouse"),
    "warehouse": (
        "httpx",
        "resources",
        "factible_assets.stages",
        "factible_assets.pipeline.assets",
    ),
}
VALUES = re.compile(
    r"resources\.(\w+\.base|transcripts\.youtube_ids|errors|files|text_files|single_flight|promises"
    r"|statements|words)"
)
"""The parts of resources that send nothing; every folder may import them."""
ROOT_MODULES = {
    *("__init__", "__main__", "config", "definitions", "errors", "settings", "version", "wording")
}
SQL = re.compile(
    r"[\"']\s*(SELECT\s|INSERT INTO\s|DELETE FROM\s|UPDATE \w+ SET\s|WITH \w+ AS\s|COPY\s)"
)
PRIVATE_NAMES = {"factible_assets/web/dagster_ui.py"}


def modules(*places: str) -> list[Path]:
    found: list[Path] = []
    for place in places:
        path = ROOT / place
        found += [path] if path.is_file() else sorted(path.rglob("*.py"))
    return found


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports_of(path: Path, *, of_types: bool = True) -> tuple[str, ...]:
    """Return a module's imports, at its head or later, with or without those for types alone."""
    found: list[str] = []
    nodes: list[ast.AST] = [tree_of(path)]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Import):
            found += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.append(node.module)
        elif (
            isinstance(node, ast.If) and not of_types and ast.unparse(node.test) == "TYPE_CHECKING"
        ):
            nodes += node.orelse
            continue
        nodes += ast.iter_child_nodes(node)
    return tuple(found)


@pytest.mark.parametrize("room", FORBIDDEN)
def test_no_room_imports_what_it_must_not_know(room: str) -> None:
    broken = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules(room)
        for name in imports_of(path)
        for banned in FORBIDDEN[room]
        if (name == banned or name.startswith(f"{banned}.")) and not VALUES.fullmatch(name)
    ]
    assert broken == []


def test_the_root_of_the_package_holds_what_every_room_may_need_and_nothing_else() -> None:
    found = {path.stem for path in (ROOT / "factible_assets").glob("*.py")}
    assert found == ROOT_MODULES


def test_the_page_for_newcomers_shows_every_room_and_none_that_is_gone() -> None:
    tree = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("```")[3]
    shown = set(re.findall(r"^  (\w+/|\w+\.py) ", tree, re.MULTILINE))
    package = ROOT / "factible_assets"
    folders = {f"{path.parent.name}/" for path in package.glob("*/*.py")} | {"reasoners/"}
    assert shown == folders | {f"{name}.py" for name in ROOT_MODULES if name[0] != "_"}


def test_no_two_files_differ_only_by_ing() -> None:
    """Names such as `check` and `checking` in one folder confuse readers."""
    stems: dict[str, Path] = {path.stem: path for path in modules(*ROOMS)}
    twins = [
        f"{path.relative_to(ROOT)} and {stems[base].relative_to(ROOT)}"
        for path in modules(*ROOMS)
        for base in {path.stem.removesuffix("ing"), path.stem.removesuffix("ing") + "e"}
        if path.stem.endswith("ing") and base in stems
    ]
    assert twins == []


def test_sql_stands_in_files_of_its_own() -> None:
    found = [path for path in modules(*ROOMS) if SQL.search(path.read_text(encoding="utf-8"))]
    assert found == []


def test_no_module_of_a_dependency_that_is_private_is_imported_but_in_one_place() -> None:
    private = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules(*ROOMS)
        if str(path.relative_to(ROOT)) not in PRIVATE_NAMES
        for name in imports_of(path)
        if re.search(r"\._[a-z]", name)
    ]
    assert private == []


def room_of(module: str) -> str | None:
    """Return the folder of a module, or the module of the root."""
    first, _, rest = module.partition(".")
    if first == "factible_assets":
        return rest.partition(".")[0] or None
    return first if first in ROOMS else None


def test_no_arrow_between_rooms_runs_back() -> None:
    """If one folder imports another, directly or not, the other does not import it."""
    arrows: dict[str, set[str]] = {}
    for path in modules(*ROOMS):
        here = room_of(".".join(path.relative_to(ROOT).with_suffix("").parts))
        for name in imports_of(path, of_types=False):
            there = room_of(name)
            if here and there and here != there:
                arrows.setdefault(here, set()).add(there)
    rooms, order = dict(arrows), []
    while rooms:
        free = [room for room, needs in rooms.items() if not needs & rooms.keys()]
        assert free, f"these import each other in a circle: {sorted(rooms)}"
        order += free
        rooms = {room: needs for room, needs in rooms.items() if room not in free}
    assert order.index("stages") < order.index("pipeline") < order.index("runs")


def test_nothing_imports_the_command_line() -> None:
    importers = [
        str(path.relative_to(ROOT))
        for path in modules(*ROOMS)
        if "factible_assets/cli/" not in str(path)
        and any(name.startswith("factible_assets.cli") for name in imports_of(path))
    ]
    assert importers == ["factible_assets/__main__.py"]


def test_every_module_opens_by_saying_what_belongs_in_it() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in modules(*ROOMS)
        if len(ast.get_docstring(tree_of(path)) or "") < 30
    ]
    assert silent == []
