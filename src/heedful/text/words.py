"""Where a line of text is cut before subwords are learned: subwords never reach across these cuts.

A word is an optional space and a run of letters, of digits, or of anything else. The classes are spelled out as code
points, not taken from a Unicode database: databases differ between versions of Python and of Rust libraries, and the
same text must become the same subwords for as long as a model lives. The pattern is saved with the vocabulary.

This module does not know what a subword is.
"""

from __future__ import annotations

import re

_DIGITS: tuple[tuple[int, int], ...] = (
    (0x30, 0x39),
    (0x660, 0x669),  # Arabic-Indic
    (0x6F0, 0x6F9),  # extended Arabic-Indic
    (0x966, 0x96F),  # Devanagari
    (0x9E6, 0x9EF),  # Bengali
    (0xFF10, 0xFF19),  # full width
)

SYMBOLS: tuple[tuple[int, int], ...] = (
    (0x00, 0x1F),  # controls, the tab and the line ends among them
    (0x21, 0x2F),
    (0x3A, 0x40),
    (0x5B, 0x60),
    (0x7B, 0xA9),
    (0xAB, 0xB4),
    (0xB6, 0xB9),
    (0xBB, 0xBF),
    (0xD7, 0xD7),
    (0xF7, 0xF7),
    (0x55A, 0x55F),  # Armenian
    (0x589, 0x58A),
    (0x5BE, 0x5BE),  # Hebrew
    (0x5F3, 0x5F4),
    (0x60C, 0x60D),  # Arabic
    (0x61B, 0x61F),
    (0x66A, 0x66D),
    (0x6D4, 0x6D4),
    (0x964, 0x965),  # danda
    (0xE3F, 0xE3F),  # baht
    (0x1361, 0x1368),  # Ethiopic
    (0x17D4, 0x17DB),  # Khmer
    (0x2000, 0x200B),  # spaces; the joiners after them belong to words
    (0x200E, 0x2BFF),  # punctuation, currency, arrows, mathematics, boxes, dingbats
    (0x2E00, 0x2E7F),
    (0x3000, 0x3004),  # CJK punctuation, without the iteration mark and the zero
    (0x3008, 0x3020),
    (0x3030, 0x303F),
    (0x30FB, 0x30FB),
    (0xE000, 0xF8FF),  # private use
    (0xFE10, 0xFE1F),
    (0xFE30, 0xFE6F),
    (0xFEFF, 0xFF0F),  # byte order mark, full-width punctuation
    (0xFF1A, 0xFF20),
    (0xFF3B, 0xFF40),
    (0xFF5B, 0xFF65),
    (0xFFE0, 0xFFFF),
    (0x1F000, 0x1FAFF),  # emoji and other pictures
)


def word_pattern() -> str:
    """The regular expression that cuts a line into words; it means the same to Python and to `tokenizers`.

    Every character falls into exactly one of its classes, so the words of a line joined are the line.

    >>> re.findall(word_pattern(), " Zwei Häuser, 37000  Mal!")
    [' Zwei', ' Häuser', ',', ' 37000', ' ', ' Mal', '!']
    """
    digits, symbols = _class(_DIGITS), _class(SYMBOLS)
    return f" ?[^ {digits}{symbols}]+| ?[{digits}]+| ?[{symbols}]+| +(?= )| +"


def _class(ranges: tuple[tuple[int, int], ...]) -> str:
    # \\x{...} is not Python's and \\u.... is not Rust's; the characters themselves are everybody's.
    return "".join(f"{_escaped(low)}-{_escaped(high)}" for low, high in ranges)


def _escaped(code: int) -> str:
    return re.escape(chr(code)) if chr(code) in r"\]^-[" else chr(code)
