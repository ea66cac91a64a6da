"""Pages that need nothing but a browser, from the templates, style sheets and scripts in ``page/``.

Whatever came out of a file or a model is escaped by the templates; only ``Markup`` is HTML already. A picture that
matplotlib drew becomes SVG in the colours of the reader's screen: a colour is one of the style sheet's, by its name.
"""

from __future__ import annotations

import functools
import io
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from importlib import resources
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from heedful import __version__
from heedful.errors import ReportError
from heedful.files import require_free, write_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_INVISIBLE = re.compile("[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\ud800-\udfff\ufffe\uffff]")
"""Characters that no page may hold: controls, and halves of surrogate pairs."""


PIXELS_PER_INCH = 72
"""Of a picture: as many as matplotlib has points, so that both are SVG's units too."""
MARGIN = 4
"""Pixels around a picture that has its own size."""
_WORDS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\w+|\s+|[^\w\s]")
"""What is compared of two texts: words, marks, and each character where words have no spaces between them."""


@dataclass(frozen=True)
class Section:
    """One part of a page: a title, and HTML below it."""

    title: str
    content: Markup
    folded: bool = False
    """Only its title is seen until somebody opens it."""

    @property
    def anchor(self) -> str:
        """What a link to the section says."""
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")


def section(title: str, template: str, *, folded: bool = False, **values: Any) -> Section:
    """A section made by a template of ``page/``."""
    return Section(title, Markup(_environment().get_template(template).render(values)), folded)


def fragment(template: str, **values: Any) -> Markup:
    """HTML made by a template that is given as text: ``fragment("<p>{{ rate }} %</p>", rate=12)``."""
    return Markup(_environment().from_string(template).render(values))


def page(template: str, *, style: str, scripts: Sequence[str], **values: Any) -> str:
    """A whole page by a template, with its style sheet and scripts in it."""
    inside = {"style": Markup(page_style(style)), "script": Markup("\n".join(map(page_file, scripts)))}
    values = {"refresh_seconds": 0, **inside, **values}
    return _INVISIBLE.sub("\ufffd", _environment().get_template(template).render(values))


def write_page(path: Path, text: str, *, overwrite: bool = False) -> Path:
    require_free(path, overwrite=overwrite, error=ReportError)
    return write_file(path, text.encode("utf-8"), error=ReportError)


def page_file(name: str) -> str:
    """A file of ``page/`` as text."""
    return resources.files("heedful.report").joinpath("page", name).read_text(encoding="utf-8")


def page_style(name: str) -> str:
    """A style sheet of ``page/``, after the colours that all pages share."""
    return page_file("palette.css") + page_file(name)


@functools.cache
def _page_colours() -> dict[str, str]:
    """The colours of a light page, by their names."""
    light = re.sub(r"@media[^{]*\{\s*:root\s*\{[^}]*\}\s*\}", "", page_style("report.css"))
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", light))


def colour(name: str) -> str:
    """A colour of the style sheet as a light page has it."""
    return _page_colours()[name]


def svg(figure: Figure, *, label: str, kind: str = "") -> Markup:
    """The picture for a page. One of a kind has its own size; others are as wide as their place. ``label``: what
    somebody is told who cannot see it."""
    import matplotlib
    from matplotlib.text import Text

    for words in figure.findobj(Text):
        words.set_parse_math(False)  # a dollar sign is a dollar sign
    drawn = io.StringIO()
    # A browser finds a font for every character, also for those that are not to be found here.
    with (
        warnings.catch_warnings(action="ignore"),
        matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": label}),
    ):
        tight = {"bbox_inches": "tight", "pad_inches": MARGIN / PIXELS_PER_INCH} if kind else {}
        figure.savefig(drawn, format="svg", transparent=True, **tight)
    names = {code: f"var(--{name})" for name, code in _page_colours().items()}

    def plain(tag: re.Match[str]) -> str:
        """A tag without what a page does not need, in the page's own fonts and colours."""
        text = re.sub(r'font-family: [^;"]*;? ?|id="(?![mp][0-9a-f]{10}")[^"]*"|xlink:', "", tag[0])
        return re.sub("#[0-9a-f]{6}", lambda code: names.get(code[0], code[0]), text)

    body = re.sub("<metadata>.*?</metadata>|<style.*?</style>", "", drawn.getvalue(), flags=re.DOTALL)
    head, _, body = body.partition("<svg")[2].partition(">")
    size = re.findall(r"[\d.]+", head.partition("viewBox")[2])[2:4]
    own = f'class="{kind}" width="{size[0]}" height="{size[1]}" ' if kind else ""
    about = f'{own}viewBox="0 0 {" ".join(size)}" role="img" aria-label="{escape(label)}"'
    return Markup(f"<svg {about}>{re.sub('<[^>]*>', plain, body)}")


def svg_file(figure: Figure, *, label: str) -> str:
    """The picture as a file of its own, which brings the colours of light and dark screens with it."""
    style = re.sub(r"/\*.*?\*/", "", page_style("report.css"), flags=re.DOTALL)
    colours = ("".join(re.findall(rf"{before}:root \{{([^}}]*)\}}", style)) for before in (r"(?m)^", r"dark\) \{\s*"))
    light, dark = (" ".join(own.split()) for own in colours)
    drawn = str(svg(figure, label=label, kind="picture"))
    known = (
        f"<style>svg {{ {light} color-scheme: light dark; font-family: system-ui, sans-serif }} "
        f"@media (prefers-color-scheme: dark) {{ svg {{ {dark} }} }}</style>"
        '<rect width="100%" height="100%" fill="var(--paper)"/>'
    )
    head, _, body = drawn.partition(">")
    head = head.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ')
    return f"{head}>{known}{body}\n"


@functools.cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("heedful.report", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"breakable": _breakable, "cut": _cut, "differing": differing, "files": _files, "shown": _shown}
    made.filters["unbroken"] = _unbroken
    # tojson writes <, >, & and ' as numbers, so that no text can end the script it stands in.
    made.policies["json.dumps_kwargs"] = {"ensure_ascii": True, "allow_nan": False, "separators": (",", ":")}
    made.globals["version"] = __version__
    return made


def _breakable(value: object) -> Markup:
    """A path or a signature, which may go on in the next line after each of its parts."""
    return Markup(re.sub(r"([/|])(?=.)", r"\1<wbr>", str(escape(value))))


def _unbroken(text: str) -> Markup:
    """A sentence, no option of which is broken at a hyphen: ``--`` at the end of a line is none."""
    return Markup(re.sub(r"--\w[\w-]*", r'<span class="option">\g<0></span>', str(escape(text))))


def _files(name: str) -> str:
    """The name of a text, which may be two files, without the folders in which they lay."""
    return " | ".join(PurePath(part).name for part in name.split(" | "))


def _cut(text: str, most: int) -> str:
    """A text of at most so many characters: a translation that repeats itself can be very long."""
    return text if len(text) <= most else text[: most - 1] + "…"


def _shown(value: object) -> object:
    """A value of a table or a list: whole numbers have their thousands marked."""
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else value


def differing(text: str, other: str) -> list[tuple[str, bool]]:
    """A text in parts, and whether each of them is something that the other text does not have there.

    >>> differing("a red house", "a green house!")
    [('a ', False), ('red', True), (' house', False)]
    """
    ours, theirs = (_WORDS.findall(side) for side in (text, other))
    parts = []
    for kind, begin, end, _, _ in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        part = "".join(ours[begin:end])
        if kind == "equal":
            parts.append((part, False))
        else:  # a space beside a word is no difference to be seen
            seen = part.strip()
            before, _, after = part.partition(seen) if seen else (part, "", "")
            parts += [(before, False), (seen, True), (after, False)]
    return [(part, differs) for part, differs in parts if part]
