"""Other versions of a pair: in CAPITALS, as a Title, with typing errors, with something to copy, with its neighbours.

A model that has seen them reads what people write, not only what a corpus holds, and copies what is not translated.
Each version follows from the pair and the numbers that are drawn for it; None where the pair has no such version. This
module does not know which pairs get one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from heedful.text.carrying import NAME, pieces_of
from heedful.text.usual_spelling import case_of, in_case

KINDS: dict[str, str] = {
    "upper": "both sides in capitals",
    "title": "the source as a Title Like This; the target too where it is English",
    "typos": "small typing errors in the source",
    "copy": "a name, a number, an amount or the like in both sides",
    "joined": "two to four neighbouring sentences as one line",
}
"""Every kind of version."""
Pair = tuple[str, str]
Draw = Callable[[], float]
"""Each call gives another number in [0, 1)."""
T = TypeVar("T")

_MOST_JOINED = 4
_ENGLISH_SHARE = 0.01
"""Lines of English, even of a dictionary, have "the" more often than this; of other languages, one in a thousand."""
_LONGEST_TITLE = 15
"""Words."""
_LONG_WORD = re.compile(r"[^\W\d_]{4,}")
_WORD = re.compile(r"[^\W_]+")
_TYPING = 40
"""Characters for each of which there is one more error, at most."""
_MOST_ERRORS = 3
# Neighbours in a row, where English and German keyboards agree.
_KEYS = ("qwert", "uiop", "asdfghjkl", "xcvbnm")
_BESIDE = {key: row[max(0, at - 1) : at] + row[at + 1 : at + 2] for row in _KEYS for at, key in enumerate(row)}
_SENTENCE_END = re.compile(r"""[.!?…。！？]["'”’»“)\]]*$""")
_POINTS, _QUOTES = ".!?…:;,", "\"'”’»“)]"
"""What closes a line: points, and then quotation marks and brackets."""
# A first word counts too: one that begins both sides is a name, or may be one.
_CAPITALISED = re.compile(r"(?:^|(?<=\w ))[A-ZÀ-ÖØ-Þ][^\W\d_]+(?: [A-ZÀ-ÖØ-Þ][^\W\d_]+)*(?![\w'’-])")
# Not what is part of a word, a time or a date.
_NUMERAL = re.compile(r"(?<![\w.,:/'’-])\d(?:[\d.,]*\d)?(?!\w|[:/'’-]\d)")
_SYLLABLES = (
    "ba be bo da di du fa fe ga go ha he ja ka ki ko la le li lo lu ma me mi mo na ne ni no pa pe ra re ri ro ru"
)
_SYLLABLES += " sa se si so ta te ti to va ve vi wa ya za ze bra dre gri kra tro sha chi thi sta"
_ENDINGS = "n r s l m t k nd rt ng x sky son mann ez ov a e i o"
_ACCENTS = {"a": "áàâãåăą", "e": "éèêëęě", "i": "íîïı", "o": "óôõøő", "u": "úûůű", "s": "šśş", "n": "ñńň", "z": "žżź",
            "l": "ł", "r": "ř", "d": "đð", "t": "ţť", "k": "ķ", "g": "ğ", "c": "çčć", "y": "ý"}  # fmt: skip
_PARTICLES = "al- el- O' Mc van de da von"
_EMOJI = "🙂 😀 😂 😉 😍 😢 😡 👍 👏 🙏 🎉 🔥 ❤️ ✅ ⚠️ 🚀 🌍 ☀️ 🍕 🐶"
_SIGNS = "→ ← • § † ° ± × ½ ² ³ µ ∞ ≈ ≤ ≥ © ® ™ ♪ ✓ ★ α β π Ω Δ Привет Київ 你好 東京 مرحبا שלום नमस्ते 안녕"
_TAGS = "b i em strong span code u"


def upper(pair: Pair) -> Pair | None:
    """Both sides in capitals.

    >>> upper(("Mind the street!", "Achte auf die Straße!"))
    ('MIND THE STREET!', 'ACHTE AUF DIE STRASSE!')
    """
    capitals = (in_case(pair[0], "capitals", language=None), in_case(pair[1], "capitals", language=None))
    return None if capitals[0] == pair[0] or capitals[1] == pair[1] or _carries(pair) else capitals


def title(pair: Pair, draw: Draw, *, to_english: bool) -> Pair | None:
    """The source as a title, its short words too or not; the target as one where it is English; often no full stop."""
    source, target = pair
    if len(source.split()) > _LONGEST_TITLE or _carries(pair):
        return None
    if draw() < 0.5 and source.endswith(".") and target.endswith("."):
        source, target = source.rstrip("."), target.rstrip(".")
    if draw() < 0.5:
        source = re.sub(r"(?<![\w'’])[^\W\d_]", lambda letter: letter[0].upper(), source)
    source, target = _titled(source), _titled(target) if to_english else target
    return (source, target) if case_of(source) == "title" and source != pair[0] else None


def _titled(text: str) -> str:
    return in_case(text[:1].upper() + text[1:], "title", language="en")


def is_english(texts: Iterable[str]) -> bool:
    """Whether lines are English, of which alone titles are written Like This."""
    found = [re.search(r"\b[Tt]he\b", text) is not None for text in texts]
    return sum(found) > _ENGLISH_SHARE * len(found)


def typos(pair: Pair, draw: Draw) -> Pair | None:
    """The source with one to three letters swapped, lost, doubled or mistaken for one beside them.

    A word that stands in the target too is to be copied, and stays as it is.
    """
    source, target = pair
    copied = {*_WORD.findall(target)}
    found = [word for word in _LONG_WORD.finditer(source) if word[0] not in copied and not word[0].isupper()]
    if not found or _carries(pair):
        return None
    errors = 1 + int(draw() * min(_MOST_ERRORS, 1 + len(source) // _TYPING))
    chosen = {word.start(): word for word in (_one_of(found, draw) for _ in range(errors))}
    for begin, word in sorted(chosen.items(), reverse=True):
        source = source[:begin] + _mistyped(word[0], draw) + source[word.end() :]
    return (source, target) if source != pair[0] else None


def _mistyped(word: str, draw: Draw) -> str:
    """The word with one error, never at its first letter."""
    at = 1 + int(draw() * (len(word) - 2))
    before, letter, following, after = word[:at], word[at], word[at + 1], word[at + 2 :]
    kind, beside = int(draw() * 4), _BESIDE.get(letter, "")
    if kind == 0 and letter != following:
        return before + following + letter + after
    if kind == 1:
        return before + following + after
    if kind == 2 and beside:
        return before + _one_of(beside, draw) + following + after
    return before + letter + letter + following + after


def copy(pair: Pair, draw: Draw) -> Pair | None:
    """The pair with the same thing in both sides: in the place of one that both have, before, behind or around them.

    Most often it is X1, a name, a number or an amount. X1, X2, … are what a model is given for addresses, placeholders
    and words in letters that it does not know; where a pair has such, they stand in their places.
    """
    carried = _with_names(pair)
    if carried or _carries(pair) or any(map(NAME.search, pair)):
        return carried
    if draw() < 0.5 and (found := _other_numbers(pair, draw)):
        return found
    kind = draw()
    if kind < 0.6:
        thing = "X1" if kind < 0.2 else _name(draw)
        found = _instead(pair, thing, draw) or _beside(pair, thing, draw, ", {}", " ({})", "{}: ")
    elif kind < 0.9:
        thing = (_number, _amount, _date, _code)[int((kind - 0.6) / 0.075)](draw)
        found = _beside(pair, thing, draw, " ({})", "{}: ")
    elif kind < 0.95:
        found = _beside(pair, _address(draw), draw, " ({})", "{}: ")
    elif kind < 0.97:
        found = _around(pair, _one_of(_TAGS.split(), draw))
    else:
        found = _after(pair, _one_of((_EMOJI if kind < 0.985 else _SIGNS).split(), draw))
    return found


def joined(before: Iterable[Pair], pair: Pair, draw: Draw) -> Pair | None:
    """The pair behind one to three of those before it, which come backwards, as long as each is a sentence.

    One that says the same as another is left out: some corpora have each translation on a line of its own.
    """
    found, most = [pair], 2 + int(draw() * (_MOST_JOINED - 1))
    for earlier in before:
        if len(found) == most or not all(map(_SENTENCE_END.search, earlier)):
            break
        if all(earlier[0] != other[0] and earlier[1] != other[1] for other in found):
            found.append(earlier)
    source, target = (" ".join(reversed(texts)) for texts in zip(*found, strict=True))
    return (source, target) if len(found) > 1 else None


def _carries(pair: Pair) -> bool:
    """Whether a side holds an address, a placeholder, a tag, code or an emoji, which are not to be changed."""
    return any(map(pieces_of, pair))


def _one_of(things: Sequence[T], draw: Draw) -> T:
    return things[int(draw() * len(things))]


def _with_names(pair: Pair) -> Pair | None:
    """What would be carried and stands in both sides once, as the names that a model is given instead."""
    source, target = pair
    words = [piece.text for piece in pieces_of(source) if piece.is_word]
    words = [word for word in words if source.count(word) == target.count(word) == 1]
    if not words or any(map(NAME.search, pair)):
        return None
    for number, word in enumerate(words, start=1):
        source, target = source.replace(word, f"X{number}"), target.replace(word, f"X{number}")
    return source, target


def _instead(pair: Pair, thing: str, draw: Draw) -> Pair | None:
    """The thing instead of a name that both sides have once."""
    source, target = pair
    names = [match[0] for match in _CAPITALISED.finditer(source)]
    found = [name if _once(name, *pair) else name.split()[-1] for name in names]
    found = [name for name in found if _once(name, *pair)]
    if not found:
        return None
    old = _one_of(found, draw)
    return _with(source, old, thing), _with(target, old, thing)


def _once(word: str, *texts: str) -> bool:
    """Whether a name of three letters or more stands in each text once, and by itself."""
    return len(word) > 2 and all(text.count(word) == 1 and _with(text, word, "") != text for text in texts)


def _with(text: str, old: str, new: str) -> str:
    return re.sub(rf"(?<![\w'’-]){re.escape(old)}(?![\w'’-])", lambda _: new, text)


def _other_numbers(pair: Pair, draw: Draw) -> Pair | None:
    """Other digits in every number of two and more that both sides have once, each written as its language does.

    >>> _other_numbers(("It cost $1,299 in 1998.", "1998 kostete es 1.299 $."), lambda: 0.5)
    ('It cost $5,555 in 1955.', '1955 kostete es 5.555 $.')
    """
    counts = [Counter(map(_digits, _NUMERAL.findall(text))) for text in pair]
    both = [old for old, count in counts[0].items() if count == counts[1][old] == 1 and len(old) > 1]
    new = {old: _other_digits(old, draw) for old in both}
    if not both or len({*counts[0], *counts[1], *new.values()}) < len(counts[0] | counts[1]) + len(both):
        return None  # two would be the same

    def written(match: re.Match[str]) -> str:
        digits = iter(new.get(_digits(match[0]), ""))
        return re.sub(r"\d", lambda digit: next(digits, digit[0]), match[0])

    return _NUMERAL.sub(written, pair[0]), _NUMERAL.sub(written, pair[1])


def _digits(numeral: str) -> str:
    return numeral.replace(".", "").replace(",", "")


def _other_digits(old: str, draw: Draw) -> str:
    """As many; a year stays one, and so does the day of a month."""
    if len(old) == 2 and "10" <= old <= "31":
        return str(10 + int(draw() * 19))
    keep = old[:2] if len(old) == 4 and old[:2] in {"19", "20"} else "0" if old[0] == "0" else str(1 + int(draw() * 9))
    return keep + "".join(str(int(draw() * 10)) for _ in range(len(old) - len(keep)))


def _beside(pair: Pair, thing: str, draw: Draw, *frames: str) -> Pair | None:
    """The thing in one of the frames: before both sides, or behind their last word and before what closes them."""
    if any(thing in text for text in pair):
        return None
    frame = _one_of(frames, draw)
    framed, sides = frame.format(thing), []
    for text in pair:
        at = len(text.rstrip(_QUOTES).rstrip(_POINTS))
        sides.append(framed + text if frame[0] == "{" else text[:at] + framed + text[at:])
    return sides[0], sides[1]


def _after(pair: Pair, thing: str) -> Pair | None:
    source, target = pair
    return None if thing in source + target else (f"{source} {thing}", f"{target} {thing}")


def _around(pair: Pair, tag: str) -> Pair:
    source, target = pair
    return f"<{tag}>{source}</{tag}>", f"<{tag}>{target}</{tag}>"


def _name(draw: Draw) -> str:
    """A name that nobody has, so that copying is learned and not the name: one to three words, many with an accent."""
    words = [_accented(_spoken(draw), draw).capitalize() for _ in range(1 + int(draw() * 2.3))]
    form = draw()
    if form < 0.1:
        return "-".join(words)
    if form < 0.25 and len(words) > 1:
        particle = _one_of(_PARTICLES.split(), draw)
        words[-1] = particle + " " * particle.islower() * particle.isalpha() + words[-1]
    return " ".join(words)


def _accented(word: str, draw: Draw) -> str:
    places = [at for at, letter in enumerate(word) if letter in _ACCENTS]
    if draw() < 0.75 or not places:
        return word
    at = _one_of(places, draw)
    return word[:at] + _one_of(_ACCENTS[word[at]], draw) + word[at + 1 :]


def _spoken(draw: Draw) -> str:
    """Something that can be said: two or three syllables."""
    syllables = "".join(_one_of(_SYLLABLES.split(), draw) for _ in range(1 + int(draw() * 2)))
    return syllables + _one_of(_SYLLABLES.split(), draw) + _one_of(_ENDINGS.split(), draw)


def _number(draw: Draw) -> str:
    return str(int(10 ** (1 + 4 * draw())))


def _amount(draw: Draw) -> str:
    """Without a point or a comma, which languages write differently."""
    number, sign = str(1 + int(999 * draw() ** 2)), _one_of("€€£$", draw)
    return _one_of((f"{sign}{number}", f"{number} {sign}", f"{number}{sign}"), draw)


def _date(draw: Draw) -> str:
    day, month, year = f"{1 + int(draw() * 28):02}", f"{1 + int(draw() * 12):02}", str(1950 + int(draw() * 90))
    return _one_of((f"{day}.{month}.{year}", f"{year}-{month}-{day}", f"{day}/{month}/{year}"), draw)


def _code(draw: Draw) -> str:
    letters, number = _spoken(draw)[:2].upper(), _number(draw)
    return _one_of((f"{letters}-{number}", f"{letters}{number}", f"{number[:1]}.{number[1:2]}.{number[-1]}"), draw)


def _address(draw: Draw) -> str:
    name, place = _spoken(draw), f"{_spoken(draw)}.{_one_of(('com', 'de', 'org', 'net'), draw)}"
    return _one_of((f"{name}@{place}", f"{name}.{_spoken(draw)}@{place}", f"https://www.{place}/{name}"), draw)
