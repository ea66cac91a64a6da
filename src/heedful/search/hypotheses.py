"""The hypotheses of all slots: the state of a search, in tensors whose shapes never change."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from heedful.symbols import PAD, START


@dataclass(frozen=True)
class Hypothesis:
    """A finished output."""

    ids: np.ndarray
    """Its words, without control ids."""
    log_probability: float
    """Of the words and the end symbol."""
    score: float
    """The log-probability divided by the length penalty: what hypotheses are ranked by."""
    rows: np.ndarray
    """The beam in which each position was computed, the start symbol's first."""


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
    """[B, W] how much of a forbidden text each live hypothesis ends in: a state of `Forbidden`."""
    done: Tensor
    """[B] whether the slot's sentence is finished, or there is none."""
    ended_score: Tensor
    """[B, W] finished hypotheses, best first; -∞ where there is none yet."""
    ended_log_probability: Tensor
    ended_length: Tensor
    ended_rows: Tensor

    @property
    def slots(self) -> int:
        return self.done.size(0)

    @property
    def tensors(self) -> list[Tensor]:
        return [getattr(self, field.name) for field in dataclasses.fields(self)]

    @property
    def last_ids(self) -> Tensor:
        """The last id of each live hypothesis: what the model is given next."""
        return self.ids.gather(2, self.length[:, None, None].expand(-1, self.ids.size(1), 1)).squeeze(2)

    def put(self, slots: Tensor, *, limits: Tensor, prefixes: Tensor, uniforms: Tensor | None) -> None:
        """Begin new sentences in these slots: one live hypothesis that holds the start symbol alone."""
        fresh = {
            "log_probability": -torch.inf,
            "ids": START,
            "rows": 0,
            "length": 0,
            "spelled": 0,
            "done": False,
            "ended_score": -torch.inf,
            "ended_log_probability": -torch.inf,
            "ended_length": 0,
            "ended_rows": 0,
        }
        for name, value in fresh.items():
            getattr(self, name)[slots] = value
        self.rows[slots, :, 0] = torch.arange(self.rows.size(1), device=slots.device)
        self.log_probability[slots, 0] = 0.0
        self.limit[slots] = limits
        self.prefix[slots] = PAD
        self.prefix[slots, : prefixes.size(1)] = prefixes
        if uniforms is not None:  # samples do not compete: every beam begins
            self.log_probability[slots] = 0.0
            self.uniform[slots] = uniforms

    def taken(self, slots: list[int]) -> list[list[Hypothesis]]:
        """The finished hypotheses of these slots, best first, on the host."""
        index = torch.tensor(slots, device=self.done.device)
        score, log_probability, length, rows, ids = (
            tensor[index].cpu().numpy()
            for tensor in (
                self.ended_score,
                self.ended_log_probability,
                self.ended_length,
                self.ended_rows,
                self.ids,
            )
        )
        found: list[list[Hypothesis]] = []
        for b in range(len(slots)):
            order = np.argsort(-score[b], kind="stable")
            found.append([])
            for w in order[score[b][order] > -np.inf]:
                path = rows[b, w, : length[b, w] + 1]
                words = ids[b, path, np.arange(len(path))][1:]
                found[-1].append(Hypothesis(words, float(log_probability[b, w]), float(score[b, w]), path))
        return found

    def selected(self, slots: Tensor) -> Hypotheses:
        """These slots alone."""
        return Hypotheses(*(tensor[slots] for tensor in self.tensors))


def empty_hypotheses(
    *, slots: int, beams: int, positions: int, device: torch.device, dtype: torch.dtype, samples: bool
) -> Hypotheses:
    """Slots without sentences; ``positions`` counts the start symbol."""
    long = {"dtype": torch.long, "device": device}
    real = {"dtype": dtype, "device": device}
    rows = torch.zeros(slots, beams, positions, **long)
    nothing = torch.full((slots, beams), -torch.inf, **real)
    return Hypotheses(
        log_probability=nothing.clone(),
        ids=torch.full((slots, beams, positions), START, **long),
        rows=rows.clone(),
        length=torch.zeros(slots, **long),
        limit=torch.zeros(slots, **long),
        prefix=torch.full((slots, positions), PAD, **long),
        uniform=torch.zeros(slots, beams, positions if samples else 0, **real),
        spelled=torch.zeros(slots, beams, **long),
        done=torch.ones(slots, dtype=torch.bool, device=device),
        ended_score=nothing.clone(),
        ended_log_probability=nothing.clone(),
        ended_length=torch.zeros(slots, beams, **long),
        ended_rows=rows.clone(),
    )


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
