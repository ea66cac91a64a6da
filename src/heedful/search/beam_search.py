"""Section 6.1: beam search. One call of `advance_beams` lengthens every hypothesis of every slot by one word.

Of all continuations of a slot's live hypotheses the 2W most probable are looked at: those that end are finished
hypotheses and compete by score, the best W others live on (as many as W of the 2W can end, so W others are left). A
slot is done when no completion of a live hypothesis can still be among the n best.

Equal log-probabilities are ordered by beam and then by id, so the result does not depend on how a device sorts.

Samples and greedy search (`advance_samples`) go word by word in the same way, but hypotheses do not compete: each beam
is one. A sampled word is the one at which the summed probabilities, most probable word first, pass a number in [0, 1)
that belongs to (seed, sentence, beam, position): a sentence's samples do not depend on what is decoded beside it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from heedful.data import noise
from heedful.search.options import SearchOptions
from heedful.search.spelling import Spelling
from heedful.symbols import END, PAD, START

CHUNK = 128
FEWEST = 8
"""Chunks for each score that is wanted, below which choosing among all is as fast on a CPU."""
_Highest = Callable[[Tensor, int], tuple[Tensor, Tensor]]


@dataclass(frozen=True, eq=False)
class Hypotheses:
    """Live and finished hypotheses of B slots with W beams each."""

    log_probability: Tensor
    """[B, W] of each live hypothesis; -∞ where there is none."""
    ids: Tensor
    """[B, W, T] the id that was put into each row at each position; START at 0."""
    rows: Tensor
    """[B, W, T] for each beam's hypothesis, the row in which each position was computed; its own at the last."""
    length: Tensor
    """[B] words so far: the position of the last id."""
    limit: Tensor
    """[B] words at most."""
    prefix: Tensor
    """[B, T] the id that each position must have; PAD where any may stand."""
    uniform: Tensor
    """[B, W, T] for samples: the numbers in [0, 1) that choose the words."""
    spelled: Tensor
    """[B, W] how much of a forbidden text each live hypothesis ends in: a state of `Spelling`."""
    done: Tensor
    """[B] whether the slot's sentence is finished, or there is none."""
    ended_score: Tensor
    """[B, W] finished hypotheses, best first; -∞ where there is none yet."""
    ended_log_probability: Tensor
    ended_length: Tensor
    ended_rows: Tensor

    @property
    def tensors(self) -> list[Tensor]:
        return [getattr(self, field.name) for field in dataclasses.fields(self)]

    @property
    def last_ids(self) -> Tensor:
        """The last id of each live hypothesis: what the model is given next."""
        return self.ids.gather(2, self.length[:, None, None].expand(-1, self.ids.size(1), 1)).squeeze(2)


def advance_beams(
    state: Hypotheses, logits_BWV: Tensor, options: SearchOptions, forbidden: Spelling | None = None
) -> None:
    """Take one step in place, given the model's scores for the word after each live hypothesis."""
    width = state.log_probability.size(1)
    at_limit = state.length >= state.limit
    values, parents, words = _best_continuations(state, logits_BWV, options, forbidden)
    ends = words == END
    _keep_ended(state, values.masked_fill(~ends, -torch.inf), parents, options)
    # The first W that do not end: False sorts before True, and a stable sort keeps their order.
    order = ends.to(torch.uint8).sort(dim=1, stable=True).indices[:, :width]
    values, parents, words = (x.gather(1, order) for x in (values, parents, words))
    _lengthen(state, values, parents, words, forbidden)
    _mark_done(state, options)
    state.done.logical_or_(at_limit)  # scores that are not numbers would never end otherwise


def _best_continuations(
    state: Hypotheses, logits_BWV: Tensor, options: SearchOptions, forbidden: Spelling | None
) -> tuple[Tensor, Tensor, Tensor]:
    """The 2W most probable continuations of each slot: log-probabilities, parents and words, best first."""
    count = 2 * logits_BWV.size(1)
    log_probs_BWV = logits_BWV.log_softmax(-1)
    forced, forced_values = _forced_word(state, log_probs_BWV, forbidden)
    _restrict(state, log_probs_BWV, min_length=options.min_length, forbidden=forbidden)
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


def _lengthen(state: Hypotheses, values: Tensor, parents: Tensor, words: Tensor, forbidden: Spelling | None) -> None:
    """Make these the live hypotheses."""
    if forbidden is not None:
        state.spelled.copy_(forbidden.after(state.spelled.gather(1, parents), words))
    state.log_probability.copy_(values)
    _append(state, words, _rows(state.rows, parents))


def _mark_done(state: Hypotheses, options: SearchOptions) -> None:
    # Words to come can only lower a log-probability, and no output is longer than the limit and an end symbol: a
    # negative number divided by the largest penalty is the best score there can be.
    best = state.log_probability.amax(1)
    best = best / length_penalty(state.limit + 1, options.length_penalty, dtype=best.dtype)
    done = state.ended_score[:, options.n_best - 1] >= best
    if options.stop == "enough":
        done |= state.ended_score[:, -1] > -torch.inf
    state.done.logical_or_(done)
    state.log_probability.masked_fill_(state.done[:, None], -torch.inf)


def _append(state: Hypotheses, words: Tensor, rows: Tensor | None = None) -> None:
    """Write each hypothesis's next word, and that it lies in its own row; ``rows``: where the words before it lie.

    Not in slots that are done, nor where every position is taken.
    """
    going = ~state.done & (state.length < state.ids.size(2) - 1)
    state.length.add_(going)
    place, going = state.length[:, None, None].expand(-1, words.size(1), 1), going[:, None, None]
    own = torch.arange(words.size(1), device=words.device)[None, :, None].expand_as(place)
    if rows is not None:
        state.rows.copy_(torch.where(going, rows, state.rows))
    state.rows.scatter_(2, place, torch.where(going, own, state.rows.gather(2, place)))
    state.ids.scatter_(2, place, torch.where(going, words[..., None], state.ids.gather(2, place)))


def _rows(table_BWT: Tensor, beams: Tensor) -> Tensor:
    """The table's lines of these beams."""
    return table_BWT.gather(1, beams[..., None].expand(-1, -1, table_BWT.size(2)))


# What an output must and must not hold: a prefix, a least and a greatest length, forbidden texts


def _forced_word(state: Hypotheses, log_probs_BWV: Tensor, forbidden: Spelling | None = None) -> tuple[Tensor, Tensor]:
    """For each slot the one word that may come next, -1 where there is a choice; and its log-probabilities, [B, W].

    It is the prefix's, or the end symbol where the output has reached its limit.
    """
    position = (state.length + 1).clamp(max=state.prefix.size(1) - 1)
    prefix = state.prefix.gather(1, position[:, None]).squeeze(1)
    forced = torch.where(prefix == PAD, -1, prefix)
    forced = torch.where(state.length >= state.limit, END, forced)
    index = forced.clamp(min=0)[:, None].expand_as(state.spelled)
    values = log_probs_BWV.gather(2, index[..., None]).squeeze(2)
    if forbidden is not None:
        values = values.masked_fill(forbidden.blocked[0][state.spelled, index], -torch.inf)
    return forced, values


def _restrict(state: Hypotheses, log_probs_BWV: Tensor, *, min_length: int, forbidden: Spelling | None = None) -> None:
    """Set what may not come next to -∞, in place; column by column, since passes over the vocabulary are expensive."""
    log_probs_BWV[..., PAD] = -torch.inf
    log_probs_BWV[..., START] = -torch.inf
    if min_length:
        too_short = (state.length < min_length)[:, None]
        log_probs_BWV[..., END] = torch.where(too_short, -torch.inf, log_probs_BWV[..., END])
    if forbidden is not None:
        last = (state.length + 1 >= state.limit).long()[:, None].expand_as(state.spelled)
        log_probs_BWV.masked_fill_(forbidden.blocked[last, state.spelled], -torch.inf)


# The length penalty


def length_penalty(length: Tensor, alpha: float, *, dtype: torch.dtype = torch.float64) -> Tensor:
    """What a log-probability is divided by.

    >>> length_penalty(torch.tensor([1, 7]), 1.0)
    tensor([1., 2.], dtype=torch.float64)
    """
    return (((5.0 + length.double()) / 6.0) ** alpha).to(dtype)


# Samples and greedy search


def advance_samples(
    state: Hypotheses, logits_BWV: Tensor, options: SearchOptions, forbidden: Spelling | None = None
) -> None:
    """Take one step in place, given the model's scores for the word after each live hypothesis."""
    log_probs_BWV = logits_BWV.log_softmax(-1)
    forced, forced_values = _forced_word(state, log_probs_BWV, forbidden)
    _restrict(state, log_probs_BWV, min_length=options.min_length, forbidden=forbidden)
    words = _chosen(state, log_probs_BWV, options)
    values = log_probs_BWV.gather(2, words[..., None]).squeeze(2)
    is_forced = (forced >= 0)[:, None]
    words, values = torch.where(is_forced, forced[:, None], words), torch.where(is_forced, forced_values, values)
    values = state.log_probability + values
    live = state.log_probability > -torch.inf
    _keep_own(state, values, live & (words == END), options)
    if forbidden is not None:
        state.spelled.copy_(forbidden.after(state.spelled, words))
    state.log_probability.copy_(torch.where(live & (words != END), values, -torch.inf))
    _append(state, words)
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


def _keep_own(state: Hypotheses, values: Tensor, ended: Tensor, options: SearchOptions) -> None:
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
    """The numbers in [0, 1) that choose a sentence's words, ``[beams, positions]``: a function of all four alone."""
    places = (np.arange(beams)[:, None] << 32) + np.arange(positions)
    return (noise.bits(noise.key("sample", seed, sentence), places) >> np.uint64(11)) / 2.0**53


# The most probable words


def top_words(logits: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The highest ``count`` of the last axis and their places, by value and then by place.

    Choosing among a whole vocabulary is the most expensive thing in a step after the products. The highest k scores lie
    in the k chunks of the vocabulary with the highest maxima, of equal ones the first: one pass over all scores finds
    the maxima, and the choice is made among k chunks.

    >>> top_words(torch.tensor([1.0, 3.0, 2.0, 3.0]), 3)
    (tensor([3., 3., 2.]), tensor([1, 3, 2]))
    """
    on_cpu = logits.device.type == "cpu"
    return _top_words(logits, count, _highest_on_cpu if on_cpu else _highest, fewest=FEWEST if on_cpu else 2)


def _top_words(logits: Tensor, count: int, highest: _Highest, *, fewest: int) -> tuple[Tensor, Tensor]:
    if logits.size(-1) < fewest * CHUNK * count:
        return highest(logits, count)
    whole = logits.size(-1) // CHUNK * CHUNK
    maxima = logits[..., :whole].unflatten(-1, (-1, CHUNK)).amax(-1)
    if whole < logits.size(-1):
        maxima = torch.cat([maxima, logits[..., whole:].amax(-1, keepdim=True)], dim=-1)
    chunks = highest(maxima, count)[1].sort(dim=-1).values
    places = (chunks[..., None] * CHUNK + torch.arange(CHUNK, device=logits.device)).flatten(-2)
    last = logits.size(-1) - 1
    among = logits.gather(-1, places.clamp(max=last)).masked_fill_(places > last, -torch.inf)
    values, index = highest(among, count)
    return values, places.gather(-1, index)


def _highest(logits: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """By a stable sort, which no device may do otherwise: `topk` promises nothing about equal scores."""
    values, places = logits.sort(dim=-1, descending=True, stable=True)
    return values[..., :count], places[..., :count]


def _highest_on_cpu(logits: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The same by `topk`, which is many times faster there, unless a tie lies across the border."""
    values, places = logits.topk(min(count + 1, logits.size(-1)))
    if values.size(-1) > count:
        last, next_ = values[..., count - 1], values[..., count]
        if ((last == next_) & next_.isfinite()).any():
            return _highest(logits, count)
    places, order = places[..., :count].sort(dim=-1)
    values, by_value = values[..., :count].gather(-1, order).sort(dim=-1, descending=True, stable=True)
    return values, places.gather(-1, by_value)
