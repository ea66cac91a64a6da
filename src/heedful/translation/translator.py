"""Text to text: a trained model with its subwords and a search.

The only place where search and text meet. It reads no files but the model's, and prints nothing.
"""

from __future__ import annotations

import copy
import functools
import itertools
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from heedful.background import Report, no_report
from heedful.errors import SearchError
from heedful.evaluation.alignments import pharaoh
from heedful.runs.direction import language_check
from heedful.runs.saved import SavedModel, known_model
from heedful.search.attention_maps import AttentionMaps, attention_maps, require_shown, word_links
from heedful.search.ctranslate2_search import CTranslate2Search, takes_ctranslate2
from heedful.search.ensemble import require_alike
from heedful.search.options import SearchOptions
from heedful.search.sentence import Hypothesis, Sentence
from heedful.text.cleaning import clean_line
from heedful.text.profile import LanguageCheck
from heedful.text.putting_back import put_back
from heedful.text.sentences import Span, Split
from heedful.text.subwords import Subwords
from heedful.text.usual_spelling import agreement
from heedful.translation.lines import (
    Around,
    Errand,
    Line,
    Translation,
    codes,
    errands_of,
    line_links,
    line_of,
    line_translations,
    next_try,
    parts_of,
    passage_translations,
    placed_links,
)

if TYPE_CHECKING:
    from heedful.model.transformer import Transformer
    from heedful.search.model_search import Search
    from heedful.search.on_torch import OnTorch
    from heedful.search.scoring import Scored

BATCHES_AT_ONCE = 16
"""Batches that are read, sorted by length and translated before their output appears."""
MOST_SOURCE_TOKENS = 256
"""A longer line is translated in parts: no model has learned to translate pages."""
MOST_READ_TOKENS = 4096
"""Of a side, where a translation is given: what attention and scores take grows with the square of it."""
_ALIKE = 0.8
"""Of the words of translations, how many must be the same for a model to be good with capitals."""
_BREAKS = {*map(chr, range(32)), "\x7f", "\x85", "\u2028", "\u2029"}


class Translator:
    """A trained model, or several together, that translate text.

    >>> import heedful
    >>> translator = heedful.load("run")  # doctest: +SKIP
    >>> translator.translate(["A dog runs."])  # doctest: +SKIP
    ['Ein Hund rennt.']
    """

    def __init__(
        self,
        saved: SavedModel,
        *others: SavedModel,
        device: str = "auto",
        precision: str = "auto",
        batch_size: int = 0,
        engine: str = "torch",
        threads: int | None = None,
        search: Search | None = None,
        notice: Callable[[str], object] = warnings.warn,
    ) -> None:
        """``others``: models that are searched together with the first, see `heedful.search.ensemble`; the text around
        them, alignments and the options of the search are the first's. ``notice``: called with what a user should know
        and that stops nothing. ``search``: computes, elsewhere, and nothing is loaded here. For the rest see `load`.
        """
        require_alike((saved, *others))
        self.saved, self.all_saved, self._notice = saved, (saved, *others), notice
        self._language, self._codes = language_check(saved), codes(saved.description)
        running: dict[str, Any] = {"precision": precision, "batch_size": batch_size, "threads": threads}
        self.search: Search
        if search is not None:
            self.search, self.engine, self.device, self.batch_size = search, engine, device, batch_size
        elif takes_ctranslate2(engine, self.all_saved, device=device, precision=precision):
            self.engine, self.device, self._running = "ctranslate2", "cpu", {**running, "device": "cpu"}
            torch, only = lambda: self.on_torch.search, engine == "ctranslate2"
            self.search = CTranslate2Search(saved, torch=torch, only=only, **running, notice=notice)
            self.batch_size = self.search.batch_size
        else:
            self.engine, self._running = "torch", {**running, "device": device}
            own = self.on_torch
            self.search, self.device, self.batch_size = own.search, own.device, own.batch_size

    @classmethod
    def load(
        cls,
        model: Path | str,
        *others: Path | str,
        device: str = "auto",
        precision: str = "auto",
        batch_size: int = 0,
        engine: str = "torch",
        threads: int | None = None,
    ) -> Translator:
        """A trained model, ready to translate: a run folder, one of its checkpoints, or one that comes with heedful.

        ``others``: models that translate together with it; all must have the same subwords. A word's score is the mean
        of the log-probabilities that they give it, made to be a probability again.
        ``device``: auto, cpu, cuda or cuda:N. ``precision``: auto (bfloat16 on CUDA, else float32), bfloat16, float32
        or float64. ``batch_size``: sentences decoded together; 0 leaves it to the device. ``engine``: torch;
        ctranslate2, for CPUs: several times as fast, in int8 where precision is auto; or auto, which takes ctranslate2
        where it is installed and can do what is asked for. ``threads``: of a CPU; None leaves it to the engine.
        """
        running: dict[str, Any] = {"device": device, "precision": precision, "batch_size": batch_size}
        return cls(*map(known_model, (model, *others)), **running, engine=engine, threads=threads)

    @functools.cached_property
    def on_torch(self) -> OnTorch:
        """The models on torch, from when something first needs them."""
        from heedful.search.on_torch import put_on_torch

        return put_on_torch(*self.all_saved, **self._running)

    @property
    def model(self) -> Transformer:
        """On torch, whatever translates; the first of several."""
        return self.on_torch.models[0]

    def sharing(self, search: Search, *, notice: Callable[[str], object], check: LanguageCheck | None) -> Translator:
        """The same for one of many who share the models on torch, with a search and a check of language each."""
        other = copy.copy(self)
        other.search, other._notice, other._language = search, notice, check
        return other

    @property
    def lines_together(self) -> int:
        """Lines that are read, sorted by length and translated before their output appears."""
        return BATCHES_AT_ONCE * self.batch_size

    @property
    def options(self) -> SearchOptions:
        """How this model is meant to be searched: what its run was configured with."""
        return SearchOptions.of(self.saved.config.search)

    def translate(
        self,
        lines: Sequence[str],
        *,
        options: SearchOptions | None = None,
        glossary: Mapping[str, str] | None = None,
        split: Split | None = None,
        as_is: bool = False,
    ) -> list[str]:
        """The best translation of each text, which may have many lines; white space and line breaks stay.

        ``glossary``: terms and what must stand for them, see `heedful.translation.glossary`. ``split``, ``as_is``: see
        `hypotheses`.
        """
        if isinstance(lines, str):
            raise SearchError("translate takes a list of lines: give [text] for one")
        if glossary is not None:
            from heedful.translation.glossary import Glossary

            options = replace(options or self.options, glossary=Glossary(glossary).pairs)
        return [best[0].text for best in self.hypotheses(lines, options, split=split, as_is=as_is)]

    def hypotheses(
        self,
        lines: Iterable[str],
        options: SearchOptions | None = None,
        *,
        prefix: str = "",
        first: int = 0,
        split: Split | None = None,
        as_is: bool = False,
    ) -> Iterator[list[Translation]]:
        """The n best translations of each text, in the order of the texts, as soon as they are there.

        ``prefix``: what every translation begins with. ``first``: the number of the first text, on which samples
        depend. ``split``: what a text is taken apart into before, sentences, lines, or nothing (never); by default what
        the model was trained on. ``as_is``: it is translated as it stands, with all that is carried through otherwise.
        """
        options = options or self.options
        if split not in (None, *get_args(Split)):
            raise SearchError(f"split {split}: must be {', '.join(get_args(Split))}")
        if broken := _BREAKS.intersection(prefix):
            raise SearchError(f"the prefix {prefix!r:.80} holds {min(broken)!a}: a translation is one line of text")
        lines = iter(lines)
        while block := list(itertools.islice(lines, self.lines_together)):
            apart = [line_of(text, self._around, split=split, as_is=as_is) for text in block]
            self._tell(block, apart, first, as_is=as_is)
            yield from self._block(apart, options, prefix=prefix, first=first, as_is=as_is)
            first += len(block)

    @property
    def _around(self) -> Around:
        return Around(self.saved.source_subwords, self.saved.profile, self._codes, MOST_SOURCE_TOKENS)

    def _tell(self, texts: Sequence[str], lines: Sequence[Line], first: int, *, as_is: bool) -> None:
        """Notice what a user should know of the input."""
        for number, line in enumerate(lines, start=first + 1):
            if any(part.in_sentence for own in line.parts for part in own):
                self._notice(
                    f"line {number:,}: a sentence of more than {MOST_SOURCE_TOKENS} subwords has no full stop to cut "
                    "it at and was cut between words: its translation may be wrong there"
                )
        if self._language is not None and not as_is:
            for problem in self._language.problems(texts):
                self._notice(problem)

    def _block(
        self, lines: Sequence[Line], options: SearchOptions, *, prefix: str, first: int, as_is: bool
    ) -> Iterator[list[Translation]]:
        errands = [errand for number, line in enumerate(lines) for errand in errands_of(line, number, first=first)]
        forced = tuple(self.saved.target_subwords.encode([prefix])[0].tolist())
        translated: list[dict[int, list[Translation]]] = [{} for _ in lines]
        asked = "".join([prefix, *options.forbidden, *itertools.chain(*options.glossary)])
        numbers, ready = not as_is and not any(map(str.isdigit, asked)), 0
        while ready < len(lines):
            again: list[Errand] = []
            for errand, found in itertools.chain(self._found(errands, options, forced), [(None, [])]):
                if errand is not None:
                    kept = next_try(errand, found, self._around, numbers=numbers, phrases=not (as_is or asked))
                    if isinstance(kept, Errand):
                        again.append(kept)
                    else:
                        translated[errand.line][errand.place] = kept
                while ready < len(lines) and len(translated[ready]) == len(lines[ready].passages):
                    own = [translated[ready][place] for place in range(len(translated[ready]))]
                    yield line_translations(lines[ready], own, most=options.n_best, ranked=options.method != "sample")
                    ready += 1
            errands = again

    def _found(
        self, errands: Sequence[Errand], options: SearchOptions, forced: tuple[int, ...]
    ) -> Iterator[tuple[Errand, list[Translation]]]:
        """Each errand with its translations, as they are finished; without any where a name got lost."""
        waiting: dict[Sentence, Errand] = {}
        for errand in errands:
            if not errand.parts:
                yield errand, [Translation(errand.passage.alone or errand.passage.source, 0.0, 0.0, ())]
            for at, part in enumerate(errand.parts):
                begins = forced if errand.is_first and at == 0 else ()
                waiting[Sentence(errand.number + at, part.ids, begins)] = errand
        # Of several that are wanted, some may read the same: all that the beam holds are looked at.
        all_of_them = options.method == "beam" and options.n_best > 1
        asked = replace(options, n_best=options.beam_size) if all_of_them else options
        if options.glossary:
            from heedful.translation.glossary import with_terms

            terms = with_terms(list(waiting), asked, search=self.search, subwords=self._subwords)
            waiting = dict(zip(terms, waiting.values(), strict=True))
        finished: defaultdict[Errand, dict[int, list[Hypothesis]]] = defaultdict(dict)
        for sentence, hypotheses in self.search.search(list(waiting), asked):
            self._require_some(hypotheses, options)
            errand = waiting[sentence]
            own = finished[errand]
            own[sentence.number] = hypotheses
            if len(own) == len(errand.parts):
                del finished[errand]
                parts = [own[number] for number in sorted(own)]
                yield errand, passage_translations(parts, functools.partial(self._restored, errand))

    def _require_some(self, hypotheses: Sequence[Hypothesis], options: SearchOptions) -> None:
        if not hypotheses and options.forbidden:
            raise SearchError("no translation is left: whatever the model could say holds a forbidden text")
        if not hypotheses:
            weights_from = " and ".join(str(own.weights_from) for own in self.all_saved)
            raise SearchError(f"the scores of {weights_from} are not numbers: its training broke down")

    def _restored(self, errand: Errand, parts: Sequence[np.ndarray]) -> str | None:
        """The text of a sentence's parts with all that was carried; None where a name got lost."""

        def came_from() -> list[tuple[Span, Span]]:
            texts = errand.passage.given, self._text(parts[0])
            ids = errand.parts[0].ids, parts[0]
            return placed_links(self.search.read, texts, ids, self._subwords) if len(parts) == 1 else []

        return put_back(errand.passage, " ".join(map(self._text, parts)), came_from, language=self._around.languages[1])

    def _text(self, ids: np.ndarray) -> str:
        """The text of ids, on one line: a line's end inside it would shift every line after it in a file."""
        return self.saved.target_subwords.decode(ids).replace("\n", " ")

    def scores(self, pairs: Iterable[tuple[str, str]]) -> Iterator[Scored]:
        """What the model thinks of each target as a translation of its source."""
        from heedful.search.scoring import scored_pairs

        most = min(MOST_READ_TOKENS, self.search.most_positions or MOST_READ_TOKENS)
        together, own = self.lines_together, self.on_torch
        return scored_pairs(own.models, pairs, self._subwords, most=most, together=together, half=own.half)

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[Scored]:
        """What the model thinks of each target as a translation of its source."""
        if len(sources) != len(targets):
            raise SearchError(f"{len(sources)} sources and {len(targets)} targets: each source needs one")
        return list(self.scores(zip(sources, targets, strict=True)))

    def measured(
        self, lines: Sequence[str], *, options: SearchOptions | None = None, report: Report = no_report
    ) -> tuple[list[str], dict[str, str | float]]:
        """The best translation of each line as it is; and how fast they came, and where. Tokens: subwords and END."""
        outputs: list[str] = []
        tokens, began = 0, time.perf_counter()
        for hypotheses in self.hypotheses(lines, options, split="never", as_is=True):
            outputs.append(hypotheses[0].text)
            tokens += len(hypotheses[0].ids) + 1
            report("translating", len(outputs), len(lines))
        seconds = time.perf_counter() - began
        speed = {"sentences_per_second": len(outputs) / seconds, "target_tokens_per_second": tokens / seconds}
        return outputs, {"device": str(self.device), "engine": self.engine, "seconds": seconds, **speed}

    def likelihood(
        self, sources: Sequence[str], references: Sequence[str], *, report: Report = no_report
    ) -> dict[str, float | None]:
        """How probable the references are, as JSON has it: null if not finite; an end is a subword and a word more."""
        from heedful.search.scoring import likelihood

        return likelihood(self.scores(zip(sources, references, strict=True)), references, report=report)

    def does_capitals(self) -> bool | None:
        """Whether text in capitals is translated as other text is; None where nobody has tried and there is no text."""
        profile = self.saved.profile
        if profile is None or not profile.samples:
            return profile.does_capitals if profile else None
        options = self.options.greedy()
        usual = self.translate(profile.samples, options=options, as_is=True)
        in_capitals = self.translate([sample.upper() for sample in profile.samples], options=options, as_is=True)
        return agreement([one.upper() for one in usual], in_capitals) >= _ALIKE

    def attention(self, line: str, *, target: str | None = None, options: SearchOptions | None = None) -> AttentionMaps:
        """Every attention weight of a line and its best translation, or the one that is given."""
        if (count := len(self.all_saved)) > 1:
            raise SearchError(f"attention is shown of one model, and these are {count}: load one of them")
        parts = parts_of(clean_line(line), self.saved.source_subwords, most=MOST_SOURCE_TOKENS)
        if len(parts) != 1:
            raise SearchError("attention is shown for one sentence: the text is " + ("too long" if parts else "empty"))
        source_ids, best = parts[0].ids, None
        if target is None:
            ((_, found),) = self.search.search([Sentence(0, source_ids)], options or self.options)
            if not found:
                raise SearchError("no translation was found whose attention could be shown")
            best = found[0]
            ids = best.ids
        else:
            ids = self.saved.target_subwords.encode([clean_line(target)])[0]
            require_shown(self.saved.config.model, len(ids) + 1)
        texts = clean_line(line), self._text(ids)
        maps = attention_maps(self.search.read, texts, (source_ids, ids), self._subwords)
        return replace(maps, log_probability=best.log_probability, score=best.score) if best else maps

    def alignments(
        self,
        line: str,
        translations: Sequence[Translation],
        *,
        layer: int | None = None,
        split: Split | None = None,
    ) -> list[str]:
        """For each translation of a line the source word that each of its words attends to most, in Pharaoh's format.

        ``layer``: the decoder layer that is asked, counted from 1; `aligning_layer` when not given. The translations
        must have been made ``as_is``, with the same ``split``.
        """
        layers = self.saved.config.model.decoder_layers
        if layer is not None and not 1 <= layer <= layers:
            raise SearchError(f"layer {layer}: this model's decoder has layers 1 to {layers}")
        links = functools.partial(word_links, self.search.read, layer=layer)
        apart, subwords = line_of(line, self._around, split=split, as_is=True), self._subwords
        return [pharaoh(line_links(apart, translation, subwords, links)) for translation in translations]

    @property
    def _subwords(self) -> tuple[Subwords, Subwords]:
        return self.saved.source_subwords, self.saved.target_subwords

    def forbidding(self, words: Iterable[str], options: SearchOptions | None = None) -> SearchOptions:
        """The options, with these texts forbidden: no translation holds one as a whole word, however it is spelled."""
        options = options or self.options
        return replace(options, forbidden=(*options.forbidden, *words))


load = Translator.load
