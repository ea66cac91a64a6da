"""What there is to say about a model without loading it: its card, its languages, the text it was trained on.

A card is ``README.md`` in the model's folder, written by whoever gives the model away. Needs no torch.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePath
from typing import Any

from heedful.data.manifest import TextRecord, read_manifest
from heedful.errors import CorpusError

CARD = "README.md"
_COMPRESSED = {".gz", ".xz", ".zst"}


def card_title(folder: Path) -> str | None:
    """The first line of a model's card that is not empty, without the marks of a heading."""
    try:
        lines = (folder / CARD).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    titles = (line.lstrip("#").strip() for line in lines)
    return next((title for title in titles if title), None)


def languages(description: dict[str, Any]) -> tuple[str, str] | None:
    """The languages of source and target: what ``run.json`` says, or else the endings of the corpus's files."""
    said = description.get("languages")
    if isinstance(said, dict):
        return str(said.get("source")), str(said.get("target"))
    pairs = {tuple(_ending(path) for path in text.paths) for text in training_texts(description)}
    if len(pairs) != 1:
        return None
    (pair,) = pairs
    return (pair[0], pair[1]) if len(pair) == 2 and all(pair) and pair[0] != pair[1] else None


def training_texts(description: dict[str, Any]) -> tuple[TextRecord, ...]:
    """The texts that a model was trained on, if the prepared corpus is still there."""
    data = description.get("data")
    folder = data.get("folder") if isinstance(data, dict) else None
    if not isinstance(folder, str):
        return ()
    try:
        return read_manifest(Path(folder)).corpora
    except CorpusError:
        return ()


def _ending(file: str) -> str:
    """The two letters that a file's name ends in, as in ``train.en.gz``, or nothing."""
    path = PurePath(file)
    name = path.with_suffix("") if path.suffix in _COMPRESSED else path
    return name.suffix[1:] if re.fullmatch(r"\.[a-z]{2}", name.suffix) else ""
