"""A vocabulary of whole symbols, all of them known: what a target is made of that is no text, such as the labels of
trees. A line is symbols with a space between any two. It does what `Subwords` does, and its file has the same name.
"""

from __future__ import annotations

import json
import types
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from heedful.errors import SubwordError
from heedful.files import read_json, read_small, require_format
from heedful.symbols import CONTROL_TOKENS
from heedful.text.subwords import FILE_NAME, SavedVocabulary, Subwords

_FORMAT, _VERSION = "heedful symbols", 1
_UNKNOWN = "<unknown>"
_MOST = 1 << 16


class ClosedVocabulary(SavedVocabulary):
    """Symbols and their ids. Validation text may hold others: they are one id, which no output has."""

    dtype = np.uint16
    id_bytes: Sequence[bytes] = ()
    """None: whatever symbols a search puts side by side are text."""
    tags: Mapping[str, int] = types.MappingProxyType({})

    def __init__(self, symbols: Iterable[str]) -> None:
        self.symbols = sorted(set(symbols))
        self.tokens = [*CONTROL_TOKENS, _UNKNOWN, *self.symbols]
        """The name of each id."""
        if len(self.tokens) > _MOST:
            raise SubwordError(f"{len(self.symbols):,} symbols are no closed vocabulary: at most {_MOST:,} can be had")
        self.vocab_size = len(self.tokens)
        value = {"format": _FORMAT, "format_version": _VERSION, "symbols": self.symbols}
        self.file_text = json.dumps(value, ensure_ascii=False, indent=1) + "\n"
        self._ids = {symbol: len(CONTROL_TOKENS) + 1 + place for place, symbol in enumerate(self.symbols)}

    @classmethod
    def of_lines(cls, lines: Iterable[str]) -> ClosedVocabulary:
        """The symbols of some lines."""
        return cls(symbol for line in lines for symbol in line.split())

    def encode(self, lines: Sequence[str]) -> list[np.ndarray]:
        """The ids of each line, int32, without control ids."""
        unknown = len(CONTROL_TOKENS)
        return [np.array([self._ids.get(symbol, unknown) for symbol in line.split()], np.int32) for line in lines]

    def encode_raw(self, lines: Sequence[str]) -> list[bytes]:
        """The ids of each line as the bytes of a `dtype` array."""
        return [ids.astype(self.dtype).tobytes() for ids in self.encode(lines)]

    def decode(self, ids: Iterable[int]) -> str:
        """The symbols of the ids; control ids are left out."""
        return " ".join(self.pieces([id_ for id_ in ids if id_ >= len(CONTROL_TOKENS)]))

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Each id as readable text."""
        return [self.tokens[int(id_)] for id_ in ids]


Vocabulary = Subwords | ClosedVocabulary


def load_vocabulary(folder: Path) -> Vocabulary:
    """The vocabulary that was saved into the folder, of either kind."""
    path = Path(folder) / FILE_NAME
    try:
        data = read_small(path)
    except OSError:
        data = b""
    if _FORMAT.encode() not in data[: 2 * len(_FORMAT)]:
        return Subwords.load(folder)  # which says what is wrong
    value = read_json(path, error=SubwordError)
    require_format(value, path, name=_FORMAT, version=_VERSION, error=SubwordError)
    symbols = value.get("symbols")
    if not isinstance(symbols, list) or not all(isinstance(one, str) and len(one.split()) == 1 for one in symbols):
        raise SubwordError(f"{path} is damaged: its symbols are not a list of texts without spaces")
    return ClosedVocabulary(symbols)
