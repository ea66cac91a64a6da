"""The kernels of a search's step against the plain computation, for any table of rows and any restriction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from heedful.config import ModelConfig
from heedful.model.transformer import Transformer
from heedful.search.beam_search import Hypotheses, advance_beams, advance_samples
from heedful.search.cached_decoder import CachedDecoder, OutputProduct
from heedful.search.cuda_steps import AdvanceByKernels, top_allowed_words
from heedful.search.engine import Engine
from heedful.search.options import SearchOptions
from heedful.search.sentence import Sentence
from heedful.search.spelling import Spelling

DEVICE = torch.device("cuda")
VOCAB = 500
POSITIONS = 24
MODELS = {
    "small": {},
    "d_k, d_v": {"d_k": 12, "d_v": 40},
    "restricted": {"neighbourhood": 8},
    "alone": {"neighbourhood": 1},
    "learned": {"positions": "learned", "max_positions": 64},
}
SUBWORDS = [b"", b"", b"", *(f"{' ' if n % 3 else ''}{'abc'[n % 3]}{n % 7 or ''}".encode() for n in range(VOCAB - 3))]
BYTES = [b"", b"", b"", *(bytes([byte]) for byte in range(256)), *[b"ab\xc3", b"\xa4c", b"\xe2\x82", b" d"] * 61][
    :VOCAB
]


class Nothing:
    """A scorer for an engine whose hypotheses are all that is wanted of it."""

    device, dtype = DEVICE, torch.float32

    def place(self, slots: Tensor, sources: Sequence[np.ndarray]) -> None:
        pass


def begun(options: SearchOptions, sentences: Sequence[Sentence], spelling: Spelling) -> Hypotheses:
    engine = Engine(Nothing(), options, slots=len(sentences), positions=POSITIONS, spelling=spelling)  # pyright: ignore
    engine._place(sentences)
    return engine._state


def decoder(model: Transformer, sources: list[np.ndarray], *, beams: int) -> CachedDecoder:
    made = CachedDecoder(
        model,
        output=OutputProduct(model, half=False),
        slots=len(sources),
        beams=beams,
        source_positions=16,
        positions=POSITIONS,
        encoded_together=len(sources),
    )
    made.place(torch.arange(len(sources), device=DEVICE), sources)
    return made


@pytest.mark.parametrize("sizes", MODELS)
@given(
    beams=st.sampled_from([1, 2, 3, 4, 7]),
    lengths=st.lists(st.integers(0, POSITIONS - 6), min_size=1, max_size=5),
    seed=st.integers(0, 99),
)
@settings(max_examples=8, deadline=None, derandomize=True)
@torch.inference_mode()
def test_layers_by_kernels_are_the_plain_ones_for_any_table_of_rows(
    sizes: str, beams: int, lengths: list[int], seed: int
) -> None:
    """Six steps, each slot from a length of its own, each beam with a past out of any rows; float64 is plain."""
    torch.manual_seed(seed)
    draw, slots = np.random.default_rng(seed), len(lengths)
    config = ModelConfig(d_model=64, d_ff=96, num_heads=4, encoder_layers=1, decoder_layers=2, **MODELS[sizes])
    model = Transformer(config, vocab_size=VOCAB).to(DEVICE).eval()
    sources = [draw.integers(3, VOCAB, draw.integers(1, 16)) for _ in range(slots)]
    quick = decoder(model, sources, beams=beams)
    exact = decoder(Transformer(config, vocab_size=VOCAB).to(DEVICE, torch.float64).eval(), sources, beams=beams)
    exact.model.load_state_dict(model.state_dict())
    exact = decoder(exact.model, sources, beams=beams)
    for own, other in zip(quick._layers, exact._layers, strict=True):  # a past for all beams
        for one, two in zip(own[:2], other[:2], strict=True):
            one.normal_()
            two.copy_(one)
    length = torch.tensor(lengths, device=DEVICE)
    rows = torch.randint(0, beams, (slots, beams, POSITIONS), device=DEVICE)
    for _ in range(6):
        rows[torch.arange(slots, device=DEVICE), :, length] = torch.arange(beams, device=DEVICE)
        ids = torch.randint(3, VOCAB, (slots, beams), device=DEVICE)
        found, expected = (one.step(ids, length, rows) for one in (quick, exact))
        torch.testing.assert_close(found.double(), expected, rtol=1e-4, atol=1e-4)
        length += 1


def restricted_state(options: SearchOptions, spelling: Spelling, *, seed: int) -> Hypotheses:
    """Slots of which one has a prefix, one is at its limit, and one is done."""
    draw = np.random.default_rng(seed)
    prefixes: list[tuple[int, ...]] = [(), (), tuple(draw.integers(3, VOCAB, 3).tolist()), (), ()]
    given = [Sentence(n, draw.integers(3, VOCAB, 5), prefix=prefix) for n, prefix in enumerate(prefixes)]
    state = begun(options, given, spelling)
    state.limit[3] = 1
    state.done[4] = True
    state.log_probability[4] = -torch.inf
    return state


def alive(state: Hypotheses) -> list[list[tuple[list[int], float]]]:
    """The words of each slot's live hypotheses, with their log-probabilities."""
    found: list[list[tuple[list[int], float]]] = []
    tables = (state.log_probability, state.rows, state.ids, state.length)
    for values, rows, ids, length in zip(*(tensor.cpu() for tensor in tables), strict=True):
        place = torch.arange(int(length) + 1)
        found.append([
            (ids[row[place], place].tolist(), float(value))
            for value, row in zip(values, rows, strict=True)
            if value > -torch.inf
        ])  # fmt: skip
    return found


def ended(state: Hypotheses) -> list[list[tuple[list[int], float]]]:
    found: list[list[tuple[list[int], float]]] = []
    tables = (state.ended_score, state.ended_rows, state.ids, state.ended_length)
    for scores, rows, ids, lengths in zip(*(tensor.cpu() for tensor in tables), strict=True):
        found.append([
            (ids[row[: int(length) + 1], torch.arange(int(length) + 1)].tolist(), float(score))
            for score, row, length in zip(scores, rows, lengths, strict=True)
            if score > -torch.inf
        ])  # fmt: skip
    return found


def assert_alike(found: list[list[tuple[list[int], float]]], expected: list[list[tuple[list[int], float]]]) -> None:
    assert [[ids for ids, _ in own] for own in found] == [[ids for ids, _ in own] for own in expected]
    for own, other in zip(found, expected, strict=True):
        assert [value for _, value in own] == pytest.approx([value for _, value in other], rel=1e-5, abs=1e-5)


OPTIONS = {
    "beam": SearchOptions(),
    "beam 1": SearchOptions(beam_size=1),
    "beam 5, 3 best": SearchOptions(beam_size=5, n_best=3, length_penalty=1.0),
    "enough": SearchOptions(stop="enough", beam_size=3),
    "least length": SearchOptions(min_length=6, length_penalty=0.0),
    "forbidden": SearchOptions(forbidden=("a1", "b", "c2 a")),
    "greedy": SearchOptions(method="greedy"),
}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("subwords", ["words", "bytes"])
@torch.inference_mode()
def test_hypotheses_by_kernels_are_those_of_advance_beams(name: str, subwords: str) -> None:
    """Twelve steps on scores drawn anew, in which ending is often probable."""
    options, spelling = OPTIONS[name], Spelling.of(OPTIONS[name].forbidden, SUBWORDS if subwords == "words" else BYTES,
                                                   device=DEVICE)  # fmt: skip
    plain, quick = (restricted_state(options, spelling, seed=3) for _ in range(2))
    by_kernels = AdvanceByKernels(options, positions=POSITIONS, device=DEVICE)
    generator = torch.Generator().manual_seed(7)
    for _ in range(12):
        scores = torch.randn(5, options.beams, VOCAB, generator=generator) * 3
        scores[..., 2] += 6
        (advance_beams if options.method == "beam" else advance_samples)(
            plain, scores.clone().to(DEVICE), options, spelling
        )
        by_kernels(quick, scores.to(DEVICE), options, spelling)
        assert quick.done.tolist() == plain.done.tolist()
        going = ~plain.done
        assert quick.length[going].tolist() == plain.length[going].tolist()
        assert_alike(alive(quick), alive(plain))
        assert_alike(ended(quick), ended(plain))
    assert plain.done.any()


@pytest.mark.parametrize("levels", [1, 2, 30, 10**9])
@pytest.mark.parametrize("vocab", [50, 33 * 128 + 5, 37_000])
@pytest.mark.parametrize("beams", [1, 4, 15])
@torch.inference_mode()
def test_the_words_that_are_chosen_are_those_of_a_stable_sort(levels: int, vocab: int, beams: int) -> None:
    draw = np.random.default_rng(levels)
    scores = draw.integers(0, levels, (4, beams, vocab)).astype(np.float32) / levels
    scores[1, 0] = np.sort(scores[1, 0])
    scores[2, :, 40:] = -np.inf
    spelling = Spelling.of((), [b"", b"", b"", *[b"a"] * (vocab - 3)], device=DEVICE)
    options = SearchOptions(beam_size=beams)
    state = begun(options, [Sentence(n, np.arange(3, 8)) for n in range(4)], spelling)
    state.log_probability.fill_(0.0)
    logits, count = torch.from_numpy(scores.copy()).to(DEVICE), min(2 * beams, vocab)
    values, words = top_allowed_words(state, logits, options, spelling, count=count)
    scores[..., :2] = -np.inf  # padding and the start symbol
    order = np.argsort(-scores, axis=-1, kind="stable")[..., :count]
    there = np.take_along_axis(scores, order, -1) > -np.inf
    assert (words.cpu().numpy() == np.where(there, order, 0)).all()
    expected = logits.double().log_softmax(-1).gather(-1, torch.from_numpy(order).to(DEVICE))
    real = torch.from_numpy(there).to(DEVICE)
    torch.testing.assert_close(values[real].double(), expected[real], rtol=0, atol=2e-5)
    assert (values[~real] == -torch.inf).all()


def test_scores_that_are_not_numbers_end_a_sentence_without_a_hypothesis() -> None:
    options, spelling = SearchOptions(), Spelling.of((), SUBWORDS, device=DEVICE)
    state = begun(options, [Sentence(n, np.arange(3, 8)) for n in range(3)], spelling)
    scores = torch.randn(3, 4, VOCAB, device=DEVICE)
    scores[0], scores[1, :, 7] = torch.nan, torch.inf
    AdvanceByKernels(options, positions=POSITIONS, device=DEVICE)(state, scores, options, spelling)
    assert state.done.tolist() == [True, True, False]
    assert (state.ended_score[:2] == -torch.inf).all()
