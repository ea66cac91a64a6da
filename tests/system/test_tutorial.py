"""docs/tutorial.md, followed to the letter in an empty folder, with the small numbers that the page itself offers."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.doc_pages import DOCS, blocks_of, is_printed, shell

PAGE = (DOCS / "tutorial.md").read_text(encoding="utf-8")


def small_numbers() -> dict[str, str]:
    """The variables of the page's "in a minute" line; each of them stands in its commands."""
    offered = re.search(r"`export ([A-Z0-9=. ]+)`", PAGE)
    assert offered is not None
    return dict(pair.split("=") for pair in offered[1].split())


def test_every_command_works_and_prints_what_the_page_says(tmp_path: Path) -> None:
    variables = small_numbers()
    assert all(f"${{{name}:-" in PAGE for name in variables)
    environment = {**shell(tmp_path), **variables}
    folder = tmp_path / "empty"
    folder.mkdir()
    blocks = blocks_of(PAGE)
    assert len(blocks) >= 9
    for block in blocks:
        result = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block.commands],
            check=False,
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert result.returncode == 0, f"{block.commands}\n{result.stdout}"
        for line in block.printed:
            assert is_printed(line, result.stdout), f"{line}\nis not in\n{result.stdout}"
    assert len((folder / "test.out").read_text(encoding="utf-8").splitlines()) == int(variables["PAIRS"]) // 100
    assert "<html" in (folder / "attention.html").read_text(encoding="utf-8")


def test_a_line_is_found_whatever_its_numbers_and_nothing_else() -> None:
    output = "kept   19,998   99.9%\nfinished at step 30: all 30 steps are done"
    assert is_printed("kept … 100.0%", output)
    assert is_printed("finished at step 1,000", output)
    assert not is_printed("kept … finished", output)  # not over the end of a line
    assert not is_printed("finished at the step", output)
    assert not is_printed("kept none", output)
