"""What only a GPU can show of search: the same results as a CPU, independence of the batch to the last bit, and speed.

    PYTHONPATH=src python benchmarks/gpu_search_check.py

It needs torch and numpy alone, takes about half a minute on an H200 and ends with a line that says whether all held:
the speeds are those that issue and log book ask of a base model there.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from heedful.model.attention_kernels import padded_attention
from heedful.model.transformer import Transformer
from heedful.search.engine import Hypothesis, Sentence
from heedful.search.model_search import ModelSearch, in_half_precision
from heedful.search.options import SearchOptions

BARS = {("beam", 256): 300_000, ("beam", 1024): 450_000, ("greedy", 256): 420_000}
"""Generated tokens a second, base model with 32,000 words, so many sentences of 32 tokens."""
SLOWEST = 0.01
"""Seconds that one sentence of 25 words takes at most, beam 4."""


def random_model(vocab_size: int, **sizes: Any) -> Transformer:
    torch.manual_seed(0)
    model = Transformer(vocab_size=vocab_size, **sizes)
    return model.use(padded_attention(model.config)).eval()


def random_sentences(count: int, *, longest: int, vocab_size: int, seed: int = 0) -> list[Sentence]:
    draw = np.random.default_rng(seed)
    return [Sentence(n, draw.integers(3, vocab_size, draw.integers(1, longest + 1))) for n in range(count)]


def found(search: ModelSearch, sentences: Sequence[Sentence], options: SearchOptions) -> dict[int, list[Hypothesis]]:
    return {sentence.number: hypotheses for sentence, hypotheses in search.search(sentences, options)}


def same(one: Sequence[Hypothesis], other: Sequence[Hypothesis]) -> bool:
    """Equal words and scores, to the last bit."""
    return [(h.ids.tolist(), h.score) for h in one] == [(h.ids.tolist(), h.score) for h in other]


def check_against_the_cpu() -> bool:
    """float32, with and without captured graphs."""
    model = random_model(200, d_model=64, d_ff=128, num_heads=4, encoder_layers=2, decoder_layers=2)
    with torch.no_grad():
        model.embedding.weight.mul_(2)
    sentences = random_sentences(100, longest=39, vocab_size=200)
    options = SearchOptions(n_best=2, max_extra_length=10)
    expected = found(ModelSearch(model), sentences, options)
    held = True
    for graphs in (False, True):
        on_gpu = found(ModelSearch(model.cuda(), batch_size=32, graphs=graphs), sentences, options)
        equal = sum(on_gpu[n][0].ids.tolist() == expected[n][0].ids.tolist() for n in expected)
        gap = max(abs(on_gpu[n][0].score - expected[n][0].score) for n in expected)
        print(f"float32 beside a CPU, graphs {graphs}: {equal} of 100 the same words, scores at most {gap:.1e} apart")
        held &= equal >= 99
        model.cpu()
    return held


def check_independence(search: ModelSearch, vocab_size: int) -> bool:
    """bfloat16: shuffled, and alone, to the last bit."""
    sentences = random_sentences(600, longest=60, vocab_size=vocab_size, seed=1)
    options = SearchOptions(max_extra_length=8)
    together = found(search, sentences, options)
    order = np.random.default_rng(2).permutation(len(sentences))
    shuffled = found(search, [sentences[place] for place in order], options)
    equal = sum(same(together[n], shuffled[n]) for n in together)
    some = sentences[::20]
    alone = sum(same(together[s.number], found(search, [s], options)[s.number]) for s in some)
    print(f"bfloat16, the same bits: {equal} of 600 when shuffled, {alone} of {len(some)} when alone")
    return equal == 600 and alone == len(some)


def seconds(model: Transformer, *, method: str, batch: int, words: int, repeats: int = 5) -> float:
    """For so many sentences of so many words, which their outputs have too; encoding and copies included."""
    draw = np.random.default_rng(3)
    sentences = [Sentence(n, draw.integers(3, 8000, words)) for n in range(batch)]
    options = SearchOptions(method=method, min_length=words, max_length=words)
    search = ModelSearch(model, half=True, graphs=True, batch_size=batch)
    times: list[float] = []
    for _ in range(2 + repeats):
        torch.cuda.synchronize()
        began = time.perf_counter()
        assert all(len(hypotheses[0].ids) == words for hypotheses in found(search, sentences, options).values())
        times.append(time.perf_counter() - began)
    return statistics.median(times[2:])


def main() -> None:
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    held = check_against_the_cpu()
    model = in_half_precision(random_model(32_000).cuda())
    held &= check_independence(ModelSearch(model, half=True, graphs=True), 32_000)
    for (method, batch), bar in BARS.items():
        speed = batch * 32 / seconds(model, method=method, batch=batch, words=31)
        print(f"base, {method}, {batch} sentences of 32 tokens: {speed:,.0f} tokens/s (at least {bar:,})")
        held &= speed >= bar
    for method in ("beam", "greedy"):
        took = seconds(model, method=method, batch=1, words=25)
        print(f"base, {method}, one sentence of 25 words: {1000 * took:.1f} ms")
        held &= took <= SLOWEST
    print("all held" if held else "NOT all held")


if __name__ == "__main__":
    main()
