"""Hugging Face Marian as the paper's model: the same sizes, ReLU, scaled embeddings, our control ids."""

from __future__ import annotations

from typing import Any

from rivals.engine import END, PAD, START


def marian_configuration(
    *,
    vocab_size: int,
    d_model: int,
    d_ff: int,
    num_heads: int,
    encoder_layers: int,
    decoder_layers: int,
    positions: int,
    dropout: float = 0.1,
) -> Any:
    """A `MarianConfig`; its attention is torch's fused one."""
    from transformers import MarianConfig

    config = MarianConfig(
        vocab_size=vocab_size,
        d_model=d_model,
        encoder_layers=encoder_layers,
        decoder_layers=decoder_layers,
        encoder_attention_heads=num_heads,
        decoder_attention_heads=num_heads,
        encoder_ffn_dim=d_ff,
        decoder_ffn_dim=d_ff,
        activation_function="relu",
        dropout=dropout,
        attention_dropout=0.0,
        scale_embedding=True,
        max_position_embeddings=positions,
        pad_token_id=PAD,
        eos_token_id=END,
        bos_token_id=START,
        decoder_start_token_id=START,
        forced_eos_token_id=None,
    )
    config._attn_implementation = "sdpa"
    return config
