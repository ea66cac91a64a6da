"""The wheel holds everything and nothing else. (`make test-wheel` installs it with torch and trains a step.)"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tests.trained_toys import train_toy

import heedful
from heedful.runs.bundles import write_bundle
from heedful.runs.saved import read_model


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a wheel is built from, with one more model, so that there is one."""
    root, folder = Path(__file__).parent.parent.parent, tmp_path_factory.mktemp("project")
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(root / name, folder)
    shutil.copytree(root / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    saved = read_model(train_toy(tmp_path_factory.mktemp("toy"), steps=8))
    write_bundle(saved, folder / "src" / "heedful" / "bundled" / "toy", card=b"# toy: copies sounds\n")
    return folder


def test_the_built_wheel_installs_into_an_empty_environment_and_runs(project: Path, tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(project)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name == f"heedful-{heedful.__version__}-py3-none-any.whl"
    package = project / "src" / "heedful"
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("heedful/")}
    assert packed == {
        f"heedful/{path.relative_to(package).as_posix()}" for path in package.rglob("*") if path.is_file()
    }
    # Unpacked somewhere else, with only this environment's libraries: the commands that need no torch answer.
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    shown = command_of(tmp_path / "site", "presets", "base")
    assert "63,082,496" in shown
    listed = {model["model"]: model for model in json.loads(command_of(tmp_path / "site", "models", "--json"))}
    assert set(listed) == {folder.name for folder in (package / "bundled").iterdir()}
    assert listed["toy"]["about"] == "toy: copies sounds"
    # The models in it translate from where they lie.
    for name in listed:
        assert len(command_of(tmp_path / "site", "translate", "--model", name, "ba de fi").splitlines()) == 1


def command_of(site: Path, *words: str) -> str:
    """What a command prints when heedful lies in this folder, and nowhere else."""
    code = (
        f"import sys; sys.path.insert(0, {str(site)!r}); import heedful.cli.main as m; "
        f"assert m.__file__.startswith({str(site)!r}), m.__file__; m.main({list(words)!r})"
    )
    place = [sys.executable, "-P", "-c", code]
    return subprocess.run(place, check=True, capture_output=True, text=True, cwd=site.parent).stdout
