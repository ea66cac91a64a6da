"""CTranslate2, an engine in C++ without torch: float32 or int8, with random weights or with ours."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from rivals.engine import PAD, START, Engine, Search, Sizes

sys.path.insert(0, str(Path(__file__).parents[2] / "src"))  # this runs in an environment without heedful

from heedful.config import ModelConfig
from heedful.export.ctranslate2_model import model_variables, write_model, write_vocabularies


def build(sizes: Sizes, *, device: str, half: bool, compute_type: str) -> Engine:
    weights = _random_weights(sizes)
    return _engine(weights, sizes, positions=256, forbid=False, device=device, half=half, compute_type=compute_type)


def load(folder: str, *, device: str, half: bool, compute_type: str) -> Engine:
    """The weights of a heedful model."""
    from safetensors.numpy import load_file

    description = json.loads((Path(folder) / "sizes.json").read_text())
    weights = load_file(Path(folder) / "model.safetensors")
    shape = {"sizes": Sizes(**description["sizes"]), "positions": description["positions"]}
    return _engine(weights, **shape, forbid=True, device=device, half=half, compute_type=compute_type)


def _engine(
    weights: dict[str, Any],
    sizes: Sizes,
    *,
    positions: int,
    forbid: bool,
    device: str,
    half: bool,
    compute_type: str,
) -> Engine:
    import ctranslate2  # pyright: ignore[reportMissingImports]

    shape: dict[str, Any] = {name: getattr(sizes, name) for name in ("d_model", "d_ff", "num_heads")}
    config = ModelConfig(**shape, encoder_layers=sizes.layers, decoder_layers=sizes.layers)
    words = [str(number) for number in range(sizes.vocab_size)]
    with tempfile.TemporaryDirectory() as folder:
        never = (PAD, START) if forbid else ()
        write_model(Path(folder), model_variables(weights, config, never=never, positions=positions))
        write_vocabularies(Path(folder), words, words, words)
        compute_type = "bfloat16" if half and compute_type == "float32" else compute_type
        threads = {"inter_threads": 1, "intra_threads": 1}
        translator = ctranslate2.Translator(folder, device=device, compute_type=compute_type, **threads)

    def decode(sources: list[list[int]], search: Search) -> list[list[int]]:
        width = max(len(source) for source in sources) + 1
        results = translator.translate_batch(
            [[str(word) for word in source] for source in sources],
            max_batch_size=search.batch,
            beam_size=search.beam_size,
            min_decoding_length=search.forced_steps,
            max_decoding_length=search.forced_steps or width - 1 + search.max_extra_length,
            length_penalty=search.length_penalty,
            return_end_token=True,
        )
        return [[int(token) for token in result.hypotheses[0]] for result in results]

    return Engine(sum(w.size for w in weights.values()), {"ctranslate2": ctranslate2.__version__}, decode)


def _random_weights(sizes: Sizes) -> dict[str, Any]:
    import numpy as np

    random, d = np.random.default_rng(1), sizes.d_model
    shapes = {"w_o": (d, d), "w_qkv": (3 * d, d), "w_1": (sizes.d_ff, d), "w_2": (d, sizes.d_ff)}
    found = {"embedding.weight": random.normal(0, d**-0.5, (sizes.vocab_size, d))}
    blocks = {"encoder": ["self_attention"], "decoder": ["self_attention", "cross_attention"]}
    for side, attentions in blocks.items():
        for number in range(sizes.layers):
            name = f"{side}.layers.{number}"
            linears = [f"{attention}.{part}" for attention in attentions for part in ("w_qkv", "w_o")]
            for linear in [*linears, "feed_forward.w_1", "feed_forward.w_2"]:
                shape = shapes[linear.rpartition(".")[2]]
                found[f"{name}.{linear}.weight"] = random.normal(0, (2 / sum(shape)) ** 0.5, shape)
                found[f"{name}.{linear}.bias"] = np.zeros(shape[0])
            for place in range(1, len(attentions) + 2):
                found[f"{name}.add_and_norm_{place}.norm.weight"] = np.ones(d)
                found[f"{name}.add_and_norm_{place}.norm.bias"] = np.zeros(d)
    return {name: value.astype(np.float32) for name, value in found.items()}
