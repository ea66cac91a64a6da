"""What the constraint allows is what makes a tree: held against the reader of trees, and over models without a clue."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.config import ModelConfig
from heedful.model.transformer import Transformer
from heedful.parsing.trees import tree_of
from heedful.search.model_search import ModelSearch
from heedful.search.options import SearchOptions
from heedful.search.sentence import Sentence
from heedful.search.tree_shape import TreeShape
from heedful.symbols import END
from heedful.text.closed_vocabulary import ClosedVocabulary

VOCABULARY = ClosedVocabulary(["(S", ")", "NN"])


def is_tree(symbols: tuple[str, ...], words: int) -> bool:
    try:
        return bool(tree_of(symbols, ["word"] * words))
    except ValueError:
        return False


def allowed(symbols: tuple[str, ...], words: int, *, limit: int) -> bool:
    """Whether a search that may say so many symbols can say these, and then end."""
    shape, state = TreeShape(VOCABULARY.tokens), torch.tensor([TreeShape.begin(words)])
    for place, symbol in enumerate([*VOCABULARY.encode([" ".join(symbols)])[0].tolist(), END]):
        if shape.needs(state)[0, symbol] > limit - place - 1:
            return False
        state = shape.after(state, torch.tensor([symbol]))
    return True


@pytest.mark.parametrize("words", [1, 2, 3])
def test_what_may_be_said_is_every_tree_over_the_words_and_nothing_else(words: int) -> None:
    every = (said for length in range(8) for said in itertools.product(VOCABULARY.symbols, repeat=length))
    for symbols in every:
        assert allowed(symbols, words, limit=7) == is_tree(symbols, words)


def test_what_is_said_can_always_be_completed_within_the_limit() -> None:
    shape, words, limit = TreeShape(VOCABULARY.tokens), 3, 9
    reached = {TreeShape.begin(words)}
    for length in range(limit):
        after: set[int] = set()
        for state in reached:
            needs = shape.needs(torch.tensor([state]))[0].tolist()
            may = [id_ for id_, need in enumerate(needs) if need <= limit - length - 1]
            assert may, f"a hypothesis of {length} symbols is at a dead end"
            after |= {int(shape.after(torch.tensor([state]), torch.tensor([id_]))[0]) for id_ in may if id_ != END}
        reached = after
    assert reached == {0}


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 1000),
    method=st.sampled_from(["beam", "greedy", "sample"]),
    beam=st.integers(1, 21),
    more=st.integers(2, 12),
    words=st.lists(st.integers(1, 21), min_size=1, max_size=5),
    size=st.floats(0.1, 30.0),
)
def test_a_model_without_a_clue_gives_trees_over_exactly_the_words_and_ends(
    seed: int, method: str, beam: int, more: int, words: list[int], size: float
) -> None:
    torch.manual_seed(seed)
    vocabulary = ClosedVocabulary(["(S", "(NP", "(", ")", "NN", "-LRB-", "."])
    config = ModelConfig(d_model=16, d_ff=16, num_heads=2, encoder_layers=1, decoder_layers=1)
    model = Transformer(config, vocab_size=vocabulary.vocab_size, source_vocab_size=40)
    with torch.no_grad():
        for weights in model.parameters():  # from no opinion to one that nothing can change
            weights.mul_(size)
    options = SearchOptions(method=method, beam_size=1 if method == "greedy" else beam, max_extra_length=more)
    sentences = [
        Sentence(number, np.arange(3, 3 + count), begins=TreeShape.begin(count)) for number, count in enumerate(words)
    ]
    found = list(ModelSearch(model, constraint=TreeShape(vocabulary.tokens)).search(sentences, options))
    assert len(found) == len(words)
    for sentence, hypotheses in found:
        assert hypotheses
        for hypothesis in hypotheses:
            symbols = vocabulary.pieces(hypothesis.ids)
            assert is_tree(tuple(symbols), words[sentence.number])
            assert len(symbols) <= words[sentence.number] + more
