"""The decoder one position at a time: keys and values of earlier positions are kept, not computed again.

A sentence's source is encoded once, and its keys and values for every cross-attention are made once, for all beams. The
keys and values of the output lie where they were computed, ``[B, H, T, W, size]``; a hypothesis finds its own among its
slot's rows by the table `rows`, which becomes a mask: all W rows of a slot are read in any case, once for all beams.
So nothing moves when hypotheses change places.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from heedful.model.devices import Captures, PackedLinear, can_pack, has_kernels
from heedful.model.masks import Padded, padded_layout
from heedful.model.stacks import DecoderLayer
from heedful.model.transformer import Transformer
from heedful.search.cuda_steps import LayersByKernels
from heedful.symbols import END, PAD

_NUMPY = {torch.float32: np.float32, torch.float64: np.float64}
_FULL, _LONGEST_ROW = 0.9, 768
"""Sources that fill less of a batch are encoded in one row, up to this length: beyond it attention costs too much."""


@dataclass(frozen=True)
class _At:
    """A layout for a few positions of each slot: all that the positional encoding needs to know."""

    at: Tensor
    """[B, one for all beams or one for each id]"""
    max_length: int

    def spread(self, table_LD: Tensor) -> Tensor:
        return table_LD[self.at]


class _Kept(NamedTuple):
    """One layer's keys and values, ``[B, H, T, W, size]`` of the output and ``[B, H, S, size]`` of the source."""

    self_keys: Tensor
    self_values: Tensor
    cross_keys: Tensor
    cross_values: Tensor


class CachedDecoder:
    """A model's next-word scores for the hypotheses of a number of slots."""

    def __init__(
        self,
        model: Transformer,
        *,
        output: OutputProduct,
        slots: int,
        beams: int,
        source_positions: int,
        positions: int,
        half: bool = False,
        encoded_together: int = 0,
        captures: Captures | None = None,
    ) -> None:
        """``encoded_together``: if not 0, sources are always encoded so many at a
        time, padded with empty ones, to the longest length there may be; ``captures``: captures that. So a sentence's
        numbers depend on no other.
        """
        self.model, self.slots, self.beams, self.positions = model, slots, beams, positions
        self.source_positions, self._half, self._encoded_together = source_positions, half, encoded_together
        self._captures = captures
        self._put_next: Callable[[], None] | None = None
        weight, config = model.embedding.weight, model.config
        self._encoded = min(positions, config.max_positions) if config.positions == "learned" else positions
        self.output = self._all_scores = weight.new_zeros(0)
        """The decoder's output at the ids that were read last, ``[B, W or Q, D]``."""
        self.device = weight.device
        self.dtype = torch.float32 if weight.dtype != torch.float64 else torch.float64
        self._logits = output
        places = {"dtype": output.dtype, "device": self.device}
        shapes = [
            (slots + 1, config.num_heads, *positions_of, size)
            for positions_of in ((positions, beams), (source_positions,))
            for size in (config.key_size, config.value_size)
        ]
        layers = range(config.decoder_layers)
        self._layers = [_Kept(*(_zeros(shape, **places) for shape in shapes)) for _ in layers]
        self._decoder_layers = [layer for layer in model.decoder.layers if isinstance(layer, DecoderLayer)]
        # One position is always open, so that an empty slot's weights are numbers.
        self._real_BS = torch.arange(source_positions, device=self.device).expand(slots + 1, -1) == 0
        self._source_lengths = [0] * slots
        self._source_length_B = torch.ones(slots + 1, dtype=torch.long, device=self.device)
        given = {"encoded": self._encoded, "half": half}
        self._by_kernels = LayersByKernels(model, self._layers, **given) if has_kernels(weight) else None
        # The ids and, last, the slots of the sources that are encoded next: in one piece, since a copy has its price.
        self._next = torch.full((encoded_together * (source_positions + 1),), PAD, device=self.device)

    def place(self, slots: Tensor, sources: Sequence[np.ndarray]) -> None:
        """Encode new sources (ids without control ids) into these slots."""
        if not self._encoded_together:
            longest = max(len(source) for source in sources) + 1
            for slot, source in zip(slots.tolist(), sources, strict=True):
                self._source_lengths[slot] = len(source) + 1
            self._put(torch.from_numpy(padded_ids(sources, longest)), slots)
            return
        for begin in range(0, len(sources), self._encoded_together):
            some = sources[begin : begin + self._encoded_together]
            missing = self._encoded_together - len(some)
            ids = padded_ids([*some, *[np.empty(0, np.int64)] * missing], self.source_positions)
            into = [*slots[begin : begin + len(some)].tolist(), *[self.slots] * missing]  # the last is read by nobody
            self._next.copy_(torch.from_numpy(np.concatenate([ids.ravel(), np.array(into)])), non_blocking=True)
            if self._put_next is None:
                next_ids, next_slots = self._next.split([ids.size, len(into)])
                put_next = functools.partial(self._put, next_ids.view(ids.shape), next_slots)
                self._put_next = self._captures(put_next, keep=()) if self._captures else put_next
            self._put_next()

    def _put(self, ids: Tensor, slots: Tensor) -> None:
        layout, width = padded_layout(ids), ids.size(1)
        with self.autocast():
            if self._by_kernels is not None and not self.model.config.neighbourhood:
                memory = self._by_kernels.encoded(ids, layout)
            else:
                memory = self._encoded_sources(ids, layout)
            for layer, kept in zip(self._decoder_layers, self._layers, strict=True):
                keys, values = layer.cross_attention.keys_and_values(memory)
                kept.cross_keys[slots, :, :width] = keys.transpose(1, 2)
                kept.cross_values[slots, :, :width] = values.transpose(1, 2)
        self._real_BS.index_copy_(0, slots, F.pad(layout.real, (0, self.source_positions - width)))
        self._source_length_B.index_copy_(0, slots, layout.real.sum(1))

    def _encoded_sources(self, ids: Tensor, layout: Padded) -> Tensor:
        """What the encoder says; on a CPU no padding is computed: all stand in one row, and each sees itself alone."""
        model, real = self.model, layout.real
        tokens = int(real.sum()) if real.device.type == "cpu" else real.numel()
        if model.config.neighbourhood or not tokens <= min(_LONGEST_ROW, _FULL * real.numel()):
            return model.encode(ids, layout)
        owner, at = real.nonzero(as_tuple=True)
        embedded = (model.source_embedding or model.embedding).embed(ids[real][None])
        row = model.encoder(model.source_positions(embedded, _At(at[None], ids.size(1))), owner[:, None] == owner)
        memory = row.new_zeros(*ids.shape, row.size(-1))
        memory[real] = row[0]
        return memory

    def step(self, ids_BW: Tensor, length_B: Tensor, rows_BWT: Tensor, *, reach: int | None = None) -> Tensor:
        """Scores of every word after these ids, which stand at position ``length`` of each slot, ``[B, W, V]``.

        ``reach``: how many positions are in use at most, which spares a CPU work; all, if it is not said.
        """
        if self._by_kernels is not None:
            return self._logits(self._by_kernels.decoded(ids_BW, length_B, rows_BWT, self._source_length_B))
        self.read(ids_BW, length_B, rows_BWT, reach=reach)
        return self._logits(self.output)

    def scores(self, place: int) -> Tensor:
        """Scores of every word after one of the ids of each slot that were read last, ``[B, 1, V]``."""
        if self.device.type == "cpu":  # where a product of two or three rows takes as long as two or three products
            return self._logits(self.output[:, place, None])
        if place == 0:
            self._all_scores = self._logits(self.output)
        return self._all_scores[:, place, None]

    def read(self, ids_BW: Tensor, length_B: Tensor, rows_BWT: Tensor, *, reach: int | None = None) -> None:
        """Make `output` of these ids: one for each beam or, of one beam, several that follow each other."""
        slots, ids = ids_BW.shape
        at_BP = length_B[:, None]
        if ids > self.beams:
            at_BP = at_BP + torch.arange(ids, device=self.device)
        source_reach = self.source_positions if reach is None else max(self._source_lengths[:slots])
        # Where only what is in use is read, one hypothesis may see all of it.
        alone = reach is not None and slots == 1
        sees_all = alone and ids == 1 and not self.model.config.neighbourhood
        reach = reach or self.positions
        own = None if sees_all else self._additive(self._own_rows(at_BP, rows_BWT[..., :reach]))
        real = self._real_BS[:slots, None, None, :source_reach].expand(-1, 1, ids, -1)
        real = None if alone else self._additive(real)
        with self.autocast():
            # A draft may lie beyond what learned positions can take: such a one is never right.
            position = _At(at_BP.clamp(max=self._encoded - 1), self._encoded)
            x = self.model.target_positions(self.model.embedding.embed(ids_BW), position)
            for layer, kept in zip(self._decoder_layers, self._layers, strict=True):
                q, k, v = layer.self_attention.project(x, x, x)
                _write(kept.self_keys, k, at_BP)
                _write(kept.self_values, v, at_BP)
                keys, values = (kept_x[:slots, :, :reach].flatten(2, 3) for kept_x in kept[:2])
                x = layer.add_and_norm_1(x, layer.self_attention.w_o(self._attended(q, keys, values, own)))
                q = layer.cross_attention.queries(x)
                keys, values = (kept_x[:slots, :, :source_reach] for kept_x in kept[2:])
                x = layer.add_and_norm_2(x, layer.cross_attention.w_o(self._attended(q, keys, values, real)))
                x = layer.add_and_norm_3(x, layer.feed_forward(x))
        self.output = x

    def move(self, slot: int, to: int, *, reach: int) -> None:
        """Put what a slot holds, of which so many positions are in use, into another; on a CPU alone."""
        sources = self._source_lengths[to] = self._source_lengths[slot]
        for kept in self._layers:
            for tensor, used in zip(kept, (reach, reach, sources, sources), strict=True):
                tensor[to, :, :used] = tensor[slot, :, :used]
        self._real_BS[to] = self._real_BS[slot]

    def _attended(self, q: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        """What each slot's beams attend to, ``[B, W, heads · d_v]``."""
        return F.scaled_dot_product_attention(q.transpose(1, 2), keys, values, mask).transpose(1, 2).flatten(2)

    def _own_rows(self, at_BP: Tensor, rows_BWT: Tensor) -> Tensor:
        """[B, 1, W or P, T · W]: True for the one row of each position that belongs to the hypothesis."""
        position = torch.arange(rows_BWT.size(2), device=self.device)
        visible = position <= at_BP[..., None]
        if self.model.config.neighbourhood:
            visible &= position >= at_BP[..., None] - self.model.config.neighbourhood // 2
        own = rows_BWT[..., None] == torch.arange(self.beams, device=self.device)
        return (own & visible[..., None]).flatten(2)[:, None]

    def _additive(self, may_attend: Tensor) -> Tensor:
        mask = torch.zeros(may_attend.shape, dtype=self._layers[0].self_keys.dtype, device=self.device)
        return mask.masked_fill_(~may_attend, -torch.inf)

    def autocast(self) -> contextlib.AbstractContextManager[None]:
        """Compute in half precision where the model does."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self._half)  # pyright: ignore


class OutputProduct:
    """Makes scores of every word: the product with the matrix of the embedding, which lies as a device wants it."""

    def __init__(self, model: Transformer, *, half: bool) -> None:
        """``half``: with the matrix in bfloat16."""
        weight, self._half = model.embedding.weight.detach(), half
        self.dtype = torch.bfloat16 if half else weight.dtype
        self._packed = PackedLinear(weight, None) if can_pack(weight) and not half else None
        self._weight_DV = weight.to(self.dtype).t()

    def __call__(self, x: Tensor) -> Tensor:
        """Of vectors ``[B, W, D]``, ``[B, W, V]``."""
        if self._packed is not None:
            return self._packed(x)
        if not self._half:
            return x @ self._weight_DV
        # Half-precision scores would tie: eight bits for a number near 20 are steps of an eighth.
        flat = torch.mm(x.flatten(0, 1).to(torch.bfloat16), self._weight_DV, out_dtype=torch.float32)
        return flat.unflatten(0, x.shape[:2])


def _zeros(shape: tuple[int, ...], *, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Zeros that on a CPU take no memory before they are written to: of a server's slots most never are in full."""
    if device.type != "cpu" or dtype not in _NUMPY:
        return torch.zeros(shape, dtype=dtype, device=device)
    return torch.from_numpy(np.zeros(shape, _NUMPY[dtype]))


def _write(place_BHTWK: Tensor, new_BNHK: Tensor, at_BP: Tensor) -> None:
    """Put each slot's new vectors, W for each position, at its positions."""
    beams = place_BHTWK.size(3)
    slots = torch.arange(len(at_BP), device=at_BP.device)[:, None]
    # [B, P, H, W, size], the order in which two lists of places with another axis between them take values
    place_BHTWK[slots, :, at_BP] = new_BNHK.unflatten(1, (-1, beams)).transpose(2, 3)


def padded_ids(sources: Sequence[np.ndarray], width: int) -> np.ndarray:
    """Sources in rows, each with its end symbol, padded on the right."""
    ids = np.full((len(sources), width), PAD, np.int64)
    for row, source in enumerate(sources):
        ids[row, : len(source)] = source
        ids[row, len(source)] = END
    return ids
