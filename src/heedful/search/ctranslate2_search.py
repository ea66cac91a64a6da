"""CTranslate2 as a translator's search: an engine in C++ for CPUs, in int8 several times as fast as torch.

It has its own beam search, which ends when some hypotheses have, and knows neither the paper's length penalty nor what
an output may spell. So it is asked for the log-probabilities of more hypotheses than are wanted, which are ranked here;
and a sentence for which it found bytes that are no text, or nothing that has ended in time, goes to torch after all.
What it cannot do at all, such as samples and glossaries, `refusals` names. Needs no torch unless a sentence does, or
the model has to be exported first.
"""

from __future__ import annotations

import functools
import importlib.util
import itertools
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from heedful.errors import ExportError, SearchError
from heedful.export import POSITIONS
from heedful.export.cache import export_once
from heedful.runs.saved import SavedModel
from heedful.search.options import SearchOptions
from heedful.search.sentence import Hypothesis, Sentence
from heedful.symbols import END

if TYPE_CHECKING:
    from heedful.search.attention_maps import Weights
    from heedful.search.model_search import Search

ENGINES = ("auto", "torch", "ctranslate2")
_COMPUTES = {"auto": "int8", "float32": "float32"}
"""What each precision is to CTranslate2."""
_BATCH = 32
_PATIENCE = 1.25
"""So many hypotheses for each beam end before the search does. With 1 the best of 600 sentences was another than that
of the exact search for 8, with this for 3, computed in float32 both times."""
_NO_PENALTY = 1e-30
"""Of the length, inside of CTranslate2: 0 would make it stop as soon as the best of the beam ends."""


def takes_ctranslate2(engine: str, models: Sequence[SavedModel], *, device: str, precision: str) -> bool:
    """Whether an engine that was asked for, torch, ctranslate2 or auto, is CTranslate2; raises where it cannot be."""
    if engine not in ENGINES:
        raise SearchError(f"engine {engine}: must be {', '.join(ENGINES)}")
    if engine == "torch":
        return False
    config, refused = models[0].config.model, []
    if importlib.util.find_spec("ctranslate2") is None:
        refused.append("it is not installed: pip install 'heedful[ctranslate2]'")
    if device not in ("auto", "cpu"):
        refused.append(f"device {device}, and it is for CPUs here")
    if precision not in _COMPUTES:
        refused.append(f"precision {precision}, and it has {' and '.join(_COMPUTES)}")
    if len(models) > 1:
        refused.append("several models together")
    if (config.key_size, config.value_size) != (config.d_model // config.num_heads,) * 2 or config.neighbourhood:
        refused.append("this model's attention, which it does not know")
    if refused and engine == "ctranslate2":
        raise SearchError(f"the engine ctranslate2 cannot be taken: {'; '.join(refused)}")
    return not refused and (engine == "ctranslate2" or (precision == "auto" and not (device == "auto" and _has_gpu())))


def _has_gpu() -> bool:
    import ctranslate2  # pyright: ignore[reportMissingImports]

    return ctranslate2.get_cuda_device_count() > 0


def _cores() -> int:
    """Threads where nobody says how many, by the same rules as torch's."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    own = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return int(asked) if asked.isdecimal() and int(asked) else own or 1


def refusals(options: SearchOptions) -> list[str]:
    """Which options CTranslate2 cannot honour; nothing where it can."""
    asked = {
        "samples, which depend on a seed": options.method == "sample",
        "beam search with one beam (there is greedy search)": (options.method, options.beam_size) == ("beam", 1),
        "drafts": options.drafts,
        "forbidden texts": options.forbidden,
        "a glossary": options.glossary,
    }
    return [name for name, is_asked in asked.items() if is_asked]


class CTranslate2Search:
    """Finds translations with CTranslate2; reads given ones with torch."""

    def __init__(
        self,
        saved: SavedModel,
        *,
        torch: Callable[[], Search],
        only: bool,
        precision: str,
        batch_size: int,
        threads: int | None,
        notice: Callable[[str], object],
    ) -> None:
        """``torch``: gives the search that takes what CTranslate2 cannot. ``only``: CTranslate2 takes all that it can,
        and the rest is refused; otherwise torch takes all where its results would be far from CTranslate2's.
        """
        self._saved, self._torch, self._only, self._notice = saved, torch, only, notice
        self._computes, self.threads = _COMPUTES[precision], threads or _cores()
        self.batch_size = batch_size or _BATCH
        source, target = (own.tokens for own in (saved.source_subwords, saved.target_subwords))
        self._source_tokens, self._tokens = np.array(source, object), np.array(target, object)
        self._ids = {token: id_ for id_, token in enumerate(target)}

    @functools.cached_property
    def _engine(self) -> Any:
        """CTranslate2 with the model; None where torch must do, which is said."""
        try:
            return self._loaded()
        except (ExportError, SearchError) as error:
            if self._only:
                raise
            self._notice(f"PyTorch translates, and not CTranslate2: {error}")
            return None

    def _loaded(self) -> Any:
        import ctranslate2  # pyright: ignore[reportMissingImports]

        folder = export_once(self._saved, storage=self._computes, notice=self._notice)
        threads = {"inter_threads": self.threads, "intra_threads": 1}  # a batch each: none waits for another
        try:
            return ctranslate2.Translator(str(folder), device="cpu", compute_type=self._computes, **threads)
        except (RuntimeError, ValueError) as error:
            raise SearchError(f"CTranslate2 cannot take {folder}, which can be removed: {error}") from None

    @property
    def most_positions(self) -> int | None:
        config = self._saved.config.model
        return config.max_positions if config.positions == "learned" else None

    def read(self, source: np.ndarray, target: np.ndarray) -> tuple[float, Weights]:
        """What torch says of a translation that is given."""
        return self._torch().read(source, target)

    def search(
        self, sentences: Sequence[Sentence], options: SearchOptions
    ) -> Iterator[tuple[Sentence, list[Hypothesis]]]:
        """Every sentence with its hypotheses, best first, those of the longest sentences first."""
        refused = refusals(options)
        if refused and self._only:
            raise SearchError(f"the engine ctranslate2 cannot do {', '.join(refused)}: take the engine auto or torch")
        if refused or self._engine is None:
            yield from self._torch().search(sentences, options)
            return
        left = [sentence for sentence in sentences if not self.takes(sentence, options)]
        taken = [sentence for sentence in sentences if self.takes(sentence, options)]
        size = max(1, min(self.batch_size, -(-len(taken) // self.threads)))
        for sentence, found in self.found(taken, options, size=size):
            if found is None:
                left.append(sentence)
            else:
                yield sentence, found
        if left:
            yield from self._torch().search(left, options)

    def found(
        self, sentences: Sequence[Sentence], options: SearchOptions, *, size: int
    ) -> Iterator[tuple[Sentence, list[Hypothesis] | None]]:
        """What CTranslate2 alone finds for sentences that it `takes`, so many of them on a thread at a time; None where
        torch must say. For any thread of ours."""
        ordered = sorted(sentences, key=lambda sentence: -len(sentence.source))
        batches = (ordered[first : first + size] for first in range(0, len(ordered), size))
        begun = deque(self._begun(batch, options) for batch in itertools.islice(batches, 2 * self.threads))
        while begun:
            for sentence, result in begun.popleft():
                yield sentence, self._hypotheses(sentence, result.result(), options)
            begun.extend(self._begun(batch, options) for batch in itertools.islice(batches, 1))

    def _begun(self, batch: Sequence[Sentence], options: SearchOptions) -> list[tuple[Sentence, Any]]:
        """The sentences with what CTranslate2 will have found for them: it has just begun."""
        limit = max(self._limit(sentence, options) for sentence in batch)
        width = 1 if options.method == "greedy" else options.beam_size
        patience = _PATIENCE if options.stop == "exact" and width > 1 else 1
        prefixes = [self._tokens[list(sentence.prefix)].tolist() or None for sentence in batch]
        results = self._engine.translate_batch(
            [self._source_tokens[sentence.source].tolist() for sentence in batch],
            target_prefix=prefixes if any(prefixes) else None,
            beam_size=width,
            patience=patience,
            num_hypotheses=round(width * patience),
            length_penalty=_NO_PENALTY,
            min_decoding_length=options.min_length,
            max_decoding_length=limit + 1,  # the end is one of them
            max_input_length=0,
            return_scores=True,
            return_end_token=True,
            asynchronous=True,
        )
        return list(zip(batch, results, strict=True))

    @property
    def can_be_had(self) -> bool:
        """Whether CTranslate2 has the model, which is loaded; where not, torch translates."""
        return self._engine is not None

    def takes(self, sentence: Sentence, options: SearchOptions) -> bool:
        """Whether CTranslate2 is asked; torch takes the rest, or says what is wrong with it."""
        limit = self._limit(sentence, options)
        longest = max(len(sentence.source), limit) + 1
        fits = longest <= (self.most_positions or POSITIONS) and len(sentence.prefix) <= limit
        # Where the model must say what it would not, the best may come long after the first have ended.
        free = self._only or not (sentence.prefix or options.min_length)
        return fits and self._is_text(sentence.prefix) and free

    def _limit(self, sentence: Sentence, options: SearchOptions) -> int:
        limits = options.limit(len(sentence.source)), sentence.limit, self.most_positions and self.most_positions - 1
        return min(limit for limit in limits if limit is not None)

    def _hypotheses(self, sentence: Sentence, result: Any, options: SearchOptions) -> list[Hypothesis] | None:
        """The n best, by the paper's length penalty; None where torch must say."""
        before, limit = self._prefix_log_probability(sentence), self._limit(sentence, options)
        ended: list[tuple[float, float, list[str]]] = []
        unfinished = -np.inf
        for tokens, log_probability in zip(result.hypotheses, result.scores, strict=True):
            if len(tokens) > limit + 1:  # others in its batch may be longer
                return None
            score = (log_probability + before) / ((5 + len(tokens)) / 6) ** options.length_penalty
            if tokens and tokens[-1] == self._tokens[END]:
                ended.append((score, log_probability + before, tokens))
            else:  # as good as it, and no better, could be what would have had to end here
                unfinished = max(unfinished, score)
        wanted = sentence.n_best or options.n_best
        best = sorted(ended, key=lambda own: -own[0])[:wanted]
        if not best or best[-1][0] < unfinished or (len(best) < wanted and unfinished > -np.inf):
            return None
        found: list[Hypothesis] = []
        for score, log_probability, tokens in best:
            ids = np.array([self._ids[token] for token in tokens[:-1]], np.int64)
            found.append(Hypothesis(ids, log_probability, score, np.zeros(len(tokens), np.int64)))
        return found if all(self._is_text(own.ids) for own in found) else None

    def _is_text(self, ids: Iterable[int]) -> bool:
        spelled = b"".join(self._saved.target_subwords.id_bytes[id_] for id_ in ids)
        try:
            return "\N{REPLACEMENT CHARACTER}" not in spelled.decode("utf-8")
        except UnicodeDecodeError:
            return False

    def _prefix_log_probability(self, sentence: Sentence) -> float:
        """That of the words which were given: CTranslate2 counts them for nothing."""
        if not sentence.prefix:
            return 0.0
        given = self._source_tokens[sentence.source].tolist(), self._tokens[list(sentence.prefix)].tolist()
        (scored,) = self._engine.score_batch([given[0]], [given[1]], max_input_length=0)
        return float(sum(scored.log_probs[: len(sentence.prefix)]))
