"""heedful: the Transformer of "Attention Is All You Need", from two text files to a trained and explained model.

The names below are the public library. They load on first use, so that ``heedful --help`` needs no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from heedful.config import Config as Config
    from heedful.config import ModelConfig as ModelConfig
    from heedful.errors import HeedfulError as HeedfulError
    from heedful.model.embeddings import PositionalEncoding as PositionalEncoding
    from heedful.model.embeddings import positional_encoding as positional_encoding
    from heedful.model.feed_forward import PositionwiseFeedForward as PositionwiseFeedForward
    from heedful.model.multi_head_attention import MultiHeadAttention as MultiHeadAttention
    from heedful.model.scaled_dot_product_attention import scaled_dot_product_attention as scaled_dot_product_attention
    from heedful.model.stacks import DecoderLayer as DecoderLayer
    from heedful.model.stacks import EncoderLayer as EncoderLayer
    from heedful.model.transformer import Transformer as Transformer
    from heedful.training.label_smoothing import label_smoothed_loss as label_smoothed_loss
    from heedful.training.optimizer import learning_rate as learning_rate
    from heedful.translation.translator import Translator as Translator
    from heedful.translation.translator import load as load

_NAMES = {
    "config": ["Config", "ModelConfig"],
    "errors": ["HeedfulError"],
    "model.scaled_dot_product_attention": ["scaled_dot_product_attention"],
    "model.multi_head_attention": ["MultiHeadAttention"],
    "model.feed_forward": ["PositionwiseFeedForward"],
    "model.embeddings": ["positional_encoding", "PositionalEncoding"],
    "model.stacks": ["EncoderLayer", "DecoderLayer"],
    "model.transformer": ["Transformer"],
    "translation.translator": ["Translator", "load"],
    "training.label_smoothing": ["label_smoothed_loss"],
    "training.optimizer": ["learning_rate"],
}
_HOME = {name: f"heedful.{module}" for module, names in _NAMES.items() for name in names}
__all__ = list(_HOME)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'heedful' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
