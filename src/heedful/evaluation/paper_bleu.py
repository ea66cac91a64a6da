"""Paper-style BLEU: the BLEU of 2017, when every group tokenised the references itself.

The authors' published recipe: Moses' tokenizer on outputs and references, every hyphen inside a word cut out as a word
of its own (``rich-text`` becomes ``rich ##AT##-##AT## text``), then BLEU over what stands between spaces, cased and
without smoothing. The package ``sacremoses`` is an extra.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from heedful.errors import MissingExtraError, ScoreError
from heedful.evaluation.counts import Counted, sentence_rows, unsmoothed_bleu
from heedful.files import without_compression

if TYPE_CHECKING:
    from types import ModuleType

NAME = "paper-style BLEU"
WHY_IT_DIFFERS = (
    "BLEU and paper-style BLEU are one formula over different words: the first cuts words as the WMT campaigns do, the "
    "second with Moses' tokenizer and with every hyphenated compound in pieces, which are easier to get right. "
    "Compare the second with the paper's tables, the first with anything that shows the same signature."
)
_CODES = (
    "as bn ca cs de el en es et fi fr ga gu hi hu is it ja kn ko lt lv ml mni mr nl or pa pl pt ro ru sk sl sv ta tdt "
    "te yue zh"
)
LANGUAGES = frozenset(_CODES.split())
"""Those for which Moses' tokenizer has rules; English ones stand in for the others."""

# Not every hyphen of a-b-c: a match begins where the last one ended, in the authors' Perl as here.
_HYPHEN = re.compile(r"(\S)-(\S)")


def paper_bleu_counts(outputs: Sequence[str], references: Sequence[str], *, language: str) -> Counted:
    """Paper-style BLEU, counted for each sentence, with the tokenizer's rules for a language such as ``de``."""
    from sacrebleu.metrics.bleu import BLEU

    require_language(language)
    moses = _moses()
    tokenizer = moses.MosesTokenizer(lang=language)

    def tokenised(line: str) -> str:
        return compounds_split(str(tokenizer.tokenize(line, return_str=True)))

    metric = BLEU(tokenize="none", smooth_method="none", force=True)
    rows = sentence_rows(metric, [tokenised(line) for line in outputs], [tokenised(line) for line in references])
    words = f"tok:moses-{language}+hyphens|sacremoses:{moses.__version__}"
    return Counted(NAME, str(metric.get_signature()).replace("tok:none", words), rows, unsmoothed_bleu)


def require_language(language: str) -> None:
    """Moses' tokenizer would take other rules for a language it does not know, and say nothing."""
    if language not in LANGUAGES:
        raise ScoreError(f"--language {language}: Moses' tokenizer has rules for {', '.join(sorted(LANGUAGES))}")


def compounds_split(line: str) -> str:
    """A tokenised line with the hyphens inside its words as words.

    >>> compounds_split("a rich-text format - or not")
    'a rich ##AT##-##AT## text format - or not'
    """
    return _HYPHEN.sub(r"\1 ##AT##-##AT## \2", line)


def language_of(file: PurePath) -> str:
    """The language that a file's name ends in, or English if that is none of ``LANGUAGES``.

    >>> language_of(PurePath("newstest2014.en-de.de.gz")), language_of(PurePath("reference.txt"))
    ('de', 'en')
    """
    ending = without_compression(Path(file)).suffix.removeprefix(".")
    return ending if ending in LANGUAGES else "en"


def _moses() -> ModuleType:
    try:
        import sacremoses  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise MissingExtraError(f"{NAME} needs an extra that is not installed: pip install 'heedful[moses]'") from None
    return sacremoses
