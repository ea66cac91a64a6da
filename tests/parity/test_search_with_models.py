"""Search with real models in float64: the cached decoder, refilled slots and forced decoding give one and the same."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from tests.search_models import log_softmax, penalty, plain_beam_search
from torch import Tensor, nn

from heedful.config import ModelConfig
from heedful.model.devices import PackedLinear, can_pack, with_packed_matrices
from heedful.model.scaled_dot_product_attention import scaled_dot_product_attention
from heedful.model.transformer import Transformer
from heedful.search.cached_decoder import CachedDecoder
from heedful.search.engine import Hypothesis, Sentence
from heedful.search.model_search import ModelSearch, greedy_translations
from heedful.search.options import SearchOptions
from heedful.search.scoring import attention_weights, forced_log_probabilities
from heedful.symbols import END, START

VOCAB = 24
SHAPES = {
    "plain": {},
    "narrow keys": {"d_k": 3},
    "learned positions": {"positions": "learned", "max_positions": 16},
    "restricted": {"neighbourhood": 4},
    "own source vocabulary": {"source_vocab_size": 40},
}


def small_model(name: str = "plain", seed: int = 0) -> Transformer:
    changes = dict(SHAPES[name])
    source_vocab_size = changes.pop("source_vocab_size", None)
    config = ModelConfig(d_model=16, d_ff=32, num_heads=2, encoder_layers=2, decoder_layers=2, **changes)
    torch.manual_seed(seed)
    model = Transformer(config, vocab_size=VOCAB, source_vocab_size=source_vocab_size).double().eval()
    with torch.no_grad():  # sharper predictions, so that outputs end and differ
        model.embedding.weight.mul_(2.5)
        for parameter in model.decoder.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model


def some_sources(count: int = 12, seed: int = 1, longest: int = 9) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.integers(3, VOCAB, rng.integers(1, longest + 1)) for _ in range(count)]


def found(
    model: Transformer | list[Transformer], sources: list[np.ndarray], options: SearchOptions, *, batch_size: int = 5
) -> list[list[Hypothesis]]:
    sentences = [Sentence(number, source) for number, source in enumerate(sources)]
    models = model if isinstance(model, list) else [model]
    results = {s.number: h for s, h in ModelSearch(*models, batch_size=batch_size).search(sentences, options)}
    return [results[number] for number in range(len(sources))]


def uncached_logits(model: Transformer, sources: list[np.ndarray]) -> Callable[[int, tuple[int, ...]], np.ndarray]:
    """The whole model anew for each prefix."""

    @torch.inference_mode()
    def logits(source: int, words: tuple[int, ...]) -> np.ndarray:
        ids = torch.tensor([[*sources[source].tolist(), END]])
        return model(ids, torch.tensor([[START, *words]]))[0, -1].numpy()

    return logits


@pytest.mark.parametrize("name", SHAPES)
def test_the_cached_search_is_the_plain_one_with_the_whole_model(name: str) -> None:
    model, sources = small_model(name), some_sources(4, longest=5)
    options = SearchOptions(beam_size=3, n_best=2, max_extra_length=6)
    for number, best in enumerate(found(model, sources, options)):
        limit = options.limit(len(sources[number]))
        expected = plain_beam_search(uncached_logits(model, sources), number, beam_size=3, limit=limit, alpha=0.6)
        assert [tuple(h.ids) for h in best] == [words for _, words in expected[:2]]
        assert [h.score for h in best] == pytest.approx([score for score, _ in expected[:2]], abs=1e-10)


@pytest.mark.parametrize("method", ["beam", "greedy"])
@pytest.mark.parametrize("name", SHAPES)
def test_packed_matrices_in_float32_find_what_plain_ones_in_float64_find(name: str, method: str) -> None:
    """As a CPU computes for users: with one row and with many, encoder and decoder."""
    sources = some_sources(20)
    options = SearchOptions(beam_size=3, n_best=2, max_extra_length=6)
    options = options if method == "beam" else options.greedy()
    packed = with_packed_matrices(small_model(name).float())
    maps = [module for module in packed.modules() if isinstance(module, nn.Linear)]
    assert all(isinstance(own, PackedLinear) for own in maps) is can_pack(packed.embedding.weight)
    assert packed.state_dict().keys() == small_model(name).state_dict().keys()
    plain = found(small_model(name), sources, options)
    for batch_size in (1, 7):
        results = found(packed, sources, options, batch_size=batch_size)
        for best, expected in zip(results, plain, strict=True):
            assert [h.ids.tolist() for h in best] == [h.ids.tolist() for h in expected]
            assert [h.score for h in best] == pytest.approx([h.score for h in expected], abs=1e-4)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("method", ["beam", "greedy", "sample"])
def test_refilled_slots_give_what_single_sentences_give(name: str, method: str) -> None:
    model, sources = small_model(name), some_sources(9)
    options = SearchOptions(method=method, max_extra_length=5, seed=4 if method == "sample" else 1)
    alone = [found(model, [source], options) for source in sources] if method != "sample" else None
    batches = [found(model, sources, options, batch_size=size) for size in (2, 4, 32)]
    for results in batches if alone is None else [*batches, [one[0] for one in alone]]:
        for one, other in zip(results, batches[0], strict=True):
            assert [h.ids.tolist() for h in one] == [h.ids.tolist() for h in other]
            assert [h.score for h in one] == pytest.approx([h.score for h in other], abs=1e-10)


@pytest.mark.parametrize("name", SHAPES)
def test_forced_decoding_gives_the_scores_of_the_search(name: str) -> None:
    model, sources = small_model(name), some_sources()
    results = found(model, sources, SearchOptions(n_best=4, max_extra_length=5))
    pairs = [(sources[number], h.ids) for number, best in enumerate(results) for h in best]
    hypotheses = [h for best in results for h in best]
    for hypothesis, values in zip(hypotheses, forced_log_probabilities([model], pairs), strict=True):
        assert len(values) == len(hypothesis.ids) + 1
        assert values.sum() == pytest.approx(hypothesis.log_probability, abs=1e-10)
        assert hypothesis.score == pytest.approx(values.sum() / penalty(len(values), 0.6), abs=1e-10)


def test_models_of_different_sizes_are_searched_together_as_a_loop_over_them_would() -> None:
    """A word's score is the mean of the models' log-probabilities, renormalised; forced decoding gives the same."""
    larger = ModelConfig(d_model=24, d_ff=20, num_heads=3, encoder_layers=1, decoder_layers=3)
    torch.manual_seed(3)
    models = [small_model(), small_model("restricted", seed=5), Transformer(larger, vocab_size=VOCAB).double().eval()]
    sources = some_sources(4, longest=5)
    each = [uncached_logits(model, sources) for model in models]

    def together(source: int, words: tuple[int, ...]) -> np.ndarray:
        return np.mean([log_softmax(logits(source, words)) for logits in each], axis=0)

    options = SearchOptions(beam_size=3, n_best=2, max_extra_length=6)
    results = found(models, sources, options)
    for number, best in enumerate(results):
        limit = options.limit(len(sources[number]))
        expected = plain_beam_search(together, number, beam_size=3, limit=limit, alpha=0.6)
        assert [tuple(h.ids) for h in best] == [words for _, words in expected[:2]]
        assert [h.score for h in best] == pytest.approx([score for score, _ in expected[:2]], abs=1e-10)
    pairs = [(sources[number], best[0].ids) for number, best in enumerate(results)]
    for values, best in zip(forced_log_probabilities(models, pairs), results, strict=True):
        assert values.sum() == pytest.approx(best[0].log_probability, abs=1e-10)
    alone = [[h.ids.tolist() for h in best] for best in found(models[0], sources, options)]
    assert alone != [[h.ids.tolist() for h in best] for best in results]


def test_a_model_in_training_is_left_as_it_was() -> None:
    model = small_model().train()
    chosen = model.attention
    outputs = greedy_translations(model, some_sources(3), max_extra_length=5)
    assert [output.tolist() for output in outputs] == [
        best[0].ids.tolist()
        for best in found(model.eval(), some_sources(3), SearchOptions(max_extra_length=5).greedy())
    ]
    assert model.attention is chosen
    model = small_model().train()
    greedy_translations(model, some_sources(1))
    assert model.training


@pytest.mark.parametrize("name", SHAPES)
def test_the_weights_shown_are_those_of_the_search(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of each cached step, recorded while the search runs, against those of all positions at once."""
    model, source, steps = small_model(name), some_sources(1, seed=3)[0], []

    def attended(self: CachedDecoder, q: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        may_attend = None if mask is None else mask == 0
        output, weights = scaled_dot_product_attention(q.transpose(1, 2), keys, values, may_attend)
        steps.append(weights[0].numpy())
        return output.transpose(1, 2).flatten(2)

    monkeypatch.setattr(CachedDecoder, "_attended", attended)
    options = SearchOptions(max_extra_length=5)
    best = found(model, [source], options)[0][0]
    log_probability, weights = attention_weights(model, source, best.ids)
    assert log_probability == pytest.approx(best.log_probability, abs=1e-10)
    queries = {"encoder": len(source) + 1, "decoder": len(best.ids) + 1, "cross": len(best.ids) + 1}
    for kind, count in queries.items():
        assert weights[kind].shape[:3] == (2, 2, count)
        assert weights[kind].sum(-1) == pytest.approx(np.ones((2, 2, count)), abs=1e-5)
    assert not np.triu(weights["decoder"], 1).any()
    for position, row in enumerate(best.rows):
        for layer in range(2):
            own, cross = (some[:, row] for some in steps[2 * (2 * position + layer) :][:2])
            own = own.reshape(2, -1, options.beams)[:, np.arange(position + 1), best.rows[: position + 1]]
            assert weights["decoder"][layer, :, position, : position + 1] == pytest.approx(own, abs=1e-6)
            assert weights["cross"][layer, :, position] == pytest.approx(cross, abs=1e-6)
