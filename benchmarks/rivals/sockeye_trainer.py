"""Sockeye 3.1.34 trains: its model, traced as its own trainer does, and its loss.

It has no biases in attention, and an output bias.
"""

from __future__ import annotations

from typing import Any

from rivals.engine import Sizes
from rivals.stand_ins import install_stand_ins
from rivals.training import LABEL_SMOOTHING, Batch, Learner, padded_batch, trainable, usual_step


def build(sizes: Sizes, *, device: str, half: bool, dropout: float) -> Learner:
    import torch

    install_stand_ins()
    _restore_names_of_numpy()
    import sockeye  # pyright: ignore[reportMissingImports]
    from sockeye.loss import CrossEntropyLoss  # pyright: ignore[reportMissingImports]
    from sockeye.model import SockeyeModel, initialize_parameters  # pyright: ignore[reportMissingImports]

    from rivals.sockeye_decoder import sockeye_configuration

    torch.manual_seed(1)
    model = SockeyeModel(sockeye_configuration(sizes, dropout=dropout))
    model.apply(initialize_parameters)
    model.output_layer.bias.data.zero_()  # left as it was found in memory
    parameters = trainable(model)
    model.to(device).train()
    example = _prepared(padded_batch([[9, 7], [5, 8]], sizes=sizes, device=device, seed=0))
    criterion = CrossEntropyLoss(label_smoothing=LABEL_SMOOTHING, label_smoothing_impl="torch")
    # Without the cache of cast weights, as its trainer has it: a traced model cannot have one.
    with torch.autocast(device, torch.bfloat16, enabled=half, cache_enabled=False):
        forward: Any = torch.jit.trace(model, example[:-1], strict=False, check_trace=False)

    def loss(batch: Any) -> Any:
        *inputs, wanted = batch
        return criterion(forward(*inputs), {criterion.label_name: wanted})[0]

    step = usual_step(model, loss, device=device, half=half, cache=False)
    versions = {"sockeye": sockeye.__version__, "torch": torch.__version__}
    try:
        for _ in range(3):  # what is traced is compiled in its first few runs, on some machines without success
            step(example)
    except RuntimeError as error:
        print(f"runs untraced: {error}")
        forward, versions["sockeye"] = model, f"{sockeye.__version__} (untraced)"
    return Learner(parameters, versions, _prepared, step)


def _prepared(batch: Batch) -> tuple[Any, ...]:
    """Source, its lengths (and those of what is prepended to it, nothing), target, its lengths, and the labels."""
    import torch

    given, wanted = batch.target[:, :-1], batch.target[:, 1:]
    lengths = batch.source_lengths[:, None].int()
    return (
        batch.source[..., None].int(),
        torch.cat([lengths, torch.zeros_like(lengths)], 1),
        given[..., None].int(),
        (wanted != 0).sum(1).int(),
        wanted.contiguous(),
    )


def _restore_names_of_numpy() -> None:
    """Names that numpy 1.24 took away, and that Sockeye was written with."""
    import numpy as np

    for name, kind in {"float": float, "int": int, "bool": bool, "object": object}.items():
        if name not in np.__dict__:
            setattr(np, name, kind)
