"""The picture in CONTRIBUTING.md, held true: who imports whom, who prints, who touches what."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "heedful"

# From the bottom up. A room imports from the rows below it and from itself; rooms in one row are strangers.
LAYERS = [
    {"errors", "symbols", "background", "typed"},
    {"files"},
    {"config"},
    {"presets"},
    {"model", "data", "text", "evaluation"},
    {"parsing", "documents"},
    {"tasks"},
    {"prepare"},
    {"runs"},
    {"export"},
    {"training", "search"},
    {"translation"},
    {"report", "planning"},
    {"demo", "reproduction", "serve"},
    {"cli"},
    {"__init__", "__main__"},
]
# Files and lines that a room may have. A feature that needs more wants the room rebuilt first; then say so here.
CEILINGS = {
    "cli": (26, 4390),
    "demo": (5, 615),
    "reproduction": (16, 2455),
    "serve": (19, 3001),
    "report": (11, 1762),
    "export": (4, 480),
    "planning": (6, 1137),
    "training": (12, 2025),
    "search": (18, 3506),
    "translation": (5, 1080),
    "runs": (10, 1575),
    "prepare": (8, 1331),
    "model": (15, 2040),
    "data": (6, 1005),
    "documents": (4, 670),
    "text": (18, 3825),
    "evaluation": (6, 755),
    "parsing": (5, 570),
    "by themselves": (10, 1325),
}
LONGEST_FILE = 400
# The door of the library re-exports from everywhere; any room may read the version it holds.
RANK = {room: rank for rank, rooms in enumerate(LAYERS) for room in rooms}
NO_TORCH = {
    "documents",
    "errors",
    "background",
    "typed",
    "files",
    "symbols",
    "config",
    "presets",
    "text",
    "data",
    "evaluation",
    "prepare",
    "parsing",
    "tasks",
}
MODULES = sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports_of(tree: ast.AST) -> list[str]:
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names.append(node.module or "")
            if node.module == "heedful":
                names += [f"heedful.{alias.name}" for alias in node.names if alias.name != "__version__"]
    return names


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_each_layer_imports_only_from_below(path: Path) -> None:
    room = room_of(path)
    assert room in RANK, f"{room} is not in the picture: add it to LAYERS here and to CONTRIBUTING.md"
    for name in imports_of(parsed(path)):
        if name.startswith("heedful."):
            other = name.split(".")[1]
            assert other == room or RANK[other] < RANK[room], f"{room} may not import {other}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_the_command_line_prints_or_exits(path: Path) -> None:
    if room_of(path) in {"cli", "__main__"}:
        return
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            assert called not in {"print", "exit", "sys.exit", "os._exit", "sys.stdout.write"}, (
                f"{called} in {path.name}"
            )


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_what_only_some_rooms_may_touch(path: Path) -> None:
    imports = imports_of(parsed(path))
    assert not [name for name in imports if name.split(".")[0] in {"pickle", "dill", "joblib", "shelve"}]
    assert "torch.load" not in path.read_text(encoding="utf-8")
    if room_of(path) in NO_TORCH:
        assert not [name for name in imports if name.split(".")[0] == "torch"], "this room works without torch"
    if path != PACKAGE / "training" / "distributed.py":
        assert not [name for name in imports if name.startswith("torch.distributed")]


def test_no_room_is_larger_than_it_may_be() -> None:
    found: dict[str, list[int]] = {}
    for path in MODULES:
        room = room_of(path) if path.parent != PACKAGE else "by themselves"
        found.setdefault(room, []).append(len(path.read_text(encoding="utf-8").splitlines()))
    assert found.keys() == CEILINGS.keys()
    for room, lines in found.items():
        files, most = CEILINGS[room]
        assert len(lines) <= files, f"{room} has {len(lines)} files"
        assert sum(lines) <= most, f"{room} has {sum(lines)} lines"
        assert max(lines) <= LONGEST_FILE, f"a file of {room} has {max(lines)} lines"


def test_there_are_no_rooms_for_leftovers() -> None:
    names = {part for path in MODULES for part in path.relative_to(PACKAGE).with_suffix("").parts}
    assert not names & {"utils", "util", "helpers", "common", "misc"}


SCORES = ["evaluate", "--hypothesis", "README.md", "--reference", "README.md", "--resamples", "9"]


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["presets"], ["config"], ["runs", "tests"], ["models"], SCORES]
)
def test_light_commands_load_no_torch(arguments: list[str]) -> None:
    code = (
        "import sys\nfrom heedful.cli.main import main\n"
        f"try:\n    main({arguments!r})\nexcept SystemExit:\n    pass\n"
        "sys.exit('torch' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
