"""Parsing from scratch on GUM: F1 with and without constraints, over the size of the training set, beside a PCFG.

    python -m benchmarks.gum --data GUM --output OUT

GUM holds train.ptb.gz, dev.ptb.gz and test.ptb.gz. Everything goes through the real commands; several runs share the
GPU, best under CUDA MPS. What is chosen is chosen on dev; --test scores the other set, once, when nothing is left to
choose.

The training trees come with new ones in which constituents have changed places with others of the same label below the
same label (`swapped`): a treebank is small, and which brackets belong to which words can be learned from any tree.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.multi30k import heedful
from benchmarks.pcfg import Grammar

from heedful.parsing.bracket_scores import parse_counts
from heedful.parsing.trees import CLOSE, Tree, read_trees

PREPARED = ("--bpe-dropout", "0.1", "--copies", "4")
SWAPPED = 6
"""New trees for each of the treebank's; all of them together come as often as the treebank does."""
_LONGEST, _MOST_WORDS = 60, 25
"""Words of a new tree, and of a constituent that changes places."""
_CHANGED = (1, 1, 2, 2, 3, 4)
"""Constituents that change in a new tree, drawn from these."""
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


def prepared(trees: list[Tree], data: Path, folder: Path) -> Path:
    """The corpus of these trees and new ones made of them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, some in (("train", trees), ("swapped", swapped(trees, SWAPPED * len(trees)))):
        (folder / f"{name}.ptb").write_text("\n".join(map(str, some)), encoding="utf-8")
    files = ["--trees", folder / "train.ptb", "--trees", f"{folder / 'swapped.ptb'}@{1 / SWAPPED:.4f}"]
    files += ["--valid-trees", data / "dev.ptb.gz"]
    heedful("prepare", "--task", "parsing", *files, *PREPARED, "--output", folder / "corpus", "--quiet", "--overwrite")
    return folder / "corpus"


def scores(facts: dict[str, Any]) -> dict[str, float]:
    """Each score of an evaluation, rounded."""
    return {score["name"]: round(score["value"], 2) for score in facts["scores"]}


def main() -> None:
    """Train on shares of the treebank, score, print a table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--output", type=Path, required=True)
    options.add_argument("--shares", nargs="+", type=float, default=[1.0, 0.5, 0.25, 0.1])
    options.add_argument("--at-once", type=int, default=4, help="runs that share the GPU")
    options.add_argument("--set", nargs="+", default=[], help="settings on top of the preset parser-small")
    options.add_argument("--test", action="store_true", help="score the test set too")
    given = options.parse_args()
    trees = read_trees(given.data / "train.ptb.gz")
    random.Random(1).shuffle(trees)
    sets = ["dev", *(["test"] if given.test else [])]

    def of_share(share: float) -> dict[str, Any]:
        some, folder = trees[: round(share * len(trees))], given.output / f"{share:g}"
        corpus = prepared(some, given.data, folder)
        settings = [part for setting in given.set for part in ("--set", setting)]
        heedful("train", corpus, "--preset", "parser-small", "--output", folder / "run", *settings, log=folder / "log")
        found: dict[str, Any] = {"share": share, "trees": len(some)}
        grammar = Grammar(some)
        for name in sets:
            asked = ["evaluate", "--model", folder / "run", "--reference", given.data / f"{name}.ptb.gz", "--json"]
            found[name] = scores(
                json.loads(heedful(*asked, "--quiet", "--output", folder / f"{name}.ptb", "--overwrite"))
            )
            found[f"{name}, unconstrained"] = scores(json.loads(heedful(*asked, "--quiet", "--unconstrained")))
            gold = read_trees(given.data / f"{name}.ptb.gz")
            parses = [grammar.parse(tree.words) for tree in gold]
            found[f"{name}, PCFG"] = {one.name: round(one.value, 2) for one in parse_counts(parses, gold)}
        return found

    with ThreadPoolExecutor(given.at_once) as pool:
        results = list(pool.map(of_share, given.shares))
    (given.output / "scores.json").write_text(json.dumps(results, indent=1, ensure_ascii=False))
    print("| trees | set | F1 | complete match | tagging | unconstrained: F1 | well-formed | PCFG: F1 |")
    print("|---:|---|---:|---:|---:|---:|---:|---:|")
    for found in results:
        for name in sets:
            ours, raw, pcfg = (found[f"{name}{kind}"] for kind in ("", ", unconstrained", ", PCFG"))
            cells = [ours["F1"], ours["complete match"], ours["tagging"], raw["F1"], raw["well-formed"], pcfg["F1"]]
            print(f"| {found['trees']:,} | {name} | " + " | ".join(f"{value:.2f}" for value in cells) + " |")


if __name__ == "__main__":
    main()
