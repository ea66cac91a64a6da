"""What an output must and must not hold: a prefix, a least and a greatest length, forbidden sequences."""

from __future__ import annotations

import torch
from torch import Tensor

from heedful.search.hypotheses import Hypotheses
from heedful.search.options import SearchOptions
from heedful.symbols import END, PAD, START


def forced_word(state: Hypotheses, log_probs_BWV: Tensor) -> tuple[Tensor, Tensor]:
    """For each slot the one word that may come next, -1 where there is a choice; and its log-probabilities, [B, W].

    It is the prefix's, or the end symbol where the output has reached its limit.
    """
    position = (state.length + 1).clamp(max=state.prefix.size(1) - 1)
    prefix = state.prefix.gather(1, position[:, None]).squeeze(1)
    forced = torch.where(prefix == PAD, -1, prefix)
    forced = torch.where(state.length >= state.limit, END, forced)
    index = forced.clamp(min=0)[:, None, None].expand(-1, log_probs_BWV.size(1), 1)
    return forced, log_probs_BWV.gather(2, index).squeeze(2)


def restrict(state: Hypotheses, log_probs_BWV: Tensor, options: SearchOptions) -> None:
    """Set what may not come next to -∞, in place; column by column, since a pass over the whole vocabulary is dear."""
    log_probs_BWV[..., PAD] = -torch.inf
    log_probs_BWV[..., START] = -torch.inf
    if options.min_length:
        too_short = (state.length < options.min_length)[:, None]
        log_probs_BWV[..., END] = torch.where(too_short, -torch.inf, log_probs_BWV[..., END])
    for sequence in options.forbidden:
        last = sequence[-1]
        matches = _ends_in(state, sequence[:-1])
        log_probs_BWV[..., last] = torch.where(matches, -torch.inf, log_probs_BWV[..., last])


def _ends_in(state: Hypotheses, sequence: tuple[int, ...]) -> Tensor:
    """Whether each live hypothesis ends in these words."""
    matches = (state.length >= len(sequence))[:, None].expand_as(state.log_probability)
    for back, word in enumerate(reversed(sequence)):
        place = (state.length - back).clamp(min=0)[:, None, None].expand(-1, matches.size(1), 1)
        row = state.rows.gather(2, place)
        here = state.ids.gather(2, place.expand(-1, state.ids.size(1), 1)).squeeze(2).gather(1, row.squeeze(2))
        matches = matches & (here == word)
    return matches
