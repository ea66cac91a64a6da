"""Numbers in two languages: which of them a translation has kept, and how one is written in the other language.

1,299.50 is 1.299,50 in German, $5 is 5 $. Spelled-out numbers are known in English and German: 45 may have become
forty-five, 3 pm 15 Uhr. What is no number of its language (a version, a time, a date, a telephone number) is written as
it stands. This module knows no model.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from heedful.text.sentences import Span

Languages = tuple[str | None, str | None]
"""The codes of source and target, as far as they are known."""

_NUMERAL = re.compile(r"\d(?:[\d.,'’\u00a0\u202f]*\d)?")
# What looks behind begins only where a run begins: no text, however strange, takes more than one look at each place.
_TELEPHONE = r"(?:\+\d+|\(?0\d+\)?)(?:[ \u00a0/()-]{1,3}\d+){1,8}"
_CODE = r"(?=[A-Z]|[A-Z\d]+[/-])(?=[A-Z\d/-]*[A-Z])(?=(?:[A-Z/-]*\d){3})[A-Z\d]+(?:[/-][A-Z\d]+)*(?!-)"
_UNIT = re.compile(
    rf"(?<![\w.,:/'’+-])(?:(?P<code>{_CODE})|(?P<telephone>{_TELEPHONE})|(?P<before>[€£$¥][ \u00a0\u202f]?)?"
    r"(?P<number>[-−]?\d+(?:[.,:'’/\u00a0\u202f–-]\d+)*)(?P<after>[ \u00a0\u202f]?[€£$¥%])?)(?![\w€£$¥%])"
)
_ORDINAL = re.compile(r"\d{1,2}\.\s+\w")
_MAGNITUDE = re.compile(r"\s(?:hundred|thousand|[mb]illion|trillion|bn|tausend|milliarde|mio\b|mrd\b)", re.IGNORECASE)
_CLOCK = re.compile(
    r"\d\s?[ap]\.?m\b|\buhr\b|o['’]clock|\bhalb|viertel|\bhalf past|\bquarter|mittags?\b|mitternacht|noon|midnight",
    re.I,
)
_TIME = re.compile(r"(?<![\d:.])(\d{1,2}):([0-5]\d)(?![\d:])")
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?: \d{3})+(?![\d.,]*\d)")
_MEASURE = re.compile(r"[ \u00a0\u202f](?:[kMGT]i?B|[kmc]?m[²³]?|[mk]?g|m?l|k?W|kWh|V|[kMG]?Hz|°[CF])(?!\w)")
"""What makes sure that a number before it is no version."""
_NAMED = re.compile(r"\w+\s+[^\W\d_a-z]\w*\s$|\b[Vv]ersion\s$")
"""A name before a number, not as the first word of a sentence: a version, Python 3.10."""

_WITH_POINT = frozenset(("en", "zh", "ja", "ko", "th", "he"))
_WITH_COMMA = frozenset(("de", "es", "it", "nl", "pt", "da", "tr", "id", "el", "ro", "hr", "sl"))
_WITH_SPACE = frozenset(("fr", "pl", "cs", "sv", "fi", "ru", "uk", "nb", "no", "hu", "sk", "bg"))
_MONEY = {
    "€": re.compile(r"€|\beur", re.IGNORECASE),
    "£": re.compile(r"£|\bgbp\b|pfund|\bpounds?\b|sterling", re.IGNORECASE),
    "$": re.compile(r"\$|\busd\b|dollar", re.IGNORECASE),
    "¥": re.compile(r"¥|\byen\b|\byuan\b|\bjpy\b|\bcny\b", re.IGNORECASE),
}
"""A sign, and what English and German have for it."""
_ONES = {
    "en": "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen",
    "de": "null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn "
    "siebzehn achtzehn neunzehn",
}
_TENS = {
    "en": "twenty thirty forty fifty sixty seventy eighty ninety",
    "de": "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
}
_OFTEN_SPELLED = 12
"""Up to here a number is often a word, and the word may be another: two, both, twice, a pair."""


@dataclass(frozen=True)
class Number:
    """A number, or numbers that are written together, with a sign of money or a percent sign beside it; or a code."""

    span: Span
    text: str
    numerals: frozenset[str]
    sign: str = ""
    """Of money; or empty."""
    is_code: bool = False
    """Capital letters and digits, LH1234: it comes through as it stands."""


def numerals(text: str) -> Counter[str]:
    """How often each number stands in a text, as its digits alone: what separates them differs between languages.

    >>> sorted(numerals("1,000.5 and 1.000,5 in 2026."))
    ['10005', '2026']
    """
    return Counter(re.sub(r"\D", "", match) for match in _NUMERAL.findall(text))


def differing_numerals(source: str, translation: str) -> dict[str, list[str]] | None:
    """The numbers that a translation lacks, and those that it adds; None where they are the same, or the same times."""
    ours, theirs = numerals(source), numerals(translation)
    if ours == theirs or not any(_differing(source, translation)):
        return None
    return {"missing": sorted((ours - theirs).elements()), "added": sorted((theirs - ours).elements())}


def _differing(source: str, translation: str) -> tuple[Counter[str], Counter[str]]:
    """The digits that only the source has, and those that only the translation has, but for what is the same."""
    ours, theirs = (numerals(_alike(text)) for text in (source, translation))
    missing, added = ours - theirs, theirs - ours
    if missing and added:
        both = f"{source}\n{translation}"
        _set_off(missing, added, is_clock=bool(_CLOCK.search(both)), is_large=bool(_MAGNITUDE.search(both)))
    return missing, added


def numbers_of(text: str) -> list[Number]:
    """The numbers that could stand elsewhere as they are: not those in words (5km, 1990s), nor ordinals (2nd, 2. Mai).

    >>> [number.text for number in numbers_of("On 3 May B12 cost $1,299.50, 5% more than the 2nd, call 030/12 34.")]
    ['3', '$1,299.50', '5%', '030/12 34']
    """
    found: list[Number] = []
    for match in _UNIT.finditer(text):
        (begin, end), sign = match.span(), _sign(match).strip("%")[:1]
        if sign and _MAGNITUDE.match(text, end):  # $5 billion: the sign belongs to the billions
            (begin, end), sign = match.span("number"), ""
        if not _ORDINAL.match(text, begin):
            own = text[begin:end]
            found.append(Number((begin, end), own, frozenset(numerals(_alike(own))), sign, match["code"] is not None))
    return found


def _sign(match: re.Match[str]) -> str:
    return ((match["before"] or "") + (match["after"] or "")).strip()


def wrong_numbers(source: str, translation: str, *, languages: Languages) -> tuple[list[Number], Counter[str]]:
    """The numbers of a sentence that its translation has lost, changed or said twice, and those with another currency
    there; and the digits of what the translation adds.
    """
    if not any(map(str.isdigit, source)):
        return [], Counter()
    missing, added = _differing(source, translation)
    if missing or added:
        if _CLOCK.search(translation):  # half past three
            for time in _TIME.finditer(source):
                missing.pop(time[1] + time[2], None)
        for numbers, text, language in ((missing, translation, languages[1]), (added, source, languages[0])):
            for digits in [one for one in numbers if is_spelled(one, text, language=language)]:
                del numbers[digits]
        if not added:
            for digits in [one for one in missing if _may_be_a_word(one, languages[1])]:
                del missing[digits]
    ours = numerals(_alike(source))
    twice = {digits for digits in added if digits in ours}
    units = numbers_of(source)
    is_other_money = _is_other_money(source, translation, units, language=languages[1])
    return [
        one
        for one in units
        if one.numerals & (missing.keys() | twice)
        or (one.sign and is_other_money)
        or (one.is_code and one.text not in translation)
    ], added


def _alike(text: str) -> str:
    """The text with times as 10.30, and without spaces between thousands."""
    return _TIME.sub(r"\1.\2", _THOUSANDS.sub(lambda match: match[0].replace(" ", ""), text))


def _set_off(missing: Counter[str], added: Counter[str], *, is_clock: bool, is_large: bool) -> None:
    """Take away what is the same time, 3 pm and 15 Uhr, the same year, 1968 and '68, or the same, 14 thousand."""
    for one in list(missing):
        same: set[str] = set()
        if is_clock and len(one) <= 4:
            time, half = int(one), 12 if len(one) < 3 else 1200
            same = {str(time + half), str(time - half), f"{time - half:02}"}
        same |= {one[2:]} if len(one) == 4 else set()
        same |= {other for other in added if other.rstrip("0") == one.rstrip("0")} if is_large else set()
        if other := next((other for other in same if other in added), None):
            del missing[one], added[other]


def _may_be_a_word(digits: str, language: str | None) -> bool:
    return len(digits) <= 2 and (int(digits) <= _OFTEN_SPELLED or language not in _ONES)


def is_spelled(digits: str, text: str, *, language: str | None) -> bool:
    """Whether a number stands in a text as a word, of English or German.

    >>> is_spelled("45", "sie ist fünfundvierzig", language="de"), is_spelled("40", "forty-five", language="en")
    (True, False)
    """
    if language not in _ONES or len(digits) > 12 or (len(digits) > 1 and digits[0] == "0"):
        return False
    words = _spelled(int(digits), language)
    return bool(words) and re.search(words, text, re.IGNORECASE) is not None


def _spelled(number: int, language: str) -> str:
    """A pattern of a number as a word; empty for a long one."""
    ones, tens = _ONES[language].split(), _TENS[language].split()
    for size, name in ((1_000_000, r"milli?on"), (1000, "thousand|tausend"), (100, "hundred|hundert")):
        if number >= size and number % size == 0:
            head = _spelled(number // size, language)
            return rf"{head}[\s-]?(?:{name})" + ("" if number > size else rf"|\b(?:a |eine |ein)?(?:{name})")
    if number > 99:
        return ""
    if number < 20:
        return rf"\b{ones[number]}" if language == "en" else ones[number]
    ten, one = tens[number // 10 - 2], number % 10
    if language == "en":
        return rf"\b{ten}-?{ones[one]}" if one else rf"\b{ten}(?!-\w)"
    return f"{ones[one]}und{ten}" if one else f"(?<!und){ten}"


def _is_other_money(source: str, translation: str, units: list[Number], *, language: str | None) -> bool:
    """Whether a translation has a sign of money that its source does not speak of, or one beside a number that is no
    amount, or a currency is lost.
    """
    money = [unit for unit in units if unit.sign]
    if not money:
        return False
    # Not those right after an amount: £3 to 5 may be 3 bis 5 £.
    others = {one.numerals for one in units if not any(one.span[0] - 8 < own.span[1] <= one.span[1] for own in money)}
    if any(one.sign and one.numerals in others for one in numbers_of(translation)):
        return True
    new = any(sign in translation and not named.search(source) for sign, named in _MONEY.items())
    lost = any(unit.sign and not _MONEY[unit.sign].search(translation) for unit in units)
    return new or (lost and language in _ONES)


def written(text: str, before: str = "", after: str = "", *, languages: Languages) -> str:
    """A number as the target language writes it, and everything else as it stands.

    ``before``, ``after``: what stands beside it in the source.

    >>> [written(one, languages=("en", "de")) for one in ("1,299.50", "$5", "45%", "10:30", "1.2.3")]
    ['1.299,50', '5 $', '45 %', '10:30', '1.2.3']
    """
    source, target = map(_separators, languages)
    match = _UNIT.fullmatch(text)
    if source is None or target is None or source == target or match is None or match["number"] is None:
        return text
    number, sign = match["number"], _sign(match)
    is_name = source[1] == "." and not sign and (_NAMED.search(before[-80:]) or re.match(r"\s?[ap]\.?m\b", after))
    if not is_name:
        number = _separated(number, source, target) or number
    if len(sign) != 1:
        return text if sign else number
    has_point = target[1] == "."
    if sign == "%":
        return number + ("%" if has_point else " %")
    return sign + number if has_point else f"{number} {sign}"


def restyled(source: str, translation: str, *, languages: Languages) -> str:
    """The translation with the points and commas of its language in the numbers that are those of the source.

    Only where there is no doubt that it is a number, and neither a time nor a version: with thousands, money, or a
    decimal comma.

    >>> restyled("1,250 pieces for $0.99 in 1.5", "1,250 Stück für $0.99 in 1.5", languages=("en", "de"))
    '1.250 Stück für $0,99 in 1.5'
    """
    ours, theirs = map(_separators, languages)
    if ours is None or theirs is None or ours == theirs or not any(map(str.isdigit, source)):
        return translation
    expected: dict[str, str] = {}
    counts = Counter[str]()
    for match in _UNIT.finditer(source):
        number = match["number"] or ""
        is_clear = ours[1] == "," or ours[0] in number or _sign(match).strip("%") or _MEASURE.match(source, match.end())
        if is_clear and (new := _separated(number, ours, theirs)) and new != number:
            digits = re.sub(r"\D", "", number)
            counts[digits] += expected.setdefault(digits, new) == new
    before, after = numerals(source), numerals(translation)

    def own(match: re.Match[str]) -> str:
        digits = re.sub(r"\D", "", match[0])
        new = expected.get(digits)
        if new is None or not counts[digits] == before[digits] == after[digits] or set(match[0]) - {*".,", *digits}:
            return match[0]
        return match[0] if match[0].replace(theirs[0], "") == new.replace(theirs[0], "") else new

    return _NUMERAL.sub(own, translation) if expected else translation


def _separated(number: str, source: tuple[str, str], target: tuple[str, str]) -> str | None:
    """A number with the separators of another language; None where it is not one of its own."""
    groups, point = map(re.escape, source)
    if not re.fullmatch(rf"[-−]?(?:\d{{1,3}}(?:{groups}\d{{3}})+|\d+)(?:{point}\d+)?", number):
        return None
    return number.translate(str.maketrans({source[0]: target[0], source[1]: target[1]}))


def _separators(language: str | None) -> tuple[str, str] | None:
    """What a language puts between thousands, and before decimals; None where that is not known."""
    if language in _WITH_POINT:
        return ",", "."
    return (".", ",") if language in _WITH_COMMA else ("\u00a0", ",") if language in _WITH_SPACE else None
