"""Eole 0.6.4 trains: its EncoderDecoderModel and its loss, without the figures that it gathers for its log.

It normalises before each sub-layer, and so has one norm more at the end of each stack; it has an output bias and, in
the encoder, none where attention ends. Its attention is torch's fused one, on a CPU its own. Dropout inside the
feed-forward network, which the paper does not have, is taken out.
"""

from __future__ import annotations

from typing import Any

from rivals.engine import Sizes
from rivals.stand_ins import install_stand_ins
from rivals.training import LABEL_SMOOTHING, Batch, Learner, forward_of, plain_words, trainable, usual_step


def build(sizes: Sizes, *, device: str, half: bool, dropout: float, compiled: bool = False) -> Learner:
    import torch

    install_stand_ins()
    import eole  # pyright: ignore[reportMissingImports]
    from eole.config.training import TrainingConfig  # pyright: ignore[reportMissingImports]
    from eole.models.model import EncoderDecoderModel  # pyright: ignore[reportMissingImports]
    from eole.utils.loss import LossCompute  # pyright: ignore[reportMissingImports]

    from rivals.eole_decoder import SPECIALS, eole_configuration, fill_parameters

    torch.manual_seed(1)
    running = TrainingConfig(dropout=[dropout], attention_dropout=[0.0], label_smoothing=LABEL_SMOOTHING)
    words = plain_words(sizes, list(SPECIALS.values()))
    vocabularies = {"src": words, "tgt": words, "specials": SPECIALS, "decoder_start_token": "<s>"}
    model = EncoderDecoderModel.build(eole_configuration(sizes), vocabularies, running)
    fill_parameters(model)
    for layer in [*model.encoder.transformer_layers, *model.decoder.transformer_layers]:
        layer.mlp.dropout_1 = torch.nn.Identity()
    model.to(device)
    criterion = torch.nn.CrossEntropyLoss(ignore_index=0, reduction="sum", label_smoothing=LABEL_SMOOTHING)
    compute = LossCompute(criterion, model.generator, vocabs=vocabularies)

    forward = forward_of(model, compiled=compiled)

    def loss(batch: Batch) -> Any:
        output, _, _ = forward(batch.source, batch.target, batch.source_lengths)
        wanted = batch.target[:, 1:].contiguous().view(-1)
        total, _ = compute._compute_ce_loss(output, wanted)
        return total / batch.target_tokens

    step = usual_step(model, loss, device=device, half=half)
    versions = {"eole": eole.__version__, "torch": torch.__version__}
    return Learner(trainable(model), versions, lambda batch: batch, step)
