"""The wheel holds everything and nothing else. (`make test-wheel` installs it with torch and trains a step.)"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import heedful


def test_the_built_wheel_installs_into_an_empty_environment_and_runs(root: Path, tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(root)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name == f"heedful-{heedful.__version__}-py3-none-any.whl"
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("heedful/")}
    sources = {
        f"heedful/{path.relative_to(root / 'src' / 'heedful').as_posix()}"
        for path in (root / "src" / "heedful").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert packed == sources
    # Unpacked somewhere else, with only this environment's libraries: the commands that need no torch answer.
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    code = "import heedful.cli.main as m; print(m.__file__); m.main(['presets', 'base'])"
    result = subprocess.run(
        [sys.executable, "-P", "-c", f"import sys; sys.path.insert(0, {str(tmp_path / 'site')!r}); {code}"],
        check=True,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert str(tmp_path / "site") in result.stdout
    assert "63,082,496" in result.stdout
