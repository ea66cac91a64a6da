"""Where a line can be cut without cutting a sentence: after its full stops."""

from __future__ import annotations

import re
from collections.abc import Callable

# A full stop, what may close after it, and then white space; in Chinese and Japanese no space follows.
_END = re.compile(r"""(?<=[.!?…])["'”’»)\]]*\s+|(?<=[。！？])""")


def in_parts(line: str, *, fits: Callable[[str], bool]) -> list[str]:
    """The line in as few parts as can be, each of whole sentences that fit together.

    A sentence that does not fit by itself is a part of its own: the caller must look.

    >>> in_parts("One. Two! Three?", fits=lambda text: len(text) < 12)
    ['One. Two!', 'Three?']
    """
    if fits(line):
        return [line]
    ends = [match.end() for match in _END.finditer(line)]
    parts: list[str] = []
    begin, last = 0, 0
    for end in [*ends, len(line)]:
        if end <= last:
            continue
        if last > begin and not fits(line[begin:end].strip()):
            parts.append(line[begin:last].strip())
            begin = last
        last = end
    parts.append(line[begin:].strip())
    return [part for part in parts if part]
