"""Sockeye 3.1.34: its model and beam search, traced as its own translator runs them."""

from __future__ import annotations

from rivals.engine import Engine, Search, Sizes, batches, in_order


def build(sizes: Sizes, *, device: str, half: bool) -> Engine:
    import numpy as np
    import sockeye  # pyright: ignore[reportMissingImports]
    import torch
    from sockeye import constants  # pyright: ignore[reportMissingImports]
    from sockeye.beam_search import CandidateScorer, get_search_algorithm  # pyright: ignore[reportMissingImports]
    from sockeye.model import SockeyeModel, initialize_parameters  # pyright: ignore[reportMissingImports]

    torch.manual_seed(1)
    model = SockeyeModel(sockeye_configuration(sizes), inference_only=True)
    model.apply(initialize_parameters)
    # The output bias is left as it was found in memory; the end symbol must not win before the last step, where the
    # search takes it by itself.
    bias = model.output_layer.bias.data
    bias.zero_()
    bias[constants.EOS_ID] = -1e4
    parameters = sum(p.numel() for p in model.parameters() if p.requires_grad)  # not the sinusoids
    model.to(device).eval()
    if half:
        model.cast(torch.bfloat16)
    searches = {}

    def decode(sources: list[list[int]], search: Search) -> list[list[int]]:
        if search not in searches:  # a search is traced for the shapes it first meets
            searches[search] = get_search_algorithm(
                [model], search.beam_size, torch.device(device), output_scores=False, scorer=CandidateScorer(1.0, 0.0)
            )
        found: dict[int, list[int]] = {}
        for places in batches(sources, search.batch):
            rows = [[*sources[place], constants.EOS_ID] for place in places]
            ids = torch.tensor(rows, dtype=torch.int32, device=device)[..., None]
            lengths = torch.tensor([[len(row), 0] for row in rows], dtype=torch.int32, device=device)
            most = torch.full((len(rows),), search.forced_steps, dtype=torch.int32, device=device)
            with torch.inference_mode():
                result = searches[search](ids, lengths, None, most)
            histories = result.best_hyp_indices.cpu().numpy()
            words = result.best_word_indices.cpu().numpy()[:, 0]
            for number, place in enumerate(places):
                best = number * search.beam_size
                path = _path(histories, best)
                found[place] = words[path, np.arange(len(path))].tolist()
        return in_order(found)

    versions = {"sockeye": sockeye.__version__, "torch": torch.__version__}
    return Engine(parameters, versions, decode)


def _path(histories, row: int) -> list[int]:
    """The row that each step of the best hypothesis was in, from its last step back to its first."""
    path = []
    for step in range(histories.shape[1] - 1, 0, -1):
        row = int(histories[row, step])
        path.append(row)
    return path[::-1]


def sockeye_configuration(sizes: Sizes, *, dropout: float = 0.0):
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
        max_seq_len_source=256,
        max_seq_len_target=256,
    )
    counts = [0] * 8
    statistics = data_io.DataStatistics(*counts, sizes.vocab_size, sizes.vocab_size, 1.0, 0.0, [], [], [])
    embedding = encoder.EmbeddingConfig(vocab_size=sizes.vocab_size, num_embed=sizes.d_model, dropout=dropout)
    return ModelConfig(
        config_data=data_io.DataConfig(statistics, 256, 256, 1, 1),
        vocab_source_size=sizes.vocab_size,
        vocab_target_size=sizes.vocab_size,
        config_embed_source=embedding,
        config_embed_target=embedding,
        config_encoder=stack,
        config_decoder=stack,
    )
