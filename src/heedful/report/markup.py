"""Small makers of HTML. Whatever came out of a file or a model passes through ``text`` or ``sentence`` here."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

INVISIBLE = re.compile("[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\ud800-\udfff\ufffe\uffff]")
"""Characters that no page may hold: controls, and halves of surrogate pairs."""


@dataclass(frozen=True)
class Html:
    """Text that is HTML already."""

    source: str

    def __str__(self) -> str:
        return self.source


@dataclass(frozen=True)
class Section:
    """One part of a page: a title, and a fragment of HTML below it."""

    title: str
    content: str

    @property
    def anchor(self) -> str:
        """What a link to the section says."""
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")


Cell = str | int | float | Html
"""What stands in a table: text, which is escaped, a number, or HTML."""


def text(value: object) -> str:
    """Anything as text, with nothing in it that HTML would read as its own."""
    return html.escape(INVISIBLE.sub("\ufffd", str(value)))


def sentence(value: object) -> str:
    """A sentence of any language, which keeps its direction to itself."""
    return f'<bdi dir="auto">{text(value)}</bdi>'


def breakable(value: object) -> Html:
    """A path or a signature, which may go on in the next line after each of its parts."""
    return Html(re.sub(r"([/|])(?=.)", r"\1<wbr>", text(value)))


def paragraph(value: Cell, *, kind: str = "") -> str:
    """A paragraph, of a kind that the style sheet knows: ``note``, ``warning``."""
    return f"<p{_class(kind)}>{cell(value)}</p>"


def facts(values: Mapping[str, Cell]) -> str:
    """Names and what they stand for, as a list of two columns."""
    rows = "".join(f"<dt>{text(name)}</dt><dd>{cell(value)}</dd>" for name, value in values.items())
    return f"<dl>{rows}</dl>"


def table(
    head: Sequence[str], rows: Iterable[Sequence[Cell]], *, numbers: Iterable[int] = (), caption: str = ""
) -> str:
    """A table; the columns whose places are in ``numbers`` stand at the right."""
    right = set(numbers)
    kinds = [_class("number") if place in right else "" for place in range(len(head))]
    named = "".join(f'<th scope="col"{kind}>{text(name)}</th>' for kind, name in zip(kinds, head, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td{kind}>{cell(value)}</td>" for kind, value in zip(kinds, row, strict=True)) + "</tr>"
        for row in rows
    )
    title = f"<caption>{text(caption)}</caption>" if caption else ""
    return f'<div class="scroll"><table>{title}<thead><tr>{named}</tr></thead><tbody>{body}</tbody></table></div>'


def cell(value: Cell) -> str:
    """A value of a table or a list: numbers with their thousands marked, text escaped, HTML as it is."""
    if isinstance(value, Html):
        return value.source
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else text(value)


def command(words: str) -> str:
    """A command line to copy."""
    return f"<pre><code>{text(words)}</code></pre>"


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
