"""``heedful export``."""

from __future__ import annotations

from pathlib import Path

from heedful.cli.options import AsJson, Overwrite
from heedful.cli.terminal import print_result
from heedful.errors import ExportError
from heedful.files import folder_size


def export(
    model: str,
    /,
    *,
    to: str,
    output: Path,
    storage: str = "float32",
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Write a model for another engine: CTranslate2, or Hugging Face's transformers.

    The folder holds the weights, the subwords and a README.md with the lines of Python that translate with it. In
    float32 the engine computes the same numbers; heedful is not needed to use it.

    Args:
        model: The folder of a run or of one of its checkpoints (RUN/checkpoints/step-N), or the name of a model.
        to: ctranslate2 (needs pip install 'heedful[ctranslate2]') or marian, as transformers calls the architecture.
        output: The new folder.
        storage: How its weights are stored: float32, float16 or bfloat16, and for ctranslate2 int8.

    Examples:
        heedful export run --to ctranslate2 --output engine --storage int8
        heedful export en-de-small --to marian --output en-de-marian
    """
    if to not in ("ctranslate2", "marian"):
        raise ExportError(f"--to {to}: must be ctranslate2 or marian")
    from heedful.runs.models import read_model

    saved = read_model(model)
    if to == "ctranslate2":
        from heedful.export.ctranslate2_model import write_ctranslate2

        write_ctranslate2(saved, output, storage=storage, overwrite=overwrite)
    else:
        from heedful.export.marian_model import write_marian

        write_marian(saved, output, storage=storage, overwrite=overwrite)
    facts = {"folder": output, "engine": to, "storage": storage, "step": saved.step, "bytes": folder_size(output)}
    said = f"{output} is written: {to}, {storage}, {facts['bytes'] / 1e6:.2f} MB, step {saved.step:,}"
    print_result(facts, as_json=as_json, show=f"{said}\n{output / 'README.md'} says how it is used")
