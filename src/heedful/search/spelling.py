"""What an output may spell: text in UTF-8, and none of the texts that are forbidden.

Subwords are bytes, cut anywhere, even inside a character, and any of them may spell a text. So an automaton follows
the bytes of an output; its step over every subword from every state is worked out once. A byte that makes no
character is not taken, nor U+FFFD, which stands for such bytes, and an output ends only where a character has ended.

A forbidden text matches where it stands as a whole word: a letter or digit at its end may not have another beside it.
What is no letter or digit (a full stop, a space), and letters of scripts that put no spaces between words, match
anywhere.
"""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from heedful.errors import SearchError
from heedful.symbols import END, PAD, START
from heedful.text.subwords import SYMBOLS

_WITHOUT_SPACES = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Burmese
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0xA4CF),  # Chinese, Japanese, Yi
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)
BEGIN = 0
"""The state in which an output begins; without forbidden texts that in which every character is complete."""
_FOUND, _NOTHING = 1, -1
_NEVER = 127
_OTHER = "\n"
"""Stands for characters that are in no text: this one never is, since a line's end is shown as a space."""
_MOST_BYTES = 1 << 30
"""Of the tables: some 5,000 characters of forbidden texts for a vocabulary of 37,000."""


class Constraint(Protocol):
    """What an output may be, followed word by word: a hypothesis has a state, a whole number."""

    def counted(self, count: Tensor) -> Tensor: ...

    def needs(self, states: Tensor, words: Tensor | None = None) -> Tensor: ...

    def after(self, states: Tensor, words: Tensor) -> Tensor: ...

    def allows(self, words: Sequence[int]) -> bool: ...


@dataclass(frozen=True, eq=False)
class Spelling:
    """The automaton; a state says in which bytes of a character, and of the forbidden texts, a hypothesis ends."""

    following: Tensor
    """[states, V] int16: the state after each subword."""
    needed: Tensor
    """[states, V] int8: the fewest words that must come after each subword before an output may end."""
    seldom: Tensor
    """The subwords that may not always follow a complete character; any other may, if no text is forbidden."""
    inside: Tensor
    """The subwords that may follow where a character has begun, if no text is forbidden."""
    forbids: bool
    """Whether any text is forbidden."""

    @classmethod
    def of(cls, texts: Sequence[str], subwords: Sequence[bytes], *, device: torch.device | None = None) -> Spelling:
        """The automaton for these forbidden texts, given the bytes of each id."""
        following, needed = (torch.from_numpy(table).to(device) for table in _tables(texts, subwords))
        seldom = (needed[BEGIN] > 0).nonzero().squeeze(1)
        inside = (needed[_FOUND + 1 :] < _NEVER).any(0).nonzero().squeeze(1)
        return cls(following, needed, seldom, inside, forbids=bool(texts))

    def counted(self, count: Tensor) -> Tensor:
        """How many may still come, as far as ``needed`` counts."""
        return count.clamp(-1, _NEVER - 1).to(torch.int8)

    def needs(self, states: Tensor, words: Tensor | None = None) -> Tensor:
        """[..., V] or, of these ``words`` [..., n], the fewest words that must come after each."""
        return self.needed[states] if words is None else self.needed[states[..., None], words]

    def after(self, states: Tensor, words: Tensor) -> Tensor:
        """The states of hypotheses that take one word more."""
        return self.following[states, words].long()

    def allows(self, words: Sequence[int]) -> bool:
        """Whether an output may begin with these words."""
        state = BEGIN
        for word in words:
            if self.needed[state, word] == _NEVER:
                return False
            state = int(self.following[state, word])
        return True


def _tables(texts: Sequence[str], subwords: Sequence[bytes]) -> tuple[np.ndarray, np.ndarray]:
    """`Spelling`'s tables, ``following`` and ``needed``."""
    too_many = SearchError(f"{len(texts):,} forbidden texts are too many: {sum(map(len, texts)):,} characters together")
    most = min(_MOST_BYTES // (4 * len(subwords)), np.iinfo(np.int16).max)
    if sum(map(len, texts)) > most:
        raise too_many
    by_byte, may_end = _automaton(sorted({form for text in texts for form in _forms(text)}))
    if len(by_byte) > most:
        raise too_many
    lengths = np.array([len(subword) for subword in subwords])
    order = np.argsort(-lengths, kind="stable")
    letters = np.zeros((len(subwords), lengths.max(initial=0)), np.uint8)
    for row, place in enumerate(order):
        letters[row, : lengths[place]] = np.frombuffer(subwords[place].replace(b"\n", b" "), np.uint8)
    states = np.repeat(np.arange(len(by_byte), dtype=np.int16)[:, None], len(subwords), axis=1)
    for column in range(letters.shape[1]):
        going = int(np.count_nonzero(lengths > column))
        states[:, :going] = by_byte[states[:, :going], letters[:going, column]]
    following = np.empty_like(states)
    following[:, order] = states
    silent = np.flatnonzero(lengths == 0) if lengths.any() else []  # where nothing is known to spell, all may come
    return following, _needed(following, may_end, np.union1d([PAD, START, END], silent).astype(int))


def _needed(following: np.ndarray, may_end: np.ndarray, silent: np.ndarray) -> np.ndarray:
    """By ways of one more word each time, until there are no shorter ones; ``silent``: those that spell nothing."""
    shortest = np.where(may_end, 0, _NEVER).astype(np.int8)
    while True:
        needed = shortest[following]
        needed[:, silent] = _NEVER
        shorter = np.minimum(shortest, np.minimum(needed.min(1), _NEVER - 1) + 1)
        if (shorter == shortest).all():
            needed[:, END] = np.where(may_end, -1, _NEVER)  # it takes no place of its own
            return needed
        shortest = shorter


def _forms(text: str) -> set[str]:
    """The same text with its accents as characters of their own, or not."""
    return {unicodedata.normalize(form, text.strip().replace("\n", " ")) for form in ("NFC", "NFD")}


def _automaton(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """The states' steps by byte, [states, 256]; and in which states an output may end.

    A state is one of those between characters, or stands for the bytes of a character that is not complete: where each
    next byte leads. Those that lead to the same states are one, so there are few.
    """
    alphabet = sorted(set("".join(texts)))
    kind_of = _letters().astype(np.int32)  # characters that are in no text are of kind 0 or, letters, 1
    kinds = [(_OTHER, False), (_OTHER, True), *((one, bool(kind_of[ord(one)])) for one in alphabet)]
    kind_of[[ord(one) for one in alphabet]] = np.arange(2, len(kinds))
    kind_of[ord("\N{REPLACEMENT CHARACTER}")] = _NOTHING
    between, may_end = _by_character(texts, kinds)
    first, blocks = _utf_8(kind_of, len(kinds))
    incomplete: dict[bytes, int] = {}
    rows = np.full((len(between), 256), _FOUND, np.int32)
    for state in {*range(len(between))} - {_FOUND}:
        after = np.array([*between[state], *[_FOUND] * (len(blocks) + 1)], np.int32)  # the last for what is nowhere
        for place, block in enumerate(blocks, start=len(kinds)):
            after[place] = incomplete.setdefault(after[block].tobytes(), len(between) + len(incomplete))
        rows[state] = after[first]
    by_byte = np.full((len(between) + len(incomplete), 256), _FOUND, np.int32)
    by_byte[: len(between)] = rows
    by_byte[len(between) :, 0x80:0xC0] = [np.frombuffer(after, np.int32) for after in incomplete]
    return by_byte, np.array([*may_end, *[False] * len(incomplete)])


def _by_character(texts: Sequence[str], kinds: Sequence[tuple[str, bool]]) -> tuple[list[list[int]], list[bool]]:
    """The states between characters: where each kind of character leads, and whether an output may end there.

    A state is what is still to come of the texts that have begun (nothing, where the next character decides), and
    whether the last character was a letter; None, once a text has been found.
    """
    beginnings: dict[str, set[str]] = {}
    for text in texts:
        beginnings.setdefault(text[0], set()).add(text[1:])
    numbers: dict[tuple[frozenset[str], bool] | None, int] = {(frozenset(), False): BEGIN, None: _FOUND}

    def after(state: tuple[frozenset[str], bool] | None, character: str, letter: bool) -> int:
        if state is None or ("" in state[0] and not letter):
            return _FOUND
        rests = {rest[1:] for rest in state[0] if rest[:1] == character}
        if not (state[1] and letter):
            rests |= beginnings.get(character, set())
        found = "" in rests and not letter
        return _FOUND if found else numbers.setdefault((frozenset(rests), letter and bool(texts)), len(numbers))

    rows: list[list[int]] = []
    while len(rows) < len(numbers):
        state = list(numbers)[len(rows)]
        rows.append([after(state, *kind) for kind in kinds])
    return rows, [state is not None and "" not in state[0] for state in numbers]


def _utf_8(kind_of: np.ndarray, count: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Where the first byte of a character leads, [256]; and blocks, where each of the 64 bytes that may follow leads.

    That is the kind of a complete character, the number of a block plus ``count``, that of the kinds, or nowhere.
    """
    numbers = {np.full(64, _NOTHING, np.int32).tobytes(): _NOTHING}
    first, shorter = np.full(256, _NOTHING), 0
    for mark, size, end in ((0, 1, 0x80), (0xC0, 2, 0x800), (0xE0, 3, 0x10000), (0xF0, 4, 0x140000)):
        leads = np.full(end, _NOTHING, np.int32)
        leads[shorter : len(kind_of)] = kind_of[shorter:end]
        leads[0xD800:0xE000] = _NOTHING  # surrogates
        for _ in range(size - 1):
            blocks = (block.tobytes() for block in leads.reshape(-1, 64))
            leads = np.array([numbers.setdefault(block, count + len(numbers) - 1) for block in blocks], np.int32)
        first[mark : mark + len(leads)] = leads
        shorter = end
    return first, [np.frombuffer(block, np.int32) for block in numbers][1:]


@functools.cache
def _letters() -> np.ndarray:
    """For each code point whether it makes one word with its neighbours."""
    letters = np.ones(0x110000, bool)
    letters[0x20] = False
    for first, last in (*SYMBOLS, *_WITHOUT_SPACES):
        letters[first : last + 1] = False
    letters[ord("_")] = True
    return letters
