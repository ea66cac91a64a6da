"""Parsing from scratch on GUM: F1 with and without constraints, over the size of the training set, beside a PCFG.

    python -m benchmarks.gum --data GUM --output OUT
    heedful reproduce table4 OUT/results/*.json

GUM holds train.ptb.gz, dev.ptb.gz and test.ptb.gz. Everything goes through the real commands; several runs share the
GPU, best under CUDA MPS. What is chosen is chosen on dev; --test scores the other set, once, when nothing is left to
choose. Each share's scores are in OUT/results as soon as it is done, and the same command, once stopped, goes on from
the last checkpoints. --miniature shows on a CPU, in less than a minute of it, that everything works.

The training trees come with new ones in which constituents have changed places with others of the same label below the
same label (`swapped`): a treebank is small, and which brackets belong to which words can be learned from any tree.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benchmarks.multi30k import heedful

from heedful.data.manifest import MANIFEST
from heedful.errors import HeedfulError
from heedful.files import write_file
from heedful.parsing.trees import CLOSE, Tree, read_trees

PREPARED = ("--bpe-dropout", "0.1", "--copies", "4")
SWAPPED = 6
"""New trees for each of the treebank's; all of them together come as often as the treebank does."""
_LONGEST, _MOST_WORDS = 60, 25
"""Words of a new tree, and of a constituent that changes places."""
_CHANGED = (1, 1, 2, 2, 3, 4)
"""Constituents that change in a new tree, drawn from these."""
_FEW = {"train": 60, "dev": 6, "test": 6}
"""Trees of a miniature, of at most 20 words."""
_TINY = ("model.d_model=32", "model.d_ff=64", "model.num_heads=2", "model.encoder_layers=1", "model.decoder_layers=1")
_TINY += ("training.steps=6", "training.warmup_steps=3", "training.checkpoint_steps=3", "search.beam_size=2")
Place = tuple[tuple[str, str], int, int, int, int]
"""A constituent: its label and the one above, its first symbol and the one after, its first word and the one after."""


def places(symbols: tuple[str, ...]) -> list[Place]:
    """Every constituent of a tree but its root."""
    found: list[Place] = []
    opened: list[tuple[str, int, int]] = []
    words = 0
    for place, symbol in enumerate(symbols):
        if symbol == CLOSE:
            label, begin, word = opened.pop()
            if opened:
                found.append(((label, opened[-1][0]), begin, place + 1, word, words))
        elif symbol.startswith("("):
            opened.append((symbol, place, words))
        else:
            words += 1
    return found


def swapped(trees: list[Tree], count: int, *, seed: int = 1) -> list[Tree]:
    """So many new trees."""
    rng, own = random.Random(seed), [places(tree.symbols) for tree in trees]
    others: defaultdict[tuple[str, str], list[tuple[int, Place]]] = defaultdict(list)
    for number, found in enumerate(own):
        for one in found:
            if one[4] - one[3] <= _MOST_WORDS:
                others[one[0]].append((number, one))
    made: list[Tree] = []
    while len(made) < count:
        number = rng.randrange(len(trees))
        open_to_change = [one for one in own[number] if len(others[one[0]]) > 1]
        symbols, words = list(trees[number].symbols), list(trees[number].words)
        chosen: list[Place] = []
        for one in rng.sample(open_to_change, min(len(open_to_change), rng.choice(_CHANGED))):
            if all(one[2] <= other[1] or other[2] <= one[1] for other in chosen):
                chosen.append(one)
        for key, begin, end, first, after in sorted(chosen, key=lambda one: -one[1]):  # from the right: places stay
            other, (_, *there) = rng.choice(others[key])
            symbols[begin:end] = trees[other].symbols[there[0] : there[1]]
            words[first:after] = trees[other].words[there[2] : there[3]]
        if chosen and len(words) <= _LONGEST:
            made.append(Tree(tuple(symbols), tuple(words)))
    return made


@dataclass(frozen=True)
class Plan:
    """What is to be done for each share."""

    output: Path
    sets: dict[str, Path]
    """The trees to validate and to score on: dev, and test if it is asked for."""
    preset: str
    settings: list[str]

    def result(self, trees: int, name: str) -> Path:
        """Where a share's scores on a set are."""
        return self.output / "results" / f"{trees}-{name}.json"


def treebank(data: Path, name: str, output: Path, *, miniature: bool) -> Path:
    """The file of a part of GUM, or of a few short trees of it."""
    path = data / f"{name}.ptb.gz"
    if not miniature:
        return path
    few = [tree for tree in read_trees(path) if len(tree.words) <= 20][: _FEW[name]]
    return write_file(output / f"{name}.ptb", "\n".join(map(str, few)).encode(), error=HeedfulError)


def prepared(trees: list[Tree], valid: Path, folder: Path) -> Path:
    """The corpus of these trees and new ones made of them."""
    corpus = folder / "corpus"
    if (corpus / MANIFEST).exists():
        return corpus
    for name, some in (("gum", trees), ("swapped", swapped(trees, SWAPPED * len(trees)))):
        write_file(folder / f"{name}.ptb", "\n".join(map(str, some)).encode(), error=HeedfulError)
    files = ["--trees", folder / "gum.ptb", "--trees", f"{folder / 'swapped.ptb'}@{1 / SWAPPED:.4f}"]
    files += ["--valid-trees", valid, "--output", corpus, "--overwrite"]
    heedful("prepare", "--task", "parsing", *files, *PREPARED, "--quiet")
    return corpus


def score_share(trees: list[Tree], plan: Plan) -> None:
    """Train on these trees and score, but for what is done already."""
    left = {name: path for name, path in plan.sets.items() if not plan.result(len(trees), name).exists()}
    if not left:
        return
    folder = plan.output / str(len(trees))
    run = folder / f"gum-{len(trees)}"
    folder.mkdir(parents=True, exist_ok=True)
    corpus = prepared(trees, plan.sets["dev"], folder)
    pcfg = {name: folder / name / "PCFG.ptb" for name in left}
    grammars = []
    for name, path in left.items():  # while the GPU trains
        pcfg[name].parent.mkdir(exist_ok=True)
        given = ["--trees", folder / "gum.ptb", "--reference", path, "--output", pcfg[name]]
        command = [sys.executable, "-m", "benchmarks.pcfg", *map(str, given)]
        grammars.append(subprocess.Popen(command, stdout=subprocess.DEVNULL))
    settings = [part for setting in plan.settings for part in ("--set", setting)]
    asked = ["--preset", plan.preset, "--output", run, "--resume", *settings]
    heedful("train", corpus, *asked, log=folder / "log")
    if any(grammar.wait() for grammar in grammars):
        raise SystemExit(f"the PCFG of {len(trees):,} trees failed")
    for name, path in left.items():
        table = ["--reference", path, "--baseline", pcfg[name], "--output", folder / name / "table"]
        heedful("reproduce", "table4", run, *table, "--overwrite", "--no-page", "--quiet")
        found = (folder / name / "table" / "table4.json").read_bytes()
        print(row(write_file(plan.result(len(trees), name), found, error=HeedfulError)), flush=True)


def row(path: Path) -> str:
    """A share's scores on a set, as a row of a table."""
    ours, pcfg = json.loads(path.read_bytes())["found"]["systems"]
    constrained, free, grammar = (
        {score["name"]: score["value"] for score in found}
        for found in (ours["scores"], ours["unconstrained"], pcfg["scores"])
    )
    values = [constrained[name] for name in ("F1", "complete match", "tagging", "well-formed")]
    values += [free["F1"], free["well-formed"], grammar["F1"]]
    return f"| {ours['trees']:,} | {ours['scored_on']} | " + " | ".join(f"{value:.2f}" for value in values) + " |"


def main() -> None:
    """Train on shares of the treebank, score, print a table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--output", type=Path, required=True)
    options.add_argument("--shares", nargs="+", type=float, default=[1.0, 0.5, 0.25, 0.1])
    options.add_argument("--at-once", type=int, default=4, help="runs that share the GPU")
    options.add_argument("--preset", default="parser-medium")
    options.add_argument("--set", nargs="+", default=[], help="settings on top of the preset")
    options.add_argument("--test", action="store_true", help="score the test set too")
    options.add_argument("--miniature", action="store_true", help="everything tiny: a few trees, a few steps")
    given = options.parse_args()
    (given.output / "results").mkdir(parents=True, exist_ok=True)
    names = ["train", "dev", *(["test"] if given.test else [])]
    parts = {name: treebank(given.data, name, given.output, miniature=given.miniature) for name in names}
    trees = read_trees(parts.pop("train"))
    random.Random(1).shuffle(trees)
    plan = Plan(given.output, parts, given.preset, [*(_TINY if given.miniature else ()), *given.set])
    print("| trees | set | F1 | complete match | tagging | well-formed | unconstrained: F1 | well-formed | PCFG: F1 |")
    print("|---:|---|---:|---:|---:|---:|---:|---:|---:|", flush=True)
    with ThreadPoolExecutor(given.at_once) as pool:
        list(pool.map(lambda share: score_share(trees[: round(share * len(trees))], plan), given.shares))
    print(f"heedful reproduce table4 {given.output / 'results'}/*.json puts them beside the paper's")


if __name__ == "__main__":
    main()
