"""``heedful parse``."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from heedful.cli.model_options import ParserOptions, SearchChoices
from heedful.cli.options import AsJson, Flag, Input, NBest, Overwrite, Quiet, WithScores
from heedful.cli.standard_input import standard_input
from heedful.cli.terminal import new_text, progress, require_place, say
from heedful.errors import TextError
from heedful.files import require_free, write_file
from heedful.parsing.drawing import tree_lines, trees_svg
from heedful.parsing.trees import Tree
from heedful.parsing.words import words_of
from heedful.text.reading import text_lines

if TYPE_CHECKING:
    from heedful.translation.parser import Parse

_MOST_DRAWN = 1000
"""Trees in one picture."""


def parse(
    *text: str,
    input_: Input = None,
    output: Path | None = None,
    tokenized: Flag = False,
    draw: Flag = False,
    svg: Path | None = None,
    unconstrained: Flag = False,
    n_best: NBest = 1,
    scores: WithScores = False,
    as_json: AsJson = False,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    model: ParserOptions = ParserOptions(),  # noqa: B008
    search: SearchChoices = SearchChoices(),  # noqa: B008
) -> None:
    """Parse English sentences: a tree in brackets for each.

    The sentences are the arguments, the lines of --input, or the lines of standard input. Every output is a well-formed
    tree over exactly the words of its sentence; an empty line stays empty. With --n-best or --scores a line has more
    columns, separated by tabs: the number of the sentence (with --n-best), the score (with --scores), the tree. With
    --json it is one JSON object.

    Args:
        text: Sentences, one each.
        input_: A text file with a sentence a line, plain or compressed (.gz, .xz, .zst), instead.
        output: Write here instead of standard output.
        tokenized: The words stand between spaces already; otherwise punctuation and clitics (n't, 's) are cut off.
        draw: Draw each tree with lines of text instead of brackets.
        svg: Draw the trees into this SVG file too, best parses one below the other.
        unconstrained: Show what the model says by itself, which may be no tree: then its symbols as they are.
        n_best: Parses of each sentence, best first.
        scores: Print each parse's score: the logarithm of its probability, divided by the length penalty.

    Examples:
        heedful parse --model run "The quick brown fox jumps over the lazy dog."
        heedful parse --model run --input sentences.txt --output trees.ptb
    """
    if text and input_:
        raise TextError("sentences were given and --input too: give one of them")
    if draw and (as_json or scores or n_best > 1):
        raise TextError("--draw: for one tree a sentence, without --json, --scores or --n-best")
    if output:
        require_place(output, overwrite=overwrite)
    if svg:
        require_free(svg, overwrite=overwrite, error=TextError, what="--svg")
    search.asked(n_best=n_best)  # what cannot be honoured is said before the model is loaded
    parser = model.parser(constrained=not unconstrained)
    options = search.options(parser, n_best=n_best)
    blocks: Iterable[Iterable[str]] = [text_lines(input_)] if input_ else [text]
    if not text and not input_:
        blocks = standard_input(greeting=lambda: f"{' + '.join(model.names)} parses")
    done, drawn = 0, list[Tree]()
    with new_text(output) as write, progress(unit="sentences", quiet=quiet or not input_) as report:
        for block in blocks:
            cut = (line.split() if tokenized else words_of(line) for line in block)
            for parses in parser.parses(cut, options, first=done):
                done += 1
                if svg and parses and parses[0].tree and len(drawn) < _MOST_DRAWN:
                    drawn.append(parses[0].tree)
                for line in _written(done, parses, draw=draw, numbered=n_best > 1, scores=scores, as_json=as_json):
                    write(line)
                report("parsed", done, None)
    if svg:
        write_file(svg, trees_svg(drawn).encode(), error=TextError)
        first = f": the first {_MOST_DRAWN:,} trees" if len(drawn) == _MOST_DRAWN else ""
        say(f"{svg} is written{first}", quiet=quiet)


def _written(
    number: int, parses: list[Parse], *, draw: bool, numbered: bool, scores: bool, as_json: bool
) -> Iterable[str]:
    """The lines that are written of a sentence."""
    if as_json:
        listed = [
            {"tree": parse.tree and str(parse.tree), "symbols": parse.symbols, "score": parse.score,
             "log_probability": parse.log_probability}
            for parse in parses
        ]  # fmt: skip
        yield json.dumps({"line": number, "parses": listed}, ensure_ascii=False)
    elif draw:
        yield "\n".join(tree_lines(parses[0].tree)) if parses and parses[0].tree else "".join(map(str, parses))
    else:
        for parse in parses:
            columns = [str(number)] * numbered + [f"{parse.score:.4f}"] * scores
            yield "\t".join([*columns, str(parse)])
        if not parses:
            yield ""
