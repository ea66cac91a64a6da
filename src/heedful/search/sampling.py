"""Words drawn by their probability, or the most probable one each time. Hypotheses do not compete: each beam is one.

The word is the one at which the summed probabilities, most probable word first, pass a number in [0, 1) that belongs
to (seed, sentence, beam, position): a sentence's samples do not depend on what is decoded beside it.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from heedful.search.beam_search import lengthening, put_last
from heedful.search.hypotheses import Hypotheses
from heedful.search.length_penalty import length_penalty
from heedful.search.options import SearchOptions
from heedful.search.restrictions import forced_word, restrict
from heedful.search.top_words import top_words
from heedful.symbols import END


def advance_samples(state: Hypotheses, logits_BWV: Tensor, options: SearchOptions) -> None:
    """Take one step in place, given the model's scores for the word after each live hypothesis."""
    log_probs_BWV = logits_BWV.log_softmax(-1)
    forced, forced_values = forced_word(state, log_probs_BWV)
    restrict(state, log_probs_BWV, options)
    words = _chosen(state, log_probs_BWV, options)
    values = log_probs_BWV.gather(2, words[..., None]).squeeze(2)
    is_forced = (forced >= 0)[:, None]
    words, values = torch.where(is_forced, forced[:, None], words), torch.where(is_forced, forced_values, values)
    values = state.log_probability + values
    live = state.log_probability > -torch.inf
    _keep_ended(state, values, live & (words == END), options)
    state.log_probability.copy_(torch.where(live & (words != END), values, -torch.inf))
    going = lengthening(state)
    state.length.add_(going)
    put_last(state, words, going)
    state.done.logical_or_((state.log_probability == -torch.inf).all(1))


def _chosen(state: Hypotheses, log_probs_BWV: Tensor, options: SearchOptions) -> Tensor:
    if options.method == "greedy":
        return log_probs_BWV.argmax(-1)  # of equals the first
    vocabulary = log_probs_BWV.size(-1)
    values, words = top_words(log_probs_BWV, min(options.top_k or vocabulary, vocabulary))
    probability = (values / options.temperature).softmax(-1, dtype=torch.float64)
    before = probability.cumsum(-1) - probability
    probability = probability.masked_fill(before >= options.top_p, 0.0)
    cumulative = probability.cumsum(-1)
    place = state.length[:, None, None].expand(-1, words.size(1), 1)
    drawn = state.uniform.gather(2, place).double() * cumulative[..., -1:]
    index = (cumulative <= drawn).sum(-1, keepdim=True)
    # A number a hair below 1 may round up to the whole sum: then the last word that has a probability.
    index = torch.minimum(index, (probability > 0).sum(-1, keepdim=True) - 1).clamp(min=0)
    return words.gather(-1, index).squeeze(-1)


def _keep_ended(state: Hypotheses, values: Tensor, ended: Tensor, options: SearchOptions) -> None:
    """Each beam has its own finished hypothesis."""
    length = state.length[:, None].expand_as(values)
    scores = values / length_penalty(length + 1, options.length_penalty, dtype=values.dtype)
    for kept, new in (
        (state.ended_score, scores),
        (state.ended_log_probability, values),
        (state.ended_length, length),
    ):
        kept.copy_(torch.where(ended, new, kept))
    state.ended_rows.copy_(torch.where(ended[..., None], state.rows, state.ended_rows))


def uniform_numbers(seed: int, sentence: int, *, beams: int, positions: int) -> np.ndarray:
    """The numbers that choose a sentence's words, ``[beams, positions]``; the first ones do not depend on how many."""
    streams = np.random.SeedSequence([seed, sentence]).spawn(beams)
    return np.stack([np.random.default_rng(stream).random(positions) for stream in streams])
