"""What a corpus score is made of: a row of counts for each sentence.

The score of any collection of sentences, drawn however often, is a function of the sum of its rows. So a test set is
counted once, and a thousand resamples of it cost a product of matrices and no look at the text.

Paper-style BLEU is that of 2017, when every group tokenised the references itself. The authors' published recipe is
Moses' tokenizer on outputs and references, every hyphen inside a word cut out as a word of its own (``rich-text``
becomes ``rich ##AT##-##AT## text``), then BLEU over what stands between spaces, cased and without smoothing. The
package ``sacremoses`` is an extra.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import numpy as np

from heedful.errors import MissingExtraError, ScoreError
from heedful.files import without_compression

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric

_CHRF_BETA = 2
"""How much more recall counts than precision; sacreBLEU's default."""
PAPER_BLEU = "paper-style BLEU"
WHY_IT_DIFFERS = (
    "Quote BLEU, the first, with its signature. Paper-style BLEU is the same formula over other words: where the first "
    "cuts them as the WMT campaigns do, it uses Moses' tokenizer and cuts every hyphenated compound in pieces, which "
    "are easier to get right. It is for comparing with the paper's tables."
)
_CODES = (
    "as bn ca cs de el en es et fi fr ga gu hi hu is it ja kn ko lt lv ml mni mr nl or pa pl pt ro ru sk sl sv ta tdt "
    "te yue zh"
)
LANGUAGES = frozenset(_CODES.split())
"""Those for which Moses' tokenizer has rules."""


@dataclass(frozen=True)
class Counted:
    """One system's outputs, counted for one score."""

    name: str
    signature: str
    rows: np.ndarray
    """Whole numbers as float64, [sentences, counts]."""
    scores: Callable[[np.ndarray], np.ndarray]
    """Sums of rows, [..., counts], to scores, [...]."""
    lower_is_better: bool = False

    @property
    def value(self) -> float:
        """The score of the whole test set."""
        return float(self.scores(self.rows.sum(axis=0)))

    @property
    def sentence_scores(self) -> list[float]:
        """The score of each sentence alone."""
        return self.scores(self.rows).tolist()


@dataclass(frozen=True)
class SystemCounts:
    """One system's outputs, counted for every score that needs nothing but sacreBLEU."""

    outputs: Sequence[str]
    bleu: Counted
    chrf: Counted
    ter: Counted

    @property
    def scores(self) -> list[Counted]:
        """All of them, the one to quote first."""
        return [self.bleu, self.chrf, self.ter]


def system_counts(outputs: Sequence[str], references: Sequence[str]) -> SystemCounts:
    """BLEU, chrF and TER of a system."""
    return SystemCounts(outputs, *(count(outputs, references) for count in (bleu_counts, chrf_counts, ter_counts)))


def bleu_counts(outputs: Sequence[str], references: Sequence[str]) -> Counted:
    """BLEU of detokenised, cased text with sacreBLEU's defaults."""
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU(force=True)  # silences a remark on standard error; system_report makes it
    return _counted("BLEU", metric, outputs, references)


def chrf_counts(outputs: Sequence[str], references: Sequence[str]) -> Counted:
    """chrF of character n-grams up to six, recall twice as important as precision."""
    from sacrebleu.metrics.chrf import CHRF

    return _counted(f"chrF{_CHRF_BETA}", CHRF(beta=_CHRF_BETA), outputs, references)


def ter_counts(outputs: Sequence[str], references: Sequence[str]) -> Counted:
    """Translation edit rate: edits, shifts of phrases among them, for each hundred words of the reference."""
    from sacrebleu.metrics.ter import TER

    return replace(_counted("TER", TER(), outputs, references), lower_is_better=True)


def paper_bleu_counts(outputs: Sequence[str], references: Sequence[str], *, language: str | None) -> Counted:
    """Paper-style BLEU with the tokenizer's rules for a language such as ``de``; without one there is none."""
    from sacrebleu.metrics.bleu import BLEU

    language = require_language(language)
    try:
        import sacremoses as moses  # pyright: ignore[reportMissingImports]
    except ImportError:
        missing = f"{PAPER_BLEU} needs an extra that is not installed: pip install 'heedful[moses]'"
        raise MissingExtraError(missing) from None
    tokenizer = moses.MosesTokenizer(lang=language)

    def words(lines: Sequence[str]) -> list[str]:
        return [compounds_split(str(tokenizer.tokenize(line, return_str=True))) for line in lines]

    metric = BLEU(tokenize="none", smooth_method="none", force=True)
    counted = _counted(PAPER_BLEU, metric, words(outputs), words(references))
    cut_by = f"tok:moses-{language}+hyphens|sacremoses:{moses.__version__}"
    return replace(counted, signature=counted.signature.replace("tok:none", cut_by))


def require_language(language: str | None) -> str:
    """The language; Moses' tokenizer would take English rules for one it does not know, and say nothing."""
    if language is None:
        raise ScoreError("the language of the references is not known; --language tells it, as in --language de")
    if language not in LANGUAGES:
        raise ScoreError(f"--language {language}: Moses' tokenizer has rules for {', '.join(sorted(LANGUAGES))}")
    return language


def language_of(file: PurePath) -> str | None:
    """The language that a file's name ends in, if it is one of ``LANGUAGES``.

    >>> language_of(PurePath("newstest2014.en-de.de.gz")), language_of(PurePath("reference.txt"))
    ('de', None)
    """
    ending = without_compression(Path(file)).suffix.removeprefix(".")
    return ending if ending in LANGUAGES else None


def compounds_split(line: str) -> str:
    """A tokenised line with the hyphens inside its words as words.

    >>> compounds_split("a rich-text format - or not")
    'a rich ##AT##-##AT## text format - or not'
    """
    # Not every hyphen of a-b-c: a match begins where the last one ended, in the authors' Perl as here.
    return re.sub(r"(\S)-(\S)", r"\1 ##AT##-##AT## \2", line)


def _counted(name: str, metric: Metric, outputs: Sequence[str], references: Sequence[str]) -> Counted:
    """What a metric of sacreBLEU counts in each sentence, and how it makes a score of such counts."""
    if len(outputs) != len(references):
        raise ScoreError(f"{len(outputs):,} translations and {len(references):,} references: each needs its own")
    if not outputs:
        raise ScoreError("no translations were given, and there is no score of nothing")
    # Not public, but what sacreBLEU's own tests of significance are made of; ours hold both to its public scores.
    rows = np.array(metric._extract_corpus_statistics(list(outputs), [list(references)]), dtype=np.float64)

    def scores(sums: np.ndarray) -> np.ndarray:
        whole = sums.astype(np.int64).reshape(-1, rows.shape[1]).tolist()
        found = [metric._compute_score_from_stats(counts).score for counts in whole]
        return np.array(found).reshape(sums.shape[:-1])

    return Counted(name, str(metric.get_signature()), rows, scores)
