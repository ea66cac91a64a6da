"""OpenNMT-py 3.5.1 trains: its NMTModel and its loss, on a CPU.

Like Eole, its successor, it normalises before each sub-layer. Dropout inside the feed-forward network, which the paper
does not have, is taken out.
"""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from rivals.engine import Sizes
from rivals.stand_ins import install_stand_ins
from rivals.training import LABEL_SMOOTHING, Batch, Learner, plain_words, trainable, usual_step


def build(sizes: Sizes, *, device: str, half: bool, dropout: float) -> Learner:
    import torch

    install_stand_ins()
    import onmt  # pyright: ignore[reportMissingImports]
    from onmt.model_builder import build_base_model  # pyright: ignore[reportMissingImports]
    from onmt.utils.loss import LossCompute  # pyright: ignore[reportMissingImports]

    from rivals.eole_decoder import fill_parameters

    torch.manual_seed(1)
    words = plain_words(sizes, ["<blank>", "<s>", "</s>", "<unk>"])
    model = build_base_model(_options(sizes, dropout), {"src": words, "tgt": words, "src_feats": []})
    fill_parameters(model)
    for layer in [*model.encoder.transformer, *model.decoder.transformer_layers]:
        layer.feed_forward.dropout_1 = torch.nn.Identity()
    model.to(device)
    criterion = torch.nn.CrossEntropyLoss(ignore_index=0, reduction="sum", label_smoothing=LABEL_SMOOTHING)
    compute = LossCompute(criterion, model.generator, vocab=words)

    def loss(batch: Batch) -> Any:
        output, _ = model(batch.source[..., None], batch.target[..., None], batch.source_lengths)
        scores = compute.generator(compute._bottle(output))
        return compute.criterion(scores.to(torch.float32), batch.target[:, 1:].flatten()) / batch.target_tokens

    step = usual_step(model, loss, device=device, half=half)
    versions = {"OpenNMT-py": onmt.__version__, "torch": torch.__version__}
    return Learner(trainable(model), versions, lambda batch: batch, step)


def _options(sizes: Sizes, dropout: float) -> Namespace:
    """What its model builder reads of the options of its command line; those not said are its defaults."""
    sized = {f"{side}_word_vec_size": sizes.d_model for side in ("src", "tgt")}
    sized |= {f"{side}_hid_size": sizes.d_model for side in ("enc", "dec")}
    sized |= {f"{side}_layers": sizes.layers for side in ("enc", "dec")}
    return Namespace(
        **sized,
        heads=sizes.num_heads,
        transformer_ff=sizes.d_ff,
        dropout=[dropout],
        attention_dropout=[0.0],
        add_qkvbias=True,
        add_ffnbias=True,
        share_embeddings=True,
        share_decoder_embeddings=True,
        position_encoding=True,
        position_encoding_type="SinusoidalInterleaved",
        pos_ffn_activation_fn="relu",
        model_task="seq2seq",
        model_type="text",
        encoder_type="transformer",
        decoder_type="transformer",
        self_attn_type="scaled-dot-flash",
        layer_norm="standard",
        norm_eps=1e-6,
        feat_merge="concat",
        feat_vec_exponent=0.7,
        feat_vec_size=-1,
        optim="adam",
        freeze_word_vecs_enc=False,
        freeze_word_vecs_dec=False,
        copy_attn=False,
        max_relative_positions=0,
        relative_positions_buckets=0,
        aan_useffn=False,
        full_context_alignment=False,
        alignment_layer=-3,
        alignment_heads=0,
        num_kv=0,
        parallel_residual=False,
        shared_layer_norm=False,
        use_ckpting=[],
        world_size=1,
        parallel_mode="data_parallel",
        sliding_window=0,
        rotary_interleave=True,
        rotary_theta=10000,
        rotary_dim=0,
        num_experts=0,
        num_experts_per_tok=2,
        lambda_coverage=0.0,
        coverage_attn=False,
    )
