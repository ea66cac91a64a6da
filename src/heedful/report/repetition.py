"""What somebody needs who wants the same run again: commands, versions, hardware, settings of its own."""

from __future__ import annotations

import shlex
from pathlib import Path

from heedful.config import toml_value
from heedful.data.manifest import Manifest
from heedful.presets import BY_NAME
from heedful.report.pages import Section, section
from heedful.runs.record import RunRecord

_FROM_PYTHON = (
    "The corpus was made from Python, of texts in an order or with fields that one command cannot say. The nearest:"
)
_KINDS = ("files", "tsv", "jsonl", "trees")
"""The order in which one command takes its texts."""
_SAME_BITS = (
    "With the same versions on the same kind of machine a run on a CPU comes out the same to the last bit; on a GPU, "
    "and elsewhere, the last digits may differ."
)


def repetition_section(record: RunRecord) -> Section:
    """The commands that make the corpus and the run again."""
    commands: list[tuple[str, str]] = []
    if record.corpus is not None:
        manifest, folder = record.corpus.manifest, str(record.corpus.folder)
        about = "The corpus, from what it says of itself:" if is_one_command(manifest) else _FROM_PYTHON
        commands.append((about, prepare_command(manifest, output=folder)))
    commands.append(("The run, from the configuration that it recorded:", train_command(record)))
    if typed := record.description.command:
        commands.append(("As it was typed:", shlex.join(typed.words)))
    return section("To repeat it", "commands.html", folded=True, commands=commands, note=_SAME_BITS)


def machine_section(record: RunRecord) -> Section:
    """Versions and hardware of the machine that trained."""
    used = max((line.wall.memory_gib for line in record.metrics.train if line.wall.memory_gib), default=None)
    return section("Versions and hardware", "machine.html", folded=True, record=record, used_gib=used)


def preset_name(record: RunRecord) -> str:
    """The preset that the run began from; where none is recorded, or it is not known here, ``base``."""
    name = record.description.preset
    return name if name in BY_NAME else "base"


def changed_settings(record: RunRecord) -> dict[str, str]:
    """The settings that differ from the preset, as ``section.key``, and what the preset has."""
    ours, preset = record.config.settings, BY_NAME[preset_name(record)].make()
    return {path: toml_value(value) for path, value in preset.settings.items() if ours[path] != value}


def train_command(record: RunRecord) -> str:
    """The command that begins this run, whatever files and options it was configured with."""
    corpus = record.description.data.folder or "CORPUS"
    # What begins like an option would be taken for one.
    words = ["heedful", "train", f"./{corpus}" if corpus.startswith("-") else corpus]
    words += _option("preset", preset_name(record))
    for path in changed_settings(record):
        value = record.config.settings[path]
        words += ["--set", f"{path}={value if isinstance(value, str) else toml_value(value)}"]
    words += _option("init", record.description.init or None)
    if str(record.environment.get("device", "")).startswith("CPU"):
        # On a CPU the number of threads decides the last digits.
        words += ["--device", "cpu", "--threads", str(record.environment.get("threads", 1))]
    processes = record.environment.get("processes")
    launcher = f"torchrun --nproc-per-node {processes} -m " if isinstance(processes, int) and processes > 1 else ""
    return launcher + _folded([*words, *_option("output", str(record.folder))])


def prepare_command(manifest: Manifest, *, output: str) -> str:
    """The command that makes a corpus, from its manifest; older manifests say less."""
    asked, rules = manifest.configuration, manifest.configuration.rules
    words = ["heedful", "prepare"]
    # Validation text that was put aside is no text of its own.
    for prefix, texts in (("", manifest.corpora), ("valid-", () if asked.valid_pairs else manifest.validation)):
        for text in texts:
            names = ("source", "target") if text.kind == "files" else (text.kind,)
            for name, path in zip(names, text.paths, strict=True):
                words += _option(prefix + name, _weighted(path, text.weight))
    for source, target in sorted(_fields(manifest, "jsonl") - {("source", "target")}):
        words += [*_option("source-field", source), *_option("target-field", target)]
    words += _option("columns", *map(",".join, filter(None, _fields(manifest, "tsv"))))
    words += [*_option("valid-pairs", asked.valid_pairs or None), *_option("test-pairs", asked.test_pairs or None)]
    words += _option("exclude", *asked.exclude)
    for key in ("vocab_size", "tokenizer", "sample_pairs", "bpe_dropout", "copies", "seed", "on_bad_line"):
        words += _option(key, getattr(asked, key))
    words += _option("augment", *(f"{kind}={_exact(rate)}" for kind, rate in asked.augment.items()))
    for tag in asked.tags:
        files = [f"{tag}={text.paths[0]}" for text in manifest.corpora if text.tag == tag]
        words += _option("tag", *(dict.fromkeys(files) or [tag]))
    words += ["--separate-vocabularies"] if asked.separate_vocabularies else []
    words += [*_option("keep", *rules.keep), *_option("max-length", rules.max_length)]
    return _folded([*words, *_option("max-ratio", rules.max_ratio), *_option("output", output)])


def is_one_command(manifest: Manifest) -> bool:
    """Whether `prepare_command` makes this very corpus: one from Python may have texts that a command cannot name."""
    kinds = ([_KINDS.index(text.kind) for text in texts] for texts in (manifest.corpora, manifest.validation))
    tags = {(path, text.tag) for text in manifest.corpora for path in text.paths}  # which a file has or has not
    fields = all(len(_fields(manifest, kind)) <= 1 for kind in ("jsonl", "tsv"))
    return fields and len(tags) == len(dict(tags)) and all(part == sorted(part) for part in kinds)


def _fields(manifest: Manifest, kind: str) -> set[tuple[str, ...]]:
    """What the sides are called in JSON lines, or their columns in TSV, which one command says once."""
    return {text.fields for text in (*manifest.corpora, *manifest.validation) if text.kind == kind}


def _weighted(path: str, weight: float) -> str:
    """A file and its weight as ``prepare`` reads them, where a file whose own name ends like a weight comes first."""
    if weight == 1 and "@" not in path:
        return path
    weighted = f"{path}@{_exact(weight)}"
    while Path(weighted).exists():
        weighted += "0" if "." in weighted.rpartition("@")[2] else ".0"
    return weighted


def _option(name: str, *values: str | float | None) -> list[str]:
    """An option with each of its values; those that are None are none."""
    option, words = f"--{name.replace('_', '-')}", []
    for value in values:
        if value is not None:
            text = value if isinstance(value, str) else _exact(value)
            # What begins like an option has to be tied to its own.
            words += [f"{option}={text}"] if text.startswith("-") else [option, text]
    return words


def _exact(number: float) -> str:
    """A number in the fewest digits that mean the same one.

    >>> _exact(1000000), _exact(2.0), _exact(1 / 3)
    ('1000000', '2', '0.3333333333333333')
    """
    return repr(number).removesuffix(".0")


def _folded(words: list[str]) -> str:
    """A command with each option on a line of its own, as a shell reads it."""
    lines, line = [], ""
    for word in words:
        if word.startswith("--"):
            lines, line = [*lines, line], "   "
        line += " " * bool(line) + shlex.quote(word)
    return " \\\n".join([*lines, line])
