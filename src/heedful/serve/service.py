"""The models that are served, which of them is meant, and how a request's work is done and given up."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from heedful.errors import BusyError, GoneError, ServeError
from heedful.runs.descriptions import Languages
from heedful.runs.direction import language_check
from heedful.search.options import SearchOptions
from heedful.serve.engine_thread import EngineThread
from heedful.serve.engines import Decoder, OnLive, job_of
from heedful.serve.metrics import Metrics
from heedful.serve.shared_search import Shared, SharedSearch
from heedful.text.profile import Side
from heedful.translation.translator import Translator

T = TypeVar("T")
_MOST_JOBS = 256
"""Requests whose text is taken apart or put together, or that wait for their translations: a thread for each."""
_CACHED_WORDS = 1 << 14
"""Whose subwords are known: what strangers send for months must not fill the memory."""
_ENOUGH = 2000
"""Characters by which a language is known."""
_UNKNOWN = Side({}, {}, 0.0)


@dataclass(frozen=True, eq=False)
class ServedModel:
    """A model and the name that requests have for it."""

    name: str
    translator: Translator
    languages: Languages
    options: SearchOptions

    @functools.cached_property
    def shared(self) -> Shared:
        return Shared.of(self.translator)

    @property
    def engine(self) -> str:
        """What computes most translations, as it is called by those who made it."""
        return "CTranslate2" if self.shared.batches else "PyTorch"

    def detection(self, text: str) -> float:
        """How much a text looks like what this model translates, from 0 to 1: by its most frequent words."""
        profile, words = self.translator.saved.profile, text.lower().split()
        if profile is None or not words:
            return 0.0
        letters = [one for one in text if one.isalpha()]
        known = sum(map(profile.source.knows, letters)) / max(1, len(letters))
        hits = sum(word.strip(".,;:!?\"'()") in profile.source.function_words for word in words) / len(words)
        return known * min(1.0, hits / max(profile.source.function_share, 1e-9))

    def likelihood(self, text: str) -> float:
        """How probable the letters of a text are in the language that it translates, as a logarithm."""
        profile = self.translator.saved.profile
        return (profile.source if profile is not None else _UNKNOWN).likelihood(text)


class Service:
    """What every route works with."""

    def __init__(
        self,
        models: Sequence[ServedModel],
        *,
        queue_tokens: int,
        most_characters: int,
        workers: int | None = None,
        elsewhere: tuple[Decoder, Metrics] | None = None,
    ) -> None:
        """``most_characters``: of one request; ``workers``: batches that CTranslate2 translates at the same time;
        ``elsewhere``: what decodes and counts in another process.
        """
        batches = [model.shared.batches for model in models if model.shared.batches]
        threads = max((one.threads for one in batches), default=0)
        if workers is not None and workers > 1 and not threads:
            raise ServeError(
                f"--workers {workers}: they translate batches with CTranslate2, and PyTorch decodes all requests side "
                "by side in one engine: leave it out, or take CTranslate2 (a CPU, pip install 'heedful[ctranslate2]')"
            )
        self.workers = workers or max(1, threads)
        for one in batches:
            one.pieces = max(1, one.threads // self.workers)
        self.models, self.most_characters = list(models), most_characters
        self.metrics = elsewhere[1] if elsewhere else Metrics()
        for saved in (one for model in models for one in model.translator.all_saved):
            saved.source_subwords.cached_words = saved.target_subwords.cached_words = _CACHED_WORDS
        self.thread = elsewhere[0] if elsewhere else self._own_thread(queue_tokens)
        self.ready = True
        self.jobs = 0
        self.pool = ThreadPoolExecutor(_MOST_JOBS, thread_name_prefix="text")

    def _own_thread(self, queue_tokens: int) -> EngineThread:
        thread = EngineThread(self.metrics, most_tokens=queue_tokens, workers=self.workers)
        self.metrics.watch(tokens=lambda: thread.tokens, running=lambda: thread.running)
        return thread

    def warm_up(self) -> None:
        """Make the engines that most sentences need, and on CUDA capture their steps, before somebody waits for it."""
        for model in self.models:
            with job_of(self.thread) as job:
                SharedSearch(self.thread, job, model.shared, model.options).warm_up()

    def close(self) -> None:
        """Stop; whatever is not finished fails."""
        self.ready = False
        self.thread.stop()
        self.pool.shutdown(cancel_futures=True)

    # Which model

    @property
    def sources(self) -> list[str]:
        return list(dict.fromkeys(model.languages.source for model in self.models))

    def targets(self, source: str | None = None) -> list[str]:
        """The languages that a source, or any, is translated into."""
        found = (one.languages for one in self.models if source in (None, one.languages.source))
        return list(dict.fromkeys(spoken.target for spoken in found))

    def model(self, source: str | None, target: str | None, *, text: str = "", name: str | None = None) -> ServedModel:
        """The model that is meant; ``source`` None: the one whose language the text looks like most."""
        if name is not None:
            named = [model for model in self.models if model.name == name]
            if not named:
                raise ServeError(f"there is no model {name!r:.80}: there is {self._known()}", status=400)
            return named[0]
        fits = [
            model
            for model in self.models
            if source in (None, model.languages.source) and target in (None, model.languages.target)
        ]
        if not fits:
            own, other = ("any language" if one is None else f"{one!r:.40}" for one in (source, target))
            raise ServeError(f"there is no model from {own} to {other}: there is {self._known()}", status=400)
        if len({model.languages.source for model in fits}) == 1:
            return fits[0]
        language = self.detections(text, among=fits)[0][0]
        return next(model for model in fits if model.languages.source == language)

    def _opposite(self, model: ServedModel) -> str:
        """What to do about text in the language that a model translates into."""
        source, target = model.languages.source, model.languages.target
        back = [one for one in self.models if (one.languages.source, one.languages.target) == (target, source)]
        return f"swap the languages, {back[0].name} translates it" if back else "check it, or the model"

    def _known(self) -> str:
        return ", ".join(f"{one.name} ({one.languages.source} to {one.languages.target})" for one in self.models)

    def detections(self, text: str, *, among: Sequence[ServedModel] = ()) -> list[tuple[str, float]]:
        """The languages that a text may be in, most probable first, each with a confidence from 0 to 100.

        Of one language alone it is how much the text looks like it; of several, how probable each is.
        """
        models: dict[str, ServedModel] = {}
        for model in among or self.models:
            models.setdefault(model.languages.source, model)
        if len(models) == 1:
            return [(code, round(100 * model.detection(text), 1)) for code, model in models.items()]
        scores = {code: model.likelihood(text[:_ENOUGH]) for code, model in models.items()}
        shares = {code: math.exp(score - max(scores.values())) for code, score in scores.items()}
        found = {code: round(100 * share / sum(shares.values()), 1) for code, share in shares.items()}
        return sorted(found.items(), key=lambda pair: -pair[1])

    # A request's work

    def require_short(self, texts: Sequence[str], *, status: int = 400) -> int:
        """The characters of a request's texts; raises where they are too many."""
        characters = sum(map(len, texts))
        if characters > self.most_characters:
            problem = f"{characters:,} characters of text: at most {self.most_characters:,} at a time"
            raise ServeError(problem, status=status)
        return characters

    async def run(
        self,
        model: ServedModel,
        work: Callable[[Translator], T],
        *,
        gone: Callable[[], Any],
        notices: list[str] | None = None,
        on_live: OnLive | None = None,
    ) -> T:
        """What the work makes with a translator of its own, in a thread of its own.

        ``gone``: makes an awaitable that ends when nobody waits any more: then the work is given up.
        """
        if not self.ready:
            raise ServeError("the server is stopping", status=503)
        if self.jobs >= _MOST_JOBS:
            self.metrics.refused()
            raise BusyError(
                "too many requests at the same time: try again later", retry_after=self.thread.seconds_to_wait
            )
        self.jobs += 1
        try:
            with job_of(self.thread, on_live) as job:
                search = SharedSearch(self.thread, job, model.shared, model.options)
                told = notices if notices is not None else []
                check = language_check(model.translator.saved, opposite=lambda: self._opposite(model))
                own = model.translator.sharing(search, notice=told.append, check=check)
                working = asyncio.get_running_loop().run_in_executor(self.pool, work, own)
                leaving = asyncio.ensure_future(gone())
                try:
                    await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    leaving.cancel()
                    if not working.done():
                        self.thread.cancel(job)
                        with contextlib.suppress(GoneError):
                            await working
                return working.result()
        finally:
            self.jobs -= 1
