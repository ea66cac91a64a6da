"""The second table of `decode.py`: one trained model in several engines, sentences that end by themselves."""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rivals.contestants import OURS, ToolkitError
from rivals.engine import Search, Sizes

from heedful.errors import CheckpointError
from heedful.evaluation.counts import bleu_counts
from heedful.export.marian_model import write_marian
from heedful.runs.checkpoints import newest_sound, read_checkpoint
from heedful.runs.descriptions import read_run
from heedful.runs.folder import AVERAGED
from heedful.runs.saved import read_model, read_subwords
from heedful.text.subwords import Subwords

MAX_EXTRA = 50
Entrants = Callable[..., AbstractContextManager[list[Any]]]


@dataclass
class Outcome:
    """What an engine made of the text."""

    label: str
    batch: int
    ids: list[list[int]]
    seconds: list[tuple[float, float]]
    """Of the processor and on the wall, for each round."""

    @property
    def medians(self) -> tuple[float, float]:
        cpu, wall = (statistics.median(times) for times in zip(*self.seconds, strict=True))
        return cpu, wall


def natural_table(arguments: argparse.Namespace, entrants: Entrants) -> list[str]:
    """A line for each engine: seconds, sentences and tokens a second, and BLEU if there is a reference."""
    source_words, target_words = subwords(arguments.model)
    lines = read_lines(arguments.source)
    sources = [ids.tolist() for ids in source_words.encode(lines)]
    with tempfile.TemporaryDirectory() as folder:
        sizes = export(arguments.model, Path(folder), positions=max(map(len, sources)) + MAX_EXTRA + 2)
        with entrants(arguments, build={"sizes": None, "folder": folder}, real_weights=True) as running:
            outcomes = measured(running, sources, arguments)
    head = (
        f"{arguments.model.name} ({sizes.layers}+{sizes.layers} layers, {sizes.d_model}, {sizes.d_ff}, "
        f"{sizes.num_heads} heads, {sizes.vocab_size:,} words): {arguments.source.name}, {len(lines):,} sentences, "
        f"beam 4, sentences end by themselves. From ids to ids, median of {arguments.rounds} rounds in turns, each "
        "engine in the best of the batch sizes tried and with its own stopping rule and length penalty, at 0.6."
    )
    references = read_lines(arguments.reference) if arguments.reference else None
    return [head, "", *rows(outcomes, target_words, references, clock="cpu" if arguments.device == "cpu" else "wall")]


def measured(running: list[Any], sources: list[list[int]], arguments: argparse.Namespace) -> list[Outcome]:
    """Everybody's output, and seconds taken in turns."""
    outcomes: dict[int, Outcome] = {}
    for number, entrant in enumerate(running):
        try:
            outcomes[number] = best_batch(entrant, sources, arguments)
        except ToolkitError as error:
            print(f"{entrant.contestant.label}: left out, {error}", flush=True)
    for _ in range(arguments.rounds):
        for number, outcome in outcomes.items():
            outcome.seconds.append(timed(running[number], sources, batch=outcome.batch)[0])
    return list(outcomes.values())


def rows(outcomes: list[Outcome], words: Subwords, references: list[str] | None, *, clock: str) -> list[str]:
    table = [
        f"| | CPU s | wall s | sentences per {clock} s | tokens per {clock} s | BLEU | as ours | batch |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    signature = ""
    ours = next((outcome.ids for outcome in outcomes if outcome.label == OURS.label), None)
    for outcome in outcomes:
        cpu, wall = outcome.medians
        spent, count = cpu if clock == "cpu" else wall, len(outcome.ids)
        tokens = sum(map(len, outcome.ids))
        score = "–"
        if references:
            found = bleu_counts([words.decode(words_only(ids)) for ids in outcome.ids], references)
            score, signature = f"{found.value:.2f}", f"BLEU: {found.signature}"
        same = f"{sum(map(same_words, outcome.ids, ours)):,} of {count:,}" if ours else "–"
        speeds = f"{count / spent:,.1f}", f"{tokens / spent:,.0f}"
        cells = (outcome.label, f"{cpu:.1f}", f"{wall:.1f}", *speeds, score, same, outcome.batch)
        table.append("| " + " | ".join(map(str, cells)) + " |")
    return [*table, *(["", signature] if signature else [])]


def timed(entrant: Any, sources: list[list[int]], *, batch: int) -> tuple[tuple[float, float], list[list[int]]]:
    search = Search(beam_size=4, batch=batch, max_extra_length=MAX_EXTRA)
    answer = entrant.process.ask(cmd="decode", sources=sources, search=asdict(search), ids=True)
    return (answer["cpu"], answer["wall"]), answer["ids"]


def best_batch(entrant: Any, sources: list[list[int]], arguments: argparse.Namespace) -> Outcome:
    """The batch size at which it is fastest, and what it translates with it."""
    tried: list[tuple[float, int, list[list[int]]]] = []
    for batch in arguments.batches:
        timed(entrant, sources[:batch], batch=batch)  # warm
        (cpu, wall), ids = timed(entrant, sources, batch=batch)
        tried.append((cpu if arguments.device == "cpu" else wall, batch, ids))
        print(f"  {entrant.contestant.label}, batch {batch}: {tried[-1][0]:.1f} s", flush=True)
    _, batch, ids = min(tried, key=lambda one: one[0])
    return Outcome(entrant.contestant.label, batch, ids, [])


def export(run: Path, folder: Path, *, positions: int) -> Sizes:
    """The weights of a run, and their sizes, where every engine can read them."""
    from safetensors.torch import save_file

    config = asdict(read_run(run).config.model)
    weights = weights_of(run)
    plain = config["encoder_layers"] == config["decoder_layers"] and config["positions"] == "sinusoidal"
    plain = plain and not (config["d_k"] or config["d_v"] or config["neighbourhood"])
    if not plain or "source_embedding.weight" in weights:
        raise CheckpointError(
            f"{run}: only a model with as many encoder as decoder layers, sinusoidal positions, default head sizes and "
            "one vocabulary can be given to other engines"
        )
    vocab_size = weights["embedding.weight"].shape[0]
    shape = {name: config[name] for name in ("d_model", "d_ff", "num_heads")}
    sizes = Sizes(layers=config["encoder_layers"], vocab_size=vocab_size, **shape)
    save_file({name: value.float() for name, value in weights.items()}, folder / "model.safetensors")
    (folder / "sizes.json").write_text(json.dumps({"sizes": asdict(sizes), "positions": positions}))
    write_marian(read_model(run), folder / "marian")
    return sizes


def weights_of(run: Path) -> dict[str, Any]:
    """The averaged weights if there are some, else the newest."""
    if (run / AVERAGED).is_dir():
        return read_checkpoint(run / AVERAGED, optimizer=False).model
    checkpoint, problems = newest_sound(run)
    if checkpoint is None:
        raise CheckpointError(f"{run} has no checkpoint that can be read" + "".join(f"; {p}" for p in problems))
    return checkpoint.model


def subwords(run: Path) -> tuple[Subwords, Subwords]:
    source, target = read_subwords(run, read_run(run))
    assert isinstance(target, Subwords), "a model of text to text"
    return source, target


def read_lines(path: Path) -> list[str]:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return data.decode("utf-8").splitlines()


def words_only(ids: list[int]) -> list[int]:
    return [id_ for id_ in ids if id_ > 2]


def same_words(left: list[int], right: list[int]) -> bool:
    return words_only(left) == words_only(right)
