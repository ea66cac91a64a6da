"""``heedful translate`` and ``heedful score``: a model, and lines of text as they come."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from heedful.cli.long_texts import SHARD_LINES, lines_of_shard, made_by, resumed_text, whole_text
from heedful.cli.model_options import EnsembleOptions, SearchChoices
from heedful.cli.options import MORE_OUTPUT, AsJson, Flag, Input, NBest, Overwrite, Quiet, WithScores, whole_number
from heedful.cli.standard_input import is_typed, standard_input
from heedful.cli.terminal import print_json, print_text, progress, require_place, say
from heedful.errors import SearchError, TextError
from heedful.text.numbers import differing_numerals
from heedful.text.reading import require_readable, text_facts, text_lines
from heedful.text.sentences import Split

if TYPE_CHECKING:
    from heedful.search.options import SearchOptions
    from heedful.translation.glossary import Glossary
    from heedful.translation.translator import Translation, Translator

_MOST_NAMED = 20


def translate(
    *text: str,
    input_: Input = None,
    output: Path | None = None,
    resume: Flag = False,
    shard: str | None = None,
    n_best: NBest = 1,
    scores: WithScores = False,
    alignment: Annotated[Flag, MORE_OUTPUT] = False,
    alignment_layer: Annotated[int | None, whole_number(1, 10_000), MORE_OUTPUT] = None,
    prefix: Annotated[str, MORE_OUTPUT] = "",
    glossary: Path | None = None,
    split: Split | None = None,
    as_is: Annotated[Flag, MORE_OUTPUT] = False,
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
        resume: Go on where the same command was stopped, by whatever it was, or begin: the lines so far are kept in
            OUTPUT.part. Another input, model or option than before is refused.
        shard: Translate one part of --input, such as 2/8, the second of eight, so that several GPUs or machines share
            the work, each with its own --output. These, one after the other, are the translation of the whole.
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
        heedful translate --model run --input news.en --output news.de --resume
    """
    if text and input_:
        raise SearchError("give text or --input, not both")
    if alignment_layer is not None and not alignment:
        raise SearchError(f"--alignment-layer {alignment_layer}: for --alignment alone; give both")
    if resume and overwrite:
        raise SearchError("--resume goes on with what is there, --overwrite replaces it: give one of them")
    if output:
        require_place(output, overwrite=overwrite or resume)
    asked = search.asked(n_best=n_best)  # what cannot be honoured is said before the model is loaded
    if glossary and asked["method"] != "beam":
        raise SearchError(f"--glossary: for beam search alone, and this is {asked['method']} search")
    terms = _terms(glossary)
    facts = _facts(input_) if input_ else None
    if (resume or shard) and not (facts and output):
        needing = "--resume" if resume else "--shard"
        raise SearchError(f"{needing}: for --input FILE, which no pipe is, with --output FILE; give both")
    span = lines_of_shard(shard, facts[0]) if facts else range(0)
    if shard and not span:
        say(f"--shard {shard} has no lines: parts are cut at multiples of {SHARD_LINES} lines", quiet=quiet)
    blocks: Iterator[Iterable[str]] = iter([text])
    beginning: Iterable[str] = text
    if input_:
        beginning = text_lines(input_) if facts else ()  # a pipe can be read once
    elif not text:
        blocks = standard_input(greeting=lambda: _greeting(model, translator))
        if not is_typed():
            beginning = list(next(blocks, ()))
            blocks = itertools.chain([beginning], blocks)
    model = model.suiting(beginning)
    translator = model.translator(engine="auto")
    options = replace(search.options(translator, n_best=n_best), glossary=terms.pairs if terms else ())
    around = {"prefix": prefix, "split": split, "as_is": as_is or alignment}
    shown = {"alignment": alignment, "alignment_layer": alignment_layer, "scores": scores, "json": as_json}
    text_asked = {"input": facts, "shard": shard, **around, **shown}
    made = made_by(translator, precision=model.precision) if resume else {}
    record = {**made, **text_asked, **asdict(options)}
    done, any_text, unplaced = 0, False, _Unplaced()
    with (
        resumed_text(output, record, lines=len(span)) if output and resume else whole_text(output) as written,
        progress(unit="lines", quiet=quiet or not input_, speed=True) as report,
    ):
        if facts:
            report("translated", written.lines, len(span))
        first = span.start + written.lines
        if input_:
            blocks = iter([itertools.islice(text_lines(input_), first, span.stop if facts else None)])
        for number, source, translations in _translated(translator, blocks, options, first=first, **around):
            any_text = any_text or any(map(str.isalpha, source))
            aligned = None
            if alignment:
                aligned = translator.alignments(source, translations, layer=alignment_layer, split=split)
            missing = [terms.unplaced(source, found.text) for found in translations] if terms else None
            unplaced.add(number, missing[0] if missing else {})
            if as_json:
                written.write(_as_json(number, source, translations, aligned, missing))
            else:
                for line in _columns(number, translations, aligned, numbered=n_best > 1, scores=scores):
                    written.write(line)
            done = number - span.start
            if done % translator.lines_together == 0:
                written.keep(done)
            report("translated", done, len(span) if facts else None)
        if resume and written.lines == len(span):
            say(f"{output} is complete: there is nothing left to do", quiet=quiet)
    if done and not any_text:
        say("there was nothing to translate: the input is empty, or holds numbers and signs alone", quiet=quiet)
    unplaced.tell(quiet=quiet)


def _terms(path: Path | None) -> Glossary | None:
    if path is None:
        return None
    from heedful.translation.glossary import read_glossary

    return read_glossary(path)


def _translated(
    translator: Translator, blocks: Iterable[Iterable[str]], options: SearchOptions, *, first: int, **around: Any
) -> Iterator[tuple[int, str, list[Translation]]]:
    """Each line with its number, from 1, and its translations."""
    for block in blocks:
        given, sources = itertools.tee(block)
        found = translator.hypotheses(given, options, first=first, **around)
        for translations, source in zip(found, sources, strict=True):
            first += 1
            yield first, source, translations


class _Unplaced:
    """Terms of a glossary that could not be placed: some are named, the others counted."""

    def __init__(self) -> None:
        self._shown: list[str] = []
        self._more = 0

    def add(self, line: int, terms: dict[str, str]) -> None:
        for term, translation in terms.items():
            if len(self._shown) < _MOST_NAMED:
                self._shown.append(f"line {line:,}: {term} → {translation}")
            else:
                self._more += 1

    def tell(self, *, quiet: bool) -> None:
        more = f"; and {self._more:,} more, which --json names" if self._more else ""
        if self._shown:
            said = "; ".join(self._shown)
            say(f"these words of the glossary could not be placed: {said}{more}", quiet=quiet)


def _greeting(model: EnsembleOptions, translator: Translator) -> str:
    from heedful.runs.lists import languages

    spoken = languages(translator.saved.description)
    between = f" from {spoken.source} to {spoken.target}" if spoken else ""
    return f"{model.named().model} translates{between}"


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
    read, _ = map(_facts, (source, target))  # what cannot be read is said before the model is loaded
    from heedful.evaluation.translation_scores import perplexity

    translator = model.translator()
    count, sum_, tokens, words = 0, 0.0, 0, 0
    with progress(unit="pairs", quiet=quiet, speed=True) as report:
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
            report("scored", count, read[0] if read else None)
    per_subword, per_word = perplexity(-sum_, tokens), perplexity(-sum_, words)
    if as_json:
        whole = {"model": model.named().model, "pairs": count, "log_probability": sum_, "subwords": tokens}
        whole |= {"perplexity": per_subword, "perplexity_per_word": per_word}
        print_json({"whole": whole}, indent=None)
    else:
        pairs = f"{count:,} pair{'s' * (count != 1)}"
        say(f"{pairs}, perplexity {per_subword:.3f} a subword, {per_word:.3f} a word", quiet=quiet)


def _pairs(source: Path, target: Path) -> Iterator[tuple[str, str]]:
    for number, (line, translation) in enumerate(itertools.zip_longest(text_lines(source), text_lines(target)), 1):
        if line is None or translation is None:
            short, long = (source, target) if line is None else (target, source)
            lines = f"{number - 1:,} line{'s' * (number != 2)}"
            raise TextError(f"{short} has {lines} and {long} more: each line needs its translation")
        yield line, translation


def _facts(path: Path) -> tuple[int, str] | None:
    """How many lines a file has and their hash, once all can be read; None for a pipe, which can be read once."""
    require_readable(path)
    return text_facts(path) if path.is_file() else None
