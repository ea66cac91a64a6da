"""Greedy search with drafts gives what greedy search gives, whatever is guessed: words, and their log-probability."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from tests.parity.test_search_with_models import SHAPES, VOCAB, small_model, some_sources
from torch import Tensor

from heedful.errors import SearchError
from heedful.model.transformer import Transformer
from heedful.search.cached_decoder import CachedDecoder
from heedful.search.drafts import CopyDrafter, Drafter
from heedful.search.engine import Sentence
from heedful.search.model_search import ModelSearch
from heedful.search.options import SearchOptions
from heedful.symbols import END, PAD, START

Guess = Callable[[list[int], int], int]
"""The id that is guessed for a place of the output, given what greedy search says."""
GUESSES: dict[str, Callable[[np.random.Generator], Guess]] = {
    "random": lambda rng: lambda _, __: int(rng.integers(0, VOCAB)),
    "right": lambda rng: lambda words, place: words[place] if place < len(words) else int(rng.integers(0, VOCAB)),
    "right at times": lambda rng: lambda words, place: words[place] if rng.random() < 0.6 and place < len(words) else 5,
    "right but for the first": lambda _: lambda words, place: words[place] if place % 3 and place < len(words) else 4,
    "ends": lambda _: lambda _, __: END,
    "no words": lambda _: lambda _, place: (PAD, START)[place % 2],
    "never an end": lambda _: lambda words, place: words[place] if place < len(words) - 1 else 6,
}


class Scripted:
    """A drafter that knows what greedy search says, and guesses by a rule."""

    def __init__(self, truth: dict[bytes, list[int]], drafts: int, guess: Guess) -> None:
        self._truth, self._drafts, self._guess = truth, drafts, guess
        self._sources: dict[int, bytes] = {}

    def place(self, slots: Tensor, sources: Sequence[np.ndarray]) -> None:
        self._sources |= {slot: source.tobytes() for slot, source in zip(slots.tolist(), sources, strict=True)}

    def propose(self, words_BT: Tensor, length_B: Tensor, added_B: Tensor) -> Tensor:
        assert ((added_B >= 0) & (added_B <= self._drafts + 1)).all()
        rows = [
            [self._guess(self._truth[self._sources[slot]], length + k) for k in range(self._drafts)]
            for slot, length in enumerate(length_B.tolist())
        ]
        return torch.tensor(rows)

    def move(self, slot: int, to: int) -> None:
        self._sources[to] = self._sources[slot]


class Search(ModelSearch):
    """Drafts come from whom a test says."""

    drafter: Drafter | None = None

    def _drafter(self, options: SearchOptions, decoder: CachedDecoder) -> Drafter | None:
        return self.drafter if options.drafts else None


Outputs = list[tuple[list[int], float]]


def outputs(search: ModelSearch, sentences: Sequence[Sentence], options: SearchOptions) -> Outputs:
    found = {s.number: h for s, h in search.search(sentences, options)}
    assert all(len(hypotheses) <= 1 for hypotheses in found.values())
    best = [found[sentence.number][:1] for sentence in sentences]
    return [(one[0].ids.tolist(), one[0].log_probability) if one else ([], np.nan) for one in best]


def require_same(drafted: Outputs, plain: Outputs) -> None:
    assert [words for words, _ in drafted] == [words for words, _ in plain]
    expected = [value for _, value in plain]
    assert [value for _, value in drafted] == pytest.approx(expected, abs=1e-10, nan_ok=True)


def with_every_guess(
    models: Sequence[Transformer],
    sentences: Sequence[Sentence],
    options: SearchOptions,
    *,
    subwords: Sequence[bytes] = (),
    seed: int = 0,
) -> Outputs:
    """The outputs, once they were the same with every rule of guessing, several drafts and several sizes of batch."""
    plain = outputs(ModelSearch(*models, batch_size=4, subwords=subwords), sentences, options)
    truth = {s.source.tobytes(): [*words, END] for s, (words, _) in zip(sentences, plain, strict=True)}
    for number, rule in enumerate(GUESSES.values()):
        rng = np.random.default_rng([seed, number])
        drafts = int(rng.integers(1, 5))
        search = Search(*models, batch_size=int(rng.integers(1, 6)), subwords=subwords)
        search.drafter = Scripted(truth, drafts, rule(rng))
        require_same(outputs(search, sentences, replace(options, drafts=drafts)), plain)
    return plain


def numbered(sources: Sequence[np.ndarray], **others: Any) -> list[Sentence]:
    """Sentences that differ, so that a drafter can tell them apart."""
    different = {source.tobytes(): source for source in sources}
    return [Sentence(number, source, **others) for number, source in enumerate(different.values())]


def spelled() -> list[bytes]:
    """What 24 ids spell: control ids, letters, a space, and pieces of characters."""
    letters, pieces = b"abcdefgh ", b"\xc3\xa4\xe2\x82\xac"
    longer = [b"ab", b"a\xc3", b"\xa4b", b"ca", b"da", b"ba", b"h "]
    return [b"", b"", b"", *(bytes([one]) for one in letters + pieces), *longer]


CASES = [
    *((name, {"max_extra_length": 12}) for name in SHAPES),
    ("plain", {"min_length": 9, "max_extra_length": 6}),
    ("plain", {"max_length": 1}),
    ("plain", {"max_length": 3}),
    ("restricted", {"max_length": 7, "min_length": 7}),
    ("learned positions", {"max_length": 40}),
]


@pytest.mark.parametrize(("seed", "case"), [*enumerate(CASES)], ids=str)
def test_any_drafts_give_what_greedy_search_gives(seed: int, case: tuple[str, dict[str, Any]]) -> None:
    """Each case with a model, sentences and guesses of its own."""
    name, asked = case
    options = SearchOptions(method="greedy", **asked)
    with_every_guess([small_model(name, seed)], numbered(some_sources(8, seed)), options, seed=seed)


@pytest.mark.parametrize("seed", range(2))
def test_with_a_prefix_forbidden_texts_and_half_characters_too(seed: int) -> None:
    subwords, sources = spelled(), some_sources(7, seed)
    model = small_model(seed=seed)
    options = SearchOptions(method="greedy", max_extra_length=8)
    plain = with_every_guess([model], numbered(sources), options, subwords=subwords, seed=seed)
    texts = [b"".join(subwords[word] for word in words).decode() for words, _ in plain]
    # Forbidden is what the model likes to say.
    liked = tuple({text.strip()[-2:].strip() for text in texts if text.strip()})[:3] or ("ab",)
    forbidding = replace(options, forbidden=(*liked, "a", "\u20ac"))
    with_every_guess([model], numbered(sources), forbidding, subwords=subwords, seed=seed)
    begun = numbered(sources, prefix=(4, 5, 12, 13, 7))
    for words, _ in with_every_guess([model], begun, options, subwords=subwords, seed=seed):
        assert words[:5] == [4, 5, 12, 13, 7]


def test_learned_positions_may_end_anywhere() -> None:
    """Also where their number is no multiple of eight, which is what outputs are rounded up to."""
    for most in (11, 13):
        model = small_model("learned positions")
        config = replace(model.config, max_positions=most)
        cut = Transformer(config, vocab_size=VOCAB).double().eval()
        shorter = {n: v[:most] if "positions" in n else v for n, v in model.state_dict().items()}
        cut.load_state_dict(shorter)
        options = SearchOptions(method="greedy", max_length=30, min_length=30)
        plain = with_every_guess([cut], numbered(some_sources(6, longest=most - 1)), options)
        assert {len(words) for words, _ in plain} == {most - 1}


def test_several_models_together_with_drafts_give_what_they_give_without() -> None:
    models = [small_model(), small_model("restricted", seed=5)]
    with_every_guess(models, numbered(some_sources(7)), SearchOptions(method="greedy", max_extra_length=9))


@pytest.mark.parametrize("name", ["plain", "restricted"])
def test_copies_of_the_source_give_the_same_too(name: str) -> None:
    model, sentences = small_model(name), numbered(some_sources(12))
    options = SearchOptions(method="greedy", max_extra_length=9)
    plain = outputs(ModelSearch(model), sentences, options)
    for drafts in (1, 3, 12):
        for batch_size in (1, 5):
            found = outputs(ModelSearch(model, batch_size=batch_size), sentences, replace(options, drafts=drafts))
            require_same(found, plain)


def test_right_drafts_save_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    steps, read = [], CachedDecoder.read
    monkeypatch.setattr(CachedDecoder, "read", lambda self, *args, **kw: steps.append(1) or read(self, *args, **kw))
    model, options = small_model(), SearchOptions(method="greedy", max_length=12, min_length=12)
    (sentence,) = numbered(some_sources(1))
    ((words, _),) = outputs(ModelSearch(model), [sentence], options)
    assert len(words) == 12
    assert len(steps) == 13
    search = Search(model)
    search.drafter = Scripted(
        {sentence.source.tobytes(): [*words, END, *[PAD] * 3]}, 3, lambda words, place: words[place]
    )
    steps.clear()
    outputs(search, [replace(sentence, prefix=tuple(words[:3]))], replace(options, drafts=3))
    assert len(steps) == 4, "thirteen words, the end included, four at a time"


def test_a_copy_goes_on_after_the_longest_suffix_of_the_output() -> None:
    source = np.array([10, 11, 12, 13, 11, 12, 14, 15])

    def proposed(words: list[int]) -> list[int]:
        drafter = CopyDrafter(2, slots=2, source_positions=9, device=torch.device("cpu"))
        drafter.place(torch.tensor([1]), [source])
        drafter.move(1, 0)
        ids, length = torch.tensor([[START, *words, *[PAD] * 20]]), torch.tensor([len(words)])
        return drafter.propose(ids, length, torch.ones(1)).tolist()[0]

    assert proposed([]) == [10, 11]
    assert proposed([10, 11, 12]) == [13, 11]
    assert proposed([13, 11, 12]) == [14, 15], "a longer suffix is better than a near one"
    assert proposed([20, 21, 20, 21, 12]) == [14, 15], "of equal ones the nearest"
    assert proposed([20, 21, 20]) == [13, 11], "without a match, what stands at the same place"
    assert proposed([13, 11, 12, 14, 15]) == [END, PAD]
    assert proposed([20] * 15) == [PAD, PAD]


@pytest.mark.parametrize("method", ["beam", "sample"])
def test_drafts_are_for_greedy_search_alone(method: str) -> None:
    with pytest.raises(SearchError, match=f"drafts = 2: for greedy search alone, and this is {method} search"):
        SearchOptions(method=method, drafts=2)
    SearchOptions(method=method, drafts=0)


def test_what_cannot_be_copied_is_no_draft() -> None:
    """Ids of a source with a vocabulary of its own are other words."""
    model = small_model("own source vocabulary")
    options = SearchOptions(method="greedy", drafts=2)
    with pytest.raises(SearchError, match="draft heads"):
        outputs(ModelSearch(model), numbered(some_sources(2)), options)
