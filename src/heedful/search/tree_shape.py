"""Section 6.3: an output is one tree over exactly the words of its sentence, whatever the model thinks.

An automaton like `Spelling`, but its states are numbers and not rows of a table: the words that are left, the brackets
that are open, and whether the last one was opened just now. A word is said while there is one left, inside the root; a
bracket is opened while there is a word to put into it, and closed if it holds something, the root's only after the last
word. What is begun needs a symbol for each word that is left and one for each open bracket, and must fit into the
longest output: so every hypothesis can be completed, and the search ends with a tree.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from heedful.parsing.trees import CLOSE, is_bracket
from heedful.symbols import CONTROL_TOKENS, END

_NONE, _OPEN, _WORD, _CLOSE, _END = range(5)
_NEVER = 1 << 40
_LEFT, _DEPTH = 40, 1
"""The bits of a state: words left from here on, open brackets before them, and the lowest for one just opened."""


class TreeShape:
    """What a hypothesis may say next, for the symbols of a closed vocabulary."""

    def __init__(self, tokens: Sequence[str], *, device: torch.device | None = None) -> None:
        """``tokens``: the name of each id, control ids and the unknown symbol first."""
        kinds = [_NONE] * (len(CONTROL_TOKENS) + 1)
        kinds[END] = _END
        for token in tokens[len(kinds) :]:
            kinds.append(_CLOSE if token == CLOSE else _OPEN if is_bracket(token) else _WORD)
        self._kinds = torch.tensor(kinds, device=device)

    @staticmethod
    def begin(words: int) -> int:
        """The state in which the output for a sentence of so many words begins."""
        return words << _LEFT

    @staticmethod
    def fewest(words: int) -> int:
        """Symbols that the smallest tree over so many words has: one of its own for each, and one constituent."""
        return words + 2

    def counted(self, count: Tensor) -> Tensor:
        """How many may still come, as `needs` counts."""
        return count

    def needs(self, states: Tensor, words: Tensor | None = None) -> Tensor:
        """[..., V] or, of these ``words`` [..., n], the fewest symbols that must come after each."""
        left, depth, opened = states >> _LEFT, (states >> _DEPTH) & ((1 << (_LEFT - _DEPTH)) - 1), states & 1
        never = torch.full_like(states, _NEVER)
        by_kind = torch.stack(
            [
                never,
                torch.where(left > 0, left + depth + 1, never),
                torch.where((left > 0) & ((depth > 0) | (left == 1)), left + depth - 1, never),
                torch.where((depth > 0) & (opened == 0) & ((depth > 1) | (left == 0)), left + depth - 1, never),
                torch.where((depth == 0) & (left == 0), -torch.ones_like(states), never),  # END takes no place
            ],
            -1,
        )
        return by_kind[..., self._kinds] if words is None else by_kind.gather(-1, self._kinds[words])

    def after(self, states: Tensor, words: Tensor) -> Tensor:
        """The states of hypotheses that say one symbol more."""
        kinds = self._kinds[words]
        depth = (kinds == _OPEN).long() - (kinds == _CLOSE).long()
        return ((states >> 1) << 1) + (depth << _DEPTH) - ((kinds == _WORD).long() << _LEFT) + (kinds == _OPEN).long()

    def allows(self, words: Sequence[int]) -> bool:
        """Whether an output may begin with these symbols: no prefix is asked for."""
        return not words
