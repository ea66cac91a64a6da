"""Files of text with structure: what of them is to be translated, and how they are put together again.

Each format is a function from the bytes of a file to a `Document`. What is not text stays as it is: markup, code,
times, numbers of subtitles, styles, pictures. These modules know no model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from heedful.errors import MissingExtraError, TextError


@dataclass(frozen=True)
class Document:
    """A file taken apart."""

    units: list[str]
    """What is to be translated, piece by piece."""
    filled: Callable[[Sequence[str]], bytes]
    """The file with translations in the places of its units."""


FORMATS = (".txt", ".md", ".html", ".htm", ".srt", ".po", ".docx")


def document_of(content: bytes, suffix: str, *, where: str = "the file") -> Document:
    """The content of a file of this kind, taken apart."""
    from heedful.documents import formats

    readers: dict[str, Callable[[bytes], Document]] = {
        ".txt": formats.text_document,
        ".html": formats.html_document,
        ".htm": formats.html_document,
        ".srt": formats.subtitles,
        ".po": formats.messages,
        ".md": formats.markdown,
        ".docx": formats.word_document,
    }
    if suffix.lower() not in readers:
        raise TextError(f"{where}: a document ends in {', '.join(FORMATS)}")
    try:
        return readers[suffix.lower()](content)
    except ImportError as error:
        raise MissingExtraError(f"{where} needs {error.name}: pip install 'heedful[documents]'") from None
    except UnicodeDecodeError:
        raise TextError(f"{where} is not UTF-8 text") from None
    except TextError as error:
        raise TextError(f"{where} {error}") from None


def read_document(path: Path) -> Document:
    """A file, taken apart."""
    return document_of(path.read_bytes(), path.suffix, where=str(path))
