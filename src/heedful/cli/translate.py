"""``heedful translate`` and ``heedful score``: a model, and lines of text as they come."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from heedful.cli.model_options import EnsembleOptions, SearchChoices
from heedful.cli.options import AsJson, Flag, Overwrite, Quiet, more, whole_number
from heedful.cli.standard_input import standard_input
from heedful.cli.terminal import new_text, print_json, print_text, progress, require_place, say
from heedful.errors import SearchError, TextError
from heedful.text.carrying import differing_numerals
from heedful.text.reading import require_readable, text_lines
from heedful.text.sentences import Split

if TYPE_CHECKING:
    from heedful.search.glossary import Glossary
    from heedful.search.translator import Translation, Translator


_MORE = more("about the output")
_MOST_NAMED = 20
"""Terms of a glossary that could not be placed."""


def translate(
    *text: str,
    input_: Annotated[Path | None, Parameter(name="--input")] = None,
    output: Path | None = None,
    n_best: Annotated[int, whole_number(1, 1000), _MORE] = 1,
    scores: Annotated[Flag, _MORE] = False,
    alignment: Annotated[Flag, _MORE] = False,
    alignment_layer: Annotated[int | None, whole_number(1, 10_000), _MORE] = None,
    prefix: Annotated[str, _MORE] = "",
    glossary: Path | None = None,
    split: Split | None = None,
    as_is: Annotated[Flag, _MORE] = False,
    as_json: AsJson = False,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    model: EnsembleOptions = EnsembleOptions(),  # noqa: B008
    search: SearchChoices = SearchChoices(),  # noqa: B008
) -> None:
    """Translate text with a trained model.

    The text is the arguments, the lines of --input, or the lines of standard input, for which somebody at a terminal is
    asked. It is translated sentence by sentence, and comes out with the line breaks, white space and list marks it had.
    URLs, e-mail addresses, placeholders such as {0} or %s, tags, code in backticks, emoji and letters that the model
    has not learned are carried through as they are. A sentence of more than 50 words is translated in clauses where it
    has marks between them; one of more than 256 subwords is cut, which is said on standard error. With --n-best,
    --scores or --alignment a line has more columns, separated by tabs: the number of the input line (with --n-best),
    the score (with --scores), the translation, the alignment. With --json it is one JSON object, which also says where
    the numbers of source and translation differ.

    Args:
        text: What to translate; each argument may have many lines.
        input_: A text file, plain or compressed (.gz, .xz, .zst), instead.
        output: Write here instead of standard output.
        n_best: Translations of each line, best first; those that read the same are given once. Searched with that many
            beams and 12 more unless --beam-size is given.
        scores: Print each translation's score: the logarithm of its probability, divided by the length penalty.
        alignment: Print which word of the translation attends most to which word of the source, as in "0-0 1-2".
        alignment_layer: The layer of the decoder that --alignment looks at, counted from 1; the last when not given, or
            the last but one if there are more than three.
        prefix: What every translation begins with.
        glossary: A text file of terms and their translations, one each a line with a tab between them. Where a term
            stands in a sentence, its translation stands in the output, or it is said at the end that it does not.
        split: What the text is taken apart into: sentences, lines or nothing (never); what the model was trained on
            when not given, which most often is sentences.
        as_is: Give the model the text as it stands: nothing is carried through, and CAPITALS stay. So it is always with
            --alignment.

    Examples:
        heedful translate "A dog runs through the snow."
        heedful translate --model run --input news.en --output news.de --batch-size 64
    """
    if text and input_:
        raise SearchError("give text or --input, not both")
    if alignment_layer is not None and not alignment:
        raise SearchError(f"--alignment-layer {alignment_layer}: for --alignment alone; give both")
    if output:
        require_place(output, overwrite=overwrite)
    asked = search.asked(n_best=n_best)  # what cannot be honoured is said before the model is loaded
    if glossary and asked["method"] != "beam":
        raise SearchError(f"--glossary: for beam search alone, and this is {asked['method']} search")
    terms = _terms(glossary)
    total = _count_lines(input_) if input_ else len(text) or None
    translator = model.translator(engine="auto")
    options = replace(search.options(translator, n_best=n_best), glossary=terms.pairs if terms else ())
    blocks: Iterable[Iterable[str]] = [text_lines(input_)] if input_ else [text]
    if not text and not input_:
        blocks = standard_input(greeting=_greeting(model, translator))
    as_is = as_is or alignment
    done, any_text, unplaced = 0, False, []
    with new_text(output) as write, progress(unit="lines", quiet=quiet or not input_) as report:
        for block in blocks:
            given, sources = itertools.tee(block)
            found = translator.hypotheses(given, options, prefix=prefix, first=done, split=split, as_is=as_is)
            for translations, source in zip(found, sources, strict=True):
                done += 1
                any_text = any_text or any(map(str.isalpha, source))
                aligned = None
                if alignment:
                    aligned = translator.alignments(source, translations, layer=alignment_layer, split=split)
                missing = [terms.unplaced(source, found.text) for found in translations] if terms else None
                unplaced += [(done, *pair) for pair in missing[0].items()] if missing else []
                if as_json:
                    write(_as_json(done, source, translations, aligned, missing))
                else:
                    for line in _columns(done, translations, aligned, numbered=n_best > 1, scores=scores):
                        write(line)
                report("translated", done, total)
    if done and not any_text:
        say("there was nothing to translate: the input is empty, or holds numbers and signs alone", quiet=quiet)
    if unplaced:
        say(_unplaced(unplaced), quiet=quiet)


def _terms(path: Path | None) -> Glossary | None:
    if path is None:
        return None
    from heedful.search.glossary import read_glossary

    return read_glossary(path)


def _unplaced(terms: list[tuple[int, str, str]]) -> str:
    shown = [f"line {line:,}: {term} → {translation}" for line, term, translation in terms[:_MOST_NAMED]]
    more = f"; and {len(terms) - _MOST_NAMED:,} more, which --json names" if len(terms) > _MOST_NAMED else ""
    return f"these words of the glossary could not be placed: {'; '.join(shown)}{more}"


def _greeting(model: EnsembleOptions, translator: Translator) -> str:
    from heedful.runs.lists import languages

    spoken = languages(translator.saved.description)
    between = f" from {spoken.source} to {spoken.target}" if spoken else ""
    return f"{model.named().model} translates{between}. Type a sentence and press Enter; Ctrl-D ends."


def _columns(
    number: int, translations: list[Translation], aligned: list[str] | None, *, numbered: bool, scores: bool
) -> Iterator[str]:
    for place, translation in enumerate(translations):
        columns = [str(number)] if numbered else []
        columns += [f"{translation.score:.4f}"] if scores else []
        before = len(columns)
        columns += [aligned[place]] if aligned else []
        # Only a translation alone may have many lines.
        text = " ".join(translation.text.splitlines()) if columns else translation.text
        yield "\t".join([*columns[:before], text, *columns[before:]])


def _as_json(
    number: int,
    source: str,
    translations: list[Translation],
    aligned: list[str] | None,
    unplaced: list[dict[str, str]] | None,
) -> str:
    found: list[dict[str, Any]] = []
    for place, translation in enumerate(translations):
        scores = {"score": translation.score, "log_probability": translation.log_probability}
        found.append({"text": translation.text, **scores, "subwords": len(translation.ids)})
        if differing := differing_numerals(source, translation.text):
            found[-1]["numbers_differ"] = differing
        if aligned:
            found[-1]["alignment"] = aligned[place]
        if unplaced is not None:
            found[-1]["unplaced"] = unplaced[place]
    return json.dumps({"line": number, "source": source, "translations": found}, ensure_ascii=False)


def score(
    *,
    source: Path,
    target: Path,
    as_json: AsJson = False,
    quiet: Quiet = False,
    model: EnsembleOptions = EnsembleOptions(),  # noqa: B008
) -> None:
    """Say how probable a model finds given translations.

    One line for each pair: the log-probability of the target, natural logarithm, end symbol included, a tab, and its
    perplexity per subword. On standard error, at the end, the perplexity of the whole file. --json prints one JSON
    object a pair, with each subword's log-probability, and one for the whole file at the end.

    Args:
        source: A text file, plain or compressed.
        target: Its translation, line by line.

    Examples:
        heedful score --model run --source news.en --target news.de
        heedful score --model run --source news.en --target news.de --json > scores.jsonl
    """
    total, _ = map(_count_lines, (source, target))  # what cannot be read is said before the model is loaded
    from heedful.evaluation.translation_scores import perplexity

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


def _count_lines(path: Path) -> int | None:
    """How many lines a file has, for a progress bar, once all can be read; None for a pipe, which can be read once."""
    require_readable(path)
    return sum(1 for _ in text_lines(path)) if path.is_file() else None
