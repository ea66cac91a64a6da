"""Files of text with structure: what of them is to be translated, and how they are put together again.

Each format is a function from the bytes of a file to a `Document`. What is not text stays as it is: markup, code,
times, numbers of subtitles, styles, pictures. These modules know no model.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from heedful.errors import MissingExtraError, TextError
from heedful.text.numbers import Languages


@dataclass(frozen=True)
class Document:
    """A file taken apart."""

    units: list[str]
    """What is to be translated, piece by piece."""
    filled: Callable[[Sequence[str]], bytes]
    """The file with translations in the places of its units."""
    in_language: Callable[[bytes, Languages], bytes] = lambda content, _: content
    """A file that says it is in the first language, saying that it is in the second."""


_READERS = {
    ".txt": "formats.text_document",
    ".md": "markdown.markdown_document",
    ".html": "formats.html_document",
    ".htm": "formats.html_document",
    ".srt": "formats.subtitles",
    ".po": "formats.messages",
    ".docx": "word.docx_document",
}
"""Where each kind is taken apart; loaded when it is asked for, since some need an extra."""
FORMATS = tuple(_READERS)


def document_of(content: bytes, suffix: str, *, where: str = "the file") -> Document:
    """The content of a file of this kind, taken apart."""
    if suffix.lower() not in _READERS:
        raise TextError(f"{where}: a document ends in {', '.join(FORMATS)}")
    module, _, function = _READERS[suffix.lower()].partition(".")
    try:
        return getattr(importlib.import_module(f"heedful.documents.{module}"), function)(content)
    except ImportError as error:
        raise MissingExtraError(f"{where} needs {error.name}: pip install 'heedful[documents]'") from None
    except UnicodeDecodeError:
        raise TextError(f"{where} is not UTF-8 text: save it as UTF-8 first") from None
    except TextError as error:
        raise TextError(f"{where} {error}") from None


def read_document(path: Path) -> Document:
    """A file, taken apart."""
    return document_of(path.read_bytes(), path.suffix, where=str(path))
