"""Empty modules in place of packages that a toolkit imports and a benchmark does not need.

So a toolkit runs where it was copied as a plain folder, without the two dozen packages of its preparation and serving.
A package that is there is taken as it is.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

NAMES = frozenset(
    (
        *("pyonmttok", "spacy", "configargparse", "datasets", "ahocorasick", "rapidfuzz", "six", "sentencepiece"),
        *("subword_nmt", "ctranslate2", "fasttext", "flask", "waitress", "tensorboard", "yaml", "huggingface_hub"),
        *("sacrebleu", "apex", "deepspeed", "mxboard", "google", "google.protobuf", "PIL", "regex", "uvicorn"),
        "fastapi",
    )
)


class _Empty(ModuleType):
    """Whatever is asked of it is a class of that name."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


class _Finder(MetaPathFinder, Loader):
    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        within = isinstance(sys.modules.get(fullname.rpartition(".")[0]), _Empty)
        return ModuleSpec(fullname, self, is_package=True) if within or fullname in NAMES else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Empty(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


def install_stand_ins() -> None:
    """Let imports of what is not installed succeed; the finder comes last, so what is installed wins."""
    sys.meta_path.append(_Finder())
