"""The configuration: frozen dataclasses whose defaults are the paper's base model, or ours where the paper is silent.

Each setting carries its help text and its allowed values, a number both bounds; a configuration that exists is valid.

Values come from a preset, then a TOML file, then ``--set a.b=c``; the last one wins, and all problems are reported
together, each with what was given, what is allowed and where it was given. This module knows nothing of presets: it is
handed a complete `Config` to start from.
"""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import functools
import json
import operator
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from heedful.errors import ConfigError
from heedful.files import read_small, reason

T = TypeVar("T", int, float, str, bool)
Given = tuple[Any, str]
"""A value that somebody gave, and where."""
_LONGEST_VALUE = 80
"""Characters of a wrong value that a message shows."""
_MOST_TOML_BYTES = 1 << 20
"""A configuration is smaller."""
_BOUNDS = {"at least": operator.ge, "above": operator.gt, "below": operator.lt, "at most": operator.le}


@dataclass(frozen=True)
class Rule:
    """What one setting means and which values it takes."""

    help: str
    at_least: float | None = None
    at_most: float | None = None
    above: float | None = None
    below: float | None = None
    choices: tuple[str, ...] = ()

    def allows(self, value: Any) -> bool:
        return value in self.choices if self.choices else all(_BOUNDS[word](value, at) for word, at in self._bounds)

    def allowed(self) -> str:
        if self.choices:
            return "one of " + ", ".join(f'"{choice}"' for choice in self.choices)
        return " and ".join(f"{word} {bound:,}" for word, bound in self._bounds)

    @functools.cached_property
    def _bounds(self) -> list[tuple[str, float]]:
        return [(word, at) for word in _BOUNDS if (at := getattr(self, word.replace(" ", "_"))) is not None]


def setting(default: T, help: str, *bounds: Any, **others: Any) -> T:  # noqa: A002
    """A dataclass field with its help text and its allowed values: at least and at most, or others by their names."""
    return field(default=default, metadata={"rule": Rule(help, *bounds, **others)})


class _Section:
    """A part of the configuration: valid, or not made."""

    def __post_init__(self) -> None:
        section = next(name for name, kind in SECTIONS.items() if isinstance(self, kind))
        wrong = {key: bad_value(type(self), key, value) for key, value in vars(self).items()}
        shown = {key: _show(f"{section}.{key}", value) for key, value in vars(self).items()}
        problems = [f"{shown[key]}: {problem}" for key, problem in wrong.items() if problem]
        if problems := problems or [problem for _, problem in _relations(section, vars(self))]:
            raise ConfigError(problems)


@dataclass(frozen=True)
class ModelConfig(_Section):
    """Sections 3.1 to 3.5: the network. The defaults are the base model of Table 3."""

    d_model: int = setting(512, "size of every vector that passes between sub-layers", 1, 1_000_000)
    d_ff: int = setting(2048, "inner size of the feed-forward network", 1, 10_000_000)
    num_heads: int = setting(8, "attention heads h", 1, 100_000)
    d_k: int = setting(0, "size of a query and a key in one head; 0: d_model / num_heads", 0, 1_000_000)
    d_v: int = setting(0, "size of a value in one head; 0: d_model / num_heads", 0, 1_000_000)
    encoder_layers: int = setting(6, "layers of the encoder", 1, 1_000_000)
    decoder_layers: int = setting(6, "layers of the decoder", 1, 1_000_000)
    dropout: float = setting(0.1, "P_drop: on each sub-layer's output and on the embeddings", at_least=0, below=1)
    attention_dropout: float = setting(0.0, "dropout on the attention weights (not in the paper)", at_least=0, below=1)
    positions: str = setting("sinusoidal", "positional encoding", choices=("sinusoidal", "learned"))
    max_positions: int = setting(1024, "longest sequence that learned positions can take", 1, 100_000_000)
    neighbourhood: int = setting(0, "positions that self-attention sees, half to each side; 0: all", 0, 100_000_000)

    @property
    def key_size(self) -> int:
        """d_k of one head, with 0 resolved."""
        return self.d_k or self.d_model // self.num_heads

    @property
    def value_size(self) -> int:
        """d_v of one head, with 0 resolved."""
        return self.d_v or self.d_model // self.num_heads


@dataclass(frozen=True)
class TrainingConfig(_Section):
    """Section 5: the recipe. What the paper does not give, `residual_scale` first, is ours."""

    steps: int = setting(100_000, "optimiser steps", 1, 10**12)
    minutes: float = setting(0.0, "stop after so many minutes of training; 0: no limit", 0, 10**9)
    source_tokens: int = setting(25_000, "source tokens in one step's batch, at most", 1, 10**9)
    target_tokens: int = setting(25_000, "target tokens in one step's batch, at most", 1, 10**9)
    micro_batches: int = setting(1, "micro-batches that a step's batch is cut into, on any number of GPUs", 1, 16_384)
    warmup_steps: int = setting(4000, "steps in which the learning rate rises", 1, 10**12)
    learning_rate_scale: float = setting(1.0, "factor on the paper's learning rate", above=0, at_most=10**6)
    decay: str = setting(
        "inverse-sqrt",
        "how the rate falls after the warm-up: as in Equation 3, or in a straight line to 0 at the run's end",
        choices=("inverse-sqrt", "linear"),
    )
    residual_scale: float = setting(
        0.29, "factor on the initial W^O and W_2; the paper gives none, its authors' code has 1", above=0, at_most=1000
    )
    adam_beta1: float = setting(0.9, "Adam's β1", at_least=0, below=1)
    adam_beta2: float = setting(0.98, "Adam's β2", at_least=0, below=1)
    adam_epsilon: float = setting(1e-9, "Adam's ε", above=0, at_most=1)
    label_smoothing: float = setting(0.1, "ε_ls: probability taken from the true class", at_least=0, below=1)
    checkpoint_minutes: float = setting(10.0, "minutes between checkpoints; 0: by steps alone", 0, 10**9)
    checkpoint_steps: int = setting(0, "steps between checkpoints; 0: by minutes alone", 0, 10**12)
    keep_last: int = setting(5, "checkpoints kept beside the best, average_last at least", 1, 10**6)
    average_last: int = setting(5, "checkpoints averaged for the final model; 1: none", 1, 10**6)
    validation_steps: int = setting(1000, "steps between validations; 0: never", 0, 10**12)
    best_by: str = setting("loss", "validation figure that says which checkpoint is best", choices=("loss", "bleu"))
    patience: int = setting(0, "validations without a better one that end the run; 0: never", 0, 10**6)
    samples: int = setting(3, "validation sentences translated at each validation", 0, 10**6)
    log_steps: int = setting(50, "steps between two lines of metrics", 1, 10**9)
    max_skipped: int = setting(10, "steps in a row without a finite loss and gradient that end the run", 1, 10**9)
    precision: str = setting("auto", "auto: bfloat16 on CUDA, else float32", choices=("auto", "bfloat16", "float32"))
    compile: bool = setting(True, "capture whole steps as graphs on CUDA, which takes seconds at the start")
    only: str = setting(
        "",
        "draft_heads: train those alone, for --drafts, and leave the model of --init as it is; empty: train the model",
        choices=("", "draft_heads"),
    )
    seed: int = setting(1, "the one number all randomness comes from", 0, 2**63 - 1)


@dataclass(frozen=True)
class SearchConfig(_Section):
    """Section 6.1: how a translation is found."""

    beam_size: int = setting(4, "candidates kept at each step; more are slower, and often a little better", 1, 10_000)
    length_penalty: float = setting(0.6, "favours longer outputs: scores are divided by ((5 + length) / 6)^this", 0, 10)
    max_extra_length: int = setting(50, "a translation has at most so many subwords more than its input", 0, 1_000_000)


@dataclass(frozen=True)
class DataConfig(_Section):
    """Section 5.1: the text."""

    vocab_size: int = setting(37_000, "subwords in the vocabulary", 259, 10_000_000)
    # What learned positions can take by default (model.max_positions): a longer pair could not be used by every model.
    max_length: int = setting(1024, "a pair is left out when a side has more tokens, its end symbol included", 2, 10**9)
    max_ratio: float = setting(9.0, "a pair is left out when a side has so many times the other's tokens", 1, 10**9)


@dataclass(frozen=True)
class Config:
    """Everything that defines a run."""

    model: ModelConfig = field(default_factory=ModelConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    data: DataConfig = field(default_factory=DataConfig)

    @property
    def settings(self) -> dict[str, Any]:
        """Every value by its name as ``--set`` takes it, ``section.key``."""
        return {f"{name}.{key}": value for name in SECTIONS for key, value in vars(getattr(self, name)).items()}


SECTIONS: dict[str, type] = get_type_hints(Config)


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """`` (did you mean …?)`` where a known name is near, else nothing."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f" (did you mean {near[0]}?)" if near else ""


def full_names(key: str) -> list[str]:
    """The settings of that name, each with its section: ``steps`` is ``training.steps``."""
    return [f"{section}.{key}" for section, cls in SECTIONS.items() if key in _fields(cls)]


def _relations(section: str, values: Mapping[str, Any]) -> list[tuple[tuple[str, ...], str]]:
    """What the values of one section must be to each other: the keys concerned, and the complaint."""
    if section != "model":
        return []
    problems: list[tuple[tuple[str, ...], str]] = []
    d_model, num_heads = values["d_model"], values["num_heads"]
    if not (values["d_k"] and values["d_v"]) and d_model % num_heads:
        complaint = f"model.d_model = {d_model} cannot be divided into model.num_heads = {num_heads} equal heads"
        cure = "choose sizes that divide, or give model.d_k and model.d_v"
        problems.append((("d_model", "num_heads"), f"{complaint}: {cure}"))
    if values["positions"] == "sinusoidal" and d_model % 2:
        complaint = f"model.d_model = {d_model} is odd: sinusoidal positions pair each sine with a cosine"
        problems.append((("d_model", "positions"), f'{complaint}; take an even d_model or positions = "learned"'))
    return problems


@functools.cache
def _fields(section: type) -> dict[str, dataclasses.Field[Any]]:
    return {item.name: item for item in dataclasses.fields(section)}


def bad_value(section: type, key: str, value: Any) -> str | None:
    """What a setting must be, where this value is not that."""
    item = _fields(section)[key]
    rule: Rule = item.metadata["rule"]
    wanted = type(item.default)
    fits = type(value) is wanted or (wanted is float and isinstance(value, (int, float)) and type(value) is not bool)
    if fits and value == value and rule.allows(value):
        return None
    kind = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}[wanted]
    return "must be " + " ".join(filter(None, ["" if rule.choices else kind, rule.allowed()]))


def _show(path: str, value: Any) -> str:
    text = toml_value(value)
    return f"{path} = {text if len(text) <= _LONGEST_VALUE else text[:_LONGEST_VALUE] + '…'}"


def toml_value(value: Any) -> str:
    if isinstance(value, bool | str):
        return json.dumps(value, ensure_ascii=False)  # which TOML writes in the same way
    try:
        return repr(value)
    except (ValueError, RecursionError):  # more digits, or more brackets, than Python writes
        return f"a very large {type(value).__name__}"


def to_toml(config: Config) -> str:
    """The complete configuration as TOML with each setting's help beside it; `read_toml` reads it back."""
    lines: list[str] = []
    for name, section in SECTIONS.items():
        lines += ["", f"[{name}]"]
        for rule_field in dataclasses.fields(section):
            value = getattr(getattr(config, name), rule_field.name)
            text = f"{rule_field.name} = {toml_value(value)}"
            lines.append(f"{text:<34}# {rule_field.metadata['rule'].help}")
    return "\n".join(lines[1:]) + "\n"


def read_toml(path: Path) -> tuple[dict[str, Given], str | None]:
    """The settings of a file, each with its line, and the preset the file names, if it names one."""
    try:
        text = read_small(path, most=_MOST_TOML_BYTES).decode("utf-8")
        tables = tomllib.loads(text)
    except FileNotFoundError:
        raise ConfigError([f"there is no file {path}"]) from None
    except UnicodeDecodeError:
        raise ConfigError([f"{path} is not UTF-8 text"]) from None
    except OSError as error:
        raise ConfigError([f"{path} cannot be read: {reason(error)}"]) from None
    except ValueError as error:
        raise ConfigError([f"{path} is not TOML: {error}"]) from None
    except RecursionError:
        raise ConfigError([f"{path} is not TOML: it is nested too deeply"]) from None
    preset = tables.pop("preset", None)
    if preset is not None and not isinstance(preset, str):
        raise ConfigError([f"preset = {preset!r} ({path}): must be the name of a preset, in quotes"])
    given: dict[str, Given] = {}
    for name, table in tables.items():
        if isinstance(table, Mapping):
            for key, value in table.items():
                given[f"{name}.{key}"] = value, f"{path}:{_line_of(text, name, key)}"
        else:
            given[name] = table, f"{path}:{_line_of(text, '', name)}"
    return given, preset


def apply(config: Config, from_file: Mapping[str, Given], settings: Iterable[str]) -> Config:
    """``config`` with the values of a file laid over it, and over those each ``a.b=c`` of the command line.

    c is read as TOML, and as plain text where that fails. Raises one `ConfigError` that names every unknown key and
    every value that is not allowed.
    """
    given = dict(from_file)
    problems: list[str] = []
    for text in settings:
        path, equals, value = (part.strip() for part in text.partition("="))
        if not equals:
            problems.append(f"--set {text:.100}: must look like --set model.d_model=512")
            continue
        with contextlib.suppress(ValueError, RecursionError):
            value = tomllib.loads(f"value = {value}")["value"]
        given[path] = value, f"--set {text:.100}"
    values = dataclasses.asdict(config)
    bad: set[str] = set()
    for path, (value, where) in given.items():
        section, _, key = path.partition(".")
        if problem := _unknown_key(section, key) or bad_value(SECTIONS[section], key, value):
            problems.append(f"{_show(path, value)} ({where}): {problem}")
            bad.add(path)
            continue
        is_float = isinstance(getattr(SECTIONS[section], key), float)
        values[section][key] = float(value) if is_float else value
    for section in SECTIONS:
        for keys, problem in _relations(section, values[section]):
            paths = [f"{section}.{key}" for key in keys]
            if not bad.intersection(paths):
                where = ", ".join(given[path][1] for path in paths if path in given)
                problems.append(f"{problem} ({where or 'preset'})")
    if problems:
        raise ConfigError(problems)
    return Config(**{section: cls(**values[section]) for section, cls in SECTIONS.items()})


def _unknown_key(section: str, key: str) -> str | None:
    if section not in SECTIONS:
        settings = full_names(section)
        meant = f" (did you mean {settings[0]}?)" if settings else did_you_mean(section, list(SECTIONS))
        return f"no section of that name{meant}; there are {', '.join(SECTIONS)}"
    known = [item.name for item in dataclasses.fields(SECTIONS[section])]
    if not key:
        return f"{section} is a section; give one of its settings, such as {section}.{known[0]}"
    if key not in known:
        return f"no setting of that name in {section}{did_you_mean(key, known)}"
    return None


def _line_of(text: str, section: str, key: str) -> int:
    """The line of a key; tomllib does not say. Falls back to the section's line, then to 1."""
    current, section_line = "", 1
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*\[\s*([A-Za-z0-9_-]+)\s*\]", line)
        if header:
            current = header.group(1)
            section_line = number if current == section else section_line
        dotted = rf"(?:{re.escape(section)}\s*\.\s*)?" if section and not current else ""
        if current in (section, "") and re.match(rf"\s*{dotted}[\"']?{re.escape(key)}[\"']?\s*=", line):
            return number
    return section_line
