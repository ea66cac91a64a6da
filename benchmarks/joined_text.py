"""Text as people send it, several sentences a line: where sentences end, what joining costs, what `text/` costs.

    python benchmarks/joined_text.py TATOEBA GUM --output benchmarks/results/joined_text_MACHINE_DATE.md

TATOEBA is a file, English, tab, German (.xz); GUM a folder with dev.ptb.gz and test.ptb.gz. Sentences are joined by 2,
4, 8 and 12. Of the splitters, ours and the one of before are compared with `sentencex` and `pysbd` where these are
installed. The time is that of one process: what goes into taking text apart and putting it together, of the whole.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import itertools
import lzma
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import sacrebleu
from sacremoses import MosesDetokenizer

import heedful
from heedful.text.sentences import sentence_ends
from heedful.translation import translator as translator_module

T = TypeVar("T")
BY = (2, 4, 8, 12)
SLICE = slice(3, None, 353)
"""Of Tatoeba's pairs, about 480."""
_OLD = re.compile(r"""(?<=[.!?…])["'”’»)\]]*\s+|(?<=[。！？])""")
_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "``": '"', "''": '"'}


def tatoeba(path: Path) -> tuple[list[str], list[str]]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        pairs = [line.rstrip("\n").split("\t")[:2] for line in file]
    first = {pair[0]: pair[1] for pair in reversed(pairs)}
    chosen = sorted(first, key=lambda line: line[::-1])[SLICE]  # what stands side by side has nothing in common
    return chosen, [first[line] for line in chosen]


def gum(path: Path) -> list[str]:
    """The sentences of the trees, with their words put together as people write them."""
    detokenizer, sentences = MosesDetokenizer(lang="en"), []
    for tree in gzip.decompress(path.read_bytes()).decode("utf-8").split("\n\n"):
        leaves = re.findall(r"\(([^\s()]+) ([^\s()]+)\)", tree)
        words = [_BRACKETS.get(word) or word for kind, word in leaves if kind != "-NONE-"]
        text = detokenizer.detokenize(re.sub(r" - ", "-", " ".join(words)).split(" "))
        text = re.sub(r"([“‘]) ", r"\1", text).replace(" ’s", "’s").replace(" n’t", "n’t")
        sentences += [re.sub(r" ([”’])(?=\W|$)", r"\1", text)] if words else []
    return sentences


def joined(lines: Sequence[T], by: int) -> list[list[T]]:
    return [list(lines[at : at + by]) for at in range(0, len(lines) - by + 1, by)]


def splitters() -> Iterator[tuple[str, Callable[[str], Sequence[str]]]]:
    yield "heedful", lambda text: _apart(text, sentence_ends(text))
    yield "heedful before", lambda text: _apart(text, (match.end() for match in _OLD.finditer(text)))
    for name in ("sentencex", "pysbd"):
        try:
            module: Any = importlib.import_module(name)
        except ModuleNotFoundError:
            continue
        if name == "sentencex":
            yield name, lambda text, module=module: list(module.segment("en", text))
        else:
            yield name, module.Segmenter(language="en", clean=False).segment


def _apart(text: str, ends: Iterable[int]) -> list[str]:
    return [text[begin:end] for begin, end in itertools.pairwise([0, *ends, len(text)])]


def ends_of(sentences: Sequence[str], text: str) -> set[int]:
    ends, at = [], 0
    for sentence in filter(None, map(str.strip, sentences)):
        begin = text.find(sentence, at)
        if begin >= 0:
            at = begin + len(sentence)
            ends.append(at)
    return set(ends[:-1])


def boundary_rows(groups: Sequence[Sequence[str]]) -> Iterator[str]:
    for name, split in splitters():
        right = wrong = missed = punctuated_right = punctuated_missed = 0
        texts = [" ".join(group) for group in groups][: 150 if name == "pysbd" else None]
        began = time.process_time()
        found = [split(text) for text in texts]
        seconds = time.process_time() - began
        for group, text, own in zip(groups, texts, found, strict=False):
            gold, ours = ends_of(group, text), ends_of(own, text)
            right, wrong, missed = right + len(gold & ours), wrong + len(ours - gold), missed + len(gold - ours)
            hard = {end for end in gold if text[end - 1] in ".!?…\"”')"}
            punctuated_right += len(hard & ours)
            punctuated_missed += len(hard - ours)
        precision, recall = right / (right + wrong), right / (right + missed)
        punctuated = punctuated_right / (punctuated_right + punctuated_missed)
        f1, hard_f1 = (2 * precision * some / (precision + some) for some in (recall, punctuated))
        speed = seconds * 1e6 / sum(map(len, texts))
        yield (
            f"| {name} | {precision:.1%} | {recall:.1%} | {f1:.1%} | {punctuated:.1%} | {hard_f1:.1%} | {speed:.2f} |"
        )


def joined_rows(translator: heedful.Translator, sources: list[str], references: list[str] | None) -> Iterator[str]:
    apart = translator.translate(sources)
    for by in BY:
        groups, texts = joined(range(len(sources)), by), [" ".join(group) for group in joined(sources, by)]
        expected = [" ".join(apart[place] for place in group) for group in groups]
        for split in ("sentences", "never"):
            found = translator.translate(texts, split=split)  # pyright: ignore
            words = [sum(len(line.split()) for line in lines) for lines in (found, expected, texts)]
            scores = "| | |"
            if references is not None:
                wanted = [[" ".join(references[place] for place in group) for group in groups]]
                scores = " | ".join(f"{sacrebleu.corpus_bleu(lines, wanted).score:.2f}" for lines in (found, expected))
                scores = f"| {scores} |"
            yield f"| {by} | {split} {scores} {words[0] / words[2]:.3f} | {words[1] / words[2]:.3f} |"


def text_share(translator: heedful.Translator, texts: list[str]) -> float:
    """The share of the time that is spent on taking text apart and putting it together."""
    spent = 0.0

    def timed(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            nonlocal spent
            began = time.perf_counter()
            try:
                return function(*arguments, **named)
            finally:
                spent += time.perf_counter() - began

        return call

    module: Any = translator_module
    names = ("line_of", "put_back", "line_translations", "next_try")
    before = {name: getattr(module, name) for name in names}
    for name in names:
        setattr(module, name, timed(before[name]))
    try:
        began = time.perf_counter()
        translator.translate(texts)
        return spent / (time.perf_counter() - began)
    finally:
        for name, function in before.items():
            setattr(module, name, function)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tatoeba", type=Path)
    parser.add_argument("gum", type=Path)
    parser.add_argument("--model", default="en-de-small")
    parser.add_argument("--gum-sentences", type=int, default=240)
    parser.add_argument("--output", type=Path, required=True)
    given = parser.parse_args()
    sources, references = tatoeba(given.tatoeba)
    parts = {f"GUM {name}, by 4": joined(gum(given.gum / f"{name}.ptb.gz"), 4) for name in ("dev", "test")}
    parts["Tatoeba, by 4"] = joined(tatoeba(given.tatoeba)[0], 4)
    lines = ["# Text of several sentences a line", "", "## Where sentences end", ""]
    for name, groups in parts.items():
        lines += [f'{name} ({len(groups)} lines; "punctuated": of the ends that have a mark):', ""]
        lines += [
            "| | precision | recall | F1 | punctuated recall | F1 | s a MB |",
            "|---|---:|---:|---:|---:|---:|---:|",
        ]
        lines += [*boundary_rows(groups), ""]
    translator = heedful.load(given.model, device="cpu")
    head = ["| joined by | split | BLEU | sentence by sentence | words out to in | sentence by sentence |"]
    head += ["|---:|---|---:|---:|---:|---:|"]
    lines += [f"## Joined text, {given.model}", "", f"Tatoeba, {len(sources)} sentences:", "", *head]
    lines += [*joined_rows(translator, sources, references), ""]
    some = gum(given.gum / "dev.ptb.gz")[: given.gum_sentences]
    lines += [f"GUM dev, its first {len(some)} sentences (no references):", "", *head]
    lines += [*joined_rows(translator, some, None), ""]
    share = text_share(translator, [" ".join(group) for group in joined(some, 8)])
    lines += [f"Time spent on text, GUM by 8, one process: {share:.1%} of the whole.", ""]
    given.output.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
