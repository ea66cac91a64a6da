"""Pages of documentation as tests read them: their commands, and what they say is printed."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
NUMBER = re.compile(r"\d[\d.,]*")


@dataclass(frozen=True)
class Block:
    """Commands of a page, and the lines that it says they print."""

    commands: str
    printed: tuple[str, ...]


def blocks_of(page: str) -> list[Block]:
    """The ``sh`` blocks, each with the ``text`` block right after it."""
    found = re.findall(r"```sh\n(.*?)```\n(?:\n```text\n(.*?)```)?", page, flags=re.DOTALL)
    return [Block(commands, tuple(printed.splitlines())) for commands, printed in found]


def is_printed(line: str, output: str) -> bool:
    """Whether a line is there, whatever its numbers and spaces; ``…`` stands for anything within a line."""
    parts = [r"\s+".join(_pattern(word) for word in part.split()) for part in line.split("…")]
    return re.search(r".*?".join(parts), output) is not None


def _pattern(word: str) -> str:
    return NUMBER.pattern.join(re.escape(piece) for piece in NUMBER.split(word))


def shell(folder: Path) -> dict[str, str]:
    """An environment whose ``heedful`` and ``python`` are those of the tests."""
    programs = folder / "bin"
    programs.mkdir(parents=True, exist_ok=True)
    for name, words in (("heedful", "-m heedful"), ("python", ""), ("torchrun", "-m torch.distributed.run")):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        program.chmod(0o755)
    return {
        **os.environ,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "OMP_NUM_THREADS": "1",
        "COLUMNS": "160",
    }
