"""Texts that no output may hold.

A text may be spelled by any subwords, cut anywhere, even inside a character. So it is looked for in the bytes
of an output by an automaton, whose step over every subword from every state is worked out once. It matches where the
text stands as a whole word: a letter or digit at its end may not have another beside it. What is no letter or digit
(a full stop, a space), and letters of scripts that put no spaces between words, match anywhere.
"""

from __future__ import annotations

import codecs
import functools
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from heedful.errors import SearchError
from heedful.symbols import END
from heedful.text.words import SYMBOLS

_WITHOUT_SPACES = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Burmese
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0xA4CF),  # Chinese, Japanese, Yi
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)
_START, _FOUND = 0, 1
_MOST_BYTES = 1 << 30
"""Of the tables: some 5,000 characters of forbidden texts for a vocabulary of 37,000."""


@dataclass(frozen=True, eq=False)
class Forbidden:
    """The automaton of forbidden texts; its states say how much of them a hypothesis ends in."""

    following: Tensor
    """[states, V] int16: the state after each subword."""
    blocked: Tensor
    """[2, states, V]: the subwords that may not come next; in the second, when only the end can come after them."""

    def after(self, states: Tensor, words: Tensor) -> Tensor:
        """The states of hypotheses that take one word more."""
        return self.following[states, words].long()

    def allows(self, words: Sequence[int]) -> bool:
        """Whether an output may begin with these words."""
        state = _START
        for word in words:
            if self.blocked[0, state, word]:
                return False
            state = int(self.following[state, word])
        return True


def forbidden_tables(texts: Sequence[str], subwords: Sequence[bytes]) -> tuple[np.ndarray, np.ndarray]:
    """`Forbidden`'s tables for these texts, given the bytes of each id."""
    by_byte, ends = _automaton(sorted({form for text in texts for form in _forms(text)}))
    if 4 * len(by_byte) * len(subwords) > _MOST_BYTES:
        raise SearchError(f"{len(texts):,} forbidden texts are too many: {sum(map(len, texts)):,} characters together")
    lengths = np.array([len(subword) for subword in subwords])
    order = np.argsort(-lengths, kind="stable")
    # A line's end is shown as a space.
    letters = np.zeros((len(subwords), lengths.max(initial=0)), np.uint8)
    for row, place in enumerate(order):
        letters[row, : lengths[place]] = np.frombuffer(subwords[place].replace(b"\n", b" "), np.uint8)
    states = np.repeat(np.arange(len(by_byte), dtype=np.int16)[:, None], len(subwords), axis=1)
    for column in range(letters.shape[1]):
        going = int(np.count_nonzero(lengths > column))
        states[:, :going] = by_byte[states[:, :going], letters[:going, column]]
    following = np.empty_like(states)
    following[:, order] = states
    blocked = np.repeat((following == _FOUND)[None], 2, axis=0)
    blocked[1] |= ends[following]
    blocked[:, :, END] = ends
    return following, blocked


def _forms(text: str) -> set[str]:
    """The same text with its accents as characters of their own, or not."""
    return {unicodedata.normalize(form, text.strip().replace("\n", " ")) for form in ("NFC", "NFD")}


@dataclass(frozen=True)
class _State:
    """What an output ends in."""

    matches: frozenset[tuple[str, int]] = frozenset()
    """Texts and how many of their characters have come; all of them, where the next character decides."""
    in_word: bool = False
    """After a letter or a digit."""
    rest: bytes = b""
    """Bytes of a character that is not complete."""


def _automaton(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """The states' steps by byte, [states, 256] int16; and in which states an output may not end."""
    walk = _Walk(texts)
    numbers: dict[_State | None, int] = {_State(): _START, None: _FOUND}
    rows: list[list[int]] = []
    while len(rows) < len(numbers):
        state = list(numbers)[len(rows)]
        after = [None if state is None else walk.after_byte(state, byte) for byte in range(256)]
        rows.append([numbers.setdefault(found, len(numbers)) for found in after])
    return np.array(rows, np.int16), np.array([state is None or walk.found_at_end(state) for state in numbers])


class _Walk:
    """Steps of the automaton for some texts; None is the state in which one has been found."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._alphabet = frozenset("".join(texts))
        self._beginnings = {letter.encode()[:size] for letter in self._alphabet for size in (1, 2, 3)}
        self._alike: dict[tuple[int, bool, int], bytes] = {}
        # Of characters that no text holds only their kind matters, so there are few different steps.
        self._after = functools.cache(self._after_kinds)

    def after_byte(self, state: _State, byte: int) -> _State | None:
        data = state.rest + bytes([byte])
        characters, used = codecs.utf_8_decode(data, "replace", False)
        after = self._after(state, self._kinds(characters))
        return self._simplest(after, data[used:]) if after and used < len(data) else after

    def _kinds(self, characters: str) -> tuple[str | bool, ...]:
        letters = _letters()
        return tuple(one if one in self._alphabet else bool(letters[ord(one)]) for one in characters)

    def found_at_end(self, state: _State) -> bool:
        after = self._after(state, self._kinds("\N{REPLACEMENT CHARACTER}" if state.rest else ""))
        return after is None or any(count == len(text) for text, count in after.matches)

    def _after_kinds(self, state: _State, kinds: tuple[str | bool, ...]) -> _State | None:
        """The state after characters, each a character of the texts, or whether another one is a letter."""
        matches, in_word = state.matches, state.in_word
        for kind in kinds:
            letter = kind if isinstance(kind, bool) else bool(_letters()[ord(kind)])
            if not letter and any(count == len(text) for text, count in matches):
                return None
            longer = {(text, count + 1) for text, count in matches if text[count : count + 1] == kind}
            longer |= {(text, 1) for text in self._texts if text[0] == kind and not (in_word and letter)}
            if any(count == len(text) and not letter for text, count in longer):
                return None
            matches, in_word = frozenset(longer), letter
        return _State(matches, in_word)

    def _simplest(self, state: _State, rest: bytes) -> _State:
        """A state with these bytes of a character that goes on as all like it do."""
        if rest in self._beginnings:
            return _State(state.matches, state.in_word, rest)
        waiting = sorted((text, count) for text, count in state.matches if count == len(text))
        kind = _kind(rest)
        return _State(frozenset(waiting[:1]), False, rest if kind is None else self._alike.setdefault(kind, rest))


@functools.cache
def _kind(rest: bytes) -> tuple[int, bool, int] | None:
    """What all characters that begin with these bytes have in common; None where only some of them are letters."""
    size = 2 if rest[0] < 0xE0 else 3 if rest[0] < 0xF0 else 4
    missing = size - len(rest)
    first = rest[0] & (0xFF >> (size + 1))
    for byte in rest[1:]:
        first = first << 6 | byte & 0x3F
    low, high = first << 6 * missing, (first + 1) << 6 * missing
    high = 0xD800 if rest == b"\xed" else min(high, 0x110000)
    letters = _letters()[max(low, {2: 0x80, 3: 0x800, 4: 0x10000}[size]) : high]
    if letters.any() and not letters.all():
        return None
    # After these first bytes not every second byte makes a character.
    special = rest[0] if len(rest) == 1 and rest[0] in (0xE0, 0xED, 0xF0, 0xF4) else 0
    return missing, bool(letters[0]), special


@functools.cache
def _letters() -> np.ndarray:
    """For each code point whether it makes one word with its neighbours."""
    letters = np.ones(0x110000, bool)
    letters[[0x20, ord("\N{REPLACEMENT CHARACTER}")]] = False
    for first, last in (*SYMBOLS, *_WITHOUT_SPACES):
        letters[first : last + 1] = False
    letters[ord("_")] = True
    return letters
