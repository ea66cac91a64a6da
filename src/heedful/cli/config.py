"""``heedful config``."""

from __future__ import annotations

from pathlib import Path

from heedful.cli.options import AsJson, Settings
from heedful.cli.terminal import print_json, print_text
from heedful.presets import resolve
from heedful.settings import describe, to_toml


def config(
    *,
    preset: str | None = None,
    config: Path | None = None,
    set_: Settings = (),
    as_json: AsJson = False,
) -> None:
    """Show the complete configuration that a command would use, and check it.

    Values come from the preset, then the file, then --set; the last one given wins.

    Args:
        preset: Start from this preset; `base` when neither this nor the file names one.
        config: A TOML file with any of the settings; `preset = "NAME"` on its first line names its preset.
        set_: One setting, as in --set model.dropout=0.3; may be repeated.
        as_json: Print JSON instead of TOML.

    Examples:
        heedful config --preset big > run.toml
        heedful config --config run.toml --set training.steps=5000 --set model.dropout=0.2
    """
    resolved = resolve(name=preset, file=config, settings=set_)
    if as_json:
        print_json(describe(resolved))
    else:
        print_text(to_toml(resolved), end="")
