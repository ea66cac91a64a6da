"""Figures 3 to 5: what heads of our own encoder attend to in the sentences of the paper's figures.

Nobody looked for a nice picture: each is chosen by a rule that the page states. Words are what spaces separate; the
weight of a word is the sum over its subwords, and what goes to the end symbol is not shown.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from heedful.errors import SearchError
from heedful.evaluation.alignments import word_weights, words_of
from heedful.evaluation.heads import mean_entropies
from heedful.report.charts import add_axes, new_figure
from heedful.report.pages import colour, svg_file
from heedful.reproduction.drawing import add_words, shown
from heedful.reproduction.records import Asked, Found, Page, Record
from heedful.runs.folder import DEFAULT_MODEL, model_folder
from heedful.translation.translator import Translator

LONG = (
    "It is in this spirit that a majority of American governments have passed new laws since 2009 making the "
    "registration or voting process more difficult."
)
"""The sentence of the paper's Figure 3, and its word."""
LONG_WORD = "making"
ITS = "The Law will never be perfect, but its application should be just - this is what we are missing, in my opinion."
"""The sentence of Figures 4 and 5, and its word."""
ITS_WORD = "its"
FAR = 4
"""Words: what is nearer is not called a long distance."""
_ROW, _WIDTH, _TOP = 21.0, 330.0, 52.0
_FAINT = 0.1
"""Weights below have no line."""
_COLOURS = tuple(f"line-{number}" for number in (1, 4, 6, 3, 5, 2, 7))


@dataclass(frozen=True)
class HeadShown:
    """One head of a figure."""

    layer: int
    head: int
    """Both from 1."""
    weights: tuple[tuple[float, ...], ...]
    """Of each word (row) to each word (column); rows that the figure does not show are zero."""


@dataclass(frozen=True)
class FigureShown:
    """A picture: some heads over one sentence, and the rule by which they were chosen."""

    name: str
    title: str
    rule: str
    words: tuple[str, ...]
    heads: tuple[HeadShown, ...]


@dataclass(frozen=True)
class ModelShown:
    """Whose heads they are."""

    name: str
    parameters: int
    encoder: str


def measured(asked: Asked) -> Found:
    """The figures of a model: the one that commands take by default where none was given."""
    model = asked.places[0] if asked.places else Path(DEFAULT_MODEL)
    translator = Translator.load(model, device=asked.device)
    words, weights = _weights(translator, ITS)
    figures = [
        *long_distance(*_weights(translator, LONG)),
        *anaphora(words, weights),
        *differing_heads(words, weights),
    ]
    sizes = translator.saved.config.model
    layers = f"{sizes.encoder_layers} layers of {sizes.d_model}, {sizes.num_heads} heads"
    known = ModelShown(model_folder(model).resolve().name, translator.saved.description.parameters, layers)
    return {"figures": figures, "models": [known]}


def _weights(translator: Translator, sentence: str) -> tuple[list[str], np.ndarray]:
    """The words, and what each attends to in every layer and head of the encoder, ``[layers, heads, words, words]``."""
    maps = translator.attention(sentence)
    words = words_of(maps.source)
    layers, heads = maps.encoder.shape[:2]
    found = [
        [word_weights(maps.encoder[layer, head], source=words, target=words) for head in range(heads)]
        for layer in range(layers)
    ]
    return [word.text for word in words], np.array(found)


def long_distance(words: Sequence[str], weights_LHWW: np.ndarray, word: str = LONG_WORD) -> list[FigureShown]:
    """Like Figure 3: every head of one layer, from one word."""
    at = place_of(words, word)
    far = np.abs(np.arange(len(words)) - at) >= FAR
    layer = int(weights_LHWW[:, :, at][..., far].sum(-1).mean(-1).argmax())
    rule = "Of all layers the one whose heads put most weight, on average, "
    rule += f"from “{word}” on words at least {FAR} words away"
    title, heads = f"“{word}”: every head of layer {layer + 1}", range(weights_LHWW.shape[1])
    return [_figure("figure3", title, rule, words, weights_LHWW, layer, heads, only=at)]


def anaphora(words: Sequence[str], weights_LHWW: np.ndarray, word: str = ITS_WORD) -> list[FigureShown]:
    """Like Figure 4: the head with which a word refers back most sharply, whole; and the word alone in two heads."""
    at = place_of(words, word)
    sharpest = weights_LHWW[:, :, at, : max(1, at - 1)].max(-1)  # not the word itself, nor the one before it
    layer, head = map(int, np.unravel_index(int(sharpest.argmax()), sharpest.shape))
    second = int(np.argsort(-sharpest[layer], kind="stable")[1]) if sharpest.shape[1] > 1 else head
    to = int(weights_LHWW[layer, head, at, : max(1, at - 1)].argmax())
    rule = f"The head with the largest weight from “{word}” to one word before its neighbour: {sharpest.max():.2f}, "
    rule += f"to “{words[to]}”"
    title, both = f"Layer {layer + 1}, head {head + 1}", f"“{word}” in two heads of layer {layer + 1}"
    alone = "The same head, and the second of its layer by the same rule, for that word alone"
    return [
        _figure("figure4-whole", title, rule, words, weights_LHWW, layer, [head]),
        _figure("figure4-its", both, alone, words, weights_LHWW, layer, [head, second], only=at),
    ]


def differing_heads(words: Sequence[str], weights_LHWW: np.ndarray) -> list[FigureShown]:
    """Like Figure 5: two heads of one layer that do different things."""
    rows = weights_LHWW / np.maximum(weights_LHWW.sum(-1, keepdims=True), 1e-9)
    entropies = mean_entropies(rows)
    decided = entropies <= np.median(entropies)
    best, chosen = -1.0, (0, 0, 0)
    for layer in range(len(rows)):
        for one, other in itertools.combinations(np.flatnonzero(decided[layer]).tolist(), 2):
            apart = float(np.abs(rows[layer, one] - rows[layer, other]).sum(-1).mean() / 2)
            if apart > best:
                best, chosen = apart, (layer, one, other)
    layer, *pair = chosen
    rule = (
        "Of all pairs of heads of one layer, both more decided than half of all heads (entropy), the one whose weights "
        f"differ most (by {max(best, 0):.0%} of them, on average over the words)"
    )
    return [
        _figure(f"figure5-{letter}", f"Layer {layer + 1}, head {head + 1}", rule, words, rows, layer, [head])
        for letter, head in zip("ab", pair, strict=True)
    ]


def place_of(words: Sequence[str], word: str) -> int:
    """Where a word stands, whatever punctuation clings to it."""
    bare = [text.strip(".,;:!?-").lower() for text in words]
    if word not in bare:
        raise SearchError(f"the model's subwords do not spell the word {word!r} in {' '.join(words)!r}")
    return bare.index(word)


def _figure(
    name: str,
    title: str,
    rule: str,
    words: Sequence[str],
    weights_LHWW: np.ndarray,
    layer: int,
    heads: Sequence[int],
    *,
    only: int | None = None,
) -> FigureShown:
    """These heads of a layer, both counted from 0; ``only``: the one word whose weights are shown."""
    kept = weights_LHWW[layer, list(heads)]
    if only is not None:
        kept[:, np.arange(len(words)) != only] = 0
    shown_heads = [
        HeadShown(layer + 1, head + 1, tuple(tuple(map(float, row.round(3))) for row in weights))
        for head, weights in zip(heads, kept, strict=True)
    ]
    return FigureShown(name, title, rule, tuple(words), tuple(shown_heads))


def page(records: Sequence[Record]) -> Page:
    """The pictures, and by which rules they were chosen."""
    text, pictures = [_ABOUT], {}
    for record in records:
        found, (model,) = record.rows("figures", FigureShown), record.rows("models", ModelShown)
        about = f"{model.name}, {model.parameters / 1e6:.1f} M parameters; its encoder has {model.encoder}"
        text.append(f"The model is {about}. `{record.command}` ({record.where}).\n")
        for number, about in _FIGURES.items():
            own = [one for one in found if one.name.startswith(f"figure{number}")]
            pictures |= {f"{one.name}.svg": heads_picture(one) for one in own}
            rules = "\n".join(f"- {rule}." for rule in dict.fromkeys(one.rule for one in own))
            text += [f"## {about}\n", f"{rules}\n", shown({f"{one.name}.svg": one.title for one in own})]
    return Page("\n".join(text), pictures)


_ABOUT = """# Figures 3 to 5: what heads attend to

Encoder self-attention in the sentences of the paper's figures. Each picture is chosen by the rule above it. A word on \
the left attends to words on the right; a line is the stronger the more weight it has, and weights below 0.1 have none.
"""
_FIGURES = {
    3: "Like Figure 3: a dependency over a long distance",
    4: "Like Figure 4: what “its” refers to",
    5: "Like Figure 5: two heads that do different things",
}


def heads_picture(figure: FigureShown) -> str:
    """The words in two columns, and a line from each to what it attends to, in a colour for each head."""
    top = _TOP if len(figure.heads) > 1 else _TOP - 22  # without names of heads
    height = top + _ROW * len(figure.words) + 6
    sheet = new_figure(_WIDTH, height)
    add_words(sheet, figure.title, (0, 16), size=14, kind="ink")
    box = (110, top, _WIDTH - 220, _ROW * len(figure.words))
    axes = add_axes(sheet, box, xlim=(0, 1), ylim=(len(figure.words), 0))
    axes.set_axis_off()
    for place, head in enumerate(figure.heads):
        kind = _COLOURS[place % len(_COLOURS)]
        if len(figure.heads) > 1:
            name, left = (str(head.head), 34.0 + 22 * place) if place else (f"head {head.head}", 0.0)
            add_words(sheet, name, (left, 38), kind=kind)
        weights = np.array(head.weights)
        for row, column in np.argwhere(weights >= _FAINT):
            weight = float(weights[row, column])
            ends = [row + 0.5, column + 0.5]
            axes.plot([0.02, 0.98], ends, color=colour(kind), alpha=min(1.0, 0.15 + weight), linewidth=0.6 + 3 * weight)
    for place, word in enumerate(figure.words):
        axes.text(-0.03, place + 0.5, word, fontsize=13, ha="right", va="center_baseline", color=colour("ink"))
        axes.text(1.03, place + 0.5, word, fontsize=13, ha="left", va="center_baseline", color=colour("ink"))
    return svg_file(sheet, label=f"{figure.title}: {' '.join(figure.words)}")
