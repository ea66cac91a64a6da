"""``heedful score``."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

from heedful.cli.model_options import ModelOptions
from heedful.cli.options import AsJson, Flag
from heedful.cli.terminal import print_json, print_text, progress, say
from heedful.cli.text_files import count_lines
from heedful.errors import TextError
from heedful.evaluation.translation_scores import perplexity
from heedful.text.reading import text_lines


def score(
    *,
    source: Path,
    target: Path,
    as_json: AsJson = False,
    quiet: Flag = False,
    model: ModelOptions = ModelOptions(),  # noqa: B008
) -> None:
    """Say how probable given translations are (forced decoding).

    One line for each pair: the log-probability of the target, natural logarithm, end symbol included, a tab, and its
    perplexity per subword. On standard error, at the end, the perplexity of the whole file.

    Args:
        source: A text file, plain or compressed.
        target: Its translation, line by line.
        as_json: Print one JSON object a pair, with each subword's log-probability, and one for the whole file at the
            end.
        quiet: Nothing on standard error.

    Examples:
        heedful score --model run --source news.en --target news.de
        heedful score --model run --source news.en --target news.de --json > scores.jsonl
    """
    total = None
    for path in (source, target):
        total = count_lines(path)
        if path.is_file():  # what cannot be read is said before the model is loaded; a pipe can be read once
            next(text_lines(path), None)
    translator = model.translator()
    count, sum_, tokens, words = 0, 0.0, 0, 0
    with progress(unit="pairs", quiet=quiet) as report:
        kept, given = itertools.tee(_pairs(source, target))
        for scored, (_, line) in zip(translator.scores(given), kept, strict=True):
            count, sum_, tokens = count + 1, sum_ + scored.log_probability, tokens + scored.tokens
            words += len(line.split()) + 1
            own = perplexity(-scored.log_probability, scored.tokens)
            if as_json:
                subwords = zip([*scored.pieces, "</s>"], scored.token_log_probabilities, strict=True)
                listed = [{"subword": piece, "log_probability": value} for piece, value in subwords]
                facts = {"line": count, "log_probability": scored.log_probability, "perplexity": own}
                print_json(facts | {"subwords": listed}, indent=None)
            else:
                print_text(f"{scored.log_probability:.4f}\t{own:.4f}")
            report("scored", count, total)
    per_subword, per_word = perplexity(-sum_, tokens), perplexity(-sum_, words)
    if as_json:
        whole = {"model": model.named().model, "pairs": count, "log_probability": sum_, "subwords": tokens}
        whole |= {"perplexity": per_subword, "perplexity_per_word": per_word}
        print_json({"whole": whole}, indent=None)
    else:
        say(f"{count:,} pairs, perplexity {per_subword:.3f} a subword, {per_word:.3f} a word", quiet=quiet)


def _pairs(source: Path, target: Path) -> Iterator[tuple[str, str]]:
    for number, (line, translation) in enumerate(itertools.zip_longest(text_lines(source), text_lines(target)), 1):
        if line is None or translation is None:
            short, long = (source, target) if line is None else (target, source)
            raise TextError(f"{short} has {number - 1:,} lines and {long} more: each line needs its translation")
        yield line, translation
