"""Sockeye 3.1.34: its model and beam search, traced as its own translator runs them; random weights or ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rivals.engine import END, PAD, START, Engine, Search, Sizes, batches, in_order

NEVER = -1e4
"""The output bias of what must not be said."""
_ORDER = [PAD, 3, START, END]
"""Which of our ids has the place of its padding, unknown word, start and end; all others have the same in both."""
_NAMES = {
    "encoder": {
        "add_and_norm_1.norm": "post_self_attention.layer_norm",
        "add_and_norm_2.norm": "post_ff.layer_norm",
    },
    "decoder": {
        "self_attention": "autoregr_layer",
        "cross_attention": "enc_attention",
        "add_and_norm_1.norm": "post_autoregr_layer.layer_norm",
        "add_and_norm_2.norm": "post_enc_attention.layer_norm",
        "add_and_norm_3.norm": "post_ff.layer_norm",
    },
}
_PARTS = {"feed_forward.w_": "ff.ff", "w_o": "ff_out", "w_qkv": "ff_in"}


def build(sizes: Sizes, *, device: str, half: bool) -> Engine:
    import torch
    from sockeye import constants  # pyright: ignore[reportMissingImports]
    from sockeye.model import SockeyeModel, initialize_parameters  # pyright: ignore[reportMissingImports]

    torch.manual_seed(1)
    model = SockeyeModel(sockeye_configuration(sizes), inference_only=True)
    model.apply(initialize_parameters)
    # The output bias is left as it was found in memory; the end symbol must not win before the last step, where the
    # search takes it by itself.
    bias = model.output_layer.bias.data
    bias.zero_()
    bias[constants.EOS_ID] = NEVER
    return _engine(model, list(range(sizes.vocab_size)), device=device, half=half)


def load(folder: str, *, device: str, half: bool) -> Engine:
    """The weights of a heedful model. Its attention gets biases, its norms our epsilon, its sinusoids our order."""
    import torch
    from safetensors.torch import load_file
    from sockeye.model import SockeyeModel  # pyright: ignore[reportMissingImports]

    description = json.loads((Path(folder) / "sizes.json").read_text())
    sizes = Sizes(**description["sizes"])
    model = SockeyeModel(sockeye_configuration(sizes, positions=description["positions"]), inference_only=True)
    for module in model.modules():
        if isinstance(module, torch.nn.Linear) and module.bias is None:
            module.bias = torch.nn.Parameter(torch.empty(module.out_features))
        if isinstance(module, torch.nn.LayerNorm):
            module.eps = 1e-5
    order = [*_ORDER, *range(len(_ORDER), sizes.vocab_size)]
    weights = _their_weights(load_file(Path(folder) / "model.safetensors"), sizes, order)
    for side in ("encoder", "decoder"):  # it has sines, then cosines; ours alternate
        table = model.get_submodule(f"{side}.pos_embedding").weight
        weights[f"{side}.pos_embedding.weight"] = table.unflatten(1, (2, -1)).transpose(1, 2).flatten(1)
    model.load_state_dict(weights)  # refuses what is missing and what is too much
    return _engine(model, order, device=device, half=half)


def _their_weights(ours: dict[str, Any], sizes: Sizes, order: list[int]) -> dict[str, Any]:
    """Under its names, as it has them in training; keys and values are interleaved when it leaves that, biases here."""
    import torch

    embedding, d = ours.pop("embedding.weight")[order], sizes.d_model
    bias = torch.zeros(sizes.vocab_size)
    bias[[order.index(PAD), order.index(START)]] = NEVER
    places = ("embedding_source.embedding", "embedding_target.embedding", "output_layer")
    theirs: dict[str, Any] = {f"{place}.weight": embedding for place in places} | {"output_layer.bias": bias}
    for name, value in ours.items():
        for our_name, their_name in {**_NAMES[name.partition(".")[0]], **_PARTS}.items():
            name = name.replace(our_name, their_name)
        if name.endswith("ff_in.bias"):
            keys_and_values = value[d:].view(2, sizes.num_heads, -1).transpose(0, 1).flatten()
            value = torch.cat([value[:d], keys_and_values])
        if "enc_attention.ff_in" in name:
            theirs[name.replace("ff_in", "ff_q")] = value[:d]
            theirs[name.replace("ff_in", "ff_kv")] = value[d:]
        else:
            theirs[name] = value
    return theirs


def _engine(model: Any, order: list[int], *, device: str, half: bool) -> Engine:
    import numpy as np
    import sockeye  # pyright: ignore[reportMissingImports]
    import torch
    from sockeye import constants  # pyright: ignore[reportMissingImports]
    from sockeye.beam_search import CandidateScorer, get_search_algorithm  # pyright: ignore[reportMissingImports]

    parameters = sum(p.numel() for p in model.parameters() if p.requires_grad)  # not the sinusoids
    model.to(device).eval()
    if half:
        model.cast(torch.bfloat16)
    searches = {}
    ours, theirs = np.array(order), np.argsort(order).tolist()

    def decode(sources: list[list[int]], search: Search) -> list[list[int]]:
        if search not in searches:  # a search is traced for the shapes it first meets
            # In the second, ((5 + n) / 6) ** alpha.
            scorer = CandidateScorer(1.0, 0.0) if search.forced_steps else CandidateScorer(search.length_penalty, 5.0)
            searches[search] = get_search_algorithm(
                [model], search.beam_size, torch.device(device), output_scores=False, scorer=scorer
            )
        found: dict[int, list[int]] = {}
        for places in batches(sources, search.batch):
            rows = [[*(theirs[word] for word in sources[place]), constants.EOS_ID] for place in places]
            width = max(map(len, rows))
            padded = [row + [constants.PAD_ID] * (width - len(row)) for row in rows]
            ids = torch.tensor(padded, dtype=torch.int32, device=device)[..., None]
            lengths = torch.tensor([[len(row), 0] for row in rows], dtype=torch.int32, device=device)
            steps = [search.forced_steps or len(row) + search.max_extra_length for row in rows]
            most = torch.tensor(steps, dtype=torch.int32, device=device)
            with torch.inference_mode():
                result = searches[search](ids, lengths, None, most)
            histories = result.best_hyp_indices.cpu().numpy()
            words = result.best_word_indices.cpu().numpy()[:, 0]
            best = _best_words(histories, words, beam_size=search.beam_size)
            for place, row in zip(places, best, strict=True):
                ended = row == constants.EOS_ID
                found[place] = ours[row[: ended.argmax() + 1 if ended.any() else None]].tolist()
        return in_order(found)

    versions = {"sockeye": sockeye.__version__, "torch": torch.__version__}
    return Engine(parameters, versions, decode)


def _best_words(histories: Any, words: Any, *, beam_size: int) -> Any:
    """The words of each sentence's best hypothesis, found from its row after the last step back to the first."""
    import numpy as np

    rows, found = np.arange(0, len(histories), beam_size), []
    for step in range(words.shape[1], 0, -1):
        rows = histories[rows, step]
        found.append(words[rows, step - 1])
    return np.stack(found[::-1], axis=1)


def sockeye_configuration(sizes: Sizes, *, dropout: float = 0.0, positions: int = 256) -> Any:
    from sockeye import constants, data_io, encoder, transformer  # pyright: ignore[reportMissingImports]
    from sockeye.model import ModelConfig  # pyright: ignore[reportMissingImports]

    stack = transformer.TransformerConfig(
        depth_key_value=sizes.d_model,
        model_size=sizes.d_model,
        attention_heads=sizes.num_heads,
        feed_forward_num_hidden=sizes.d_ff,
        act_type=constants.RELU,
        num_layers=sizes.layers,
        dropout_attention=0.0,
        dropout_act=0.0,
        dropout_prepost=dropout,
        positional_embedding_type=constants.FIXED_POSITIONAL_EMBEDDING,
        preprocess_sequence="",
        postprocess_sequence="rn",  # the paper's: add, then normalise
        max_seq_len_source=positions,
        max_seq_len_target=positions,
    )
    counts = [0] * 8
    statistics = data_io.DataStatistics(*counts, sizes.vocab_size, sizes.vocab_size, 1.0, 0.0, [], [], [])
    embedding = encoder.EmbeddingConfig(vocab_size=sizes.vocab_size, num_embed=sizes.d_model, dropout=dropout)
    return ModelConfig(
        config_data=data_io.DataConfig(statistics, positions, positions, 1, 1),
        vocab_source_size=sizes.vocab_size,
        vocab_target_size=sizes.vocab_size,
        config_embed_source=embedding,
        config_embed_target=embedding,
        config_encoder=stack,
        config_decoder=stack,
    )
