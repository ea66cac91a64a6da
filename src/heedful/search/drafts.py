"""Less sequential generation (section 7): greedy search that checks several words at once.

After each word the next K are guessed. The decoder then reads the last word and the guesses in one pass, and its scores
after each say what greedy search would have taken there: guesses are kept as far as they are that, and one word more is
known in any case. So the output is that of greedy search whatever is guessed, and good guesses only spare passes, which
take most of the time where few sentences are decoded (Stern, Shazeer and Uszkoreit, 2018).

Drafts lie in `Hypotheses.ids` after a slot's last word. Who guesses is a `Drafter`: it need not know any rule of the
search, since `advance_along_drafts` takes the steps of greedy search itself, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from heedful.model.draft_heads import DraftHeads
from heedful.model.transformer import Transformer
from heedful.search.beam_search import Hypotheses, advance_samples
from heedful.search.cached_decoder import CachedDecoder
from heedful.search.options import SearchOptions
from heedful.search.spelling import Constraint
from heedful.symbols import END, PAD, START

_LONGEST_SUFFIX = 8
"""Words of the output that are looked for in the source: longer ones seldom stand there twice."""


class Drafter(Protocol):
    """Guesses what comes next; one that keeps nothing of a sentence does nothing when it is placed or moved."""

    def place(self, slots: Tensor, sources: Sequence[np.ndarray]) -> None:
        """Take new sentences into these slots."""

    def propose(self, words_BT: Tensor, length_B: Tensor, added_B: Tensor) -> Tensor:
        """[B, K] ids that may come after these, of which the last stands at ``length``; the last step has added so
        many of them.
        """
        ...

    def move(self, slot: int, to: int) -> None:
        """Put what is known of a slot's sentence into another; on a CPU alone."""


def drafted_ids(state: Hypotheses, drafts: int) -> Tensor:
    """The last id of each slot and the drafts that lie after it, ``[B, Q]``."""
    return state.ids[:, 0].gather(1, state.length[:, None] + torch.arange(drafts + 1, device=state.ids.device))


def place_drafts(state: Hypotheses, drafts_BK: Tensor) -> None:
    """Put drafts after the last word of each slot."""
    places = state.length[:, None] + torch.arange(1, drafts_BK.size(1) + 1, device=drafts_BK.device)
    state.ids[:, 0].scatter_(1, places, drafts_BK)


def advance_along_drafts(
    state: Hypotheses, ids_BQ: Tensor, scores: Callable[[int], Tensor], options: SearchOptions, spelling: Constraint
) -> Tensor:
    """Take greedy search's steps in place, in each slot as long as they are what was drafted, and one more.

    ``ids``: see `drafted_ids`; ``scores``: those of every word after the id at a place. Returns how many words
    were added, [B].
    """
    before = state.length.clone()
    wrong = torch.zeros_like(state.done)
    for place in range(ids_BQ.size(1)):
        if place:
            wrong |= state.last_ids[:, 0] != ids_BQ[:, place]
            if wrong.device.type == "cpu" and (wrong | state.done).all():
                break
        _advance_where(~wrong, state, scores(place), options, spelling)
    return state.length - before


def _advance_where(
    going_B: Tensor, state: Hypotheses, logits_B1V: Tensor, options: SearchOptions, spelling: Constraint
) -> None:
    """One step of greedy search in some of the slots; for that time the others are as if they were done."""
    held = ~(going_B | state.done)
    kept = [(tensor, tensor.clone()) for tensor in (state.log_probability, state.spelled)]
    state.done.logical_or_(held)
    state.log_probability.masked_fill_(held[:, None], -torch.inf)
    advance_samples(state, logits_B1V, options, spelling)
    state.done.logical_and_(~held)
    for tensor, old in kept:
        tensor.copy_(torch.where(held[:, None], old, tensor))


class CopyDrafter:
    """Guesses that the output goes on as the source does: for corrections and the like, without any training.

    The longest suffix of the output that stands in the source is looked for, of several the one nearest to the output's
    own place; what follows it there is proposed. Where no word of it does, it is what the source has at that place.
    """

    def __init__(self, drafts: int, *, slots: int, source_positions: int, device: torch.device) -> None:
        """``source_positions``: of the longest source, its end included. Both sides must have one vocabulary."""
        self._back = torch.arange(_LONGEST_SUFFIX, device=device)
        self._next = torch.arange(1, drafts + 1, device=device)
        self._source = torch.full((slots, 1 + source_positions + drafts), PAD, device=device)
        """[B, S] START, the source, END and PAD."""

    def place(self, slots: Tensor, sources: Sequence[np.ndarray]) -> None:
        """Take new sentences into these slots."""
        table = np.full((len(sources), self._source.size(1)), PAD)
        for row, source in enumerate(sources):
            table[row, : len(source) + 2] = [START, *source, END]
        self._source[slots.to(self._source.device)] = torch.from_numpy(table).to(self._source.device)

    def propose(self, words_BT: Tensor, length_B: Tensor, added_B: Tensor) -> Tensor:
        """[B, K] what follows in the source."""
        source, length = self._source[: len(length_B)], length_B[:, None]
        last = words_BT.gather(1, (length - self._back).clamp(min=0))
        place = torch.arange(source.size(1) - len(self._next), device=source.device)
        before = place[:, None] - self._back
        same = (source[:, before.clamp(min=0)] == last[:, None]) & (before >= 0) & (length >= self._back)[:, None]
        matched = same.long().cumprod(-1).sum(-1)
        far = (place - length).abs().clamp(max=len(place))
        return source.gather(1, (matched * (len(place) + 1) - far).argmax(1, keepdim=True) + self._next)

    def move(self, slot: int, to: int) -> None:
        """Put a slot's source into another."""
        self._source[to] = self._source[slot]


class HeadDrafter(Drafter):
    """Guesses by a model's draft heads: each from the decoder's last output and the words since."""

    def __init__(self, own: DraftHeads, output_DV: Tensor, drafts: int, *, decoder: CachedDecoder) -> None:
        """``output_DV``: see `draft_matrix`."""
        self._heads, self._words, self._output_DV, self._decoder = own.heads[:drafts], own.words, output_DV, decoder

    def propose(self, words_BT: Tensor, length_B: Tensor, added_B: Tensor) -> Tensor:
        """[B, K] the best guess of each head, after those before it."""
        output, embed = self._decoder.output, self._decoder.model.embedding.embed
        x = output[torch.arange(len(output), device=output.device), (added_B - 1).clamp(min=0)]
        word, since, drafts = words_BT.gather(1, length_B[:, None]).squeeze(1), [], []
        with self._decoder.autocast():
            for head in self._heads:
                since.append(embed(word))
                word = self._words[(head(x, since) @ self._output_DV).argmax(-1)]
                drafts.append(word)
        return torch.stack(drafts, 1)


def draft_matrix(model: Transformer) -> Tensor | None:
    """The columns of the matrix that makes scores, ``[d_model, words]``, of what draft heads guess among."""
    return None if model.draft is None else model.embedding.weight.detach()[model.draft.words].t().contiguous()
