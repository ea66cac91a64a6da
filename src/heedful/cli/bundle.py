"""``heedful bundle``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from heedful.cli.options import AsJson, Overwrite
from heedful.cli.terminal import print_result
from heedful.errors import HeedfulError
from heedful.files import folder_size, read_small, reason, sha256
from heedful.runs.descriptions import Languages


def bundle(
    model: str,
    /,
    *,
    output: Path,
    storage: str = "int8",
    card: Path | None = None,
    languages: str | None = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Make a model to give away: weights, subwords, configuration and card, and nothing else of the run.

    Every command takes the folder as it takes a run's; training goes on from it with `heedful train --init`. It
    does not say where it was trained. What was written is read again before the command ends.

    Args:
        model: The folder of a run or of one of its checkpoints (RUN/checkpoints/step-N), or the name of a model.
        output: The new folder.
        storage: How its weights are stored: int8 (a quarter of the bytes), bfloat16 (half) or float32 (as they are).
        card: A text about the model, which becomes README.md: its data and their licences, scores, what it is bad at.
        languages: Of source and target, as in en-de; by default the names of the corpus's files tell, if they do.

    Examples:
        heedful bundle run --output en-de --card card.md
        heedful bundle run/checkpoints/step-00005000 --output exact --storage float32 --languages en-de
    """
    spoken = _languages(languages)
    text = None if card is None else _text(card)
    from heedful.runs.descriptions import MODEL
    from heedful.runs.folder import CARD
    from heedful.runs.models import read_model, write_bundle

    write_bundle(read_model(model), output, storage=storage, card=text, spoken=spoken, overwrite=overwrite)
    again = read_model(output)
    spoken, weights = again.description.languages, again.weights_from / MODEL
    stored = {"file": weights, "bytes": weights.stat().st_size, "sha256": sha256(weights)}
    facts: dict[str, Any] = {
        "folder": output,
        "storage": storage,
        "step": again.step,
        "parameters": again.description.parameters,
        "bytes": folder_size(output),
        "weights": stored,
        "languages": None if spoken is None else f"{spoken.source}-{spoken.target}",
        "card": output / CARD if (output / CARD).exists() else None,
    }
    said = [
        f"{output} is written: {facts['bytes'] / 1e6:.2f} MB, {facts['parameters']:,} parameters",
        f"weights: {storage}, {stored['bytes'] / 1e6:.2f} MB, step {again.step:,}",
        f"sha256: {stored['sha256']}  {weights}",
    ]
    if facts["card"] is None:
        said.append("it has no card: --card FILE adds a text that says what it was trained on, and what it is good for")
    print_result(facts, as_json=as_json, show="\n".join(said))


def _languages(given: str | None) -> Languages | None:
    if given is None:
        return None
    match = re.fullmatch(r"([a-z]{2,3})-([a-z]{2,3})", given)
    if match is None:
        raise HeedfulError(f"--languages {given}: must be two codes with a hyphen between them, such as en-de")
    return Languages(match[1], match[2])


def _text(path: Path) -> bytes:
    """A card: text, so that every program can show it."""
    try:
        content = read_small(path, most=1 << 20)
        content.decode("utf-8")
    except UnicodeDecodeError:
        raise HeedfulError(f"--card {path} is not UTF-8 text") from None
    except OSError as error:
        raise HeedfulError(f"--card {path} cannot be read: {reason(error)}") from None
    if not content.strip():
        raise HeedfulError(f"--card {path} is empty")
    return content
