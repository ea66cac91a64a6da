"""A model for CTranslate2, an engine in C++: https://opennmt.net/CTranslate2.

It would make sinusoids of another kind, so ours are written as a table. Its sub-layers own the norm that comes after
them; its self-attention has one matrix for queries, keys and values as ours, its cross-attention one for queries and
another for keys and values. torch and tokenizers are imported late: the benchmarks use `fill_layer` without them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from heedful.data.manifest import TOKENIZER
from heedful.errors import ExportError
from heedful.export import NEVER, POSITIONS, export_folder, require_exportable
from heedful.symbols import CONTROL_TOKENS, END, PAD, START

if TYPE_CHECKING:
    from torch import Tensor

    from heedful.runs.saved import SavedModel


def write_ctranslate2(saved: SavedModel, place: Path, *, storage: str = "float32", overwrite: bool = False) -> None:
    """Write a folder that `ctranslate2.Translator` reads."""
    require_exportable(saved, "CTranslate2", storage=storage, storages=("float32", "int8", "float16", "bfloat16"))
    spec, model, search = _specification(saved, storage), saved.config.model, saved.config.search
    shared = saved.source_subwords is saved.target_subwords
    files = {side: TOKENIZER if shared else f"{side}/{TOKENIZER}" for side in ("source", "target")}
    positions = model.max_positions if model.positions == "learned" else POSITIONS
    facts = {"positions": positions, "beam": search.beam_size, "alpha": search.length_penalty, **files}
    with export_folder(place, saved, engine="ctranslate2", overwrite=overwrite, **facts) as folder:
        spec.validate()
        spec.optimize(None if storage in ("float32", "int8") else storage)
        spec.save(str(folder))
        saved.source_subwords.save((folder / files["source"]).parent)
        saved.target_subwords.save((folder / files["target"]).parent)


def _specification(saved: SavedModel, storage: str) -> Any:
    from heedful.model.embeddings import positional_encoding
    from heedful.runs.checkpoints import as_stored

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
    state = saved.model.state_dict()
    # As bundles have it, and not as CTranslate2 would make it: the whole numbers of a bundle are used as they are.
    stored = as_stored(state, "int8") if storage == "int8" else state
    weights = {name: _array(value) for name, value in stored.items()}
    source = "source_embedding.weight" if "source_embedding.weight" in weights else "embedding.weight"
    _put_matrix(spec.encoder.embeddings[0], weights, source)
    _put_matrix(spec.decoder.embeddings, weights, "embedding.weight")
    _put_matrix(spec.decoder.projection, weights, "embedding.weight")
    spec.decoder.projection.bias = np.zeros(len(weights["embedding.weight"]), np.float32)
    spec.decoder.projection.bias[[PAD, START, *saved.target_subwords.tags.values()]] = NEVER
    sinusoids = _array(positional_encoding(POSITIONS, model.d_model))
    for side, name, stack in (("source", "encoder", spec.encoder), ("target", "decoder", spec.decoder)):
        stack.scale_embeddings = True
        learned = state.get(f"{side}_positions.weight")
        stack.position_encodings.encodings = sinusoids if learned is None else _array(learned)
        for number, layer in enumerate(stack.layer):
            fill_layer(layer, weights, f"{name}.layers.{number}", d_model=model.d_model)
    return spec


def fill_layer(layer: Any, weights: Mapping[str, Any], name: str, *, d_model: int) -> None:
    """Put the arrays of our layer of this name into a layer of CTranslate2's specification."""

    def linear(place: Any, which: str, rows: slice = slice(None)) -> None:
        _put_matrix(place, weights, f"{name}.{which}.weight", rows)
        place.bias = weights[f"{name}.{which}.bias"][rows].copy()

    def norm(place: Any, number: int) -> None:
        place.gamma, place.beta = (weights[f"{name}.add_and_norm_{number}.norm.{kind}"] for kind in ("weight", "bias"))

    linear(layer.self_attention.linear[0], "self_attention.w_qkv")
    linear(layer.self_attention.linear[1], "self_attention.w_o")
    norm(layer.self_attention.layer_norm, 1)
    last = 2
    if f"{name}.cross_attention.w_o.weight" in weights:
        linear(layer.attention.linear[0], "cross_attention.w_qkv", slice(d_model))
        linear(layer.attention.linear[1], "cross_attention.w_qkv", slice(d_model, None))
        linear(layer.attention.linear[2], "cross_attention.w_o")
        norm(layer.attention.layer_norm, 2)
        last = 3
    linear(layer.ffn.linear_0, "feed_forward.w_1")
    linear(layer.ffn.linear_1, "feed_forward.w_2")
    norm(layer.ffn.layer_norm, last)


def _put_matrix(place: Any, weights: Mapping[str, Any], name: str, rows: slice = slice(None)) -> None:
    """Put a matrix, or these rows of it, into a part of a specification; one in int8 with what scales its rows."""
    place.weight = weights[name][rows].copy()
    scale = weights.get(f"{name}/scale")  # as `heedful.runs.checkpoints` calls it
    if scale is not None:
        place.weight_scale = 1 / scale[rows]  # CTranslate2 divides by it


def _array(value: Tensor) -> np.ndarray:
    """A copy: CTranslate2 quantises in place."""
    value = value.detach()
    return (value.float() if value.is_floating_point() else value).numpy().copy()
