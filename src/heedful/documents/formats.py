"""Plain text, HTML, subtitles and messages of programs."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence

from heedful.documents import Document
from heedful.errors import TextError
from heedful.text.carrying import pieces_of
from heedful.text.markup import in_language, markup
from heedful.text.numbers import Languages

_BOM = "\ufeff"
_ENTITY = re.compile(r"&#?\w+;")
_OVERRIDES = re.compile(r"(?:\{\\[^{}]*\})*")
"""Where a subtitle stands, and how it looks, as {\\an8} says: what it begins with is no part of its first word."""
_MARKED = re.compile(r"""(?<![^\s(\["'“„«‘‹/-])([^\W_]*)([&_])([^\W_]+)(?![\w&])""")
"""A word with a `&` or a `_` in it, where none stands before or after it."""
_MESSAGE = re.compile(
    r'(?:#[~|]+\s*)?(?:(?:msgctxt|msgid(?:_plural)?|msgstr(?:\[\d+\])?)(?![\w\[])\s*|(?="))(?P<own>.*)'
)
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*+"')


def text_document(content: bytes) -> Document:
    """Plain text: every line with letters is a unit, and line ends stay as they are."""
    pieces = re.split(rf"(\A{_BOM}|\r\n|[\n\r])", content.decode("utf-8"))
    places = [place for place, piece in enumerate(pieces) if any(map(str.isalpha, piece))]

    def filled(translations: Sequence[str]) -> bytes:
        whole = pieces.copy()
        for place, translation in zip(places, translations, strict=True):
            whole[place] = translation
        return "".join(whole).encode("utf-8", "replace")

    return Document([pieces[place] for place in places], filled)


def html_document(content: bytes) -> Document:
    """HTML in UTF-8."""
    taken = markup(content.decode("utf-8"))

    def filled(translations: Sequence[str]) -> bytes:
        return taken.filled(translations).encode("utf-8", "replace")

    def translated(content: bytes, languages: Languages) -> bytes:
        return in_language(content.decode("utf-8"), languages).encode("utf-8")

    return Document(taken.units, filled, translated)


def subtitles(content: bytes) -> Document:
    """SubRip subtitles: times and numbers stay, and a subtitle keeps its number of lines where it has the words."""
    import srt

    text = content.decode("utf-8")
    try:
        found = list(srt.parse(text.removeprefix(_BOM)))
    except (srt.SRTParseError, ValueError) as error:
        raise TextError(f"is not a file of subtitles: {str(error).partition(chr(10))[0][:120]}") from None
    begun = [_OVERRIDES.match(one.content)[0] for one in found]  # pyright: ignore[reportOptionalSubscript]
    speeches = [_speeches(one.content[len(own) :]) for one, own in zip(found, begun, strict=True)]
    taken = [[markup(" ".join(lines)) for lines in own] for own in speeches]

    def filled(translations: Sequence[str]) -> bytes:
        come = iter(translations)
        for one, overrides, own, marked in zip(found, begun, speeches, taken, strict=True):
            lines: list[str] = []
            for before, each in zip(own, marked, strict=True):
                said = each.filled([next(come) for _ in each.units])
                lines += _in_lines(said if _ENTITY.search(one.content) else html.unescape(said), len(before))
            one.content = overrides + "\n".join(lines)
        ends = "\r\n" if "\r\n" in text else "\n"
        whole = srt.compose(found, reindex=False, strict=False, eol=ends)
        whole = whole.rstrip("\r\n") + text[len(text.rstrip("\r\n")) :]
        return ((_BOM if text.startswith(_BOM) else "") + whole).encode("utf-8", "replace")

    return Document([unit for own in taken for one in own for unit in one.units], filled)


def _speeches(content: str) -> list[list[str]]:
    """The lines of a subtitle, a list for each that speaks: a dash begins what somebody else says."""
    found: list[list[str]] = []
    for line in content.splitlines():
        if not found or line.lstrip().startswith(("-", "–", "—")):
            found.append([])
        found[-1].append(line.strip())
    return found


def _in_lines(text: str, count: int) -> list[str]:
    """Text in so many lines of about the same length; white space inside of tags is none."""
    words = re.findall(r"(?:<[^<>]*>|\S)+", text)
    lines: list[str] = []
    for left in range(count, 0, -1):
        rest, line = sum(map(len, words)) + max(0, len(words) - 1), []
        while words and (left == 1 or not line or len(" ".join(line)) + len(words[0]) / 2 < rest / left):
            line.append(words.pop(0))
        lines += [" ".join(line)] if line else []
    return lines


def messages(content: bytes) -> Document:
    """Messages of a program, as gettext has them: what has no translation gets one, marked as fuzzy, to be reviewed."""
    import polib

    text = content.decode("utf-8")
    for number, line in enumerate(text.removeprefix(_BOM).splitlines(), start=1):
        found = _MESSAGE.fullmatch(line.strip())
        if found and not _QUOTED.fullmatch(found["own"]):  # polib would take its last letter for the mark
            raise TextError(
                f"is not a file of messages: line {number} has no text in quotation marks: {line.strip():.60}"
            )
    try:
        file = polib.pofile(text.removeprefix(_BOM) + "\n", wrapwidth=78)
    except (OSError, ValueError) as error:
        raise TextError(f"is not a file of messages: {str(error)[:120]}") from None
    todo = [entry for entry in file if not entry.obsolete and not entry.translated() and entry.msgid]
    units: list[str] = []
    setters: list[Callable[[str], None]] = []

    def add(message: str, put: Callable[[str], None]) -> None:
        unit, marked = _without_accelerator(message)
        units.append(unit)
        setters.append(lambda text: put(marked(text)))

    for entry in todo:
        if not entry.msgid_plural:
            add(entry.msgid, lambda text, entry=entry: setattr(entry, "msgstr", text))
            continue
        count = re.search(r"nplurals\s*=\s*(\d+)", file.metadata.get("Plural-Forms", ""))
        for number in range(int(count[1]) if count else max([1, *entry.msgstr_plural]) + 1):
            message = entry.msgid_plural if number else entry.msgid
            if entry.msgstr_plural.get(number) and not entry.fuzzy:
                continue  # somebody has said it
            add(message, lambda text, entry=entry, number=number: entry.msgstr_plural.__setitem__(number, text))

    def filled(translations: Sequence[str]) -> bytes:
        for put, translation in zip(setters, translations, strict=True):
            put(translation)
        for entry in todo:
            entry.flags += [] if "fuzzy" in entry.flags else ["fuzzy"]
        # polib writes an empty comment where a file begins with none.
        whole = str(file) if file.header else str(file).removeprefix("#\n")
        return (whole.rstrip("\n") + "\n").replace("\n", "\r\n" if "\r\n" in text else "\n").encode("utf-8", "replace")

    return Document(units, filled)


def _without_accelerator(message: str) -> tuple[str, Callable[[str], str]]:
    """A message without the mark before the letter that is pressed with Alt, and what puts it into a translation.

    A message with several marks, or one that could be something else, stays as it is.

    >>> unit, marked = _without_accelerator("Save _As...")
    >>> unit, marked("Sichern als..."), marked("Anders"), marked("%s"), marked("Los!")
    ('Save As...', 'Sichern _als...', '_Anders', '%s', '_Los!')
    """
    carried = [piece.span for piece in pieces_of(message)]
    found = [match for match in _MARKED.finditer(message) if _is_accelerator(*match.groups())]
    found = [match for match in found if not any(a < match.end() and match.start() < b for a, b in carried)]
    if len(found) != 1:
        return message, str
    mark, at = found[0][2], found[0].start(2)
    return message[:at] + message[at + 1 :], lambda text: _with_accelerator(text, mark, message[at + 1])


def _is_accelerator(before: str, mark: str, after: str) -> bool:
    """Whether a word is marked: at its beginning, or inside as E_xit and not as snake_case, R&D or Rock&Roll."""
    if not before:
        return True
    is_usual = before.isalpha() and after.islower() and (before[1:].islower() or len(before) == 1)
    return is_usual and len(before + after) > 2 and (mark == "&" or before[0].isupper())


def _with_accelerator(text: str, mark: str, letter: str) -> str:
    """The text with the mark before this letter, best at the beginning of a word, or else before its first letter."""
    outside = text
    for piece in pieces_of(text):
        begin, end = piece.span
        outside = outside[:begin] + " " * (end - begin) + outside[end:]
    own = re.escape(letter)
    tries = (rf"(?<![^\W_]){own}", own, r"[^\W\d_]", r"[^\W_]")
    places = (re.search(one, outside, re.IGNORECASE) for one in tries)
    at = next((place.start() for place in places if place), None)
    return text if at is None else text[:at] + mark + text[at:]
