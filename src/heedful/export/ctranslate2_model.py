"""A model for CTranslate2, an engine in C++: https://opennmt.net/CTranslate2.

It would make sinusoids of another kind, so ours are written as a table.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from heedful.errors import ExportError
from heedful.export.ctranslate2_layers import NEVER, fill_layer
from heedful.export.folder import POSITIONS, export_folder, require_plain
from heedful.model.positional_encoding import positional_encoding
from heedful.runs.models import SavedModel
from heedful.symbols import CONTROL_TOKENS, END, PAD, START
from heedful.text.subwords import FILE_NAME

STORAGES = ("float32", "int8", "float16", "bfloat16")
USE = """# A translation model for CTranslate2

Written by `heedful export` from step {step:,}. The text is one sentence a line.

```python
import ctranslate2
from tokenizers import Tokenizer

folder = "."  # this one
translator = ctranslate2.Translator(folder)
source = Tokenizer.from_file(folder + "/{source}")
target = Tokenizer.from_file(folder + "/{target}")
source.encode_special_tokens = True  # text that reads like a control symbol is text

tokens = source.encode("A sentence to translate.").tokens
best = translator.translate_batch([tokens], beam_size={beam}, length_penalty={alpha:g})[0].hypotheses[0]
print(target.decode([target.token_to_id(token) for token in best]).removeprefix(" "))
```

CTranslate2 divides a hypothesis's log-probability by its length to the power of the penalty, heedful by
((5 + length) / 6) to it: the best of several may differ. A sentence has at most {positions:,} subwords.
"""


def write_ctranslate2(saved: SavedModel, place: Path, *, storage: str = "float32", overwrite: bool = False) -> None:
    """Write a folder that `ctranslate2.Translator` reads."""
    if storage not in STORAGES:
        raise ExportError(f"--storage {storage}: for CTranslate2 it must be one of {', '.join(STORAGES)}")
    require_plain(saved, "CTranslate2")
    spec = _specification(saved)
    files = {"source": FILE_NAME, "target": FILE_NAME}
    if saved.source_subwords is not saved.target_subwords:
        files = {side: f"{side}/{FILE_NAME}" for side in files}
    with export_folder(place, saved, engine="ctranslate2", overwrite=overwrite) as folder:
        spec.validate()
        spec.optimize(None if storage == "float32" else storage)
        spec.save(str(folder))
        saved.source_subwords.save((folder / files["source"]).parent)
        saved.target_subwords.save((folder / files["target"]).parent)
        search = saved.config.search
        use = USE.format(
            step=saved.step, positions=_positions(saved), beam=search.beam_size, alpha=search.length_penalty, **files
        )
        (folder / "README.md").write_text(use, encoding="utf-8")


def _specification(saved: SavedModel) -> Any:
    try:
        from ctranslate2.specs import Activation, TransformerSpec  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise ExportError("CTranslate2 is not installed: pip install 'heedful[ctranslate2]'") from None
    model = saved.config.model
    layers = (model.encoder_layers, model.decoder_layers)
    spec: Any = TransformerSpec.from_config(layers, model.num_heads, pre_norm=False, activation=Activation.RELU)
    spec.register_source_vocabulary(saved.source_subwords.tokens)
    spec.register_target_vocabulary(saved.target_subwords.tokens)
    spec.config.bos_token, spec.config.eos_token = CONTROL_TOKENS[START], CONTROL_TOKENS[END]
    spec.config.unk_token, spec.config.decoder_start_token = CONTROL_TOKENS[PAD], CONTROL_TOKENS[START]
    spec.config.add_source_eos = True
    weights = {name: _array(value) for name, value in saved.model.state_dict().items()}
    embedding = weights["embedding.weight"]
    spec.encoder.embeddings[0].weight = weights.get("source_embedding.weight", embedding)
    spec.decoder.embeddings.weight = spec.decoder.projection.weight = embedding
    spec.decoder.projection.bias = np.zeros(len(embedding), np.float32)
    spec.decoder.projection.bias[[PAD, START]] = NEVER
    sinusoids = _array(positional_encoding(POSITIONS, model.d_model))
    for side, name, stack in (("source", "encoder", spec.encoder), ("target", "decoder", spec.decoder)):
        stack.scale_embeddings = True
        stack.position_encodings.encodings = weights.get(f"{side}_positions.weight", sinusoids)
        for number, layer in enumerate(stack.layer):
            fill_layer(layer, weights, f"{name}.layers.{number}", d_model=model.d_model)
    return spec


def _positions(saved: SavedModel) -> int:
    return saved.config.model.max_positions if saved.config.model.positions == "learned" else POSITIONS


def _array(value: Tensor) -> np.ndarray:
    """A copy: CTranslate2 quantises in place."""
    return value.detach().float().numpy().copy()
