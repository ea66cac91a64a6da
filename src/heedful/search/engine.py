"""The slots at work: sentences go in, are decoded side by side, and make room for the next as they are finished.

The engine knows of ids, slots and steps, not of text, nor of what computes the scores: that is a `Scorer`. On a CPU
only the positions in use are computed, and when no sentence is left the slots become fewer; on a GPU all shapes stay,
and a step is one captured graph.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from heedful.model.devices import Captures
from heedful.search.beam_search import Hypotheses, advance_beams, advance_samples, uniform_numbers
from heedful.search.options import SearchOptions
from heedful.search.required import MOST_AVOIDED, RequiredShape, required_tables
from heedful.search.sentence import Hypothesis, Sentence
from heedful.search.spelling import BEGIN, Spelling
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

    def select(self, slots: Tensor) -> None:
        """Keep these slots alone."""
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
        spelling: Spelling,
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
        self._advance = advance_beams if options.method == "beam" else advance_samples
        self._captures, self._whole_step = captures, self._step if captures is None else None

    @torch.inference_mode()
    def run(self, sentences: Sequence[Sentence]) -> Iterator[tuple[Sentence, list[Hypothesis]]]:
        """Every sentence with its hypotheses, best first, as they are finished; best when neighbours are alike."""
        waiting = list(reversed(sentences))
        inside: list[Sentence | None] = [None] * len(self._state.done)
        while waiting or any(inside):
            free = [slot for slot, sentence in enumerate(inside) if sentence is None]
            if waiting and len(free) >= min(max(1, len(inside) // 8), len(waiting)):
                some = [waiting.pop() for _ in free[: len(waiting)]]
                slots = torch.tensor(free[: len(some)], device=self._scorer.device)
                self._scorer.place(slots, [sentence.source for sentence in some])
                for kept, new in zip(self._state.tensors, self._begun(some).tensors, strict=True):
                    kept[slots] = new
                for slot, sentence in zip(free, some, strict=False):
                    inside[slot] = sentence
            elif not waiting:
                inside = self._fewer(inside)
            self._take_steps()
            done = self._state.done.tolist()
            finished = [slot for slot, sentence in enumerate(inside) if sentence is not None and done[slot]]
            for slot, found in zip(finished, self._taken(finished) if finished else (), strict=True):
                sentence, inside[slot] = inside[slot], None
                assert sentence is not None, "only slots with sentences finish"
                yield sentence, found[: self._options.n_best]

    def _begun(self, sentences: Sequence[Sentence]) -> Hypotheses:
        """Slots with new sentences: one live hypothesis each that holds the start symbol alone."""
        options, positions, device, count = self._options, self._positions, self._scorer.device, len(sentences)
        shape, table = (count, options.beams), (count, options.beams, positions)
        limits = [min(options.limit(len(sentence.source)), positions - 1) for sentence in sentences]
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
            prefix=torch.from_numpy(prefix),
            uniform=torch.from_numpy(uniform).to(self._scorer.dtype),
            spelled=torch.full(shape, BEGIN),
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
            yield [
                Hypothesis(ids[path, np.arange(len(path))][1:], float(log_probability[w]), float(score[w]), path)
                for w, path in paths.items()
            ]

    def _fewer(self, inside: list[Sentence | None]) -> list[Sentence | None]:
        """On a CPU, when half of the slots have nothing to do and nothing will come, drop them."""
        busy = [slot for slot, sentence in enumerate(inside) if sentence is not None]
        if self._scorer.device.type != "cpu" or 2 * len(busy) > len(inside):
            return inside
        slots = torch.tensor(busy)
        self._state = Hypotheses(*(tensor[slots] for tensor in self._state.tensors))
        self._scorer.select(slots)
        return [inside[slot] for slot in busy]

    def _take_steps(self) -> None:
        if self._scorer.device.type == "cpu":
            going = self._state.length[~self._state.done]
            self._step(reach=int(going.max()) + 1)
            return
        if self._whole_step is None:
            assert self._captures is not None, "otherwise the steps are plain"
            self._whole_step = self._captures(self._step, keep=self._state.tensors)
        for _ in range(_STEPS_BETWEEN_LOOKS):
            self._whole_step()

    def _step(self, reach: int | None = None) -> None:
        state = self._state
        logits = self._scorer.step(state.last_ids, state.length, state.rows, reach=reach)
        self._advance(state, logits, self._options, self._spelling)
