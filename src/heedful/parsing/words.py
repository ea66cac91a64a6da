"""Text to words as treebanks have them: punctuation by itself, clitics cut off (do n't, it 's), the rest by spaces.

The rules are the few that matter for English, in the spirit of the Penn Treebank's; text that is cut already stays so.
"""

from __future__ import annotations

import re

_CLITIC = "n['’]t|['’](?:s|re|ve|ll|d|m)"
_CLITICS = re.compile(rf"(?i)(?<=\w)({_CLITIC})(?!\w)")
_JOINED = re.compile(r"(?i)\b(can)(not)\b|\b(gon|wan|got)(na|ta)\b")
_SHORT = "al|co|corp|dr|etc|gen|gov|inc|jr|ltd|mr|mrs|ms|prof|sen|sr|st|vs|jan|feb|aug|sept|oct|nov|dec"
_ABBREVIATIONS = re.compile(rf"(?i)(?:\w\.)+\w?\.?|(?:{_SHORT})\.")
_NUMBER = re.compile(r"[+-]?\d+(?:[.,:/]\d+)+")
_WEB = re.compile(r"(?i)(?:https?://|www\.)\S+|\S+@\S+\.\w+")
_PUNCTUATION = re.compile(r"\.\.\.+|--+|``|''|[^\w\s'’]|(?<!\w)['’‘]|['’](?!\w)")
_END = re.compile(r"[.,;:!?…'’\")\]]+$")


def words_of(text: str) -> list[str]:
    """The words of a sentence.

    >>> words_of("I can't believe it's $5.20, Mr. Smith!")
    ['I', 'ca', "n't", 'believe', 'it', "'s", '$', '5.20', ',', 'Mr.', 'Smith', '!']
    """
    found: list[str] = []
    for chunk in text.split():
        whole = _WEB.match(chunk) or re.fullmatch(_CLITIC, chunk, re.IGNORECASE)
        begin = _END.sub("", whole[0]) if whole else ""
        found += [begin, *_plain_words(chunk[len(begin) :])] if begin else _plain_words(chunk)
    return found


def _plain_words(chunk: str) -> list[str]:
    """The words of what stands between two spaces."""
    found: list[str] = []
    while chunk:
        whole = _NUMBER.match(chunk) or _ABBREVIATIONS.match(chunk)
        if whole is not None and not re.match(r"\w", chunk[whole.end() :]):
            found.append(whole[0])
            chunk = chunk[whole.end() :]
            continue
        mark = _PUNCTUATION.search(chunk)
        begin = mark.start() if mark else len(chunk)
        if begin:
            cut = _JOINED.sub(lambda pair: " ".join(filter(None, pair.groups())), _CLITICS.sub(r" \1", chunk[:begin]))
            found += cut.split()
        found += [mark[0]] if mark else []
        chunk = chunk[mark.end() :] if mark else ""
    return found
