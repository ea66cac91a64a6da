"""The slots at work: sentences go in, are decoded side by side, and make room for the next as they are finished.

The engine knows of ids, slots and steps, not of text, nor of what computes the scores: that is a `Scorer`. On a CPU
only the positions and slots in use are computed, and the slots in use are the first ones: one that ends takes over the
last. On a GPU all shapes stay, and a step is one captured graph.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from heedful.model.devices import Captures
from heedful.search.beam_search import Hypotheses, advance_beams, advance_samples, uniform_numbers
from heedful.search.options import SearchOptions
from heedful.search.required import MOST_AVOIDED, RequiredShape, required_tables
from heedful.search.sentence import Hypothesis, Sentence
from heedful.search.spelling import Constraint
from heedful.symbols import PAD, START

_STEPS_BETWEEN_LOOKS = 4
"""On a GPU the host asks after so many steps which slots are done: each question waits for the device."""


class Scorer(Protocol):
    """What a search needs of a model."""

    device: torch.device
    dtype: torch.dtype
    """Of the scores."""

    def place(self, slots: Tensor, sources: Sequence[np.ndarray]) -> None:
        """Take new sentences into these slots."""
        ...

    def step(self, ids_BW: Tensor, length_B: Tensor, rows_BWT: Tensor, *, reach: int | None = None) -> Tensor:
        """Scores of every word after these ids; a hypothesis's position t is what row ``rows[t]`` was given then."""
        ...

    def move(self, slot: int, to: int, *, reach: int) -> None:
        """Put what a slot holds, of which so many positions are in use, into another; on a CPU alone."""
        ...


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
        captures: Captures | None = None,
    ) -> None:
        """``positions``: the longest output's words, and one for the start symbol. ``required``: room for the words
        that outputs must hold. ``captures``: captures the step.
        """
        self._scorer, self._options, self._positions, self._spelling = scorer, options, positions, spelling
        self._required = required
        self._state = self._begun([Sentence(0, np.empty(0))] * slots)
        self._state.done.fill_(True)
        self._inside: list[Sentence | None] = [None] * slots
        self._advance = advance_beams if options.method == "beam" else advance_samples
        self._captures = captures
        self._whole_step = functools.partial(self._step, self._state) if captures is None else None

    @torch.inference_mode()
    def run(self, sentences: Sequence[Sentence]) -> Iterator[tuple[Sentence, list[Hypothesis]]]:
        """Every sentence with its hypotheses, best first, as they are finished; best when neighbours are alike."""
        waiting = list(reversed(sentences))
        try:
            while waiting or self.inside:
                yield from self.turn([waiting.pop() for _ in range(self.room(len(waiting)))])
        finally:
            self._drop(self.inside)  # nobody waits for them any more

    @property
    def inside(self) -> list[Sentence]:
        """The sentences that are being decoded."""
        return [sentence for sentence in self._inside if sentence is not None]

    def room(self, waiting: int) -> int:
        """How many of so many that wait to give to the next turn: none before an eighth of the slots is free."""
        free = self._inside.count(None)
        return min(free, waiting) if free >= min(max(1, len(self._inside) // 8), waiting) else 0

    @torch.inference_mode()
    def turn(
        self, new: Sequence[Sentence] = (), *, dropped: Collection[Sentence] = ()
    ) -> list[tuple[Sentence, list[Hypothesis]]]:
        """Forget the dropped, take in the new, of which there must be `room`, go on; and give what is finished."""
        self._drop(dropped)
        if new:
            self._place(new)
        if not any(self._inside):
            return []
        if self._scorer.device.type == "cpu":
            self._close_gaps()
        self._take_steps()
        done = self._state.done.tolist()
        finished = [slot for slot, sentence in enumerate(self._inside) if sentence is not None and done[slot]]
        results: list[tuple[Sentence, list[Hypothesis]]] = []
        for slot, found in zip(finished, self._taken(finished) if finished else (), strict=True):
            sentence, self._inside[slot] = self._inside[slot], None
            assert sentence is not None, "only slots with sentences finish"
            results.append((sentence, found[: sentence.n_best or self._options.n_best]))
        return results

    @torch.inference_mode()
    def live(self, sentences: Collection[Sentence]) -> dict[Sentence, tuple[list[Hypothesis], list[Hypothesis]]]:
        """The hypotheses of those of these sentences that are inside: the ones that go on and the ones that have ended,
        each best first.
        """
        slots = {slot: one for slot, one in enumerate(self._inside) if one is not None and one in sentences}
        return {one: (self._going(slot), next(self._taken([slot]))) for slot, one in slots.items()}

    def _going(self, slot: int) -> list[Hypothesis]:
        state, length = self._state, int(self._state.length[slot])
        rows, ids = (table[slot, :, : length + 1].cpu().numpy() for table in (state.rows, state.ids))
        values = state.log_probability[slot].tolist()
        beams = [beam for beam in sorted(range(len(values)), key=lambda beam: -values[beam]) if values[beam] > -np.inf]
        return [_hypothesis(ids, rows[beam], values[beam], values[beam]) for beam in beams]

    def _drop(self, sentences: Collection[Sentence]) -> None:
        """Free the slots of these sentences."""
        slots = [slot for slot, sentence in enumerate(self._inside) if sentence is not None and sentence in sentences]
        if slots:
            index = torch.tensor(slots, device=self._scorer.device)
            self._state.done[index] = True
            self._state.log_probability[index] = -torch.inf
        for slot in slots:
            self._inside[slot] = None

    def _place(self, sentences: Sequence[Sentence]) -> None:
        """Put new sentences into the first slots that are free."""
        free = [slot for slot, sentence in enumerate(self._inside) if sentence is None][: len(sentences)]
        slots = torch.tensor(free, device=self._scorer.device)
        self._scorer.place(slots, [sentence.source for sentence in sentences])
        for kept, begun in zip(self._state.tensors, self._begun(sentences).tensors, strict=True):
            kept[slots] = begun
        for slot, sentence in zip(free, sentences, strict=True):
            self._inside[slot] = sentence

    def _close_gaps(self) -> None:
        """Move the last sentences into slots that are free before them, so that those in use are the first."""
        busy = sum(sentence is not None for sentence in self._inside)
        last = len(self._inside) - 1
        for slot in range(busy):
            if self._inside[slot] is None:
                while self._inside[last] is None:
                    last -= 1
                self._scorer.move(last, slot, reach=int(self._state.length[last]) + 1)
                for tensor in self._state.tensors:
                    tensor[slot] = tensor[last]
                self._inside[slot], self._inside[last] = self._inside[last], None

    def _begun(self, sentences: Sequence[Sentence]) -> Hypotheses:
        """Slots with new sentences: one live hypothesis each that holds the start symbol alone."""
        options, positions, device, count = self._options, self._positions, self._scorer.device, len(sentences)
        shape, table = (count, options.beams), (count, options.beams, positions)
        limits = [min(options.limit(len(one.source)), one.limit or positions, positions - 1) for one in sentences]
        prefix = np.full((count, positions), PAD)
        for row, sentence in enumerate(sentences):
            prefix[row, 1 : 1 + len(sentence.prefix)] = sentence.prefix
        log_probability, uniform = torch.full(shape, -torch.inf, dtype=self._scorer.dtype), np.zeros((*shape, 0))
        log_probability[:, 0] = 0.0
        if options.method == "sample":  # samples do not compete: every beam begins
            log_probability[:] = 0.0
            numbers = (sentence.number for sentence in sentences)
            drawn = [uniform_numbers(options.seed, n, beams=options.beams, positions=positions) for n in numbers]
            uniform = np.stack(drawn)
        own = torch.arange(options.beams)[:, None].expand(table)
        required = required_tables([sentence.required for sentence in sentences], self._required)
        avoided = torch.full((count, MOST_AVOIDED), PAD)
        for row, sentence in enumerate(sentences):
            avoided[row, : len(sentence.avoided)] = torch.tensor(sentence.avoided, dtype=torch.long)
        begun = Hypotheses(
            log_probability=log_probability,
            ids=torch.full(table, START),
            rows=own.masked_fill(torch.arange(positions) > 0, 0),
            length=torch.zeros(count, dtype=torch.long),
            limit=torch.tensor(limits),
            n_best=torch.tensor([sentence.n_best or options.n_best for sentence in sentences]),
            prefix=torch.from_numpy(prefix),
            uniform=torch.from_numpy(uniform).to(self._scorer.dtype),
            spelled=torch.tensor([sentence.begins for sentence in sentences])[:, None].repeat(1, options.beams),
            progress=torch.zeros(*shape, 1 + self._required.ways, dtype=torch.long),
            **{f"required_{name}": table for name, table in required._asdict().items()},
            avoided=avoided,
            done=torch.zeros(count, dtype=torch.bool),
            ended_score=torch.full_like(log_probability, -torch.inf),
            ended_log_probability=torch.full_like(log_probability, -torch.inf),
            ended_length=torch.zeros(shape, dtype=torch.long),
            ended_rows=torch.zeros(table, dtype=torch.long),
        )
        return Hypotheses(*(tensor.to(device) for tensor in begun.tensors))

    def _taken(self, slots: list[int]) -> Iterator[list[Hypothesis]]:
        """The finished hypotheses of these slots, best first, on the host."""
        state, index = self._state, torch.tensor(slots, device=self._scorer.device)
        ended = (state.ended_score, state.ended_log_probability, state.ended_length, state.ended_rows, state.ids)
        for score, log_probability, length, rows, ids in zip(*(x[index].cpu().numpy() for x in ended), strict=True):
            order = np.argsort(-score, kind="stable")
            paths = {w: rows[w, : length[w] + 1] for w in order[score[order] > -np.inf]}
            yield [_hypothesis(ids, path, log_probability[w], score[w]) for w, path in paths.items()]

    def _take_steps(self) -> None:
        if self._scorer.device.type == "cpu":
            busy = sum(sentence is not None for sentence in self._inside)
            in_use = Hypotheses(*(tensor[:busy] for tensor in self._state.tensors))
            self._step(in_use, reach=int(in_use.length.max()) + 1)
            return
        if self._whole_step is None:
            assert self._captures is not None, "otherwise the steps are plain"
            self._whole_step = self._captures(functools.partial(self._step, self._state), keep=self._state.tensors)
        for _ in range(_STEPS_BETWEEN_LOOKS):
            self._whole_step()

    def _step(self, state: Hypotheses, reach: int | None = None) -> None:
        logits = self._scorer.step(state.last_ids, state.length, state.rows, reach=reach)
        self._advance(state, logits, self._options, self._spelling)


def _hypothesis(ids_WT: np.ndarray, path: np.ndarray, log_probability: float, score: float) -> Hypothesis:
    """The hypothesis whose positions were computed in these rows."""
    return Hypothesis(ids_WT[path, np.arange(len(path))][1:], float(log_probability), float(score), path)
