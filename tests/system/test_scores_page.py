"""docs/scores.md shows what its code and its commands really print."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from heedful.cli.main import main

PAGE = (Path(__file__).parents[2] / "docs" / "scores.md").read_text(encoding="utf-8")
CODE = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
SHOWN = re.findall(r"```sh\n(.*?)```\n\n```\n(.*?)```", PAGE, flags=re.DOTALL)


def without_versions(text: str) -> list[str]:
    lines = (re.sub(r"(version|sacremoses):[\w.]+", r"\1:", line).rstrip() for line in text.splitlines())
    return [line for line in lines if line]


def test_the_example_is_what_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("sacremoses", reason="an extra: pip install 'heedful[moses]'")
    monkeypatch.chdir(tmp_path)
    generate, use = CODE
    exec(compile(generate, "docs/scores.md", "exec"), {})
    assert len(SHOWN) == 3
    for command, printed in SHOWN:
        with pytest.raises(SystemExit, match="0"):
            main(shlex.split(command)[1:])
        assert without_versions(capsys.readouterr().out) == without_versions(printed)
    exec(compile(use, "docs/scores.md", "exec"), {})
    difference = re.search(r"^BLEU .* ([+-]\d+\.\d\d) \[", SHOWN[1][1], flags=re.MULTILINE)
    assert difference is not None
    assert float(capsys.readouterr().out.split()[0]) == pytest.approx(float(difference[1]), abs=0.005)
