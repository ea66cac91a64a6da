"""heedful itself, through the same door as its rivals."""

from __future__ import annotations

import json
from pathlib import Path

from rivals.engine import END, Engine, Search, Sizes


def build(sizes: Sizes, *, device: str, half: bool) -> Engine:
    import torch

    from heedful.model.transformer import Transformer

    torch.manual_seed(1)
    return _engine(_model(sizes, Transformer), device=device, half=half)


def load(folder: str, *, device: str, half: bool) -> Engine:
    from safetensors.torch import load_file

    from heedful.model.transformer import Transformer

    description = json.loads((Path(folder) / "sizes.json").read_text())
    model = _model(Sizes(**description["sizes"]), Transformer)
    model.load_state_dict(load_file(Path(folder) / "model.safetensors"))
    return _engine(model, device=device, half=half)


def _model(sizes: Sizes, transformer):
    layers = {"encoder_layers": sizes.layers, "decoder_layers": sizes.layers}
    widths = {"d_model": sizes.d_model, "d_ff": sizes.d_ff, "num_heads": sizes.num_heads}
    return transformer(vocab_size=sizes.vocab_size, **layers, **widths)


def _engine(model, *, device: str, half: bool) -> Engine:
    import numpy as np
    import torch

    import heedful
    from heedful.model.devices import with_packed_matrices
    from heedful.search.engine import Sentence
    from heedful.search.model_search import ModelSearch, in_half_precision
    from heedful.search.options import SearchOptions

    parameters = sum(p.numel() for p in model.parameters())
    model = model.to(device)
    model = in_half_precision(model) if half else with_packed_matrices(model)
    made: dict[int, ModelSearch] = {}

    def decode(sources: list[list[int]], search: Search) -> list[list[int]]:
        if search.batch not in made:
            made[search.batch] = ModelSearch(model, batch_size=search.batch, half=half, graphs=device != "cpu")
        words = max(search.forced_steps - 1, 0)  # and one step for the end symbol; 0: no limit
        options = SearchOptions(
            beam_size=search.beam_size,
            length_penalty=search.length_penalty,
            max_extra_length=search.max_extra_length,
            min_length=words,
            max_length=words,
        )
        sentences = [Sentence(number, np.array(source)) for number, source in enumerate(sources)]
        found = {s.number: hypotheses[0] for s, hypotheses in made[search.batch].search(sentences, options)}
        return [[*found[number].ids.tolist(), END] for number in range(len(sources))]

    return Engine(parameters, {"heedful": heedful.__version__, "torch": torch.__version__}, decode)
