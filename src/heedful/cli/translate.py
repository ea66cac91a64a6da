"""``heedful translate``."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from heedful.cli.model_options import ModelOptions, SearchChoices
from heedful.cli.options import AsJson, Flag, whole_number
from heedful.cli.terminal import progress
from heedful.cli.text_files import count_lines, new_text, require_place, standard_input
from heedful.errors import SearchError
from heedful.text.reading import text_lines

if TYPE_CHECKING:
    from heedful.search.translator import Translation


def translate(
    *text: str,
    input_: Annotated[Path | None, Parameter(name="--input")] = None,
    output: Path | None = None,
    n_best: Annotated[int, whole_number(1, 1000)] = 1,
    scores: Flag = False,
    alignment: Flag = False,
    alignment_layer: Annotated[int | None, whole_number(1, 10_000)] = None,
    prefix: str = "",
    as_json: AsJson = False,
    overwrite: Flag = False,
    quiet: Flag = False,
    model: ModelOptions = ModelOptions(),  # noqa: B008
    search: SearchChoices = SearchChoices(),  # noqa: B008
) -> None:
    """Translate text with a trained model (section 6.1).

    The text is the arguments, the lines of --input, or the lines of standard input. Translations come in the order of
    the input, one line each; an empty line stays empty. A line of more than 256 subwords is translated sentence by
    sentence; a longer sentence is cut between words, which is said on standard error. With --n-best, --scores or
    --alignment a line has more columns, separated by tabs: the number of the input line (with --n-best), the score
    (with --scores), the translation, the alignment.

    Args:
        text: What to translate; each argument is one line.
        input_: A text file, plain or compressed (.gz, .xz, .zst), instead.
        output: Write here instead of standard output.
        n_best: Translations of each line, best first; those that read the same are given once. Searched with that many
            beams and 12 more unless --beam-size is given.
        scores: Print each translation's score: its log-probability divided by the length penalty.
        alignment: Print which word of the translation attends most to which word of the source, as in "0-0 1-2".
        alignment_layer: The decoder layer that alignments are taken from, counted from 1; the last when not given, or
            the last but one if there are more than three.
        prefix: What every translation begins with.
        as_json: Print one JSON object a line of input.
        overwrite: Replace --output if it is there.
        quiet: No progress on standard error.

    Examples:
        heedful translate --model run "A dog runs through the snow."
        heedful translate --model run --input news.en --output news.de --batch-size 64
    """
    if text and input_:
        raise SearchError("give text or --input, not both")
    if alignment_layer is not None and not alignment:
        raise SearchError(f"--alignment-layer {alignment_layer}: for --alignment alone; give both")
    if output:
        require_place(output, overwrite=overwrite)
    search.asked(n_best=n_best)  # what cannot be honoured is said before the model is loaded
    total = count_lines(input_) if input_ else len(text) or None
    translator = model.translator()
    options = search.options(translator, n_best=n_best)
    blocks: Iterable[Iterable[str]] = [text_lines(input_)] if input_ else [text] if text else standard_input()
    done = 0
    with new_text(output) as write, progress(unit="lines", quiet=quiet or not input_) as report:
        for block in blocks:
            given, sources = itertools.tee(block)
            found = translator.hypotheses(given, options, prefix=prefix, first=done)
            for translations, source in zip(found, sources, strict=True):
                done += 1
                aligned = translator.alignments(source, translations, layer=alignment_layer) if alignment else None
                if as_json:
                    write(_as_json(done, source, translations, aligned))
                else:
                    for line in _columns(done, translations, aligned, numbered=n_best > 1, scores=scores):
                        write(line)
                report("translated", done, total)


def _columns(
    number: int, translations: list[Translation], aligned: list[str] | None, *, numbered: bool, scores: bool
) -> Iterator[str]:
    for place, translation in enumerate(translations):
        columns = [str(number)] if numbered else []
        columns += [f"{translation.score:.4f}"] if scores else []
        columns.append(translation.text)
        columns += [aligned[place]] if aligned else []
        yield "\t".join(columns)


def _as_json(number: int, source: str, translations: list[Translation], aligned: list[str] | None) -> str:
    found: list[dict[str, Any]] = []
    for place, translation in enumerate(translations):
        scores = {"score": translation.score, "log_probability": translation.log_probability}
        found.append({"text": translation.text, **scores, "subwords": len(translation.ids)})
        if aligned:
            found[-1]["alignment"] = aligned[place]
    return json.dumps({"line": number, "source": source, "translations": found}, ensure_ascii=False)
