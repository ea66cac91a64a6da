"""Search on CUDA: the order of equal scores, captured steps, and a sentence's bits whatever its batch-mates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch

from heedful.config import ModelConfig
from heedful.model.attention_kernels import padded_attention
from heedful.model.draft_heads import DraftHeads
from heedful.model.transformer import Transformer
from heedful.parsing.trees import tree_of
from heedful.search.beam_search import CHUNK, top_words
from heedful.search.engine import Sentence
from heedful.search.model_search import ModelSearch
from heedful.search.options import SearchOptions
from heedful.search.required import Way
from heedful.search.scoring import forced_log_probabilities
from heedful.search.tree_shape import TreeShape
from heedful.text.closed_vocabulary import ClosedVocabulary

VOCAB = 4000
TWIN = VOCAB // 2
"""How far apart the two words of a pair with equal scores are."""
SUBWORDS = [b"", b"", b"", *(f"{' ' if n % 3 else ''}{'abc'[n % 3]}{n % 7 or ''}".encode() for n in range(VOCAB - 3))]


def random_model(*, ties: bool) -> Transformer:
    """``ties``: of every two words one has the vector of the other, so that their scores are equal to the last bit."""
    torch.manual_seed(0)
    config = ModelConfig(d_model=64, d_ff=128, num_heads=4, encoder_layers=2, decoder_layers=2)
    model = Transformer(config, vocab_size=VOCAB).eval()
    with torch.no_grad():
        model.embedding.weight.mul_(2)
        if ties:
            model.embedding.weight[TWIN:] = model.embedding.weight[:TWIN]
    return model


def search_on(
    device: str, model: Transformer, *, graphs: bool = False, subwords: Sequence[bytes] = SUBWORDS
) -> ModelSearch:
    model = model.to(device)
    model.use(padded_attention(model.config))
    return ModelSearch(model, batch_size=16, graphs=graphs, subwords=subwords)


def sentences(count: int) -> list[Sentence]:
    draw = np.random.default_rng(1)
    return [Sentence(n, draw.integers(3, VOCAB, draw.integers(1, 30))) for n in range(count)]


def found(search: ModelSearch, given: Sequence[Sentence], options: SearchOptions) -> dict[int, list]:
    return {
        sentence.number: [(hypothesis.ids.tolist(), hypothesis.score) for hypothesis in hypotheses]
        for sentence, hypotheses in search.search(given, options)
    }


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("vocab", [50, 33 * CHUNK + 5, 37_000])
@pytest.mark.parametrize("levels", [1, 2, 30, 10**9])
@pytest.mark.parametrize("count", [1, 8, 30])
def test_the_top_words_are_those_of_a_stable_sort(dtype: torch.dtype, vocab: int, levels: int, count: int) -> None:
    scores = np.random.default_rng(levels).integers(0, levels, (64, vocab)).astype(np.float64)
    scores[1] = np.sort(scores[1])
    scores[2, 7:] = -np.inf
    logits = torch.from_numpy(scores).to("cuda", dtype)
    expected = np.argsort(-logits.double().cpu().numpy(), axis=1, kind="stable")[:, :count]
    values, words = top_words(logits, count)
    assert words.tolist() == expected.tolist()
    assert values.tolist() == logits.gather(1, words).tolist()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        _, captured = top_words(logits, count)
    graph.replay()
    assert captured.tolist() == expected.tolist()


@pytest.mark.parametrize("method", ["beam", "greedy", "sample"])
def test_equal_scores_change_nothing_whatever_the_batch_mates(method: str) -> None:
    search = search_on("cuda", random_model(ties=True), graphs=True)
    options = SearchOptions(method=method, max_extra_length=6)
    given = sentences(60)
    together = found(search, given, options)
    shuffled = found(search, [given[place] for place in np.random.default_rng(2).permutation(60)], options)
    assert shuffled == together
    for sentence in given[::12]:
        assert found(search, [sentence], options)[sentence.number] == together[sentence.number]


@pytest.mark.parametrize(
    ("method", "ties", "forbidden"),
    [
        (method, ties, forbidden)
        for method in ("beam", "greedy", "sample")
        for ties in (False, True)
        for forbidden in ((), ("a1", "b", "c2 a"))
        if not (method == "beam" and ties and forbidden)  # a text may hold one twin and not the other
    ],
)
def test_captured_steps_find_what_a_cpu_finds(method: str, ties: bool, forbidden: tuple[str, ...]) -> None:
    """In float64, where rounding changes no choice but that between two beams whose words are twins.

    Their keys lie in different rows, so sums over rows are rounded differently: to the last bit their scores are equal
    on no device, and which of them comes first is no promise. Which words they are twins of is.
    """
    model = random_model(ties=ties).double()
    options = SearchOptions(method=method, max_extra_length=6, forbidden=forbidden)
    expected = found(search_on("cpu", model), sentences(40), options)
    on_cuda = found(search_on("cuda", model, graphs=True), sentences(40), options)
    alike = TWIN if ties and method == "beam" else VOCAB
    for n, hypotheses in expected.items():
        words, expected_words = ([[id_ % alike for id_ in ids] for ids, _ in some] for some in (on_cuda[n], hypotheses))
        assert words == expected_words
        assert [score for _, score in on_cuda[n]] == pytest.approx([score for _, score in hypotheses], abs=1e-9)
        for ids, _ in on_cuda[n]:
            spelled = b"".join(SUBWORDS[id_] for id_ in ids).decode().split()
            assert not {"a1", "b"}.intersection(spelled if forbidden else ())


@pytest.mark.parametrize("forbidden", [(), ("a1", "b", "c2 a")])
@pytest.mark.parametrize(
    "options",
    [
        SearchOptions(max_extra_length=6, n_best=2),
        SearchOptions(max_extra_length=6, beam_size=10, stop="enough"),
        SearchOptions(min_length=20, max_extra_length=6, length_penalty=0.0),
        SearchOptions(method="greedy", max_extra_length=6),
        SearchOptions(method="sample", max_extra_length=6),
    ],
    ids=["beam", "enough", "least length", "greedy", "sample"],
)
def test_kernels_find_what_a_cpu_finds(options: SearchOptions, forbidden: tuple[str, ...]) -> None:
    """In float32, where a step is our kernels: 99 of 100 sentences have the same words, some with a prefix."""
    options = replace(options, forbidden=forbidden)
    given = [replace(s, prefix=(7, 8) if s.number % 3 == 0 else ()) for s in sentences(100)]
    model = random_model(ties=False)
    expected = found(search_on("cpu", model), given, options)
    captured = found(search_on("cuda", model, graphs=True), given, options)
    same = [n for n in expected if [ids for ids, _ in captured[n]] == [ids for ids, _ in expected[n]]]
    assert len(same) >= 99
    for n in same:
        assert [score for _, score in captured[n]] == pytest.approx([score for _, score in expected[n]], abs=1e-4)


@pytest.mark.parametrize("method", ["beam", "greedy", "sample"])
@pytest.mark.parametrize("forbidden", [(), ("qqq",)])
def test_captured_steps_say_nothing_but_text(method: str, forbidden: tuple[str, ...]) -> None:
    """Most subwords are pieces of characters; captured steps, plain ones and a CPU find the same outputs."""
    draw = np.random.default_rng(5)
    characters = [chr(code).encode() for code in draw.integers(0x80, 0xD800, VOCAB)]
    cut = [(one + other)[draw.integers(0, 3) : draw.integers(3, 6)] for one, other in pairwise(characters)]
    subwords = [b"", b"", b"", *(bytes([byte]) for byte in range(256)), *cut][:VOCAB]
    model = random_model(ties=False).double()
    options = SearchOptions(method=method, max_extra_length=6, forbidden=forbidden)
    results = [
        found(search_on(device, model, graphs=graphs, subwords=subwords), sentences(40), options)
        for device, graphs in (("cpu", False), ("cuda", False), ("cuda", True))
    ]
    for n, hypotheses in results[0].items():
        for other in results[1:]:
            assert [ids for ids, _ in other[n]] == [ids for ids, _ in hypotheses]
        for ids, _ in hypotheses:
            assert "\N{REPLACEMENT CHARACTER}" not in b"".join(subwords[id_] for id_ in ids).decode()
    assert any(any(subwords[id_][0] & 0xC0 == 0x80 for id_ in some[0][0]) for some in results[0].values())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_captured_steps_find_what_a_cpu_finds_of_required_words(dtype: torch.dtype) -> None:
    """Alone too, to the bit; every other sentence must hold nothing, and is searched as ever."""
    draw, model = np.random.default_rng(7), random_model(ties=False).to(dtype)
    words = [tuple(draw.integers(3, VOCAB, size).tolist()) for size in (1, 2, 3, 5)]
    terms = [(Way(ids, (int(ids[0]),)), Way(ids[::-1])) for ids in words]
    given = [
        replace(sentence, required=tuple(terms[: 1 + sentence.number // 2 % 4]) if sentence.number % 2 else ())
        for sentence in sentences(12)
    ]
    options = SearchOptions(max_extra_length=15, n_best=2)
    expected = found(search_on("cpu", model), given, options)
    plain = found(search_on("cuda", model), given, options)
    search = search_on("cuda", model, graphs=True)
    captured = found(search, given, options)
    for n, hypotheses in expected.items():
        for other in (plain, captured):
            assert [ids for ids, _ in other[n]] == [ids for ids, _ in hypotheses]
            near = pytest.approx([score for _, score in hypotheses], abs=1e-9 if dtype == torch.float64 else 1e-4)
            assert [score for _, score in other[n]] == near
    for n in (1, 6, 7):
        assert found(search, [given[n]], options)[n] == captured[n]
    held = [ids for n, hypotheses in captured.items() if n % 2 for ids, _ in hypotheses]
    assert held
    assert all(set(words[0]) & set(ids) for ids in held)


@pytest.mark.parametrize("method", ["beam", "greedy", "sample"])
def test_captured_steps_of_several_models_find_what_a_cpu_finds(method: str) -> None:
    """Models of different sizes; a sentence alone has the same bits as among others."""
    config = ModelConfig(d_model=48, d_ff=96, num_heads=3, encoder_layers=1, decoder_layers=3)
    torch.manual_seed(4)
    models = [random_model(ties=False).double(), Transformer(config, vocab_size=VOCAB).double().eval()]
    options, given = SearchOptions(method=method, max_extra_length=6), sentences(40)
    expected = found(ModelSearch(*models, batch_size=16, subwords=SUBWORDS), given, options)
    alone = found(search_on("cpu", models[0]), given, options)
    assert [ids for n in expected for ids, _ in expected[n]] != [ids for n in expected for ids, _ in alone[n]]
    models = [model.to("cuda").use(padded_attention(model.config)) for model in models]
    search = ModelSearch(*models, batch_size=16, graphs=True, subwords=SUBWORDS)
    captured = found(search, given, options)
    for n, hypotheses in expected.items():
        assert [ids for ids, _ in captured[n]] == [ids for ids, _ in hypotheses]
        assert [score for _, score in captured[n]] == pytest.approx([score for _, score in hypotheses], abs=1e-9)
    for sentence in given[::9]:
        assert found(search, [sentence], options)[sentence.number] == captured[sentence.number]


def test_several_models_by_kernels_have_the_scores_of_forced_decoding() -> None:
    """In float32, where a step is made of kernels of our own; a sentence alone has the same bits as among others."""
    config = ModelConfig(d_model=48, d_ff=96, num_heads=3, encoder_layers=1, decoder_layers=3)
    torch.manual_seed(4)
    models = [random_model(ties=False), Transformer(config, vocab_size=VOCAB).eval()]
    models = [model.to("cuda").use(padded_attention(model.config)) for model in models]
    search = ModelSearch(*models, batch_size=16, graphs=True, subwords=SUBWORDS)
    options, given = SearchOptions(max_extra_length=6, length_penalty=0.0), sentences(40)
    captured = found(search, given, options)
    pairs = [(one.source, np.array(captured[one.number][0][0], np.int64)) for one in given]
    for one, values in zip(given, forced_log_probabilities(models, pairs), strict=True):
        assert captured[one.number][0][1] == pytest.approx(values.sum(), abs=1e-3)
    for one in given[::9]:
        assert found(search, [one], options)[one.number] == captured[one.number]


def test_captured_steps_find_the_trees_that_a_cpu_finds() -> None:
    vocabulary, words = ClosedVocabulary(["(S", "(NP", "(VP", ")", "NN", "VB", "."]), [1, 2, 5, 9, 14, 30, 3]
    torch.manual_seed(3)
    config = ModelConfig(d_model=64, d_ff=128, num_heads=4, encoder_layers=2, decoder_layers=2)
    model = Transformer(config, vocab_size=vocabulary.vocab_size, source_vocab_size=50).eval()
    model.use(padded_attention(config))
    options = SearchOptions(beam_size=21, length_penalty=0.3, max_extra_length=20)
    found: dict[str, dict[int, list[str]]] = {}
    for device in ("cpu", "cuda"):
        shape = TreeShape(vocabulary.tokens, device=torch.device(device))
        search = ModelSearch(model.to(device), graphs=device == "cuda", constraint=shape)
        asked = [Sentence(number, np.arange(3, 3 + n), begins=TreeShape.begin(n)) for number, n in enumerate(words)]
        results = search.search(asked, options)
        found[device] = {sentence.number: vocabulary.pieces(best[0].ids) for sentence, best in results}
    assert found["cuda"] == found["cpu"]
    for number, symbols in found["cuda"].items():
        assert tree_of(symbols, ["word"] * words[number])


@pytest.mark.parametrize("heads", [False, True])
@pytest.mark.parametrize("graphs", [False, True])
def test_drafts_change_no_word(heads: bool, graphs: bool) -> None:
    """Beside greedy search by kernels to rounding; and to the last bit whatever shares the batch."""
    model, given = random_model(ties=False), sentences(60)
    if heads:
        model.draft = DraftHeads(torch.arange(0, VOCAB, 2), d_model=64)
    options = SearchOptions(method="greedy", max_extra_length=10)
    expected = found(search_on("cpu", model), given, options)
    search = search_on("cuda", model, graphs=graphs)
    drafted = found(search, given, replace(options, drafts=2))
    same = [number for number, best in expected.items() if drafted[number][0][0] == best[0][0]]
    assert len(same) >= 59
    for number in same:
        assert drafted[number][0][1] == pytest.approx(expected[number][0][1], abs=1e-3)
    alone = {n: found(search, [given[n]], replace(options, drafts=2))[n] for n in range(0, 60, 7)}
    assert all(drafted[number] == best for number, best in alone.items())
