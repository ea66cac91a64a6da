"""What a model's training text was like: its characters, its most frequent words, its sentences a line.

`prepare` measures it and writes it into the corpus; a run and a bundle carry it on. It says which characters a model
has learned, whether a text looks like its source language, and how words are written in the middle of a sentence.
A model without one is used without asking. This module reads and writes one small file; it knows no model.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from heedful.errors import TextError
from heedful.files import read_typed, write_typed
from heedful.text.sentences import Split, sentence_ends

PROFILE = "profile.json"
_FORMAT = "heedful text profile"
_FREQUENT, _SURELY, _SEEN = 10_000, 1000, 5
"""Words that are kept of a side, the rarer ones only if they were seen so often: a profile is given away with a model,
and names in somebody's text are nobody's business. With 1,000, German in capitals had small nouns."""
_MOST_SOURCE, _MOST_TARGET = 4500, 500
"""Of these words in a bundle, which has to be small: the capitals of the source are needed, and the subwords tell most
of the others."""
_FUNCTION_WORDS = 150
"""The most frequent of them, by which a language is known."""
_EMPHASISED = 500
"""The most frequent of them, one of which in capitals may be emphasis: of rarer ones SELECT is code."""
_OFTEN = 100
"""A character that the training text has less often is taken for unknown: 19 ç in a million lines teach nothing."""
_SAMPLES = 40
_FEWEST_WORDS, _MORE_WORDS, _FEWEST_LETTERS = 10, 60, 4
"""Of a text whose language is judged, and of what comes after it."""
_SHORT = 5
"""Words of a text that is judged by whether it is made of words that the training text had."""
_TELLING = 0.2
"""The share of the most frequent words in running text of any language. Lists of names or terms have less, and then
words tell nothing."""
_WORD = re.compile(r"[^\W\d_]+")
_UNSEEN, _KINDS = 0.5, 5000
"""How often three letters are taken to stand somewhere that were not seen, and how many kinds there are about."""
_OVERLAP = 3
"""Three letters that overlap say a thing about so many times."""


@dataclass(frozen=True)
class Side:
    """The text of one language."""

    character_counts: dict[str, int]
    """How often each stands in the text."""
    word_counts: dict[str, int]
    """The most frequent words, as they are written in the middle of a sentence, most frequent first."""
    function_share: float
    """Of all words, how many are one of the most frequent."""

    @functools.cached_property
    def forms(self) -> dict[str, str]:
        """How words are written that have a capital in the middle of a sentence."""
        forms: dict[str, str] = {}
        for word in self.word_counts:  # the most frequent way comes first
            forms.setdefault(word.lower(), word)
        return {lower: word for lower, word in forms.items() if lower != word}

    def usual_form(self, word: str, length: Callable[[str], int] | None = None) -> str:
        """How a word in small letters is written in the middle of a sentence.

        ``length``: the number of subwords of a word. Of one that is not frequent the form that takes fewer was seen
        more often: Waschmaschine, not waschmaschine; where both take as many it may be a name.
        """
        if length is None or word in self.words:
            return self.forms.get(word, word)
        return min((word.capitalize(), word), key=length)

    def emphasises(self, word: str, length: Callable[[str], int] | None = None) -> bool:
        """Whether a word in capitals must be emphasis: frequent in small letters, and in capitals of many subwords.

        WHO and NATO are not, nor are SELECT and TRUE: their subwords are few, or the words not that frequent. DON'T
        is no name, and a model that cannot read it says the opposite.
        """
        small = word.lower()
        if "'" in small or "’" in small:
            return small[-3:] in ("n't", "n’t") or self.words.issuperset(_WORD.findall(small))
        return length is not None and small in self.most_frequent and length(word) > length(small) + 1

    @functools.cached_property
    def most_frequent(self) -> frozenset[str]:
        return frozenset(map(str.lower, itertools.islice(self.word_counts, _EMPHASISED)))

    @functools.cached_property
    def words(self) -> frozenset[str]:
        """The most frequent words, in small letters."""
        return frozenset(map(str.lower, self.word_counts))

    @functools.cached_property
    def has_capital_nouns(self) -> bool:
        """Whether so many words have a capital that these are no names and titles alone, as in German."""
        return 4 * sum(word[0].isupper() for word in self.word_counts) > len(self.word_counts)

    @functools.cached_property
    def small_words(self) -> frozenset[str]:
        """Those whose capital tells of a title; none where every noun has one: Das Treffen ist am Montag."""
        return frozenset() if self.has_capital_nouns else self.words - self.forms.keys()

    @functools.cached_property
    def function_words(self) -> frozenset[str]:
        return frozenset(word.lower() for word in itertools.islice(self.word_counts, _FUNCTION_WORDS))

    @functools.cached_property
    def _threes(self) -> Counter[str]:
        """How often three letters stand side by side in the frequent words."""
        counts = Counter[str]()
        for word, times in self.word_counts.items():
            for three in _threes(word):
                counts[three] += times
        return counts

    def likelihood(self, text: str) -> float:
        """The log-probability of a text's letters in this language, to compare languages by; of one word it tells."""
        counts, total = self._threes, self._threes.total() + _UNSEEN * _KINDS
        threes = (three for word in text.split() for three in _threes(word))
        return sum(math.log((counts[three] + _UNSEEN) / total) for three in threes) / _OVERLAP

    def share_known(self, text: str) -> float:
        """How many of a text's words are frequent; 1 where it has none."""
        words = _WORD.findall(text.lower())
        return sum(word in self.words for word in words) / len(words) if words else 1.0

    @functools.cached_property
    def is_of_numbers(self) -> bool:
        """Whether it has more digits than letters, as sums to be computed have: then numbers are translated too."""
        letters = sum(count for one, count in self.character_counts.items() if one.isalpha())
        return sum(count for one, count in self.character_counts.items() if one.isdecimal()) > letters

    def knows(self, character: str) -> bool:
        """Whether a character was seen often enough to be learned."""
        return character.isascii() or self.character_counts.get(character, 0) >= _OFTEN


def _threes(word: str) -> list[str]:
    letters = f" {''.join(filter(str.isalpha, word)).lower()} "
    return [letters[at : at + 3] for at in range(len(letters) - 2)]


@dataclass(frozen=True)
class Profile:
    """The training text of a model."""

    source: Side
    target: Side
    lines_of_several: float
    """The share of lines with more than one sentence."""
    samples: tuple[str, ...] = ()
    """Some sentences of the source, to try a model with; a bundle, which is given away, has none."""
    does_capitals: bool | None = None
    """Whether the model translates text in capitals as well as other text; None where nobody has tried."""

    @property
    def split(self) -> Split:
        """What a line of the training text was most often: a sentence, or several."""
        return "lines" if self.lines_of_several > 0.5 else "sentences"


def profile_of(pairs: Iterable[tuple[str, str]], characters: Mapping[str, Mapping[str, int]]) -> Profile:
    """The profile of a sample of lines, and the counts of characters, by side, of all."""
    words: dict[str, Counter[str]] = {"source": Counter(), "target": Counter()}
    several = lines = 0
    samples: list[str] = []
    for source, target in pairs:
        lines += 1
        is_several = any(True for _ in sentence_ends(source))
        several += is_several
        for side, line in (("source", source), ("target", target)):
            words[side].update(_WORD.findall(line)[1:])  # the first has a capital that tells nothing
        if not is_several and 4 <= source.count(" ") <= 12 and source[-1:] in ".!?" and source.isprintable():
            samples.append(source)
    sides = {side: Side(dict(characters[side]), *_frequent(counts)) for side, counts in words.items()}
    few = samples[:: max(1, len(samples) // _SAMPLES)][:_SAMPLES]
    return Profile(
        sides["source"], sides["target"], lines_of_several=round(several / max(1, lines), 4), samples=tuple(few)
    )


def _frequent(counts: Counter[str]) -> tuple[dict[str, int], float]:
    ranked = enumerate(counts.most_common(_FREQUENT))
    kept = {word: count for rank, (word, count) in ranked if rank < _SURELY or count >= _SEEN}
    function = sum(itertools.islice(kept.values(), _FUNCTION_WORDS))
    return kept, round(function / max(1, counts.total()), 4)


def given_away(profile: Profile) -> Profile:
    """What a bundle has of a profile: no sentences, and the words that matter most."""
    sides = {
        side: dataclasses.replace(own, word_counts=dict(itertools.islice(own.word_counts.items(), most)))
        for side, own, most in (("source", profile.source, _MOST_SOURCE), ("target", profile.target, _MOST_TARGET))
    }
    return dataclasses.replace(profile, samples=(), **sides)


def write_profile(folder: Path, profile: Profile) -> None:
    """Write the profile into the folder of a corpus or of a model."""
    write_typed(folder / PROFILE, profile, name=_FORMAT, indent=None)


def read_profile(folder: Path) -> Profile | None:
    """The profile of a corpus or a model; None where there is none, as before there were profiles."""
    try:
        return read_typed(folder / PROFILE, Profile, name=_FORMAT, error=TextError)
    except (FileNotFoundError, NotADirectoryError):
        return None


class LanguageCheck:
    """Reads text as it comes, and says once when it does not look like the language that a model translates.

    By its frequent words: of single sentences of ten words and more it doubts 3 in 1,000 that are English, and lets
    through 1 in 50 that are German or French. A shorter text, which need not have any of these, is doubted when the
    training text had fewer than a third of its words: no everyday sentence of six to nine words in 10,000, and 98 in
    100 of German ones. ``opposite``: says what to do about text of the target's language.
    """

    def __init__(self, profile: Profile, *, opposite: Callable[[], str] = lambda: "check it, or the model") -> None:
        self._source, self._target, self._opposite = profile.source, profile.target, opposite
        self._told, self._enough = False, _FEWEST_WORDS
        self._words = self._hits = self._target_hits = self._known = self._letters = self._strange = 0

    def problems(self, texts: Iterable[str]) -> Iterator[str]:
        """What to tell about these texts and those before them: one sentence at most, ever."""
        if self._told:
            return
        for text in texts:
            words = [word.lower() for word in _WORD.findall(text)]
            self._words += len(words)
            self._hits += sum(word in self._source.function_words for word in words)
            self._target_hits += sum(word in self._target.function_words for word in words)
            self._known += sum(word in self._source.words for word in words)
            if not text.isascii():
                self._strange += sum(one.isalpha() and not self._source.knows(one) for one in text)
            self._letters += sum(map(len, words))
        is_telling = self._source.function_share >= _TELLING
        is_short = is_telling and _SHORT <= self._words < self._enough == _FEWEST_WORDS
        is_short = is_short and 3 * self._known < self._words
        is_judged = is_short or (is_telling and self._words >= self._enough)
        if not is_judged and not self._strange:
            return
        expected = self._words * self._source.function_share
        if self._letters >= _FEWEST_LETTERS and 2 * self._strange > self._letters:
            problem = (
                "most letters of the input are not of the language that this model translates: it cannot read them"
            )
        elif is_judged and self._target_hits > 2 * self._hits < 1.4 * expected:
            problem = f"the input looks like the language that this model translates into: {self._opposite()}"
        elif is_short or (is_judged and self._hits < expected / 3):
            problem = "the input does not look like the language that this model translates: check it, or the model"
        else:
            if is_judged:  # what came before tells nothing of what will come
                self._words = self._hits = self._target_hits = self._known = self._letters = self._strange = 0
                self._enough = _MORE_WORDS
            return
        self._told = True
        yield problem
