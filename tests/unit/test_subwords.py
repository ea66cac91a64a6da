"""The door between text and ids: lossless, repeatable, and never a control id out of text."""

from __future__ import annotations

import ctypes
import itertools
import json
import os
import subprocess
import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from tests.mutations import EXAMPLES, require_clear_errors
from tokenizers import Tokenizer, models

from heedful.errors import SubwordError
from heedful.text import subwords as module
from heedful.text.subwords import SMALLEST_VOCABULARY, Subwords, sensible_vocab_size

LINES = [
    "The house is small, and the garden is smaller.",
    "Das Haus ist klein, und der Garten ist kleiner.",
    "house house house",
    "Häuser kosten 250 000 € oder mehr …",
    "an end </s> in the text",
] * 20
HOSTILE = [
    "",
    " ",
    "  a",
    "a  ",
    "\t",
    "</s>",
    "<pad><s></s>",
    "a\x00b",
    "日本語",
    "👩‍👩‍👧",
    "\u2028\u0085",
    "e\u0301",
    "x" * 5000,
]


@pytest.fixture(scope="module")
def subwords() -> Subwords:
    return Subwords.train(LINES, vocab_size=400)


def test_decoding_gives_the_line_back_in_nfc(subwords: Subwords) -> None:
    for line, ids in zip(HOSTILE + LINES, subwords.encode(HOSTILE + LINES), strict=True):
        assert subwords.decode(ids) == unicodedata.normalize("NFC", line)


def test_text_never_becomes_a_control_id(subwords: Subwords) -> None:
    for ids in subwords.encode(["</s>", "<pad> <s> </s>", "a</s>b", *LINES]):
        assert ids.min() > 2


def test_a_word_is_the_same_subword_at_the_start_and_inside(subwords: Subwords) -> None:
    first, inside = subwords.encode(["house", "house house"])
    assert inside.tolist() == first.tolist() * 2
    assert subwords.pieces(first) == [" house"]


def test_ids_are_those_of_the_saved_file_read_by_tokenizers_alone(subwords: Subwords, tmp_path: Path) -> None:
    other = Tokenizer.from_file(str(subwords.save(tmp_path)))
    other.encode_special_tokens = True
    for line, ids in zip(HOSTILE + LINES, subwords.encode(HOSTILE + LINES), strict=True):
        assert other.encode(line, add_special_tokens=False).ids == ids.tolist()


def test_a_loaded_vocabulary_is_the_saved_one(subwords: Subwords, tmp_path: Path) -> None:
    subwords.save(tmp_path)
    loaded = Subwords.load(tmp_path)
    assert loaded.sha256 == subwords.sha256
    assert [ids.tolist() for ids in loaded.encode(HOSTILE)] == [ids.tolist() for ids in subwords.encode(HOSTILE)]


def test_forgetting_cached_words_changes_nothing(subwords: Subwords, monkeypatch: pytest.MonkeyPatch) -> None:
    before = [ids.tolist() for ids in subwords.encode(LINES)]
    monkeypatch.setattr(module, "CACHED_WORDS", 0)
    assert [ids.tolist() for ids in subwords.encode(LINES)] == before


class _Mallinfo2(ctypes.Structure):
    _fields_ = [(f"field_{number}", ctypes.c_size_t) for number in range(10)]


def _bytes_of_c() -> int:
    """What the C library has given out: Python's own count does not know of what `tokenizers` keeps."""
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "mallinfo2"):
        pytest.skip("only glibc 2.33 and later counts what it gave out")
    libc.mallinfo2.restype = _Mallinfo2
    return libc.mallinfo2().field_7  # uordblks: in use, all arenas together


def test_words_that_are_forgotten_take_no_memory_in_a_thread(
    subwords: Subwords, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subwords, "cached_words", 10)
    words = ["".join(letters) for letters in itertools.islice(itertools.product("abcdefghij", repeat=4), 5000)]
    with ThreadPoolExecutor(1) as thread:
        thread.submit(subwords.encode, words[:100]).result()
        before = _bytes_of_c()
        for word in words[100:]:
            thread.submit(subwords.encode, [word]).result()
        kept = _bytes_of_c() - before
    assert kept < 10 * len(words), f"{kept / len(words):.0f} bytes of each word are kept"


@pytest.mark.parametrize("threads", ["1", "2", "5"])
def test_the_vocabulary_is_the_same_to_the_byte_whatever_the_number_of_threads(threads: str, tmp_path: Path) -> None:
    code = (
        "import random; from heedful.text.subwords import Subwords\n"
        "r = random.Random(1); words = [''.join(r.choices('abcdeöß', k=r.randint(1, 9))) for _ in range(3000)]\n"
        "lines = [' '.join(r.choices(words, k=9)) for _ in range(4000)]\n"
        "print(Subwords.train(lines, vocab_size=900).sha256)"
    )
    environment = os.environ | {"RAYON_NUM_THREADS": threads, "TOKENIZERS_PARALLELISM": "true"}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    # Made by this code with one thread; `tokenizers` writes what it learned into the file that is hashed.
    environment["RAYON_NUM_THREADS"] = "1"
    other = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout == other.stdout


def test_pieces_are_readable_and_show_parts_of_characters_as_bytes(subwords: Subwords) -> None:
    (ids,) = subwords.encode(["house 語"])
    assert subwords.pieces(ids) == [" house", " ", "⟨e8⟩", "⟨aa⟩", "⟨9e⟩"]
    assert subwords.pieces([0, 1, 2]) == ["<pad>", "<s>", "</s>"]
    assert subwords.decode([1, *ids.tolist(), 2, 0, 0]) == "house 語"


def test_a_model_may_say_half_a_character(subwords: Subwords) -> None:
    (ids,) = subwords.encode(["語"])
    assert subwords.decode(ids[:-1]) == "�"


def test_lone_surrogates_are_refused(subwords: Subwords) -> None:
    with pytest.raises(SubwordError, match=r"lone surrogate '\\udc80'"):
        subwords.encode(["a \udc80"])


def test_the_smallest_vocabulary_writes_every_text() -> None:
    bytes_only = Subwords.train([], vocab_size=SMALLEST_VOCABULARY)
    assert bytes_only.vocab_size == SMALLEST_VOCABULARY
    assert [bytes_only.decode(ids) for ids in bytes_only.encode(LINES)] == LINES
    with pytest.raises(SubwordError, match=r"a vocabulary of 258 subwords is too small: .* need 259"):
        Subwords.train([], vocab_size=258)


def test_a_small_text_gets_the_subwords_it_has() -> None:
    assert Subwords.train(["ab ab"], vocab_size=5000).vocab_size == SMALLEST_VOCABULARY + 2


def test_small_corpora_get_small_vocabularies() -> None:
    assert sensible_vocab_size(0, at_most=37_000) == 300
    assert sensible_vocab_size(10**10, at_most=37_000) == 37_000
    sizes = [sensible_vocab_size(10**power, at_most=37_000) for power in range(10)]
    assert sizes == sorted(sizes)


def test_ids_are_stored_in_the_smallest_type(subwords: Subwords) -> None:
    assert subwords.dtype is np.uint16
    assert [len(raw) // 2 for raw in subwords.encode_raw(LINES)] == [len(ids) for ids in subwords.encode(LINES)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no subword vocabulary in"),
        ("{", "is not a tokenizer file"),
        (
            Tokenizer(models.WordLevel({"a": 0}, unk_token="a")).to_str(),
            "is not a vocabulary that heedful made: its model",
        ),
        (Tokenizer(models.BPE()).to_str(), "256 of the 256 bytes have no subword"),
    ],
)
def test_a_file_that_is_not_our_vocabulary_is_refused(tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(SubwordError, match=message):
        Subwords.load(tmp_path)


def test_control_symbols_at_other_ids_are_refused(subwords: Subwords, tmp_path: Path) -> None:
    path = subwords.save(tmp_path)
    description = json.loads(path.read_text())
    description["added_tokens"].pop()
    path.write_text(json.dumps(description))
    with pytest.raises(SubwordError, match="ids 0, 1, 2 are not <pad>, <s>, </s>"):
        Subwords.load(tmp_path)


CHANGES = {
    "dropout": (lambda file: file["model"].update(dropout=0.5), "its model has other settings"),
    "an expression without end": (
        lambda file: file["pre_tokenizer"]["pretokenizers"][0].update(pattern={"Regex": "(a+)+$"}),
        "its pre_tokenizer is another",
    ),
    "no space before a line": (lambda file: file.update(normalizer={"type": "NFC"}), "its normalizer is another"),
    "another decoder": (lambda file: file.update(decoder=None), "its decoder is another"),
    "an id out of line": (lambda file: file["model"]["vocab"].update({"a": 100_000}), "its ids are not the numbers"),
    "an id twice": (lambda file: file["model"]["vocab"].update({"a": 68}), "heedful made|is not a tokenizer file"),
    "a subword of no bytes": (
        lambda file: file["model"]["vocab"].update({"漢": len(file["model"]["vocab"])}),
        "some of its subwords are not made of bytes",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_pipeline_is_refused(subwords: Subwords, tmp_path: Path, change: str) -> None:
    path = subwords.save(tmp_path)
    description = json.loads(path.read_text())
    make, message = CHANGES[change]
    make(description)
    path.write_text(json.dumps(description))
    with pytest.raises(SubwordError, match=message):
        Subwords.load(tmp_path)


@pytest.mark.parametrize("examples", EXAMPLES)
def test_a_mutated_vocabulary_is_read_or_refused(tmp_path: Path, examples: int) -> None:
    path = Subwords.train(["the dog and the cat and the dog"] * 5, vocab_size=270).save(tmp_path)

    def read(spoiled: bytes) -> None:
        path.write_bytes(spoiled)
        found = Subwords.load(tmp_path)
        assert found.decode(found.encode(["the dog <s>"])[0]) == "the dog <s>"
        found.pieces(range(found.vocab_size))
        assert found.merges.keys()

    require_clear_errors(path.read_bytes(), read, examples=examples)
