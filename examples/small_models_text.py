"""The text behind the bundled models: which corpora with which weights, what is held out, what is made of them.

Tatoeba's sentences have seven words. A model that saw no longer ones of everyday life would not know what to do with a
line of several sentences, so some are joined, two to four to a line. Of the messages and manuals of programs a third
are sentences; the rest are names of buttons, options, code, and the model sees fewer of them.

Beside these, `write_texts` writes everything that is worth translating in each language, for teachers.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import lzma
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

LANGUAGES = ("en", "de")
WEIGHTS = {
    4: ["wmt-news/newstest2008.en-de", "wmt-news/newstest2009.en-de", "wmt-news/newstest2010.en-de",
        "wmt-news/newstest2011.en-de", "wmt-news/newstest2012.en-de", "news-extra-en-de/wmt2019-2023",
        "news-extra-en-de/wiki"],
    2: ["news-extra-en-de/fsfe", "prose-en-de/literature"],
    1.5: ["news-extra-en-de/debian-news"],
    1: ["europarl-en-de/europarl", "news-extra-en-de/corona-warn-app", "spoken-en-de/chat", "names-en-de/names",
        "names-en-de/dates"],
    0.7: ["prose-en-de/suttacentral", "games-en-de/wesnoth", "games-en-de/others", "dictionary-en-de/phrases"],
    0.2: ["dictionary-en-de/things"],
    0.15: ["dictionary-en-de/words"],
}  # fmt: skip
"""How often a pair of each text is seen, relative to the others. A pair that stands in several counts for the first."""
TATOEBA = "tatoeba-en-de/train.tsv.xz"
TATOEBA_WEIGHT = 1.5
MADE = {"joined.tsv": 0.5, "sentences.tsv": 0.6, "rest.tsv": 0.12}
"""What is made here, in English, tab, German, with its weight."""
UNTAUGHT = ("dictionary-en-de/", "names-en-de/")
"""Words alone: a teacher knows them no better than the dictionary."""
MOST_CHARACTERS = 800
"""Of a line that a teacher is to translate."""
MORE_WEIGHT = 1.2
"""Where text in one language alone stands among the others when a teacher translates them."""
HELD_OUT = 2000
JOINED = 100_000
FEWEST_WORDS = 4
END = re.compile(r'[.!?:]["»“)]?$')
CODE = re.compile(r"%[a-zA-Z0-9$(]|[{}<>\\_=|@#&$\[]|--")


def lines_of(path: Path) -> list[str]:
    """The lines of a file, plain, .gz or .xz; they end at newlines and nowhere else."""
    unpack = {".gz": gzip.decompress, ".xz": lzma.decompress}.get(path.suffix, bytes)
    return unpack(path.read_bytes()).decode("utf-8").split("\n")[:-1]


def pairs(path: Path) -> Iterator[tuple[str, str]]:
    """The English and German of each line."""
    for line in lines_of(path):
        english, german = line.split("\t")[:2]
        yield english.strip(), german.strip()


def both_files(data: Path, name: str) -> dict[str, Path]:
    """The two files of a text, .xz or .gz, by language."""
    english = next(data.glob(f"{name}.en.?z"), None)
    if english is None:
        raise SystemExit(f"{data} has no {name}.en.xz or .gz")
    return {"en": english, "de": english.with_name(english.name.replace(".en.", ".de."))}


def kept_out(data: Path) -> list[Path]:
    """What is never trained on: the files of the test sets and of those that models are chosen by."""
    found = [*data.glob("wmt-news/newstest2014*.en-de.*.gz"), *data.glob("wmt-news/newstest2013.en-de.*.gz")]
    captions = (data.glob(f"multi30k/{split}*.{language}.gz") for split in ("val", "test") for language in LANGUAGES)
    return sorted([*found, *(path for paths in captions for path in paths)])


def text_options(data: Path, folder: Path, pair: str) -> list[str]:
    """The options of `prepare` for all texts with their weights, and for what is kept out of them."""
    source, target = pair.split("-")
    words = ["--max-length", "256", "--max-ratio", "4", "--on-bad-line", "drop"]
    for weight, names in WEIGHTS.items():
        for files in (both_files(data, name) for name in names):
            words += ["--source", f"{files[source]}@{weight}", "--target", f"{files[target]}@{weight}"]
    words += ["--columns", "1,2" if source == "en" else "2,1", "--tsv", f"{data / TATOEBA}@{TATOEBA_WEIGHT}"]
    for name, weight in MADE.items():
        words += ["--tsv", f"{folder / name}@{weight}"]
    news = data / "wmt-news" / "newstest2013.en-de"
    words += ["--valid-source", f"{news}.{source}.gz", "--valid-target", f"{news}.{target}.gz"]
    for path in (folder / "tatoeba-dev.tsv", *kept_out(data)):
        if "newstest2013" not in path.name:  # the validation text, which is kept out by that
            words += ["--exclude", str(path)]
    return words


def drawn(*words: object) -> int:
    """A number that looks random and is always the same for the same words."""
    return int.from_bytes(hashlib.blake2b(repr(words).encode(), digest_size=8).digest(), "little")


def held_out(path: Path, *, most: int = HELD_OUT) -> list[tuple[str, str]]:
    """Of the English sentences the first in the order of their hashes, each with its first translation."""
    first: dict[str, str] = {}
    for english, german in pairs(path):
        first.setdefault(english, german)
    chosen = sorted(first, key=lambda english: drawn("held out", english))[:most]
    return [(english, first[english]) for english in chosen]


def joined(path: Path, without: Path, *, most: int = JOINED) -> Iterator[tuple[str, str]]:
    """Lines of two to four sentences that have nothing to do with each other; none of what is held out."""
    english, german = (set(side) for side in zip(*pairs(without), strict=True))
    rest = [pair for pair in pairs(path) if pair[0] not in english and pair[1] not in german and all(pair)]
    for line in range(most):
        count = 2 + drawn("count", line) % 3
        some = [rest[drawn("sentence", line, place) % len(rest)] for place in range(count)]
        yield " ".join(pair[0] for pair in some), " ".join(pair[1] for pair in some)


def is_sentence(english: str, german: str) -> bool:
    """Whether both sides end as sentences do, without code, and the English has some words."""
    whole = all(END.search(side) and not CODE.search(side) for side in (english, german))
    return whole and len(english.split()) >= FEWEST_WORDS


def sorted_out(files: list[Path]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The sentences of NAME.en.xz and NAME.de.xz, and the rest; without the lines that hold a tab."""
    sentences: list[tuple[str, str]] = []
    rest: list[tuple[str, str]] = []
    for file in files:
        both = (file, file.with_name(file.name.replace(".en.", ".de.")))
        for english, german in zip(*map(lines_of, both), strict=True):
            if "\t" not in english + german:
                (sentences if is_sentence(english, german) else rest).append((english, german))
    return sentences, rest


def write_texts(data: Path, folder: Path, more: list[Path], *, miniature: bool = False) -> None:
    """Write what is held out, joined and sorted out, ``all.en`` and ``all.de``, and beside these how many of the lines
    have which weight; that of ``all.de`` is written last.

    ``more``: text in one language, NAME.en or NAME.de, for the teachers. ``miniature``: a hundredth of what is made.
    """
    folder.mkdir(parents=True, exist_ok=True)
    share = 100 if miniature else 1
    tatoeba = data / TATOEBA
    write_pairs(folder / "tatoeba-dev.tsv", held_out(tatoeba, most=HELD_OUT // share))
    write_pairs(folder / "joined.tsv", joined(tatoeba, folder / "tatoeba-dev.tsv", most=JOINED // share))
    programs = sorted(path for name in ("debian", "msdocs") for path in data.glob(f"{name}-en-de/*.en.xz"))
    for name, found in zip(("sentences.tsv", "rest.tsv"), sorted_out(programs), strict=True):
        write_pairs(folder / name, found)
    for language, side in zip(LANGUAGES, zip(*pairs(folder / "tatoeba-dev.tsv"), strict=True), strict=True):
        write_lines(folder / f"tatoeba-dev.{language}", side)
        texts = taught_texts(data, folder, language, more)
        counts: Counter[float] = Counter()
        write_lines(folder / f"all.{language}", taught_lines(data, folder, language, texts, counts))
        (folder / f"all.{language}.json").write_text(json.dumps(counts))


def read_weights(folder: Path, language: str) -> dict[str, int]:
    """How many lines of `all.LANGUAGE` have which weight, in their order."""
    return json.loads((folder / f"all.{language}.json").read_text())


def taught_texts(data: Path, folder: Path, language: str, more: list[Path]) -> list[tuple[float, Path]]:
    """What teachers are to translate, with its weights, the largest first."""
    texts = [
        (weight, both_files(data, name)[language])
        for weight, names in WEIGHTS.items()
        for name in names
        if not name.startswith(UNTAUGHT)
    ]
    texts += [(TATOEBA_WEIGHT, data / TATOEBA), (MADE["sentences.tsv"], folder / "sentences.tsv")]
    texts += [(MORE_WEIGHT, path) for path in more if f".{language}" in path.suffixes]
    return sorted(texts, key=lambda text: -text[0])


def taught_lines(
    data: Path, folder: Path, language: str, texts: list[tuple[float, Path]], counts: Counter[float]
) -> Iterator[str]:
    """Every line once, each text in the order of hashes: what is cut short is fair. ``counts`` learns the lines of each
    weight.
    """
    never = {line.strip() for path in kept_out(data) for line in lines_of(path)}
    never |= {side for pair in pairs(folder / "tatoeba-dev.tsv") for side in pair}
    column = LANGUAGES.index(language)
    for weight, path in texts:
        lines = lines_of(path)
        if ".tsv" in path.suffixes:
            lines = [line.split("\t")[column] for line in lines]
        own = {line for line in map(str.strip, lines) if line and len(line) <= MOST_CHARACTERS} - never
        never |= own
        counts[weight] += len(own)
        yield from sorted(own, key=lambda line: drawn("taught", line))


def write_pairs(path: Path, found: Iterable[tuple[str, str]]) -> None:
    write_lines(path, ("\t".join(pair) for pair in found))


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """The whole file or, where something goes wrong, none."""
    part = path.with_name(f"{path.name}.part")
    with part.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)
    part.replace(path)
