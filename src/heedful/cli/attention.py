"""``heedful attention``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from heedful.cli.model_options import ModelOptions, SearchChoices, is_parsing
from heedful.cli.options import AsJson, Flag, Overwrite, whole_number
from heedful.cli.terminal import print_json, print_text, say
from heedful.errors import HeedfulError, ReportError
from heedful.parsing.words import words_of

if TYPE_CHECKING:
    from heedful.search.attention_maps import AttentionMaps

PAGE = Path("attention.html")


def attention(
    sentence: str,
    /,
    *,
    target: str | None = None,
    output: Path | None = None,
    png: Path | None = None,
    alignment: Flag = False,
    layer: Annotated[int | None, whole_number(1, 10_000)] = None,
    as_json: AsJson = False,
    weights: Flag = False,
    overwrite: Overwrite = False,
    model: ModelOptions = ModelOptions(),  # noqa: B008
    search: SearchChoices = SearchChoices(),  # noqa: B008
) -> None:
    """Show what every head attends to while a sentence is translated.

    One page for the browser, complete in itself: each layer and head of encoder, decoder and cross-attention, with
    the weights with which the model translates it. Without --output, --png, --alignment or --json it is written
    to attention.html. --json prints translation, scores, subwords, alignment and the numbers of every head.

    Args:
        sentence: One sentence in the source language.
        target: Show how the model reads this translation instead of its own.
        output: Where to write the page.
        png: Draw pictures into this folder: encoder.png, decoder.png, cross.png and, with subwords, alignment.png.
        alignment: Print which words belong together, `source-target` from 0 (Pharaoh's format).
        layer: The decoder layer, from 1, whose cross-attention is taken as alignment; the last when not given, or the
            last but one if there are more than three.
        weights: With --json: print every weight too.

    Examples:
        heedful attention --model run "Ein Haus am See."
        heedful attention --model run "Ein Haus am See." --target "A house by the lake." --png pictures --alignment
    """
    if not (output or png or alignment or as_json):
        output = PAGE
    if layer is not None and not (png or alignment or as_json):
        raise HeedfulError(f"--layer {layer}: for --png, --alignment or --json; the page shows every layer")
    if weights and not as_json:
        raise HeedfulError("--weights adds the weights to what --json prints; give both")
    if target is not None:
        search.require_none("--target is given, and nothing is searched for")
        _require_sentence(target, "--target")
    _require_sentence(sentence, "the sentence")
    search.asked()  # what cannot be honoured is said before the model is loaded
    from heedful.evaluation.alignments import aligning_layer
    from heedful.files import require_free
    from heedful.report.attention_views import require_free_pictures, write_attention_page, write_attention_pictures

    # Before a model is loaded, so that nobody waits for a page that has no place.
    if output is not None:
        require_free(output, overwrite=overwrite, error=ReportError)
    if png is not None:
        if png.exists() and not png.is_dir():
            raise ReportError(f"--png {png} is a file, not a folder")
        require_free_pictures(png, overwrite=overwrite)
    if is_parsing(None, model.names):
        if target is not None:
            raise HeedfulError("--target: not for a model that parses, which writes no text")
        parser = model.parser()
        maps = parser.attention(words_of(sentence), search.options(parser))
    else:
        translator = model.translator()
        maps = translator.attention(sentence, target=target, options=search.options(translator))
    layers = len(maps.cross)
    layer = aligning_layer(layers) if layer is None else layer
    if layer > layers:
        raise HeedfulError(f"--layer {layer}: this model's decoder has layers 1 to {layers}")
    files = [write_attention_page(maps, output, overwrite=overwrite)] if output else []
    files += write_attention_pictures(maps, png, layer=layer, overwrite=overwrite) if png else []
    if as_json:
        print_json({"model": model.named().model, **_described(maps, layer, weights=weights), "files": files})
        return
    if alignment:
        print_text(_alignment(maps, layer)["pharaoh"])
    else:
        print_text(f"{maps.target_text}\nscore {maps.score:.4f}, log-probability {maps.log_probability:.4f}")
    for path in files:
        # An alignment is for the next program, which wants nothing else.
        (say if alignment else print_text)(f"{path} is written")


def _require_sentence(text: str, name: str) -> None:
    if not text.strip():
        raise HeedfulError(f"{name} is empty: there is nothing to attend to")
    if (lines := len(text.splitlines())) > 1:
        raise HeedfulError(f"{name} has {lines} lines; one sentence at a time")


def _alignment(maps: AttentionMaps, layer: int) -> dict[str, Any]:
    from heedful.evaluation.alignments import hard_alignment, pharaoh, soft_alignment, word_weights, words_of

    source, target = words_of(maps.source), words_of(maps.target)
    soft = word_weights(soft_alignment(maps.cross[layer - 1]), source=source, target=target)
    return {
        "layer": layer,
        "pharaoh": pharaoh(hard_alignment(soft)),
        "source_words": [word.text for word in source],
        "target_words": [word.text for word in target],
        "soft": soft.round(6).tolist(),
    }


def _described(maps: AttentionMaps, layer: int, *, weights: bool) -> dict[str, Any]:
    from heedful.evaluation.heads import head_table

    kinds = ("encoder", "decoder", "cross")
    facts = {name: value for name, value in vars(maps).items() if name not in kinds}
    facts["alignment"] = _alignment(maps, layer)
    facts["heads"] = {kind: head_table(getattr(maps, kind), causal=kind == "decoder") for kind in kinds}
    if weights:
        facts["weights"] = {kind: getattr(maps, kind).tolist() for kind in kinds}
    return facts
