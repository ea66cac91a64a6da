"""Where a configuration's values come from: a preset, then a TOML file, then ``--set a.b=c``; the last one wins.

All problems are reported together, each with what was given, what is allowed and where it was given.
This module knows nothing of presets: it is handed a complete `Config` to start from.
"""

from __future__ import annotations

import contextlib
import dataclasses
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heedful.config import SECTIONS, Config, bad_value, did_you_mean, relations, show, toml_value
from heedful.errors import ConfigError
from heedful.files import read_small, reason

_MOST_TOML_BYTES = 1 << 20
"""A configuration is smaller."""


@dataclass(frozen=True)
class Given:
    """A value somebody gave, and where."""

    value: Any
    where: str


def describe(config: Config) -> dict[str, dict[str, Any]]:
    """The configuration as plain nested dictionaries, ready for JSON."""
    return dataclasses.asdict(config)


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
                given[f"{name}.{key}"] = Given(value, f"{path}:{_line_of(text, name, key)}")
        else:
            given[name] = Given(table, f"{path}:{_line_of(text, '', name)}")
    return given, preset


def read_settings(settings: Iterable[str]) -> dict[str, Given]:
    """The ``a.b=c`` of the command line; c is read as TOML, and as plain text where that fails."""
    given: dict[str, Given] = {}
    for text in settings:
        path, equals, value = (part.strip() for part in text.partition("="))
        with contextlib.suppress(ValueError, RecursionError):
            value = tomllib.loads(f"value = {value}")["value"]
        given[path] = Given(value if equals else None, f"--set {text:.100}")
    return given


def apply(config: Config, *layers: Mapping[str, Given]) -> Config:
    """``config`` with the given values laid over it, later layers over earlier ones.

    Raises one `ConfigError` that names every unknown key and every value that is not allowed.
    """
    given = {path: item for layer in layers for path, item in layer.items()}
    problems: list[str] = []
    values = describe(config)
    bad: set[str] = set()
    for path, item in given.items():
        if item.value is None:
            problems.append(f"{item.where}: must look like --set model.d_model=512")
            continue
        problem = _unknown_key(path) or bad_value(path, item.value)
        if problem:
            problems.append(f"{show(path, item.value)} ({item.where}): {problem}")
            bad.add(path)
            continue
        section, key = path.split(".")
        is_float = isinstance(getattr(SECTIONS[section], key), float)
        values[section][key] = float(item.value) if is_float else item.value
    for section in SECTIONS:
        for keys, problem in relations(section, values[section]):
            paths = [f"{section}.{key}" for key in keys]
            if not bad.intersection(paths):
                where = ", ".join(given[path].where for path in paths if path in given)
                problems.append(f"{problem} ({where or 'preset'})")
    if problems:
        raise ConfigError(problems)
    return Config(**{section: cls(**values[section]) for section, cls in SECTIONS.items()})


def _unknown_key(path: str) -> str | None:
    section, _, key = path.partition(".")
    if section not in SECTIONS:
        return f"no section of that name{did_you_mean(section, list(SECTIONS))}; there are {', '.join(SECTIONS)}"
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
