"""A model for CTranslate2, an engine in C++: https://opennmt.net/CTranslate2.

Its own Python package could write the files, but loads torch for it, which takes longer than the rest of a first
translation: so they are written here, and a bundle in int8 needs no torch at all. The engine would make sinusoids of
another kind, so ours are a table. Its sub-layers own the norm that comes after them; its self-attention has one matrix
for queries, keys and values as ours, its cross-attention one for queries and another for keys and values.
"""

from __future__ import annotations

import contextlib
import json
import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from heedful.config import ModelConfig
from heedful.data.manifest import TOKENIZER
from heedful.errors import CheckpointError
from heedful.export import NEVER, POSITIONS, export_folder, require_exportable
from heedful.symbols import CONTROL_TOKENS, END, PAD, START

if TYPE_CHECKING:
    from heedful.runs.saved import SavedModel

Arrays = Mapping[str, np.ndarray]
_SCALE = "/scale"
"""As `heedful.runs.checkpoints`, which needs torch, calls what scales the rows of a matrix in int8."""
_FORMAT, _SPECIFICATION = 6, ("TransformerSpec", 7)
"""Versions of the file's layout and of the names in it, which newer engines go on reading."""
_TYPES = {"float32": 0, "int8": 1, "int16": 2, "float16": 4, "uint16": 5}
"""The engine's numbers for them; the last is bfloat16, which numpy does not know."""


def write_ctranslate2(saved: SavedModel, place: Path, *, storage: str = "float32", overwrite: bool = False) -> None:
    """Write a folder that `ctranslate2.Translator` reads."""
    require_exportable(saved, "CTranslate2", storage=storage, storages=("float32", "int8", "float16", "bfloat16"))
    model, search, weights = saved.config.model, saved.config.search, _weights(saved, storage)
    variables = model_variables(weights, model, never=(PAD, START, *saved.target_subwords.tags.values()))
    shared = saved.source_subwords is saved.target_subwords
    files = {side: TOKENIZER if shared else f"{side}/{TOKENIZER}" for side in ("source", "target")}
    positions = model.max_positions if model.positions == "learned" else POSITIONS
    facts = {"positions": positions, "beam": search.beam_size, "alpha": search.length_penalty, **files}
    with export_folder(place, saved, engine="ctranslate2", overwrite=overwrite, **facts) as folder:
        write_model(folder, variables, storage=storage)
        write_vocabularies(folder, saved.source_subwords.tokens, saved.target_subwords.tokens, CONTROL_TOKENS)
        saved.source_subwords.save((folder / files["source"]).parent)
        saved.target_subwords.save((folder / files["target"]).parent)


def _weights(saved: SavedModel, storage: str) -> Arrays:
    """The arrays of a model; in int8 as bundles have them, and not as the engine would make them."""
    if storage == "int8" and (stored := _whole_numbers(saved)) is not None:
        return stored
    from heedful.runs.checkpoints import as_stored, require_finite

    state = saved.model.state_dict()
    require_finite(state, where=str(saved.weights_from))
    stored = as_stored(state, "int8" if storage == "int8" else "float32")
    return {name: value.numpy() for name, value in stored.items()}


def _whole_numbers(saved: SavedModel) -> Arrays | None:
    """Those of a bundle in int8, as they lie in its file. None for others: torch reads these, or says what is wrong."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    from heedful.runs.descriptions import MODEL, read_state, sound_file

    arrays: dict[str, np.ndarray] = {}
    with contextlib.suppress(CheckpointError, SafetensorError, OSError):
        state = read_state(saved.weights_from)
        if state.storage == "int8":
            arrays = load_file(sound_file(saved.weights_from, MODEL, state))
    for name, shape in _shapes(saved):
        own, scale = arrays.get(name), arrays.get(name + _SCALE)
        if own is None or own.shape != shape or own.dtype != ("int8" if shape[1:] else "float32"):
            return None
        if shape[1:] and (scale is None or scale.shape != shape[:1] or scale.dtype != "float32"):
            return None
        if not all(np.isfinite(value).all() for value in (scale, own) if value is not None):
            return None
    return arrays


def _shapes(saved: SavedModel) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Those of every parameter that the engine is given."""
    config = saved.config.model
    d, wide = config.d_model, config.d_ff
    yield "embedding.weight", (saved.target_subwords.vocab_size, d)
    if saved.source_subwords is not saved.target_subwords:
        yield "source_embedding.weight", (saved.source_subwords.vocab_size, d)
    if config.positions == "learned":
        yield from ((f"{side}_positions.weight", (config.max_positions, d)) for side in ("source", "target"))
    stacks = {"encoder": (config.encoder_layers, ["self"]), "decoder": (config.decoder_layers, ["self", "cross"])}
    for stack, (layers, attentions) in stacks.items():
        linears = {"feed_forward.w_1": (wide, d), "feed_forward.w_2": (d, wide)}
        for kind in attentions:
            linears |= {f"{kind}_attention.w_qkv": (3 * d, d), f"{kind}_attention.w_o": (d, d)}
        for layer in (f"{stack}.layers.{number}" for number in range(layers)):
            for name, shape in linears.items():
                yield f"{layer}.{name}.weight", shape
                yield f"{layer}.{name}.bias", shape[:1]
            for number in range(1, len(attentions) + 2):
                yield f"{layer}.add_and_norm_{number}.norm.weight", (d,)
                yield f"{layer}.add_and_norm_{number}.norm.bias", (d,)


def model_variables(
    weights: Arrays, config: ModelConfig, *, never: Sequence[int], positions: int = POSITIONS
) -> dict[str, np.ndarray]:
    """Our arrays under the engine's names. ``never``: ids that no output holds; ``positions``: of sinusoids."""
    target = _matrix(weights, "embedding.weight")
    source = _matrix(weights, "source_embedding.weight") if "source_embedding.weight" in weights else target
    bias = np.zeros(len(target["weight"]), np.float32)
    bias[list(never)] = NEVER
    found = {"decoder/projection/bias": bias, "encoder/embeddings_merge": np.array(0, np.int8)}
    found |= {"decoder/alignment_heads": np.array(1, np.int16), "decoder/alignment_layer": np.array(-1, np.int16)}
    for place, own in (
        ("encoder/embeddings_0", source),
        ("decoder/embeddings", target),
        ("decoder/projection", target),
    ):
        found |= _under(place, own)
    table, layers = sinusoids(positions, config.d_model), (config.encoder_layers, config.decoder_layers)
    for side, stack, count in zip(("source", "target"), ("encoder", "decoder"), layers, strict=True):
        flags = {"pre_norm": 0, "activation": 0, "scale_embeddings": 1}
        found |= _under(stack, {name: np.array(value, np.int8) for name, value in flags.items()})
        found[f"{stack}/num_heads"] = np.array(config.num_heads, np.int16)
        learned = f"{side}_positions.weight"
        found[f"{stack}/position_encodings/encodings"] = _plain(weights, learned) if learned in weights else table
        for number in range(count):
            own = _layer_variables(weights, f"{stack}.layers.{number}", d_model=config.d_model)
            found |= _under(f"{stack}/layer_{number}", own)
    return found


def _layer_variables(weights: Arrays, name: str, *, d_model: int) -> dict[str, np.ndarray]:
    """The arrays of our layer of this name, as the engine calls them."""
    every = slice(None)
    linears = {"self_attention/linear_0": ("self_attention.w_qkv", every)}
    linears |= {"self_attention/linear_1": ("self_attention.w_o", every)}
    linears |= {"ffn/linear_0": ("feed_forward.w_1", every), "ffn/linear_1": ("feed_forward.w_2", every)}
    norms = ["self_attention", "ffn"]
    if f"{name}.cross_attention.w_o.weight" in weights:
        linears |= {"attention/linear_0": ("cross_attention.w_qkv", slice(d_model))}
        linears |= {"attention/linear_1": ("cross_attention.w_qkv", slice(d_model, None))}
        linears |= {"attention/linear_2": ("cross_attention.w_o", every)}
        norms = ["self_attention", "attention", "ffn"]
    found: dict[str, np.ndarray] = {}
    for theirs, (ours, rows) in linears.items():
        found |= _under(theirs, _matrix(weights, f"{name}.{ours}.weight", rows))
        found[f"{theirs}/bias"] = weights[f"{name}.{ours}.bias"][rows]
    for number, theirs in enumerate(norms, start=1):
        for kind, ours in (("gamma", "weight"), ("beta", "bias")):
            found[f"{theirs}/layer_norm/{kind}"] = weights[f"{name}.add_and_norm_{number}.norm.{ours}"]
    return found


def _matrix(weights: Arrays, name: str, rows: slice = slice(None)) -> dict[str, np.ndarray]:
    """These rows of a matrix; in int8 with what scales them."""
    scale = weights.get(name + _SCALE)
    own = {"weight": weights[name][rows]}
    return own if scale is None else {**own, "weight_scale": 1 / scale[rows]}  # the engine divides by it


def _plain(weights: Arrays, name: str) -> np.ndarray:
    scale = weights.get(name + _SCALE)
    return weights[name] if scale is None else weights[name] * scale[:, None]


def _under(place: str, own: Arrays) -> dict[str, np.ndarray]:
    return {f"{place}/{name}": value for name, value in own.items()}


def sinusoids(length: int, d_model: int) -> np.ndarray:
    """The same as `heedful.model.embeddings.positional_encoding`, without torch."""
    frequency = np.exp(np.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
    angle = np.arange(length)[:, None] * frequency
    return np.stack([np.sin(angle), np.cos(angle)], -1).reshape(length, d_model).astype(np.float32)


def write_model(folder: Path, variables: Arrays, *, storage: str = "float32") -> None:
    """Write ``model.bin``: each array with its name, shape, type and bytes; one of two names once, then both names."""
    first: dict[int, str] = {}
    aliases = {name: own for name in sorted(variables) if (own := first.setdefault(id(variables[name]), name)) != name}

    def text(value: str) -> bytes:
        return struct.pack("<H", len(value) + 1) + value.encode("ascii") + b"\0"

    with (folder / "model.bin").open("wb") as file:
        file.write(struct.pack("<I", _FORMAT) + text(_SPECIFICATION[0]) + struct.pack("<I", _SPECIFICATION[1]))
        file.write(struct.pack("<I", len(variables) - len(aliases)))
        for name in sorted(variables.keys() - aliases):
            value = _stored(variables[name], storage)
            file.write(text(name) + struct.pack(f"<B{value.ndim}I", value.ndim, *value.shape))
            file.write(struct.pack("<BI", _TYPES[value.dtype.name], value.nbytes) + value.tobytes())
        file.write(struct.pack("<I", len(aliases)))
        for alias, name in aliases.items():
            file.write(text(alias) + text(name))


def _stored(value: np.ndarray, storage: str) -> np.ndarray:
    """An array in the type that is asked for, if it is of floating-point numbers."""
    if value.dtype != np.float32 or storage in ("float32", "int8"):
        return value
    if storage == "float16":
        return value.astype(np.float16)
    bits = np.ascontiguousarray(value).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)  # the upper half, rounded to the nearest


def write_vocabularies(folder: Path, source: Sequence[str], target: Sequence[str], control: Sequence[str]) -> None:
    """Write the names of the ids, and which are ``control`` ids: those at `PAD`, `START` and `END`."""
    files = {"shared": target} if source == target else {"source": source, "target": target}
    for name, tokens in files.items():
        (folder / f"{name}_vocabulary.json").write_text(json.dumps(tokens), encoding="ascii")
    config = {"bos_token": control[START], "eos_token": control[END], "unk_token": control[PAD]}
    config |= {"decoder_start_token": control[START], "add_source_bos": False, "add_source_eos": True}
    config |= {"layer_norm_epsilon": None, "multi_query_attention": False}
    (folder / "config.json").write_text(json.dumps(config), encoding="ascii")
