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
import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from heedful.data import noise
from heedful.search.options import SearchOptions
from heedful.search.required import RequiredTables, addition, after, in_turns, lacking
from heedful.search.spelling import BEGIN, Constraint, Spelling
from heedful.symbols import END, PAD, START

CHUNK = 128
FEWEST = 8
"""Chunks for each score that is wanted, below which choosing among all is as fast on a CPU."""
_Highest = Callable[[Tensor, int], tuple[Tensor, Tensor]]
_Choose = Callable[[Tensor], tuple[Tensor, Tensor]]
"""From the log-probabilities of all words to those of some, and which they are."""


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
    n_best: Tensor
    """[B] hypotheses that are wanted."""
    prefix: Tensor
    """[B, T] the id that each position must have; PAD where any may stand."""
    uniform: Tensor
    """[B, W, T] for samples: the numbers in [0, 1) that choose the words."""
    spelled: Tensor
    """[B, W] the state of `Spelling` in which each live hypothesis ends."""
    progress: Tensor
    """[B, W, 1 + A] how much of what an output must hold each live hypothesis has, see `required`."""
    required_letters: Tensor
    required_steps: Tensor
    required_additions: Tensor
    required_lengths: Tensor
    required_rest: Tensor
    required_fewest: Tensor
    avoided: Tensor
    """[B, MOST_AVOIDED] words that such an output does not say; PAD where there is none."""
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
    def required(self) -> RequiredTables:
        return RequiredTables(*(getattr(self, f"required_{name}") for name in RequiredTables._fields))

    @property
    def last_ids(self) -> Tensor:
        """The last id of each live hypothesis: what the model is given next."""
        return self.ids.gather(2, self.length[:, None, None].expand(-1, self.ids.size(1), 1)).squeeze(2)


def begin_in_slots(state: Hypotheses, new: Tensor, options: SearchOptions) -> None:
    """Let sentences begin: one live hypothesis each that holds the start symbol alone.

    ``new``, [4, sentences]: their slots, limits, how many hypotheses are wanted, and the states in which outputs begin.
    Of what lay there before, what is beyond the length of a hypothesis stays: nobody reads it.
    """
    slots, limit, n_best, begins = new
    for tensor in (state.log_probability, state.ended_score, state.ended_log_probability):
        tensor.index_fill_(0, slots, -torch.inf)
    for tensor in (state.length, state.progress, state.done, state.prefix):
        tensor.index_fill_(0, slots, 0)
    state.ids[:, :, 0].index_fill_(0, slots, START)
    # Samples do not compete: every beam begins.
    begun = state.log_probability if options.method == "sample" else state.log_probability[:, :1]
    begun.index_fill_(0, slots, 0)
    beams = torch.arange(options.beams, device=new.device)
    for tensor, values in ((state.limit, limit), (state.n_best, n_best)):
        tensor.index_copy_(0, slots, values)
    for tensor, values in ((state.spelled, begins[:, None]), (state.rows[:, :, 0], beams)):
        tensor.index_copy_(0, slots, values.expand(len(slots), options.beams))


def advance_beams(state: Hypotheses, logits_BWV: Tensor, options: SearchOptions, spelling: Constraint) -> None:
    """Take one step in place, given the model's scores for the word after each live hypothesis."""
    continuations = _required_continuations if state.progress.size(2) > 1 else _best_continuations
    values, parents, words = continuations(state, logits_BWV, options, spelling)
    ends = words == END
    _keep_ended(state, values.masked_fill(~ends, -torch.inf), parents, options)
    # The first W that do not end: False sorts before True, and a stable sort keeps their order.
    order = ends.to(torch.uint8).sort(dim=1, stable=True).indices[:, : logits_BWV.size(1)]
    values, parents, words = (x.gather(1, order) for x in (values.masked_fill(ends, -torch.inf), parents, words))
    _lengthen(state, values, parents, words, spelling)
    # Words to come can only lower a log-probability, and no output is longer than the limit and an end symbol: a
    # negative number divided by the largest penalty is the best score there can be.
    best = state.log_probability.amax(1)
    best = best / length_penalty(state.limit + 1, options.length_penalty, dtype=best.dtype)
    state.done.logical_or_(state.ended_score.gather(1, state.n_best[:, None] - 1).squeeze(1) >= best)
    if options.stop == "enough":
        state.done.logical_or_(state.ended_score[:, -1] > -torch.inf)
    state.log_probability.masked_fill_(state.done[:, None], -torch.inf)


def _best_continuations(
    state: Hypotheses, logits_BWV: Tensor, options: SearchOptions, spelling: Constraint
) -> tuple[Tensor, Tensor, Tensor]:
    """The 2W most probable continuations of each slot: log-probabilities, parents and words, best first."""
    count = 2 * logits_BWV.size(1)
    choose = functools.partial(top_words, count=min(count, logits_BWV.size(-1)))
    values, words = _allowed(state, _log_probabilities(logits_BWV), options, spelling, choose=choose)
    values = state.log_probability[..., None] + values
    values, order = values.flatten(1).sort(dim=1, descending=True, stable=True)
    values, order = values[:, :count], order[:, :count]
    return values, order // words.size(-1), words.flatten(1).gather(1, order)


def _required_continuations(
    state: Hypotheses, logits_BWV: Tensor, options: SearchOptions, spelling: Constraint
) -> tuple[Tensor, Tensor, Tensor]:
    """The most probable continuations of each hypothesis, and those with required words, in turns: see `required`."""
    log_probs_BWV, width = _log_probabilities(logits_BWV), logits_BWV.size(1)
    added, added_value = _addition(state, log_probs_BWV, spelling)
    log_probs_BWV.scatter_(2, state.avoided[:, None].expand(-1, width, -1), -torch.inf)
    choose = functools.partial(top_words, count=min(width + 1, logits_BWV.size(-1)))
    values, words = _allowed(state, log_probs_BWV, options, spelling, choose=choose)
    added_value.masked_fill_((added[..., None] == words[:, :, None]).any(-1), -torch.inf)  # they are there already
    would_end = (words[..., 0] == END) & (_forced_word(state) < 0)[:, None]
    given_up = would_end & (lacking(state.required, state.progress) > 0)
    values = state.log_probability[..., None] + torch.cat([values, added_value], -1)
    values = values.masked_fill(given_up[..., None], -torch.inf)
    words = torch.cat([words, added], -1)
    come = after(state.required, state.progress, words)
    left = torch.where(words == END, 0, (state.limit - state.length - 1)[:, None, None])
    values = values.masked_fill(come.fewest > left, -torch.inf).flatten(1)
    order = in_turns(values, come.lacking.flatten(1))
    return values.gather(1, order), order // words.size(2), words.flatten(1).gather(1, order)


def _addition(state: Hypotheses, log_probs_BWV: Tensor, spelling: Constraint) -> tuple[Tensor, Tensor]:
    """[B, W, 1] the word that begins the next required term or goes on with it, and its log-probability."""
    added = addition(state.required, state.progress)
    blocked = (lacking(state.required, state.progress) <= 0)[..., None] | (_forced_word(state) >= 0)[:, None, None]
    blocked |= spelling.needs(state.spelled, added) > _words_left(state, spelling)
    return added, log_probs_BWV.gather(2, added).masked_fill_(blocked, -torch.inf)


def _keep_ended(state: Hypotheses, values: Tensor, parents: Tensor, options: SearchOptions) -> None:
    """Add the hypotheses that end now, which have values above -∞, to the finished ones; the best W stay."""
    if values.device.type == "cpu" and not (values > -torch.inf).any():  # as at most steps
        return
    width = state.ended_score.size(1)
    length = state.length[:, None].expand_as(values)
    scores = values / length_penalty(length + 1, options.length_penalty, dtype=values.dtype)
    scores, order = torch.cat([state.ended_score, scores], 1).sort(dim=1, descending=True, stable=True)
    order = order[:, :width]
    state.ended_score.copy_(scores[:, :width])
    for kept, new in ((state.ended_log_probability, values), (state.ended_length, length)):
        kept.copy_(torch.cat([kept, new], 1).gather(1, order))
    old = _rows(state.ended_rows, order.clamp(max=width - 1))
    new = _rows(state.rows, parents.gather(1, (order - width).clamp(min=0)))
    state.ended_rows.copy_(torch.where((order < width)[..., None], old, new))


def _lengthen(state: Hypotheses, values: Tensor, parents: Tensor, words: Tensor, spelling: Constraint) -> None:
    """Make these the live hypotheses: each lies where its parent does, and its last word in its own row.

    Not in slots that are done, nor where every position is taken.
    """
    state.spelled.copy_(spelling.after(state.spelled.gather(1, parents), words))
    if state.progress.size(2) > 1:
        progress = state.progress.gather(1, parents[..., None].expand_as(state.progress))
        state.progress.copy_(after(state.required, progress, words[..., None]).progress.squeeze(2))
    state.log_probability.copy_(values)
    state.done.logical_or_(~(values > -torch.inf).any(1))  # nor is a score that is not a number
    going = ~state.done & (state.length < state.ids.size(2) - 1)
    state.length.add_(going)
    place, going = state.length[:, None, None].expand(-1, words.size(1), 1), going[:, None, None]
    own = torch.arange(words.size(1), device=words.device)[None, :, None].expand_as(place)
    state.rows.copy_(torch.where(going, _rows(state.rows, parents), state.rows))
    state.rows.scatter_(2, place, torch.where(going, own, state.rows.gather(2, place)))
    state.ids.scatter_(2, place, torch.where(going, words[..., None], state.ids.gather(2, place)))


def _rows(table_BWT: Tensor, beams: Tensor) -> Tensor:
    """The table's lines of these beams."""
    return table_BWT.gather(1, beams[..., None].expand(-1, -1, table_BWT.size(2)))


# What an output must and must not hold: a prefix, a least and a greatest length, what it spells


def _allowed(
    state: Hypotheses, log_probs_BWV: Tensor, options: SearchOptions, spelling: Constraint, *, choose: _Choose
) -> tuple[Tensor, Tensor]:
    """Log-probabilities and words, ``[B, W, some]``: the word that must come next, or what is chosen from those that
    may; what may not has -∞.
    """
    left = _words_left(state, spelling)
    forced = _forced_word(state)[:, None, None].expand(-1, state.spelled.size(1), 1)
    is_forced, word = forced >= 0, forced.clamp(min=0)
    blocked = ~is_forced | (spelling.needs(state.spelled, word) > left)
    forced_value = log_probs_BWV.gather(2, word).masked_fill_(blocked, -torch.inf)
    if options.min_length:
        too_short = (state.length < options.min_length)[:, None]
        log_probs_BWV[..., END].masked_fill_(too_short, -torch.inf)
    if not isinstance(spelling, Spelling) or spelling.forbids or options.method == "sample":
        log_probs_BWV.masked_fill_(spelling.needs(state.spelled) > left, -torch.inf)
        values, words = choose(log_probs_BWV)
    else:
        values, words = _chosen_as_text(state.spelled, log_probs_BWV, left, spelling, choose=choose)
    values = torch.cat([values.masked_fill(is_forced, -torch.inf), forced_value], -1)
    return values, torch.cat([words, word], -1)


def _words_left(state: Hypotheses, spelling: Constraint) -> Tensor:
    """[B, 1, 1] how many may come after the next."""
    return spelling.counted(state.limit - state.length - 1)[:, None, None]


def _chosen_as_text(
    spelled: Tensor, log_probs_BWV: Tensor, left: Tensor, spelling: Spelling, *, choose: _Choose
) -> tuple[Tensor, Tensor]:
    """The same where no text is forbidden, without another pass over the vocabulary, since these are expensive.

    Few words may not follow a complete character and few may follow others: both are looked at by themselves.
    """
    begun = (spelled != BEGIN)[..., None]
    inside = log_probs_BWV[..., spelling.inside]
    seldom = log_probs_BWV[..., spelling.seldom].masked_fill_(
        spelling.needed[BEGIN, spelling.seldom] > left, -torch.inf
    )
    values, words = choose(log_probs_BWV.index_copy_(-1, spelling.seldom, seldom))
    if begun.device.type == "cpu" and not begun.any():
        return values, words
    inside.masked_fill_(~begun | (spelling.needed[spelled[..., None], spelling.inside] > left), -torch.inf)
    values = torch.cat([values.masked_fill(begun, -torch.inf), inside], -1)
    return values, torch.cat([words, spelling.inside.expand_as(inside)], -1)


def _forced_word(state: Hypotheses) -> Tensor:
    """For each slot the one word that may come next, -1 where there is a choice.

    It is the prefix's, or the end symbol where the output has reached its limit.
    """
    position = (state.length + 1).clamp(max=state.prefix.size(1) - 1)
    prefix = state.prefix.gather(1, position[:, None]).squeeze(1)
    forced = torch.where(prefix == PAD, -1, prefix)
    return torch.where(state.length >= state.limit, END, forced)


# The length penalty


def length_penalty(length: Tensor, alpha: float, *, dtype: torch.dtype = torch.float64) -> Tensor:
    """What a log-probability is divided by.

    >>> length_penalty(torch.tensor([1, 7]), 1.0)
    tensor([1., 2.], dtype=torch.float64)
    """
    return (((5.0 + length.double()) / 6.0) ** alpha).to(dtype)


# Samples and greedy search


def advance_samples(state: Hypotheses, logits_BWV: Tensor, options: SearchOptions, spelling: Constraint) -> None:
    """Take one step in place, given the model's scores for the word after each live hypothesis."""
    choose = _most_probable if options.method == "greedy" else functools.partial(_drawn, state, options)
    values, words = _allowed(state, _log_probabilities(logits_BWV), options, spelling, choose=choose)
    values, place = values.max(-1, keepdim=True)  # all others are -∞
    values, words = state.log_probability + values.squeeze(-1), words.gather(-1, place).squeeze(-1)
    ends, own = words == END, torch.arange(words.size(1), device=words.device).expand_as(words)
    _keep_ended(state, values.masked_fill(~ends, -torch.inf), own, options)
    _lengthen(state, values.masked_fill(ends, -torch.inf), own, words, spelling)


def _most_probable(log_probs_BWV: Tensor) -> tuple[Tensor, Tensor]:
    words = log_probs_BWV.argmax(-1, keepdim=True)  # of equals the first
    return log_probs_BWV.gather(-1, words), words


def _drawn(state: Hypotheses, options: SearchOptions, log_probs_BWV: Tensor) -> tuple[Tensor, Tensor]:
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
    return values.gather(-1, index), words.gather(-1, index)


def uniform_numbers(seed: int, sentence: int, *, beams: int, positions: int) -> np.ndarray:
    """The numbers in [0, 1) that choose a sentence's words, ``[beams, positions]``: a function of all four alone."""
    places = (np.arange(beams)[:, None] << 32) + np.arange(positions)
    return (noise.bits(noise.key("sample", seed, sentence), places) >> np.uint64(11)) / 2.0**53


# The most probable words


def _log_probabilities(logits: Tensor) -> Tensor:
    """Of scores, on a CPU in their place: there the system's work for as much new memory takes longer than the rest."""
    return torch.log_softmax(logits, -1, out=logits) if logits.device.type == "cpu" else logits.log_softmax(-1)


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
