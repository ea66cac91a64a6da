"""Times of the day in English and German: 2:35 pm is 14:35 Uhr, and a translation that says 2:35 Uhr is put right.

A model copies digits well and turns halves of the day badly. So a time of the translation is taken for the one of the
source that has its place on the dial, and gets its half of the day. What the source leaves open stays open. A time in
words, half past nine, that the translation does not have is said in digits in a second try
(`heedful.text.second_try`). This module knows no model.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from heedful.text.numbers import Languages
from heedful.text.sentences import Span, with_edits

_HALF = r"\s?(?P<half>[ap])(?:\.\s?m\.?|m\b)"
_BEGIN = r"(?:(?<![\w:.,/-])|(?<=\b\d-)|(?<=\b\d\d-))(?P<hour>[01]?\d|2[0-4])"
_ENGLISH = re.compile(
    rf"{_BEGIN}(?:\.(?P<point>[0-5]\d)(?=\s?[ap]\.?\s?m\b)|:(?P<colon>[0-5]\d))?(?P<after>{_HALF}|\so['’]clock\b)?(?![:\d])",
    re.IGNORECASE,
)
_GERMAN = re.compile(
    rf"{_BEGIN}(?:[.:](?P<point>[0-5]\d))?(?=\s?(?:(?:bis|und|oder|[-–])\s?\d\d?(?:[.:]\d\d)?\s?)?Uhr\b)"
    rf"(?:\s?Uhr\s(?P<late>[0-5]\d)\b)?|{_BEGIN.replace('hour', 'bare')}:(?P<colon>[0-5]\d)(?![:\d])",
    re.IGNORECASE,
)
_PART = re.compile(
    r"(?:[.:]\d\d)?\s?Uhr(?:\s\d\d)?\s(?:am |in der )?(?:(?P<early>morgens?|früh|vormittags?)|(?P<noon>mittags?)|"
    r"(?P<late>nachmittags?|abends?)|(?P<night>nachts?))\b",
    re.IGNORECASE,
)
_LATER = {
    "de": re.compile(r"nachmittag|abend|nacht|mittag|nächt", re.IGNORECASE),
    "en": re.compile(r"afternoon|evening|night|noon|midday|morning", re.IGNORECASE),
}
"""Words that say which half of the day it is, so that the clock need not."""
_HOURS = {
    "en": ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    "de": ("eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf"),
}
_OF = {
    language: rf"(?P<hour>{'|'.join(words)}|1[0-2]|[1-9])(?![\w:%]|[.,]\d|-\w)" for language, words in _HOURS.items()
}
_SPELLED = {
    "en": re.compile(
        r"(?P<before>\b(?:at(?: about)?|(?:it|time) is|until|till|almost|now|s) )?\b"
        r"(?:(?P<half>half) past |(?P<clear>a )?"
        rf"(?P<minutes>quarter|five|ten|twenty)(?P<said> minutes)? (?P<way>to|past|after) ){_OF['en']}",
        re.IGNORECASE,
    ),
    "de": re.compile(
        r"(?P<before>\b(?:um|gegen|ist|war|bis|ab|jetzt) )?\b(?:(?P<minutes>(?P<clear>viertel)|fünf|zehn|zwanzig)"
        rf"(?P<said> Minuten)? (?P<way>vor|nach) )?(?P<half>halb |dreiviertel )?{_OF['de']}(?:\sUhr\b)?",
        re.IGNORECASE,
    ),
}
_COUNTED = {
    "en": re.compile(r" (?!(?:and|or|but|in|on|at|when|this|to(?:day|morrow|night)?|until|now|we|I|s?he|they|it)\b)\w"),
    "de": re.compile(r" [A-ZÄÖÜ]"),
}
"""What follows a number of something else: five to ten minutes."""
_MINUTES = {"five": 5, "ten": 10, "twenty": 20, "quarter": 15, "fünf": 5, "zehn": 10, "zwanzig": 20, "viertel": 15}
_SHARES = {"half": 30, "halb": -30, "dreiviertel": -15}
_LAST = re.compile(r"[\"'’”)]*$")
_OTHER_HALF = str.maketrans("apAP", "paPA")

_Hours = tuple[int, ...]
"""Of a day: the one that it is, or the two that it may be, as it stands first, or none where nothing is to be done."""


@dataclass(frozen=True)
class _Time:
    """A time as it is written."""

    hour: int
    minute: int
    at: Span
    """The digits of the hour."""
    after: Span
    """What says which half of the day it is, or o'clock; empty where there is none."""
    half: str = ""
    """In English: a or p; empty where it is not said."""

    @property
    def place(self) -> tuple[int, int]:
        """Where the hands are."""
        return self.hour % 12, self.minute


def retimed(source: str, translation: str, *, languages: Languages) -> str:
    """The translation with its times in the half of the day in which the source has them.

    >>> retimed("From 9 am to 6:30 pm.", "Von 21 bis 6.30 Uhr.", languages=("en", "de"))
    'Von 9 bis 18.30 Uhr.'
    >>> retimed("Um 14:35 Uhr.", "At 2:35am.", languages=("de", "en"))
    'At 2:35pm.'
    """
    if languages not in (("en", "de"), ("de", "en")) or not any(map(str.isdigit, source)):
        return translation
    ours = defaultdict[tuple[int, int], list[_Hours]](list)
    for place, hours in _english_hours(source) if languages[0] == "en" else _german_hours(source):
        ours[place].append(hours)
    theirs = defaultdict[tuple[int, int], list[_Time]](list)
    for time in _times(translation, str(languages[1])) if ours else ():
        theirs[time.place].append(time)
    new = _new_german if languages[1] == "de" else _new_english
    is_said = _LATER[str(languages[1])].search(translation) is not None
    edits: list[tuple[Span, str]] = []
    for place, times in theirs.items():
        said = ours.get(place, [])
        if len({*said}) == 1:
            said = said[:1] * len(times)
        if len(said) == len(times):
            for time, hours in zip(times, said, strict=True):
                edits += new(translation, time, hours, is_said=is_said) if hours else ()
    return with_edits(translation, edits)


def in_digits(source: str, translation: str, *, languages: Languages) -> str | None:
    """The source with its times in digits, where it has some in words of which the translation has none.

    >>> in_digits("At half past nine.", "Um halb sieben.", languages=("en", "de"))
    "At 9:30 o'clock."
    >>> in_digits("Um halb zehn.", "At half past nine.", languages=("de", "en")) is None
    True
    """
    if languages not in (("en", "de"), ("de", "en")):
        return None
    spelled = list(_spelled(source, str(languages[0])))
    said = {time.place for time in _times(translation, str(languages[1]))} if spelled else set[tuple[int, int]]()
    said |= {place for _, place in _spelled(translation, str(languages[1]))} if spelled else set[tuple[int, int]]()
    if all(place in said for _, place in spelled):
        return None
    after = " o'clock" if languages[0] == "en" else ""  # tells `retimed` that 21.30 Uhr is not meant
    return with_edits(source, ((span, f"{hour or 12}:{minute:02}{after}") for span, (hour, minute) in spelled))


def _spelled(text: str, language: str) -> Iterator[tuple[Span, tuple[int, int]]]:
    """The times in words, each with its place on the dial."""
    for match in _SPELLED[language].finditer(text):
        names = ("hour", "half", "minutes", "way")
        hour, half, minutes, way = ((match[name] or "").strip().lower() for name in names)
        is_clear = half or way == "past" or match["before"] or match["said"] or match["clear"]
        is_clear = is_clear or (minutes == "quarter" and match[0] == text.strip(" .!?"))
        if not (half or minutes) or not is_clear:
            continue  # five to ten people
        if not half and _COUNTED[language].match(text, match.end()):
            continue
        past = 60 * (_HOURS[language].index(hour) + 1 if hour.isalpha() else int(hour)) + _SHARES.get(half, 0)
        past += _MINUTES.get(minutes, 0) * (-1 if way in {"to", "vor"} else 1)
        begin = match.end("before") if match["before"] else match.start()
        yield (begin, match.end()), (past // 60 % 12, past % 60)


def _times(text: str, language: str) -> Iterator[_Time]:
    for match in (_ENGLISH if language == "en" else _GERMAN).finditer(text):
        found = match.groupdict()
        minute = found["point"] or found["colon"] or found.get("late")
        after = match.span("after") if found.get("after") else (match.end(), match.end())
        if language == "de" or minute or found["after"]:
            hour = "hour" if found["hour"] else "bare"
            half = (found.get("half") or "").lower()
            yield _Time(int(found[hour]) % 24, int(minute or 0), match.span(hour), after, half)


def _english_hours(source: str) -> Iterator[tuple[tuple[int, int], _Hours]]:
    """The times: the place on the dial, and the hour."""
    for time in _times(source, "en"):
        was_in_words = time.at[1] < time.after[0] < time.after[1]  # 9:30 o'clock: nobody else writes that
        if time.half:
            yield time.place, (time.hour % 12 + 12 * (time.half == "p" or time.hour > 12),)
        else:
            yield time.place, (time.hour,) if was_in_words or time.hour > 12 else ()


def _german_hours(source: str) -> Iterator[tuple[tuple[int, int], _Hours]]:
    """The same. 8 Uhr may be in the evening; not 8:00 Uhr, nor where another hour is counted from midnight."""
    times = list(_times(source, "de"))
    is_from_midnight = any(time.hour > 12 or time.hour == 0 for time in times)
    may_be_later = not is_from_midnight and _LATER["de"].search(source) is not None
    for time in times:
        is_written_out = source[time.at[1] : time.at[1] + 1] in {":", "."}
        is_sure = is_from_midnight or is_written_out
        hours: _Hours = (time.hour,) if is_sure else (time.hour, (time.hour + 12) % 24)
        part = _PART.match(source, time.at[1])
        if part and 0 < time.hour <= 12:
            is_late = part["late"] or (part["noon"] and time.hour < 10) or (part["night"] and 8 <= time.hour < 12)
            noon = 0 if part["night"] or part["early"] else 12
            hours = (noon if time.hour == 12 else time.hour + (12 if is_late else 0),)
        elif may_be_later:
            hours = ()
        yield time.place, hours


def _new_german(translation: str, time: _Time, hours: _Hours, *, is_said: bool) -> Iterator[tuple[Span, str]]:
    hour = hours[0]
    if time.hour != hour and not (is_said and time.hour <= 12 and (hour >= 12 or time.hour == 12)):
        yield time.at, f"{hour:02}" if translation[time.at[0]] == "0" else str(hour)


def _new_english(translation: str, time: _Time, hours: _Hours, *, is_said: bool) -> Iterator[tuple[Span, str]]:
    after, (begin, end) = translation[slice(*time.after)], time.after
    hour = hours[0]
    if time.half and 0 < time.hour <= 12 and time.hour % 12 + 12 * (time.half == "p") == hour:
        return
    if len(hours) > 1:
        if time.half:
            kept = "" if begin > time.at[1] else " o'clock"
            yield (begin, end), kept + ("." if after.endswith(".") and _LAST.match(translation, end) else "")
        return
    if time.half:
        if (time.half == "p") != (hour >= 12):
            after = after.translate(_OTHER_HALF)
    elif hour <= 12 or (time.hour > 12 and not after) or is_said:
        return
    else:
        after = " p.m" if translation.startswith(".", end) else " p.m."
    yield (begin, end), after
    if not 0 < time.hour <= 12:
        yield time.at, str(hour % 12 or 12)
