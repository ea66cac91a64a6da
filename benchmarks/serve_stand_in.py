"""`heedful serve` with a stand-in for a fast GPU, so that a CPU shows how fast everything around the model is.

    python benchmarks/serve.py --stand-in

It has slots and takes steps as the engine does on CUDA; a step is a sleep, during which other threads may work, and a
translation is its source: what is carried and the numbers in it are right, and nothing is searched for twice.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any

from heedful.runs.descriptions import Languages
from heedful.runs.saved import read_model
from heedful.search.engine import Results
from heedful.search.options import SearchOptions
from heedful.search.sentence import Hypothesis, Sentence
from heedful.translation.translator import Translator

_CLASSES = (16, 32, 48, 64, 96, 128, 192, 256, 384)
SLOTS, _SECONDS = 256, 0.0015
"""Of an engine, and that a step takes."""
_WORDS = 1.2
"""Steps for each subword of the source."""


class StandIn:
    """In the place of `Engine`."""

    most_tokens = None

    slots = SLOTS

    def __init__(self) -> None:
        self._inside: list[tuple[Sentence, int] | None] = [None] * SLOTS
        self._steps = 0

    @property
    def inside(self) -> list[Sentence]:
        return [placed[0] for placed in self._inside if placed is not None]

    def room(self, waiting: int) -> int:
        free = self._inside.count(None)
        return min(free, waiting) if free >= min(max(1, self.slots // 8), waiting) else 0

    def turn(self, new: Sequence[Sentence] = (), *, dropped: Collection[Sentence] = ()) -> Results:
        if dropped:
            self._inside = [None if placed and placed[0] in dropped else placed for placed in self._inside]
        free = [slot for slot, placed in enumerate(self._inside) if placed is None][: len(new)] if new else []
        for slot, sentence in zip(free, new, strict=True):
            self._inside[slot] = sentence, self._steps + int(_WORDS * (len(sentence.source) + 1))
        time.sleep(_SECONDS)
        self._steps += 1
        results: Results = []
        for slot, placed in enumerate(self._inside):
            if placed is not None and placed[1] <= self._steps:
                results.append((placed[0], [_copied(placed[0])]))
                self._inside[slot] = None
        return results

    def live(self, sentences: Collection[Sentence]) -> dict[Sentence, Any]:
        return {}


def _copied(sentence: Sentence) -> Hypothesis:
    return Hypothesis(sentence.source, -1.0, -0.1, sentence.source)


class StandInSearch:
    """In the place of `ModelSearch`, which says what may be asked for."""

    def __init__(self, translator: Translator) -> None:
        self._own = translator.on_torch.search
        self._engines: dict[int, StandIn] = {}
        self.shared_lengths = (8,)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)

    def shared_engine(self, sentence: Sentence, options: SearchOptions) -> Any:
        size = next(size for size in _CLASSES if len(sentence.source) < size)
        if size not in self._engines:
            self._engines[size] = StandIn()
        return self._engines[size]

    def forget_engines(self) -> None:
        self._engines.clear()


def stand_in_translator(model: str) -> Translator:
    """The library with the stand-in, all that is asked for in one call."""
    from heedful.serve.engine_thread import EngineThread
    from heedful.serve.engines import Job
    from heedful.serve.metrics import Metrics
    from heedful.serve.shared_search import Shared, SharedSearch

    translator = Translator.load(model, device="cpu", threads=1, batch_size=SLOTS)
    stand_in: Any = StandInSearch(translator)
    shared = Shared(stand_in, None)
    thread = EngineThread(Metrics(), most_tokens=10**9)
    return translator.sharing(SharedSearch(thread, Job(), shared, translator.options), notice=str, check=None)


def serve_stand_in(model: str, *, fronts: int = 0) -> None:
    """Answer until somebody stops it; says where on standard error."""
    from heedful.serve.access import Keys
    from heedful.serve.app import app
    from heedful.serve.fronts import Fronts, Settings
    from heedful.serve.server import Server, bound_socket, serve
    from heedful.serve.service import ServedModel, Service
    from heedful.serve.shared_search import Shared

    translator = Translator.load(model, device="cpu", threads=1)
    spoken = read_model(model).description.languages or Languages("source", "target")
    served = ServedModel(model, translator, spoken, translator.options)
    stand_in: Any = StandInSearch(translator)
    vars(served)["shared"] = Shared(stand_in, None)
    with bound_socket("127.0.0.1", 0, one_of_several=fronts > 0) as sock:
        service = Service([served], queue_tokens=10**9, most_characters=50_000)
        started: Callable[[], object] = lambda: print(  # noqa: E731
            f"http://127.0.0.1:{sock.getsockname()[1]}/", file=sys.stderr, flush=True
        )
        if fronts:
            Fronts(service, Settings(quiet=True), number=fronts).run(sock, started=started)
        else:
            serve(Server(app(service, Keys()), service), service, sock, started=started)


if __name__ == "__main__":
    serve_stand_in(sys.argv[1], fronts=int(sys.argv[2]))
