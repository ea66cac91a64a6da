"""heedful trains, step by step, through the same door as its rivals; on CUDA what counts is the real command."""

from __future__ import annotations

from dataclasses import replace

from rivals.engine import END, PAD, Sizes
from rivals.training import Batch, Learner, trainable


def build(sizes: Sizes, *, device: str, half: bool, dropout: float) -> Learner:
    import numpy as np
    import torch

    import heedful
    from heedful.model.masks import padded_layout
    from heedful.model.transformer import Transformer
    from heedful.presets import resolve
    from heedful.training.batches import MicroBatch, StepBatch
    from heedful.training.distributed import World
    from heedful.training.step import Precision, Trainer

    torch.manual_seed(1)
    shape = {"d_model": sizes.d_model, "d_ff": sizes.d_ff, "num_heads": sizes.num_heads, "dropout": dropout}
    shape |= {"encoder_layers": sizes.layers, "decoder_layers": sizes.layers}
    config = resolve(name="base", settings=[f"model.{name}={value}" for name, value in shape.items()])
    model = Transformer(config.model, vocab_size=sizes.vocab_size).to(device)
    precision = Precision(torch.device(device), half=half)
    trainer = Trainer(model, config, precision=precision, world=World())
    steps = 0

    def prepared(batch: Batch) -> StepBatch:
        source, given, wanted = batch.source.int(), batch.target[:, :-1].int(), batch.target[:, 1:].int()
        given = given.masked_fill(given == END, PAD)
        micro = MicroBatch(0, source, given, wanted, padded_layout(source), padded_layout(given))
        tokens = batch.target_tokens, int(batch.source_lengths.sum())
        return StepBatch(1, [micro], *tokens, pairs=np.arange(len(source)))

    def step(batch: StepBatch) -> torch.Tensor:
        nonlocal steps
        steps += 1
        return trainer.step(replace(batch, step=steps))[0] / batch.target_tokens

    versions = {"heedful": heedful.__version__, "torch": torch.__version__}
    return Learner(trainable(model), versions, prepared, step)
