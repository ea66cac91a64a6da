"""Section 6.1: beam search. One call of `advance_beams` lengthens every hypothesis of every slot by one word.

Of all continuations of a slot's live hypotheses the 2W most probable are looked at: those that end are finished
hypotheses and compete by score, the best W others live on (as many as W of the 2W can end, so W others are left). A
slot is done when no completion of a live hypothesis can still be among the n best.

Equal log-probabilities are ordered by beam and then by id, so the result does not depend on how a device sorts.
"""

from __future__ import annotations

import torch
from torch import Tensor

from heedful.search.hypotheses import Hypotheses
from heedful.search.length_penalty import best_possible, length_penalty
from heedful.search.options import SearchOptions
from heedful.search.restrictions import forced_word, restrict
from heedful.search.top_words import top_words
from heedful.symbols import END, PAD


def advance_beams(state: Hypotheses, logits_BWV: Tensor, options: SearchOptions) -> None:
    """Take one step in place, given the model's scores for the word after each live hypothesis."""
    width = state.log_probability.size(1)
    at_limit = state.length >= state.limit
    values, parents, words = _best_continuations(state, logits_BWV, options, count=2 * width)
    ends = words == END
    _keep_ended(state, values.masked_fill(~ends, -torch.inf), parents, options)
    # The first W that do not end: False sorts before True, and a stable sort keeps their order.
    order = ends.to(torch.uint8).sort(dim=1, stable=True).indices[:, :width]
    values, parents, words = (x.gather(1, order) for x in (values, parents, words))
    _lengthen(state, values, parents, words)
    _mark_done(state, options)
    state.done.logical_or_(at_limit)  # scores that are not numbers would never end otherwise


def _best_continuations(
    state: Hypotheses, logits_BWV: Tensor, options: SearchOptions, *, count: int
) -> tuple[Tensor, Tensor, Tensor]:
    """The most probable continuations of each slot: log-probabilities, parents and words, best first."""
    log_probs_BWV = logits_BWV.log_softmax(-1)
    forced, forced_values = forced_word(state, log_probs_BWV)
    restrict(state, log_probs_BWV, options)
    values, words = top_words(log_probs_BWV, min(count, log_probs_BWV.size(-1)))
    # Where only one word is allowed, it takes the first place of each beam and the others fall out.
    is_forced = (forced >= 0)[:, None, None]
    first = torch.arange(values.size(-1), device=values.device) == 0
    values = torch.where(is_forced, torch.where(first, forced_values[..., None], -torch.inf), values)
    words = torch.where(is_forced, torch.where(first, forced[:, None, None], PAD), words)
    values = state.log_probability[..., None] + values
    values, order = values.flatten(1).sort(dim=1, descending=True, stable=True)
    values, order = values[:, :count], order[:, :count]
    return values, order // words.size(-1), words.flatten(1).gather(1, order)


def _keep_ended(state: Hypotheses, values: Tensor, parents: Tensor, options: SearchOptions) -> None:
    """Add the hypotheses that end now to the finished ones; the best W stay."""
    width = parents.size(1) // 2
    length = state.length[:, None]
    scores = values / length_penalty(length + 1, options.length_penalty, dtype=values.dtype)
    scores, order = torch.cat([state.ended_score, scores], 1).sort(dim=1, descending=True, stable=True)
    scores, order = scores[:, :width], order[:, :width]
    state.ended_score.copy_(scores)
    state.ended_log_probability.copy_(torch.cat([state.ended_log_probability, values], 1).gather(1, order))
    lengths = torch.cat([state.ended_length, length.expand_as(values)], 1)
    state.ended_length.copy_(lengths.gather(1, order))
    old = _rows(state.ended_rows, order.clamp(max=width - 1))
    new = _rows(state.rows, parents.gather(1, (order - width).clamp(min=0)))
    state.ended_rows.copy_(torch.where((order < width)[..., None], old, new))


def _lengthen(state: Hypotheses, values: Tensor, parents: Tensor, words: Tensor) -> None:
    """Make these the live hypotheses."""
    going = lengthening(state)
    state.log_probability.copy_(values)
    state.rows.copy_(torch.where(going[:, None, None], _rows(state.rows, parents), state.rows))
    state.length.add_(going)
    put_last(state, words, going)


def lengthening(state: Hypotheses) -> Tensor:
    """The slots whose hypotheses take a word: not those that are done, nor those whose every position is taken."""
    return ~state.done & (state.length < state.ids.size(2) - 1)


def put_last(state: Hypotheses, words: Tensor, going: Tensor) -> None:
    """Write the last word of each hypothesis, and that it lies in its own row."""
    place = state.length[:, None, None].expand(-1, words.size(1), 1)
    going = going[:, None, None]
    words = torch.where(going, words[..., None], state.ids.gather(2, place))
    own = torch.arange(words.size(1), device=words.device)[None, :, None].expand_as(words)
    state.ids.scatter_(2, place, words)
    state.rows.scatter_(2, place, torch.where(going, own, state.rows.gather(2, place)))


def _mark_done(state: Hypotheses, options: SearchOptions) -> None:
    best = best_possible(state.log_probability.amax(1), state.limit, options.length_penalty)
    done = state.ended_score[:, options.n_best - 1] >= best
    if options.stop == "enough":
        done |= state.ended_score[:, -1] > -torch.inf
    state.done.logical_or_(done)
    state.log_probability.masked_fill_(state.done[:, None], -torch.inf)


def _rows(table_BWT: Tensor, beams: Tensor) -> Tensor:
    """The table's lines of these beams."""
    return table_BWT.gather(1, beams[..., None].expand(-1, -1, table_BWT.size(2)))
