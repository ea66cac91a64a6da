"""Named, complete configurations: the paper's base and big models, each row of Table 3, the parser, and small ones.

A released preset never changes; a better one gets a new name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

from heedful.config import SECTIONS, Config, ModelConfig, apply, did_you_mean, read_toml
from heedful.errors import ConfigError


@dataclass(frozen=True)
class Preset:
    """A configuration with a name, and what the paper prints about it."""

    name: str
    source: str
    about: str
    make: Callable[[], Config]
    paper_parameters: int | None = None
    """Millions of parameters as the paper prints them; None where it prints none."""


def _config(**settings: Any) -> Config:
    """The base model with these settings, each in the section that has it: no two have a setting of one name."""
    sections: dict[str, Any] = {}
    for name, section in SECTIONS.items():
        own = [field.name for field in fields(section)]
        sections[name] = section(**{key: settings.pop(key) for key in own if key in settings})
    assert not settings, f"no section has {settings}"
    return Config(**sections)


def _sizes(d_model: int, *, layers: int) -> dict[str, int]:
    """Those of a model of the paper's proportions."""
    return {"d_model": d_model, "d_ff": 4 * d_model, "encoder_layers": layers, "decoder_layers": layers}


def _batches(tokens: int) -> dict[str, int]:
    """So many tokens a side in a batch."""
    return {"source_tokens": tokens, "target_tokens": tokens}


def big(**changes: Any) -> Config:
    """The big model for English to German."""
    recipe = {"num_heads": 16, "dropout": 0.3, "steps": 300_000, "average_last": 20}
    return _config(**_sizes(1024, layers=6), **recipe | changes)


big_en_fr = partial(big, dropout=0.1, vocab_size=32_000)


PARSERS_SEARCH: dict[str, Any] = {"beam_size": 21, "length_penalty": 0.3, "max_extra_length": 300}
"""Section 6.3's."""


def parser(vocab_size: int = 16_000) -> Config:
    """The parser of section 6.3.

    d_ff and the heads are not stated there: the big model's are taken. Nor are the dropout rates and the learning
    rate, which were tuned on section 22 of the treebank: the base model's rate is taken, on the attention weights too.
    """
    sizes = _sizes(1024, layers=4) | {"num_heads": 16, "vocab_size": vocab_size}
    return _config(**sizes, dropout=0.1, attention_dropout=0.1, **PARSERS_SEARCH)


def parser_small() -> Config:
    """For some ten thousand trees, small: dropout on attention weights too; best with BPE-dropout and copies."""
    return _treebank_parser(256, dropout=0.25, steps=24_000, learning_rate_scale=0.5)


def parser_medium() -> Config:
    """For some ten thousand trees, better and slower than `parser_small` (docs/log.md)."""
    return _treebank_parser(512, dropout=0.3, steps=20_000, learning_rate_scale=0.4)


def _treebank_parser(d_model: int, **settings: Any) -> Config:
    """Trees are learned late, and lost at a high rate: many steps, and a line to 0."""
    sizes = _sizes(d_model, layers=4) | {"num_heads": d_model // 64, "attention_dropout": 0.1, "vocab_size": 16_000}
    schedule = {"warmup_steps": 1000, "decay": "linear", "checkpoint_steps": 250, "average_last": 8}
    return _config(**sizes, **settings, **_batches(8192), **schedule, **PARSERS_SEARCH)


def tiny() -> Config:
    """For toy tasks and tests: learns to copy, reverse or sort short sentences in about a minute on one CPU core.

    A batch holds sentences of one length, and toys have few lengths: while it sees the others, the model loses some of
    what it knew of one. So the rate is low after an early peak, and the average of many checkpoints is what counts.
    Many heads, since two sorted worse (docs/log.md). No dropout, since a toy's text hardly repeats.
    """
    sizes = _sizes(64, layers=2) | {"num_heads": 8, "dropout": 0.0, "vocab_size": 1000}
    schedule = {"steps": 1200, "warmup_steps": 100, "learning_rate_scale": 0.15, "residual_scale": 1.0}
    return _config(**sizes, **schedule, **_batches(640), checkpoint_steps=50, average_last=8)


def demo() -> Config:
    """For the generated text of `heedful demo`: minutes on two CPU cores.

    No dropout, since no sentence comes more than a few times. A validation translates one sentence, so that one can
    watch. Nothing is captured on CUDA: that would take longer than it spares.
    """
    sizes = _sizes(128, layers=2) | {"num_heads": 4, "dropout": 0.0, "vocab_size": 4000}
    schedule = {"steps": 1500, "warmup_steps": 300, "learning_rate_scale": 0.5, "compile": False}
    checkpoints = {"checkpoint_minutes": 0.0, "checkpoint_steps": 100, "average_last": 3}
    watched = {"validation_steps": 200, "samples": 1, "log_steps": 25}
    return _config(**sizes, **schedule, **_batches(1024), **checkpoints, **watched)


def small() -> Config:
    """For some hundred thousand pairs."""
    sizes = _sizes(256, layers=3) | {"num_heads": 4, "dropout": 0.2, "vocab_size": 16_000}
    return _config(**sizes, **_batches(8192), steps=50_000, warmup_steps=2000)


def multi30k() -> Config:
    """For Multi30k's 29,000 captions: little text, so much dropout, a small vocabulary and a short schedule.

    Best on text prepared with BPE-dropout and many copies. Chosen on the validation set (docs/log.md). With the paper's
    length penalty outputs come out short.
    """
    sizes = _sizes(256, layers=3) | {"num_heads": 4, "dropout": 0.3, "vocab_size": 8000}
    schedule = {"steps": 16_000, "warmup_steps": 1000, "learning_rate_scale": 0.5, "decay": "linear"}
    return _config(**sizes, **schedule, **_batches(8192), checkpoint_steps=500, length_penalty=1.4)


def _row(name: str, row: str, about: str, paper_parameters: int | None = None, /, **changes: Any) -> Preset:
    """The base model with one row's changes. Table 3 is scored without checkpoint averaging."""
    make = partial(_config, average_last=1, **changes)
    return Preset(f"table3-{name}", f"Table 3 ({row})", about, make, paper_parameters)


ALL: tuple[Preset, ...] = (
    Preset("base", "Table 3", "the paper's base model", Config, 65),
    Preset("big", "Table 3", "the paper's big model, en-de", big, 213),
    Preset("big-en-fr", "Table 2", "the big model for en-fr: dropout 0.1, 32,000 word pieces", big_en_fr),
    _row("a-h1", "A", "1 head of 512", num_heads=1),
    _row("a-h4", "A", "4 heads of 128", num_heads=4),
    _row("a-h16", "A", "16 heads of 32", num_heads=16),
    _row("a-h32", "A", "32 heads of 16", num_heads=32),
    _row("b-dk16", "B", "keys of 16, values of 64", 58, d_k=16),
    _row("b-dk32", "B", "keys of 32, values of 64", 60, d_k=32),
    _row("c-n2", "C", "2 layers", 36, encoder_layers=2, decoder_layers=2),
    _row("c-n4", "C", "4 layers", 50, encoder_layers=4, decoder_layers=4),
    _row("c-n8", "C", "8 layers", 80, encoder_layers=8, decoder_layers=8),
    _row("c-d256", "C", "d_model 256, heads of 32", 28, d_model=256, d_k=32, d_v=32),
    _row("c-d1024", "C", "d_model 1024, heads of 128", 168, d_model=1024, d_k=128, d_v=128),
    _row("c-ff1024", "C", "d_ff 1024", 53, d_ff=1024),
    _row("c-ff4096", "C", "d_ff 4096", 90, d_ff=4096),
    _row("d-drop0", "D", "no dropout", dropout=0.0),
    _row("d-drop0.2", "D", "dropout 0.2", dropout=0.2),
    _row("d-smooth0", "D", "no label smoothing", label_smoothing=0.0),
    _row("d-smooth0.2", "D", "label smoothing 0.2", label_smoothing=0.2),
    _row("e-learned", "E", "learned positions", positions="learned"),
    Preset("parser", "Table 4", "constituency parsing, WSJ only", parser),
    Preset("parser-semi", "Table 4", "constituency parsing, semi-supervised", partial(parser, 32_000)),
    Preset("parser-small", "ours", "constituency parsing, some ten thousand trees", parser_small),
    Preset("parser-medium", "ours", "the same, better and slower", parser_medium),
    Preset("tiny", "ours", "toy tasks and tests, a minute on a CPU", tiny),
    Preset("demo", "ours", "the generated text of `heedful demo`", demo),
    Preset("small", "ours", "some hundred thousand pairs", small),
    Preset("multi30k", "ours", "29,000 captions: small, much dropout", multi30k),
)

BY_NAME: dict[str, Preset] = {preset.name: preset for preset in ALL}


def preset(name: str) -> Preset:
    if name not in BY_NAME:
        raise ConfigError([f"no preset called {name}{did_you_mean(name, list(BY_NAME))}; `heedful presets` lists them"])
    return BY_NAME[name]


def preset_named(name: str | None, file: Path | None) -> str | None:
    """The preset that a command was asked for: by its name, or by the name in a file."""
    return name or (read_toml(file)[1] if file else None)


def resolve(
    *, name: str | None = None, file: Path | None = None, settings: Iterable[str] = (), otherwise: Config | None = None
) -> Config:
    """The configuration a command was asked for: preset < file < ``--set``.

    The preset is ``name``, else the one the file names (``preset = "big"``), else ``otherwise``, else ``base``.
    """
    from_file, named_in_file = read_toml(file) if file else ({}, None)
    named = name or named_in_file
    return apply(preset(named).make() if named else otherwise or Config(), from_file, settings)


def parameter_count(model: ModelConfig, *, vocab_size: int, source_vocab_size: int | None = None) -> int:
    """Trainable numbers of the model, by arithmetic alone (a test compares it with the built model).

    >>> parameter_count(ModelConfig(), vocab_size=37_000)
    63082496
    """
    d, heads, d_k, d_v = model.d_model, model.num_heads, model.key_size, model.value_size
    attention = heads * (2 * d_k + d_v) * (d + 1) + heads * d_v * d + d
    feed_forward = 2 * d * model.d_ff + model.d_ff + d
    norm = 2 * d
    encoder = model.encoder_layers * (attention + feed_forward + 2 * norm)
    decoder = model.decoder_layers * (2 * attention + feed_forward + 3 * norm)
    embeddings = (vocab_size + (source_vocab_size or 0)) * d
    positions = 2 * model.max_positions * d if model.positions == "learned" else 0
    return embeddings + positions + encoder + decoder
