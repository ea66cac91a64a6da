"""The slots at work: sentences go in, are decoded side by side, and make room for the next as they are finished.

The engine knows of ids, slots and steps, not of text, nor of what computes the scores: that is a `Scorer`. On a CPU
only the positions and slots in use are computed, and the slots in use are the first ones: one that ends takes over the
last. On a GPU all shapes stay, and a step is one captured graph; the host looks at what a step has finished while the
device takes the next one, so neither waits for the other.
"""

from __future__ import annotations

import functools
import math
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from heedful.model.devices import Captures, current
from heedful.search.beam_search import Hypotheses, advance_beams, advance_samples, begin_in_slots, uniform_numbers
from heedful.search.cuda_steps import MOST_BEAMS, AdvanceByKernels
from heedful.search.drafts import Drafter, advance_along_drafts, drafted_ids, place_drafts
from heedful.search.options import SearchOptions
from heedful.search.required import MOST_AVOIDED, RequiredShape, required_tables
from heedful.search.sentence import Hypothesis, Sentence
from heedful.search.spelling import Constraint, Spelling
from heedful.symbols import PAD

_IN_FLIGHT = {"cpu": 0, "cuda": 1}
"""Steps that the device has still to take when the host asks what an earlier one has finished."""
Results = list[tuple[Sentence, list[Hypothesis]]]


class Scorer(Protocol):
    """What a search needs of a model."""

    device: torch.device
    dtype: torch.dtype
    """Of the scores."""

    def place(self, slots: Tensor, sources: Sequence[np.ndarray]) -> None:
        """Take new sentences into these slots, whose numbers are on the host."""
        ...

    def step(self, ids_BW: Tensor, length_B: Tensor, rows_BWT: Tensor, *, reach: int | None = None) -> Tensor:
        """Scores of every word after these ids; a hypothesis's position t is what row ``rows[t]`` was given then.

        They are the search's, which writes over them.
        """
        ...

    def read(self, ids_BW: Tensor, length_B: Tensor, rows_BWT: Tensor, *, reach: int | None = None) -> None:
        """Read drafts: of each slot, which has one beam, the id of this position and those of the next ones."""
        ...

    def scores(self, place: int) -> Tensor:
        """Scores of every word after one of the ids of each slot that were read last, in their order."""
        ...

    def move(self, slot: int, to: int, *, reach: int) -> None:
        """Put what a slot holds, of which so many positions are in use, into another; on a CPU alone."""
        ...


class _Placed(NamedTuple):
    """A sentence in a slot."""

    sentence: Sentence
    first_step: int
    """The number of the first step that it took part in: looks at earlier ones say nothing about it."""
    last_step: int
    """By then it is finished, since it has reached its limit and ended."""


class _OnHost(NamedTuple):
    """Copies on the host, which may still be under way."""

    tensors: list[Tensor]
    arrived: torch.cuda.Event | None

    @classmethod
    def of(cls, tensors: Sequence[Tensor]) -> _OnHost:
        copies = [tensor.to("cpu", non_blocking=True) for tensor in tensors]
        arrived = torch.cuda.Event() if tensors[0].is_cuda else None
        if arrived is not None:
            arrived.record()
        return cls(copies, arrived)

    def read(self) -> list[np.ndarray]:
        if self.arrived is not None:
            self.arrived.synchronize()
        return [tensor.numpy() for tensor in self.tensors]


class Engine:
    """A number of slots and their scorer."""

    def __init__(
        self,
        scorer: Scorer,
        options: SearchOptions,
        *,
        slots: int,
        positions: int,
        spelling: Constraint,
        required: RequiredShape = RequiredShape(),  # noqa: B008
        drafter: Drafter | None = None,
        captures: Captures | None = None,
    ) -> None:
        """``positions``: the longest output's words, one for the start symbol, and the drafts. ``required``: room for
        the words that outputs must hold. ``drafter``: guesses the drafts. ``captures``: captures the step.
        """
        assert (drafter is not None) == (options.drafts > 0), "somebody guesses what is asked for"
        self._scorer, self._options, self._positions, self._spelling = scorer, options, positions, spelling
        self._required, self._drafter = required, drafter
        self._state = self._empty(slots)
        self._inside: list[_Placed | None] = [None] * slots
        self._steps, self._looks = 0, deque[tuple[int, _OnHost]]()
        self._found: tuple[list[Sentence | None], _OnHost] | None = None
        self._advance = self._chosen_advance()
        self._captures = captures
        self._whole_step = functools.partial(self._step, self._state) if captures is None else None
        self._new = torch.zeros(4, slots, dtype=torch.long, device=scorer.device)
        self._begin_new: Callable[[], None] | None = None

    def run(self, sentences: Sequence[Sentence]) -> Iterator[tuple[Sentence, list[Hypothesis]]]:
        """Every sentence with its hypotheses, best first, as they are finished; best when neighbours are alike."""
        waiting = list(reversed(sentences))
        try:
            while waiting or self._found or any(self._inside):
                yield from self.turn([waiting.pop() for _ in range(self.room(len(waiting)))])
        finally:
            self._drop(self.inside)  # nobody waits for them any more

    @property
    def inside(self) -> list[Sentence]:
        """The sentences that are being decoded."""
        found = [sentence for sentence in self._found[0] if sentence is not None] if self._found else []
        return [*found, *(placed.sentence for placed in self._inside if placed is not None)]

    @property
    def slots(self) -> int:
        return len(self._inside)

    @property
    def most_tokens(self) -> None:
        """Of the sources of a turn: there is no limit, a turn is one step however many there are."""

    def room(self, waiting: int) -> int:
        """How many of so many that wait to give to the next turn: none before an eighth of the slots is free."""
        free = self._inside.count(None)
        return min(free, waiting) if free >= min(max(1, len(self._inside) // 8), waiting) else 0

    @torch.inference_mode()
    def turn(self, new: Sequence[Sentence] = (), *, dropped: Collection[Sentence] = ()) -> Results:
        """Forget the dropped, take in the new, of which there must be `room`, go on; and give what is finished."""
        with current(self._scorer.device):
            self._drop(dropped)
            if new:
                self._place(new)
            if self._scorer.device.type == "cpu":
                self._close_gaps()
            if any(placed is not None and placed.last_step > self._steps for placed in self._inside):
                self._take_step()
            results = self._given()  # what an earlier turn has found, while the device takes this step
            self._look()
            return results if self._looks else [*results, *self._given()]

    @torch.inference_mode()
    def live(self, sentences: Collection[Sentence]) -> dict[Sentence, tuple[list[Hypothesis], list[Hypothesis]]]:
        """The hypotheses of those of these sentences that are inside: the ones that go on and the ones that have ended,
        each best first.
        """
        placed = {slot: one for slot, one in enumerate(self._inside) if one is not None and one.sentence in sentences}
        with current(self._scorer.device):
            ended = _hypotheses(self._ended([*placed]), [self._options.beams] * len(placed)) if placed else []
        return {one.sentence: (self._going(slot), own) for (slot, one), own in zip(placed.items(), ended, strict=True)}

    def _going(self, slot: int) -> list[Hypothesis]:
        state, length = self._state, int(self._state.length[slot])
        rows, ids = (table[slot, :, : length + 1].cpu().numpy() for table in (state.rows, state.ids))
        values = state.log_probability[slot].tolist()
        beams = [beam for beam in sorted(range(len(values)), key=lambda beam: -values[beam]) if values[beam] > -np.inf]
        return [_hypothesis(ids, rows[beam], values[beam], values[beam]) for beam in beams]

    @torch.inference_mode()
    def _drop(self, sentences: Collection[Sentence]) -> None:
        """Free the slots of these sentences."""
        slots = [n for n, placed in enumerate(self._inside) if placed is not None and placed.sentence in sentences]
        if slots:
            index = self._on_device(slots)
            self._state.done.index_fill_(0, index, True)
            self._state.log_probability.index_fill_(0, index, -torch.inf)
        for slot in slots:
            self._inside[slot] = None
        if self._found:
            found, copied = self._found
            self._found = [None if sentence in sentences else sentence for sentence in found], copied

    def _place(self, sentences: Sequence[Sentence]) -> None:
        """Put new sentences into the first slots that are free."""
        free = [slot for slot, placed in enumerate(self._inside) if placed is None][: len(sentences)]
        for takes in (self._scorer, self._drafter) if self._drafter else (self._scorer,):
            takes.place(torch.tensor(free), [sentence.source for sentence in sentences])
        limit = functools.cache(self._limit)  # few differ
        limits = [limit(len(sentence.source), sentence.limit) for sentence in sentences]
        self._begin(free, sentences, limits)
        for slot, sentence, limit in zip(free, sentences, limits, strict=True):
            self._inside[slot] = _Placed(sentence, self._steps + 1, self._steps + limit + 1)

    def _close_gaps(self) -> None:
        """Move the last sentences into slots that are free before them, so that those in use are the first."""
        busy = len(self._inside) - self._inside.count(None)
        last = len(self._inside) - 1
        for slot in range(busy):
            if self._inside[slot] is None:
                while self._inside[last] is None:
                    last -= 1
                self._scorer.move(last, slot, reach=int(self._state.length[last]) + 1)
                if self._drafter is not None:
                    self._drafter.move(last, slot)
                for tensor in self._state.tensors:
                    tensor[slot] = tensor[last]
                self._inside[slot], self._inside[last] = self._inside[last], None

    def _limit(self, source_length: int, own: int | None) -> int:
        limit = self._options.limit(source_length)
        return min(limit, own or self._positions, self._positions - 1 - self._options.drafts)

    def _empty(self, slots: int) -> Hypotheses:
        """Slots without sentences."""
        options, scorer, beams = self._options, self._scorer, (slots, self._options.beams)
        number = functools.partial(torch.zeros, dtype=torch.long, device=scorer.device)
        value = functools.partial(torch.full, fill_value=-torch.inf, dtype=scorer.dtype, device=scorer.device)
        required = required_tables([()] * slots, self._required)
        return Hypotheses(
            log_probability=value(beams),
            ids=number(*beams, self._positions),
            rows=number(*beams, self._positions),
            length=number(slots),
            limit=number(slots),
            n_best=number(slots) + 1,
            prefix=number(slots, self._positions),
            uniform=value((*beams, self._positions if options.method == "sample" else 0)),
            spelled=number(beams),
            progress=number(*beams, 1 + self._required.ways),
            **{f"required_{name}": table.to(scorer.device) for name, table in required._asdict().items()},
            avoided=number(slots, MOST_AVOIDED),
            done=torch.ones(slots, dtype=torch.bool, device=scorer.device),
            ended_score=value(beams),
            ended_log_probability=value(beams),
            ended_length=number(beams),
            ended_rows=number(*beams, self._positions),
        )

    def _begin(self, free: list[int], sentences: Sequence[Sentence], limits: list[int]) -> None:
        """Put new sentences into these slots."""
        state, options = self._state, self._options
        n_best = [sentence.n_best or options.n_best for sentence in sentences]
        numbers = np.array([free, limits, n_best, [sentence.begins for sentence in sentences]])
        if self._captures is None:
            slots = self._on_device(numbers)
            begin_in_slots(state, slots, options)
            slots = slots[0]
        else:
            # The graph's shapes are those of all slots: where there are fewer sentences, the last is said again.
            every = numbers[:, np.minimum(np.arange(self.slots), len(sentences) - 1)]
            self._new.copy_(torch.from_numpy(every), non_blocking=True)
            if self._begin_new is None:
                begin = functools.partial(begin_in_slots, state, self._new, options)
                self._begin_new = self._captures(begin, keep=state.tensors)
            self._begin_new()
            slots = self._new[0, : len(sentences)]
        new: list[tuple[Tensor, Any]] = []
        if any(sentence.prefix for sentence in sentences):
            new.append((state.prefix, _padded([(PAD, *s.prefix) for s in sentences], self._positions)))
        if options.method == "sample":
            sizes = {"beams": options.beams, "positions": self._positions}
            new.append((state.uniform, np.stack([uniform_numbers(options.seed, s.number, **sizes) for s in sentences])))
        if drafts := options.drafts:  # the first have nothing to go by, and some sentences begin with a name
            begins = _padded([(s.prefix or tuple(s.source))[:drafts] for s in sentences], drafts)
            new.append((state.ids[:, 0, 1 : drafts + 1], begins))
        if self._required.terms:
            tables = required_tables([sentence.required for sentence in sentences], self._required)
            new += zip(state.required, tables, strict=True)
            new.append((state.avoided, _padded([sentence.avoided for sentence in sentences], MOST_AVOIDED)))
        for tensor, values in new:
            values = torch.as_tensor(values, dtype=tensor.dtype).to(tensor.device, non_blocking=True)
            tensor.index_copy_(0, slots, values)

    def _take_step(self) -> None:
        """Let the device take a step and copy which slots are done."""
        if self._scorer.device.type == "cpu":
            busy = len(self._inside) - self._inside.count(None)
            in_use = self._state
            if busy < len(self._inside):
                in_use = Hypotheses(*(tensor[:busy] for tensor in self._state.tensors))
            self._step(in_use, reach=int(in_use.length.max()) + 1 + self._options.drafts)
        else:
            if self._whole_step is None:
                assert self._captures is not None, "otherwise the steps are plain"
                self._whole_step = self._captures(functools.partial(self._step, self._state), keep=self._state.tensors)
            self._whole_step()
        self._steps += 1
        self._looks.append((self._steps, _OnHost.of([self._state.done])))

    def _look(self) -> None:
        """See which slots an earlier step has finished, if it is time, and have their hypotheses copied."""
        in_flight = _IN_FLIGHT[self._scorer.device.type]
        needed = any(placed is not None and placed.last_step > self._steps for placed in self._inside)
        if not self._looks or (needed and len(self._looks) <= in_flight):
            return
        inside = [(slot, placed) for slot, placed in enumerate(self._inside) if placed is not None]
        if needed:
            number, copied = self._looks.popleft()
            (done,) = (flags.tolist() for flags in copied.read())
            finished = [(slot, placed) for slot, placed in inside if placed.first_step <= number and done[slot]]
        else:  # all are at their limits: their hypotheses are asked for before the last step has been taken
            finished = inside
        if finished:
            self._found = [one.sentence for _, one in finished], self._ended([slot for slot, _ in finished])
            for slot, _ in finished:
                self._inside[slot] = None
        if not any(self._inside):
            self._looks.clear()

    def _ended(self, slots: list[int]) -> _OnHost:
        """What `_hypotheses` takes."""
        state, index = self._state, self._on_device(slots)
        ended = (state.ended_score, state.ended_log_probability, state.ended_length, state.ended_rows, state.ids)
        return _OnHost.of([tensor[index] for tensor in ended])

    def _given(self) -> Results:
        """What was found; it is not inside any more."""
        if self._found is None:
            return []
        (sentences, copied), self._found = self._found, None
        wanted = [sentence.n_best or self._options.n_best if sentence is not None else 0 for sentence in sentences]
        every = zip(sentences, _hypotheses(copied, wanted), strict=True)
        return [(sentence, found) for sentence, found in every if sentence is not None]

    def _chosen_advance(self) -> Callable[[Hypotheses, Tensor, SearchOptions, Any], None]:
        options, device = self._options, self._scorer.device
        on_cuda = device.type == "cuda" and self._scorer.dtype == torch.float32
        simple = isinstance(self._spelling, Spelling) and not self._required.terms and options.beams <= MOST_BEAMS
        if on_cuda and simple and options.method != "sample":
            return AdvanceByKernels(options, positions=self._positions, device=device)
        return advance_beams if options.method == "beam" else advance_samples

    def _on_device(self, numbers: list[int] | np.ndarray) -> Tensor:
        return torch.as_tensor(numbers).to(self._scorer.device, non_blocking=True)

    def _step(self, state: Hypotheses, reach: int | None = None) -> None:
        if self._drafter is not None:
            ids = drafted_ids(state, self._options.drafts)
            self._scorer.read(ids, state.length, state.rows, reach=reach)
            added = advance_along_drafts(state, ids, self._scorer.scores, self._options, self._spelling)
            place_drafts(state, self._drafter.propose(state.ids[:, 0], state.length, added))
            return
        logits = self._scorer.step(state.last_ids, state.length, state.rows, reach=reach)
        self._advance(state, logits, self._options, self._spelling)


def _padded(rows: Sequence[tuple[int, ...]], width: int) -> np.ndarray:
    """Ids in rows, padded on the right."""
    table = np.full((len(rows), width), PAD)
    for place, row in enumerate(rows):
        table[place, : len(row)] = row
    return table


def _hypotheses(copied: _OnHost, wanted: list[int]) -> list[list[Hypothesis]]:
    """Of each slot so many finished hypotheses at most, best first."""
    score, log_probability, length, rows, ids = copied.read()
    slots = np.arange(len(score))[:, None]
    order = np.argsort(-score, axis=1, kind="stable")[:, : max(1, *wanted)]
    rows = rows[slots, order]
    words = ids[slots[..., None], rows, np.arange(ids.shape[2])][..., 1:]
    # One loop over all: of each sentence so many in a row, among them places where nothing has ended.
    numbers = (one[slots, order].ravel().tolist() for one in (length, log_probability, score))
    every = zip(*(table.reshape(-1, table.shape[2]) for table in (words, rows)), *numbers, strict=True)
    found = [
        Hypothesis(ids_T[:count], log_probability, score, rows_T[: count + 1]) if score > -math.inf else None
        for ids_T, rows_T, count, log_probability, score in every
    ]
    width = order.shape[1]
    own = (found[slot * width : slot * width + min(most, width)] for slot, most in enumerate(wanted))
    return [[one for one in some if one is not None] for some in own]


def _hypothesis(ids_WT: np.ndarray, path: np.ndarray, log_probability: float, score: float) -> Hypothesis:
    """The hypothesis whose positions were computed in these rows."""
    return Hypothesis(ids_WT[path, np.arange(len(path))][1:], float(log_probability), float(score), path)
