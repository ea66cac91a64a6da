"""A model is a folder or a name: the models that come with heedful, and which one is meant. Needs no torch."""

from __future__ import annotations

from pathlib import Path

from heedful.config import did_you_mean
from heedful.errors import CheckpointError
from heedful.runs.run_folder import RUN

BUNDLED = Path(__file__).parent.parent / "bundled"
DEFAULT = "en-de-small"
"""The model where none is named."""


def bundled_models() -> dict[str, Path]:
    """The models that come with heedful, by name."""
    return {path.parent.name: path.parent for path in sorted(BUNDLED.glob(f"*/{RUN}"))}


def default_model() -> str | None:
    """The name of the model where none is given; None where heedful came without it."""
    return DEFAULT if DEFAULT in bundled_models() else None


def model_folder(model: Path | str) -> Path:
    """The folder that is meant: what is there under this path, or else the model of this name."""
    path = Path(model)
    known = bundled_models()
    if path.exists() or not known or len(path.parts) > 1:  # a name has no folders in it
        return path
    if str(model) in known:
        return known[str(model)]
    listed = ", ".join(known)
    near = did_you_mean(str(model), list(known))
    raise CheckpointError(f"there is no folder {model}, and no model of that name{near}: heedful comes with {listed}")
