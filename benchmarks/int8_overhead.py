"""What the Translator of `heedful translate` takes around CTranslate2: processor time of one thread, in turns.

    python benchmarks/int8_overhead.py test.en --model en-de-small --rounds 5
    python benchmarks/int8_overhead.py test.en --model run --words 32 --as-is

Beside it CTranslate2 alone, given the same subwords in the same batches: asked for what heedful asks it for, and left
to its own search, which stops as soon as the beam is full of hypotheses that have ended and returns one. ``--words``:
every output has so many subwords, for weights that end where they like. ``--as-is``: no text is taken apart or tried
again.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from hardware import described

import heedful

BATCH = 32
AS_HEEDFUL = {"patience": 1.25, "num_hypotheses": 5, "length_penalty": 1e-30, "return_scores": True}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("source", type=Path)
    parser.add_argument("--model", default="en-de-small")
    parser.add_argument("--lines", type=int, default=400)
    parser.add_argument("--words", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--as-is", action="store_true")
    given = parser.parse_args()
    translator = heedful.load(given.model, engine="ctranslate2", threads=1)
    search: Any = translator.search
    lines = given.source.read_text(encoding="utf-8").splitlines()[: given.lines]
    length = {"min_length": given.words, "max_length": given.words + 8} if given.words else {}
    options = replace(translator.options, **length)
    names = translator.saved.source_subwords.tokens
    sources = [[names[id_] for id_ in ids] for ids in translator.saved.source_subwords.encode(lines)]
    sources.sort(key=lambda source: -len(source))
    asked = {"beam_size": options.beam_size, "max_input_length": 0, "return_end_token": True}
    asked |= {"min_decoding_length": options.min_length}

    def through_heedful() -> int:
        found = translator.hypotheses(lines, options, split="never" if given.as_is else None, as_is=given.as_is)
        return sum(len(best[0].ids) + 1 for best in found)

    def alone(**more: Any) -> int:
        words = 0
        for first in range(0, len(sources), BATCH):
            batch = sources[first : first + BATCH]
            longest = {"max_decoding_length": options.limit(len(batch[0])) + 1}
            found = search._engine.translate_batch(batch, **asked, **longest, **more)
            words += sum(len(result.hypotheses[0]) for result in found)
        return words

    ways: dict[str, Callable[[], int]] = {
        "heedful": through_heedful,
        "CTranslate2, asked what heedful asks it": lambda: alone(**AS_HEEDFUL),
        "CTranslate2, its own search": alone,
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    words = {name: way() for name, way in ways.items()}  # and warm
    for _ in range(given.rounds):
        for name, way in ways.items():
            began = time.process_time()
            way()
            seconds[name].append(time.process_time() - began)
    print(f"{described('ctranslate2')}. {given.model}, {len(lines)} lines, beam {options.beam_size}, one thread.\n")
    print("| | seconds | | subwords | heedful takes |\n|---|---:|---|---:|---:|")
    ours = statistics.median(seconds["heedful"])
    for name, took in seconds.items():
        median = statistics.median(took)
        more = "" if name == "heedful" else f"{ours / median - 1:+.1%}"
        print(f"| {name} | {median:.2f} | {min(took):.2f}–{max(took):.2f} | {words[name]:,} | {more} |")


if __name__ == "__main__":
    main()
