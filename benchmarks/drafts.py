"""Greedy search with drafts beside greedy search without: one sentence at a time, in turns, the same words or not.

    python benchmarks/drafts.py --model RUN --input newstest2013.en --sentences 200
    python benchmarks/drafts.py --model RUN --input newstest2013.en --device cuda --precision bfloat16

A line is one sentence, as it stands. Times are the processor's on a CPU, with one thread, and the clock's on a GPU. A
draft is right when greedy search says that word; it is looked at where those before it were right. Ends do not count.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from heedful.runs.saved import read_model
from heedful.search.on_torch import put_on_torch
from heedful.search.options import SearchOptions
from heedful.search.sentence import Sentence
from heedful.text.reading import text_lines

WARM_UP = 5
"""Sentences that are not counted."""


class Counted:
    """A drafter that counts how many words each pass has added."""

    def __init__(self, drafter: Any, counts: Counter[int]) -> None:
        self._drafter, self._counts = drafter, counts
        self.place, self.move = drafter.place, drafter.move

    def propose(self, words: torch.Tensor, length: torch.Tensor, added: torch.Tensor) -> torch.Tensor:
        self._counts.update(added.tolist())
        return self._drafter.propose(words, length, added)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--sentences", type=int, default=200)
    parser.add_argument("--drafts", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="auto")
    asked = parser.parse_args()
    saved = read_model(asked.model)
    options = replace(SearchOptions.of(saved.config.search), method="greedy", beam_size=1)
    running = {"device": asked.device, "precision": asked.precision, "batch_size": 1, "threads": 1}
    # Each has a search of its own, since one keeps engines of one kind.
    searches: dict[int, Any] = {drafts: put_on_torch(saved, **running).search for drafts in (0, *asked.drafts)}
    counts: dict[int, Counter[int]] = {drafts: Counter() for drafts in searches}
    device = searches[0].device
    for drafts in asked.drafts if device.type == "cpu" else ():  # a captured graph calls no Python
        _count_words(searches[drafts], counts[drafts])
    clock = time.process_time if device.type == "cpu" else time.perf_counter
    seconds: dict[int, list[float]] = {drafts: [] for drafts in searches}
    same, gap, words = Counter[int](), 0.0, 0
    lines = list(itertools.islice(text_lines(asked.input), asked.sentences + WARM_UP))
    for number, ids in enumerate(saved.source_subwords.encode(lines)):
        if number == WARM_UP:
            for one in (*counts.values(), *seconds.values(), same):
                one.clear()
            gap, words = 0.0, 0
        found = {}
        for drafts, search in searches.items():
            began = clock()
            ((_, hypotheses),) = search.search([Sentence(number, ids)], replace(options, drafts=drafts))
            seconds[drafts].append(clock() - began)
            found[drafts] = hypotheses[0]
            if found[drafts].ids.tolist() == found[0].ids.tolist():
                same[drafts] += 1
                gap = max(gap, abs(found[drafts].log_probability - found[0].log_probability))
        words += len(found[0].ids) + 1
    count = len(seconds[0])
    print(f"{asked.model}: {count} sentences of {asked.input.name}, {words / count:.1f} words each, {device}")
    for drafts, times in seconds.items():
        gain = sum(seconds[0]) / sum(times)
        mean, median = 1000 * sum(times) / count, 1000 * statistics.median(times)
        print(f"drafts {drafts}: {mean:.1f} ms a sentence (median {median:.1f}), {gain:.2f} times as fast", end="")
        print(f", {same[drafts]} of {count} the same words{_hits(drafts, counts[drafts], words)}")
    print(f"where the words are the same, log-probabilities are at most {gap:.1e} apart")


def _count_words(search: Any, counts: Counter[int]) -> None:
    make = search._drafter
    search._drafter = lambda *given: Counted(make(*given), counts)


def _hits(drafts: int, counts: Counter[int], words: int) -> str:
    """How many words a pass has added, and how often each draft was right that was reached."""
    passes = sum(counts.values())
    if not passes:
        return ""
    reached = [sum(times for added, times in counts.items() if added > place) for place in range(drafts + 1)]
    right = ", ".join(f"{100 * after / max(1, before):.0f} %" for before, after in itertools.pairwise(reached))
    return f"; {words / passes:.2f} words a pass, drafts right {right}"


if __name__ == "__main__":
    main()
