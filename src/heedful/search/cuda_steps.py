"""A step of the search on CUDA in few kernels: eleven a layer, four for the words and the hypotheses.

The same as `cached_decoder` and `beam_search` in plain PyTorch, which tests/gpu compares. Products are PyTorch's, each
always of the same shape, so that a row's sums are added up in the same order whatever stands in the other rows; all
else are the kernels of `step_kernels`, where each row is alone.
"""

from __future__ import annotations

# pyright: reportIndexIssue=false, reportPrivateImportUsage=false
# A kernel in Triton is called with its grid in brackets.
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from heedful.model.feed_forward import PositionwiseFeedForward
from heedful.model.masks import Padded
from heedful.model.multi_head_attention import MultiHeadAttention
from heedful.model.stacks import AddAndNorm, DecoderLayer, EncoderLayer
from heedful.model.transformer import Transformer
from heedful.search.beam_search import Hypotheses, length_penalty
from heedful.search.options import SearchOptions
from heedful.search.spelling import Spelling

MOST_BEAMS = 32
"""With more, what a program would hold does not fit in its registers."""
_LOG2_E = 1.4426950408889634
_CHUNK = 128
"""Words whose maximum is kept: the best words are chosen from so many chunks as words are wanted."""
_TILE = 32
"""Chunks that a program reads."""
_OUTPUT_TILES = {
    1: {"BEAMS": 1, "COLUMNS": 32, "num_warps": 1},
    2: {"BEAMS": 2, "COLUMNS": 16, "num_warps": 1},
    4: {"BEAMS": 4, "COLUMNS": 8, "num_warps": 1},
}
"""By how many beams a program serves."""
_SOURCE_TILES = {
    16: {"ROWS": 16, "COLUMNS": 16, "num_warps": 1},
    64: {"ROWS": 64, "COLUMNS": 32, "num_warps": 4},
}
"""By how many queries a program serves."""
Kept = tuple[Tensor, Tensor, Tensor, Tensor]
"""A layer's keys and values, ``[slots, H, T, W, size]`` of the output and ``[slots, H, S, size]`` of the source."""


class LayersByKernels:
    """The encoder's layers for whole sources, and the decoder's for one position of every slot.

    What goes from sub-layer to sub-layer is float32; what products take lies beside it, in bfloat16 if ``half``.
    """

    def __init__(self, model: Transformer, kept: Sequence[Kept], *, encoded: int, half: bool) -> None:
        """``encoded``: positions that words may stand at."""
        self._model, self._kept, self._kind = model, kept, torch.bfloat16 if half else torch.float32
        _, self._heads, self._positions, self._beams, _ = kept[0][0].shape
        neighbourhood = model.config.neighbourhood
        self._reach = neighbourhood // 2 if neighbourhood else self._positions
        nothing = torch.zeros(1, encoded, model.config.d_model, device=model.embedding.weight.device)
        with torch.no_grad():
            self._encodings = model.target_positions(nothing)[0].contiguous()
        self._encoder_layers = [layer for layer in model.encoder.layers if isinstance(layer, EncoderLayer)]
        self._decoder_layers = [layer for layer in model.decoder.layers if isinstance(layer, DecoderLayer)]

    def encoded(self, ids_BS: Tensor, layout: Padded) -> Tensor:
        """The encoder's output, ``[B, S, D]``; not for a model that attends to a neighbourhood."""
        embedding, lengths = self._model.source_embedding or self._model.embedding, layout.real.sum(1)
        x = self._model.source_positions(embedding.embed(ids_BS), layout).flatten(0, 1)
        given = x.to(self._kind)
        for layer in self._encoder_layers:
            attention = layer.self_attention
            q, k, v = self._linear(given, attention.w_qkv).split(attention.rows, dim=-1)
            keys, values = (part.unflatten(-1, (self._heads, -1)).unflatten(0, ids_BS.shape) for part in (k, v))
            attended = self._to_source(
                q, keys.transpose(1, 2), values.transpose(1, 2), lengths, attention, slots=len(ids_BS)
            )
            x, given = self._normed(x, self._linear(attended, attention.w_o), layer.add_and_norm_1)
            x, given = self._transformed(x, given, layer.feed_forward, layer.add_and_norm_2)
        return given.unflatten(0, ids_BS.shape)

    def decoded(self, ids_BW: Tensor, length_B: Tensor, rows_BWT: Tensor, source_lengths: Tensor) -> Tensor:
        """The decoder's output at these ids, which stand at position ``length`` of each slot, ``[B, W, D]``."""
        from heedful.search import step_kernels

        embedding = self._model.embedding
        x = torch.empty(ids_BW.numel(), embedding.weight.size(1), device=ids_BW.device)
        given = self._beside(x)
        step_kernels.embedded[(len(x),)](
            ids_BW, length_B, embedding.weight, self._encodings, x, given, embedding.scale,
            W=self._beams, **self._row_sizes(x), num_warps=2, **step_kernels.LAUNCH,
        )  # fmt: skip
        for layer, kept in zip(self._decoder_layers, self._kept, strict=True):
            attention = layer.self_attention
            attended = self._to_output(self._linear(given, attention.w_qkv), kept, length_B, rows_BWT, attention)
            x, given = self._normed(x, self._linear(attended, attention.w_o), layer.add_and_norm_1)
            attention = layer.cross_attention
            queries = self._linear(given, attention.w_qkv, rows=attention.rows[0])
            attended = self._to_source(queries, *kept[2:], source_lengths, attention, slots=len(ids_BW))
            x, given = self._normed(x, self._linear(attended, attention.w_o), layer.add_and_norm_2)
            x, given = self._transformed(x, given, layer.feed_forward, layer.add_and_norm_3)
        return given.unflatten(0, ids_BW.shape)

    def _linear(self, x: Tensor, linear: nn.Linear, *, rows: int | None = None, relu: bool = False) -> Tensor:
        weight, bias = linear.weight[:rows].to(self._kind), linear.bias[:rows].to(self._kind)
        return (torch._addmm_activation if relu else torch.addmm)(bias, x, weight.t())

    def _transformed(
        self, x: Tensor, given: Tensor, feed_forward: PositionwiseFeedForward, add_and_norm: AddAndNorm
    ) -> tuple[Tensor, Tensor]:
        inner = self._linear(given, feed_forward.w_1, relu=True)
        return self._normed(x, self._linear(inner, feed_forward.w_2), add_and_norm)

    def _to_output(
        self, qkv: Tensor, kept: Kept, length_B: Tensor, rows_BWT: Tensor, attention: MultiHeadAttention
    ) -> Tensor:
        """Every beam's attention to its own words; their keys and values are kept."""
        from heedful.search import step_kernels

        tile = _OUTPUT_TILES[min(_power(self._beams), 4)]
        output = qkv.new_empty(len(qkv), self._heads * attention.d_v)
        step_kernels.attention_to_output[(len(length_B), self._heads, -(-self._beams // tile["BEAMS"]))](
            qkv, kept[0], kept[1], rows_BWT, length_B, output, attention.d_k**-0.5 * _LOG2_E,
            self._positions, self._reach, W=self._beams, **self._head_sizes(attention), **tile, **step_kernels.LAUNCH,
        )  # fmt: skip
        return output

    def _to_source(
        self,
        q: Tensor,
        keys_BHSK: Tensor,
        values_BHSE: Tensor,
        lengths_B: Tensor,
        attention: MultiHeadAttention,
        *,
        slots: int,
    ) -> Tensor:
        """The attention of so many slots' queries, which are as many for each, to their sources."""
        from heedful.search import step_kernels

        queries = len(q) // slots
        tile = _SOURCE_TILES[16 if queries <= 16 or q.dtype == torch.float32 else 64]
        output = q.new_empty(len(q), self._heads * attention.d_v)
        step_kernels.attention_to_source[(slots, self._heads, -(-queries // tile["ROWS"]))](
            q, keys_BHSK, values_BHSE, lengths_B, output, attention.d_k**-0.5 * _LOG2_E, q.stride(0),
            *keys_BHSK.stride()[:3], *values_BHSE.stride()[:3], queries, **self._head_sizes(attention), **tile,
            PRECISION="ieee" if q.dtype == torch.float32 else "tf32", **step_kernels.LAUNCH,
        )  # fmt: skip
        return output

    def _normed(self, x: Tensor, s: Tensor, add_and_norm: AddAndNorm) -> tuple[Tensor, Tensor]:
        """LayerNorm(x + s) in float32, and as products take it."""
        from heedful.search import step_kernels

        y, norm = torch.empty_like(x), add_and_norm.norm
        given = self._beside(y)
        step_kernels.add_and_norm[(len(x),)](
            x, s, norm.weight, norm.bias, y, given, norm.eps, **self._row_sizes(x), num_warps=2, **step_kernels.LAUNCH
        )
        return y, given

    def _beside(self, x: Tensor) -> Tensor:
        return x if x.dtype == self._kind else torch.empty_like(x, dtype=self._kind)

    def _row_sizes(self, x: Tensor) -> dict[str, Any]:
        return {"SIZE": x.size(1), "PADDED": _power(x.size(1)), "HALF": self._kind != x.dtype}

    def _head_sizes(self, attention: MultiHeadAttention) -> dict[str, int]:
        d_k, d_v = attention.d_k, attention.d_v
        padded = {"PADDED_K": max(16, _power(d_k)), "PADDED_V": max(16, _power(d_v))}
        return {"HEADS": self._heads, "D_K": d_k, "D_V": d_v, **padded}


class AdvanceByKernels:
    """`beam_search.advance_beams` and, for greedy search, `advance_samples`; not for samples and required words."""

    def __init__(self, options: SearchOptions, *, positions: int, device: torch.device) -> None:
        lengths = torch.arange(positions + 2)
        self._penalties = length_penalty(lengths, options.length_penalty, dtype=torch.float32).to(device)

    def __call__(self, state: Hypotheses, logits_BWV: Tensor, options: SearchOptions, spelling: Spelling) -> None:
        """Take one step in place, given the model's scores for the word after each live hypothesis."""
        from heedful.search import step_kernels

        slots, beams, positions = state.ids.shape
        words = logits_BWV.size(-1)
        looked_at = 2 * beams if options.method == "beam" else 1
        best, best_ids = top_allowed_words(state, logits_BWV, options, spelling, count=min(looked_at, words))
        count = best.size(-1)
        step_kernels.advance[(slots,)](
            best, best_ids, self._penalties, spelling.following,
            state.log_probability, state.ids, state.rows, state.length, state.limit, state.n_best, state.spelled,
            state.done, state.ended_score, state.ended_log_probability, state.ended_length, state.ended_rows,
            positions, words,
            W=beams, PADDED_W=_power(beams), COUNT=count, PADDED_COUNT=_power(count),
            LOOKED_AT=looked_at, PADDED_LOOKED_AT=_power(looked_at), COLUMNS=32,
            BEAM=options.method == "beam", ENOUGH=options.stop == "enough", num_warps=1,
            **step_kernels.LAUNCH,
        )  # fmt: skip


def top_allowed_words(
    state: Hypotheses, logits_BWV: Tensor, options: SearchOptions, spelling: Spelling, *, count: int
) -> tuple[Tensor, Tensor]:
    """The most probable words that may come next, by value and then by id; log-probabilities first.

    Both are ``[B, W, count]``, with -∞ where there are fewer, and for hypotheses that are none.
    """
    from heedful.search import step_kernels

    (slots, beams, words), positions = logits_BWV.shape, state.ids.size(2)
    chunks = -(-words // _CHUNK)
    tiles = -(-chunks // _TILE)
    maxima, parts = logits_BWV.new_empty(slots, beams, chunks), logits_BWV.new_empty(slots, beams, tiles, 2)
    best = logits_BWV.new_empty(slots, beams, count)
    best_ids = torch.empty_like(best, dtype=torch.int32)
    given = (logits_BWV, state.log_probability, state.spelled, state.length, state.limit, state.prefix, spelling.needed)
    step_kernels.best_of_chunks[(slots * beams, tiles)](
        *given, maxima, parts, positions, words, chunks, options.min_length,
        W=beams, CHUNK=_CHUNK, TILE=_TILE, num_warps=4, **step_kernels.LAUNCH,
    )  # fmt: skip
    step_kernels.best_words[(slots * beams,)](
        *given, maxima, parts, best, best_ids, positions, words, chunks, tiles, options.min_length,
        W=beams, COUNT=count, PADDED_COUNT=_power(count), CHUNK=_CHUNK,
        PADDED_CHUNKS=_power(chunks), PADDED_TILES=_power(tiles), num_warps=1 if count <= 8 else 4,
        **step_kernels.LAUNCH,
    )  # fmt: skip
    return best, best_ids


def _power(size: int) -> int:
    """The next power of two."""
    return 1 << (size - 1).bit_length()
