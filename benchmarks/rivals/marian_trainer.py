"""Hugging Face Marian trains: MarianMTModel, with torch's fused attention and smoothed loss."""

from __future__ import annotations

from typing import Any

from rivals.engine import PAD, Sizes
from rivals.marian_configuration import marian_configuration
from rivals.training import POSITIONS, Batch, Learner, forward_of, smoothed_loss, trainable, usual_step


def build(sizes: Sizes, *, device: str, half: bool, dropout: float, compiled: bool = False) -> Learner:
    import torch
    import transformers
    from transformers import MarianMTModel

    torch.manual_seed(1)
    config = marian_configuration(
        vocab_size=sizes.vocab_size,
        d_model=sizes.d_model,
        d_ff=sizes.d_ff,
        num_heads=sizes.num_heads,
        encoder_layers=sizes.layers,
        decoder_layers=sizes.layers,
        positions=POSITIONS,
        dropout=dropout,
    )
    config.use_cache = False
    built: Any = MarianMTModel(config)
    model = built.to(device)
    for side in (model.model.encoder, model.model.decoder):
        side.embed_positions.requires_grad_(False)  # sinusoids

    forward = forward_of(model, compiled=compiled)

    def loss(batch: tuple[Any, ...]) -> Any:
        source, mask, given, wanted = batch
        return smoothed_loss(forward(input_ids=source, attention_mask=mask, decoder_input_ids=given).logits, wanted)

    def prepared(batch: Batch) -> tuple[Any, ...]:
        given, wanted = batch.target[:, :-1].contiguous(), batch.target[:, 1:].contiguous()
        return batch.source, (batch.source != PAD).long(), given, wanted

    step = usual_step(model, loss, device=device, half=half)
    versions = {"transformers": transformers.__version__, "torch": torch.__version__}
    return Learner(trainable(model), versions, prepared, step)
