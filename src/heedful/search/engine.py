"""The slots at work: sentences go in, are decoded side by side, and make room for the next as they are finished.

The engine knows of ids, slots and steps, not of text, nor of what computes the scores: that is a `Scorer`. On a CPU
only the positions in use are computed, and when no sentence is left the slots become fewer; on a GPU all shapes stay,
and a step is one captured graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from heedful.model.devices import Captures
from heedful.search.beam_search import advance_beams, advance_samples, uniform_numbers
from heedful.search.forbidden import Forbidden
from heedful.search.hypotheses import Hypotheses, Hypothesis, empty_hypotheses
from heedful.search.options import SearchOptions

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


@dataclass(frozen=True, eq=False)
class Sentence:
    """One sentence to be translated."""

    number: int
    """Its place in the input: its samples depend on it, and nothing else."""
    source: np.ndarray
    """Ids, without control ids."""
    prefix: tuple[int, ...] = ()
    """Words that the output begins with."""


class Engine:
    """A number of slots and their scorer."""

    def __init__(
        self,
        scorer: Scorer,
        options: SearchOptions,
        *,
        slots: int,
        positions: int,
        forbidden: Forbidden | None = None,
        captures: Captures | None = None,
    ) -> None:
        """``positions``: the longest output's words, and one for the start symbol. ``captures``: captures the step."""
        self._forbidden = forbidden
        self._scorer, self._options, self._positions = scorer, options, positions
        self._state = empty_hypotheses(
            slots=slots,
            beams=options.beams,
            positions=positions,
            device=scorer.device,
            dtype=scorer.dtype,
            samples=options.method == "sample",
        )
        self._advance = advance_beams if options.method == "beam" else advance_samples
        self._captures = captures
        self._whole_step: Callable[[], None] = self._step if captures is None else self._captured_step

    @torch.inference_mode()
    def run(self, sentences: Sequence[Sentence]) -> Iterator[tuple[Sentence, list[Hypothesis]]]:
        """Every sentence with its hypotheses, best first, as they are finished; best when neighbours are alike."""
        waiting = list(reversed(sentences))
        inside: list[Sentence | None] = [None] * self._state.slots
        while waiting or any(inside):
            free = [slot for slot, sentence in enumerate(inside) if sentence is None]
            if waiting and len(free) >= min(max(1, len(inside) // 8), len(waiting)):
                for slot, sentence in zip(free, self._placed(free, waiting), strict=False):
                    inside[slot] = sentence
            elif not waiting:
                inside = self._fewer(inside)
            self._take_steps()
            done = self._state.done.tolist()
            finished = [slot for slot, sentence in enumerate(inside) if sentence is not None and done[slot]]
            for slot, found in zip(finished, self._state.taken(finished) if finished else [], strict=True):
                sentence, inside[slot] = inside[slot], None
                assert sentence is not None, "only slots with sentences finish"
                yield sentence, found[: self._options.n_best]

    def _placed(self, free: list[int], waiting: list[Sentence]) -> list[Sentence]:
        """Put as many waiting sentences as there is room for into the free slots."""
        some = [waiting.pop() for _ in range(min(len(free), len(waiting)))]
        device = self._scorer.device
        slots = torch.tensor(free[: len(some)], device=device)
        self._scorer.place(slots, [sentence.source for sentence in some])
        limits = [min(self._options.limit(len(sentence.source)), self._positions - 1) for sentence in some]
        prefixes = np.zeros((len(some), 1 + max(len(sentence.prefix) for sentence in some)), np.int64)
        for row, sentence in enumerate(some):
            prefixes[row, 1 : 1 + len(sentence.prefix)] = sentence.prefix
        uniforms = None
        if self._options.method == "sample":
            shape = {"beams": self._options.beams, "positions": self._positions}
            drawn = [uniform_numbers(self._options.seed, sentence.number, **shape) for sentence in some]
            uniforms = torch.from_numpy(np.stack(drawn)).to(device, self._scorer.dtype)
        self._state.put(
            slots,
            limits=torch.tensor(limits, device=device),
            prefixes=torch.from_numpy(prefixes[:, : self._positions]).to(device),
            uniforms=uniforms,
        )
        return some

    def _fewer(self, inside: list[Sentence | None]) -> list[Sentence | None]:
        """On a CPU, when half of the slots have nothing to do and nothing will come, drop them."""
        busy = [slot for slot, sentence in enumerate(inside) if sentence is not None]
        if self._scorer.device.type != "cpu" or 2 * len(busy) > len(inside):
            return inside
        slots = torch.tensor(busy)
        self._state = self._state.selected(slots)
        self._scorer.select(slots)
        return [inside[slot] for slot in busy]

    def _take_steps(self) -> None:
        if self._scorer.device.type == "cpu":
            going = self._state.length[~self._state.done]
            self._step(reach=int(going.max()) + 1)
            return
        for _ in range(_STEPS_BETWEEN_LOOKS):
            self._whole_step()

    def _captured_step(self) -> None:
        assert self._captures is not None, "only captured steps come here"
        self._whole_step = self._captures(self._step, keep=self._state.tensors)
        self._whole_step()

    def _step(self, reach: int | None = None) -> None:
        state: Hypotheses = self._state
        logits = self._scorer.step(state.last_ids, state.length, state.rows, reach=reach)
        self._advance(state, logits, self._options, self._forbidden)
