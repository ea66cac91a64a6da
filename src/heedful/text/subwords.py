"""Byte-level BPE: the only door between text and ids (section 5.1).

The pipeline is saved with the vocabulary: NFC, one space before the line (so that a word is the same subword at the
start of a sentence and inside it), the cut into words, bytes. ``decode(encode(line)) == line`` for every line in NFC.

The BPE itself is Hugging Face's `tokenizers`, and its file is all that is saved. Encoding looks each word up in a
cache and asks the BPE only for new words: text repeats its words, so this is many times faster than encoding lines,
and a test holds that both give the same ids. This module does not know of files of text, batches or models.

A word is an optional space and a run of letters, of digits, or of anything else; subwords never reach across words. The
classes are spelled out as code points, not taken from a Unicode database: databases differ between versions of Python
and of Rust libraries, and the same text must become the same subwords for as long as a model lives.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from heedful.errors import SubwordError
from heedful.files import json_value, read_small, reason, write_file
from heedful.symbols import CONTROL_TOKENS

FILE_NAME = "tokenizer.json"
SMALLEST_VOCABULARY = len(CONTROL_TOKENS) + 256
"""The control ids and one subword for each byte: with these alone every text can be written."""
CACHED_WORDS = 1 << 21
"""Words remembered, about 400 MiB; then all are forgotten, and the frequent ones are soon back."""
_LONGEST_CACHED = 64
_MEGABYTES, _SUBWORDS, _GROWTH = 4.0, 5000, 0.35
"""Text of so many megabytes gets so many subwords, and other text in proportion to this power of its size."""
_TAG = re.compile(r"<[a-z][a-z0-9-]{0,15}>")
_LEARNED = {"version", "added_tokens", "model", "vocab", "merges"}
"""What may differ between the files of two vocabularies."""


def _ranges(text: str) -> tuple[tuple[int, int], ...]:
    """The first and the last code point of each range, out of their hexadecimal numbers."""
    return tuple((int(first, 16), int(last, 16)) for first, last in (part.split("-") for part in text.split()))


# ASCII, Arabic-Indic, extended Arabic-Indic, Devanagari, Bengali, full width
_DIGITS = _ranges("30-39 660-669 6F0-6F9 966-96F 9E6-9EF FF10-FF19")
SYMBOLS = _ranges(
    "00-1F 21-2F 3A-40 5B-60 7B-A9 AB-B4 B6-B9 BB-BF D7-D7 F7-F7 "  # controls, tab and line ends among them; Latin-1
    "55A-55F 589-58A 5BE-5BE 5F3-5F4 60C-60D 61B-61F 66A-66D 6D4-6D4 "  # Armenian, Hebrew, Arabic
    "964-965 E3F-E3F 1361-1368 17D4-17DB "  # danda, baht, Ethiopic, Khmer
    "2000-200B "  # spaces; the joiners after them belong to words
    "200E-2BFF 2E00-2E7F "  # punctuation, currency, arrows, mathematics, boxes, dingbats
    "3000-3004 3008-3020 3030-303F 30FB-30FB "  # CJK punctuation, without the iteration mark and the zero
    "E000-F8FF FE10-FE1F FE30-FE6F "  # private use, forms for vertical text and small ones
    "FEFF-FF0F FF1A-FF20 FF3B-FF40 FF5B-FF65 FFE0-FFFF "  # byte order mark, full-width punctuation
    "1F000-1FAFF"  # emoji and other pictures
)


def sensible_vocab_size(text_bytes: int, *, at_most: int) -> int:
    """The size for a corpus of so many bytes when nobody asked for one: `at_most`, and less where text is scarce.

    A subword seen a handful of times is a vector that is never trained, and each one makes every step slower. The law
    leads from the 5,000 that suit 29,000 captions to the 37,000 of the paper's 4.5 million pairs, 1.3 GB of text.

    >>> [sensible_vocab_size(size * 10**6, at_most=37_000) for size in (1, 4, 12, 100, 1300)]
    [3000, 5000, 7300, 15400, 37000]
    """
    size = int(_SUBWORDS * (text_bytes / 1e6 / _MEGABYTES) ** _GROWTH)
    return min(at_most, max(size // 100 * 100, SMALLEST_VOCABULARY + 41))


class SavedVocabulary:
    """A vocabulary that is one file of text; that of `Subwords` Hugging Face's `tokenizers` reads too."""

    file_text: str
    """What `save` writes."""

    def save(self, folder: Path) -> Path:
        """Write the vocabulary into the folder and return its file."""
        return write_file(Path(folder) / FILE_NAME, self.file_text.encode(), error=SubwordError)

    @property
    def sha256(self) -> str:
        """What the saved file hashes to: two vocabularies are the same when these are."""
        return hashlib.sha256(self.file_text.encode()).hexdigest()


class Subwords(SavedVocabulary):
    """A vocabulary of subwords with its text pipeline."""

    def __init__(self, tokenizer: Tokenizer, *, where: str = "tokenizer") -> None:
        self.file_text = tokenizer.to_str()
        description = json.loads(self.file_text)
        _require_ours(description, where, size=tokenizer.get_vocab_size())
        # Not saved by `tokenizers`: without it the text "</s>" would become the control token.
        tokenizer.encode_special_tokens = True
        self._words = re.compile(description["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"]).findall
        vocabulary = tokenizer.get_vocab()
        self.vocab_size = len(vocabulary)
        self.dtype: type[np.uint16] | type[np.uint32] = np.uint16 if self.vocab_size <= 1 << 16 else np.uint32
        """The smallest type that holds every id; how ids are stored."""
        self.tokens = sorted(vocabulary, key=vocabulary.__getitem__)
        """The name of each id in the saved file, control symbols included; what other engines call a subword."""
        self.tags = {token["content"]: token["id"] for token in description["added_tokens"][len(CONTROL_TOKENS) :]}
        """The ids, the last of all, that say of a source where it comes from. Text that reads like one stays text."""
        byte_of = {symbol: byte for byte, symbol in enumerate(_byte_symbols())}
        self.byte_ids = [vocabulary[symbol] for symbol in byte_of]
        """The id of each byte."""
        learned = self.tokens[len(CONTROL_TOKENS) : self.vocab_size - len(self.tags)]
        spelled = [bytes(map(byte_of.__getitem__, token)) for token in learned]
        self.id_bytes = [b""] * len(CONTROL_TOKENS) + spelled + [b""] * len(self.tags)
        """The bytes that each id spells; those of control ids and tags are none."""
        self._cache = _WordCache(tokenizer.model, self.dtype)
        self.cached_words = CACHED_WORDS
        """After so many words those that were seen are forgotten; who runs for months on others' text wants fewer."""

    @classmethod
    def train(cls, lines: Iterable[str], *, vocab_size: int) -> Subwords:
        """A vocabulary of at most `vocab_size`, learned from the lines; fewer where no two subwords meet twice.

        The same lines give the same file to the byte, whatever the number of threads.
        """
        if vocab_size < SMALLEST_VOCABULARY:
            needed = f"256 bytes and {len(CONTROL_TOKENS)} control symbols need {SMALLEST_VOCABULARY}"
            raise SubwordError(f"a vocabulary of {vocab_size} subwords is too small: {needed}")
        tokenizer = _untrained()
        # The fixed alphabet, because a learned one (limit_alphabet) is not the same from run to run.
        trainer = trainers.BpeTrainer(
            vocab_size=vocab_size,
            min_frequency=2,
            special_tokens=list(CONTROL_TOKENS),
            initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
            show_progress=False,
        )
        lines = iter(lines)
        batches = iter(lambda: list(itertools.islice(lines, 4096)), [])  # much faster than single lines
        tokenizer.train_from_iterator(batches, trainer=trainer)
        return cls(tokenizer)

    def with_tags(self, names: Iterable[str]) -> Subwords:
        """The same vocabulary with these tags, ``bt`` as <bt>, behind all other ids; those it has already stay."""
        missing = [tag for tag in dict.fromkeys(map(tag_of, names)) if tag not in self.tags]
        if not missing:
            return self
        tokenizer = Tokenizer.from_str(self.file_text)
        tokenizer.add_special_tokens([AddedToken(tag, special=True, normalized=False) for tag in missing])
        return Subwords(tokenizer)

    @classmethod
    def load(cls, folder: Path) -> Subwords:
        """The vocabulary that `save` wrote into the folder."""
        path = Path(folder) / FILE_NAME
        try:
            data = read_small(path)
        except (FileNotFoundError, NotADirectoryError):
            raise SubwordError(f"there is no subword vocabulary in {folder}: {FILE_NAME} is missing") from None
        except OSError as error:
            raise SubwordError(f"{path} cannot be read: {reason(error)}") from None
        try:
            text = data.decode("utf-8")
            _require_known_settings(json_value(text), str(path))
            tokenizer = Tokenizer.from_str(text)
        except SubwordError:
            raise
        except Exception as error:  # tokenizers raises plain Exception
            raise SubwordError(f"{path} is not a tokenizer file: {error}") from None
        return cls(tokenizer, where=str(path))

    def words(self, line: str) -> list[str]:
        """The words of a line, each with the space before it: what BPE is applied to."""
        return self._words(_pipeline(line))

    @property
    def merges(self) -> dict[tuple[int, int], tuple[int, int]]:
        """The pairs of ids that BPE merges, each with its rank (lowest first) and the id that comes out."""
        model = json.loads(self.file_text)["model"]
        ids = model["vocab"]
        return {(ids[a], ids[b]): (rank, ids[a + b]) for rank, (a, b) in enumerate(model["merges"])}

    def encode(self, lines: Sequence[str]) -> list[np.ndarray]:
        """The ids of each line, int32, without control ids."""
        return [np.frombuffer(ids, self.dtype).astype(np.int32) for ids in self.encode_raw(lines)]

    def encode_raw(self, lines: Sequence[str]) -> list[bytes]:
        """The ids of each line as the bytes of a `dtype` array: what storage wants, made without Python numbers."""
        if len(self._cache) > self.cached_words:
            self._cache.clear()
        words, ids_of = self._words, self._cache.__getitem__
        try:
            return [b"".join(map(ids_of, words(_pipeline(line)))) for line in lines]
        except UnicodeEncodeError as error:
            problem = f"text holds the lone surrogate {error.object[error.start]!a}"
            raise SubwordError(f"{problem}, which is no character and cannot be written as UTF-8") from None

    def decode(self, ids: Iterable[int]) -> str:
        """The text of the ids; control ids are left out, bytes that are no UTF-8 become U+FFFD."""
        text = b"".join([self.id_bytes[id_] for id_ in ids]).decode("utf-8", errors="replace")
        return text[1:] if text.startswith(" ") else text

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Each id as readable text, for pictures: a leading space stays, control ids and tags show their names.

        A subword that holds only part of a character shows those bytes in hexadecimal: ``⟨e2 82⟩``.
        """
        return [_readable(self.id_bytes[id_]) or self.tokens[id_] for id_ in map(int, ids)]

    def spans(self, ids: Iterable[int]) -> list[tuple[int, int]]:
        """Where each of the ids that `encode` gave stands in the line: its first character and the one after its last.

        A subword that holds only part of a character covers it. The space before the line is not part of it.
        """
        pieces = [self.id_bytes[int(id_)] for id_ in ids]
        begins = np.frombuffer(b"".join(pieces), np.uint8) & 0xC0 != 0x80  # UTF-8 marks bytes that go on a character
        # For each byte, and for the end, the number of characters begun before it.
        begun = np.concatenate([[0], np.cumsum(begins)]) - 1
        ends = np.cumsum([0, *map(len, pieces)])
        return [
            (max(0, int(begun[first + 1]) - 1), max(0, int(begun[after])))
            for first, after in itertools.pairwise(ends.tolist())
        ]


def tag_of(name: str) -> str:
    """How a tag of this name is written; no subword is written so, since < and letters are never in one word.

    >>> tag_of("bt")
    '<bt>'
    """
    tag = f"<{name}>"
    if _TAG.fullmatch(tag) is None or tag in CONTROL_TOKENS:
        raise SubwordError(
            f"{name!r:.40} cannot name a tag: must be up to 16 of a-z, 0-9 and -, a letter first, as in bt"
        )
    return tag


def _readable(piece: bytes) -> str:
    shown = piece.decode("utf-8", errors="surrogateescape")  # which marks the bytes that are parts, and only them
    return re.sub(r"[\udc80-\udcff]+", lambda part: f"⟨{part[0].encode('utf-8', 'surrogateescape').hex(' ')}⟩", shown)


def _pipeline(line: str) -> str:
    # What the saved normalizer does, in the same order; tokenizers leaves an empty line empty.
    if line.isascii():
        return " " + line if line else line
    return " " + unicodedata.normalize("NFC", line)


class _WordCache(dict[str, bytes]):
    """word → the bytes of its ids; a word that is not there yet is given to the BPE."""

    def __init__(self, bpe: models.Model, dtype: type[np.uint16] | type[np.uint32]) -> None:
        super().__init__()
        self._bpe, self._dtype = bpe, dtype
        # It would remember 10,000 words more, and as many in each thread that asks, for nothing: none is asked twice.
        bpe._resize_cache(0)  # pyright: ignore[reportAttributeAccessIssue]
        self._symbols = dict(enumerate(_byte_symbols()))

    def __missing__(self, word: str) -> bytes:
        symbols = word.encode("utf-8").decode("latin-1").translate(self._symbols)
        ids = np.array([token.id for token in self._bpe.tokenize(symbols)], self._dtype).tobytes()
        if len(word) <= _LONGEST_CACHED:  # longer ones hardly come again, and a few would fill the memory
            self[word] = ids
        return ids


def _byte_symbols() -> list[str]:
    """The visible character that stands for each byte in a byte-level vocabulary (GPT-2's table)."""
    visible = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    hidden = iter(range(256))
    return [chr(byte) if byte in visible else chr(256 + next(hidden)) for byte in range(256)]


def _word_pattern() -> str:
    """The regular expression that cuts a line into words; it means the same to Python and to `tokenizers`.

    Every character falls into exactly one of its classes, so the words of a line joined are the line.

    >>> re.findall(_word_pattern(), " Zwei Häuser, 37000  Mal!")
    [' Zwei', ' Häuser', ',', ' 37000', ' ', ' Mal', '!']
    """
    digits, symbols = (
        "".join(f"{_escaped(first)}-{_escaped(last)}" for first, last in ranges) for ranges in (_DIGITS, SYMBOLS)
    )
    return f" ?[^ {digits}{symbols}]+| ?[{digits}]+| ?[{symbols}]+| +(?= )| +"


def _escaped(code: int) -> str:
    # \\x{...} is not Python's and \\u.... is not Rust's; the characters themselves are everybody's.
    return re.escape(chr(code)) if chr(code) in r"\]^-[" else chr(code)


def _untrained() -> Tokenizer:
    """The pipeline of every vocabulary: all that a saved file holds but for its subwords and their merges."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Prepend(" ")])
    cut = pre_tokenizers.Split(Regex(_word_pattern()), behavior="isolated")
    as_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([cut, as_bytes])
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _require_ours(description: dict, where: str, *, size: int) -> None:
    """A vocabulary made by another program may cut or number differently; using it would be silently wrong."""
    ours = json.loads(_untrained().to_str())
    model, fixed = description["model"], {key: value for key, value in ours["model"].items() if key not in _LEARNED}
    vocabulary, merges = model.get("vocab") or {}, model.get("merges") or []
    added = [(token["id"], token["content"]) for token in description.get("added_tokens", [])]
    control, tags = added[: len(CONTROL_TOKENS)], added[len(CONTROL_TOKENS) :]
    symbols = _byte_symbols()
    missing = [symbol for symbol in symbols if symbol not in vocabulary]
    text = "".join(vocabulary.keys() - {*CONTROL_TOKENS})
    problems = {
        "its model is not BPE": model.get("type") != "BPE",
        f"ids 0, 1, 2 are not {', '.join(CONTROL_TOKENS)}": control != list(enumerate(CONTROL_TOKENS)),
        f"{len(missing)} of the 256 bytes have no subword": bool(missing),
        "some of its subwords are not made of bytes": not set(symbols).issuperset(text),
        "its ids are not the numbers from 0 on": sorted(vocabulary.values()) != list(range(size - len(tags))),
        "its tags are not the last ids": [id_ for id_, _ in tags] != list(range(len(vocabulary), size)),
        "its tags are not like <bt>": not all(_TAG.fullmatch(tag) and tag not in CONTROL_TOKENS for _, tag in tags),
        "some of its merges make no subword": not all("".join(merge) in vocabulary for merge in merges),
        "its model has other settings": any(model.get(key) != value for key, value in fixed.items()),
        **{f"its {key} is another": description.get(key) != ours[key] for key in ours if key not in _LEARNED},
    }
    if any(problems.values()):
        found = "; ".join(problem for problem, found in problems.items() if found)
        raise SubwordError(f"{where} is not a vocabulary that heedful made: {found}")


def _require_known_settings(file: Any, where: str) -> None:
    """Settings of the model that `tokenizers` may not survive are found before it sees them."""
    model = file.get("model") if isinstance(file, dict) else None
    fixed = json.loads(_untrained().to_str())["model"]
    if isinstance(model, dict) and any(model[key] != fixed[key] for key in (model.keys() & fixed) - _LEARNED):
        raise SubwordError(f"{where} is not a vocabulary that heedful made: its model has other settings")
