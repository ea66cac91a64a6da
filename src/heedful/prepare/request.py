"""What `prepare` is asked: everything that decides what a prepared corpus holds, and what each of it may be."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from heedful.config import DataConfig, Rule
from heedful.data.manifest import RequestRecord, RulesRecord
from heedful.errors import TextError
from heedful.files import without_compression
from heedful.tasks import TRANSLATION, Task
from heedful.text.augmentation import KINDS
from heedful.text.cleaning import ALWAYS, RULES, Rules
from heedful.text.pairs import ParallelText
from heedful.text.reading import BadLine, refuse
from heedful.text.subwords import tag_of

SAMPLE_PAIRS = 500_000
"""The vocabulary is learned from at most so many: more change it little, and learning needs about a kilobyte of memory
for each distinct word."""
BOUNDS: dict[str, Rule] = {
    **{item.name: item.metadata["rule"] for item in dataclasses.fields(DataConfig)},
    "sample_pairs": Rule("", at_least=1, at_most=2**63 - 1),
    "bpe_dropout": Rule("", at_least=0, below=1),  # of 1, it would leave no subword whole
    "copies": Rule("", at_least=1, at_most=1000),
    "augment": Rule("", at_least=0, at_most=1),
    "valid_pairs": Rule("", at_least=0, at_most=10_000_000),
    "test_pairs": Rule("", at_least=0, at_most=10_000_000),
    "seed": Rule("", at_least=0, at_most=2**63 - 1),
}
"""What each number may be; of `augment`, each of its numbers."""
_CURES = {
    "1 field where": "two files of one language each are given as --source A --target B",
    'no field "': "--source-field and --target-field name others",
    "not UTF-8": "if it is older Western text, iconv -f WINDOWS-1252 -t UTF-8 converts it",
}
"""By how the reason begins for which a line is bad: what helps where all lines are so."""
_CURE_OF_CSV = "commas are no tabs: save it as text with a tab between the two, or as JSON lines, for --jsonl"


@dataclass(frozen=True)
class Request:
    """Everything that decides what the prepared corpus holds."""

    corpora: tuple[ParallelText, ...]
    task: Task = TRANSLATION
    validation: tuple[ParallelText, ...] = ()
    valid_pairs: int = 0
    """Pairs of the training text to put aside and validate on."""
    test_pairs: int = 0
    exclude: tuple[Path, ...] = ()
    vocab_size: int | None = None
    """None: what suits so much text, `DataConfig.vocab_size` at most."""
    tokenizer: Path | None = None
    separate_vocabularies: bool = False
    rules: Rules = field(
        default_factory=lambda: Rules(max_length=DataConfig.max_length, max_ratio=DataConfig.max_ratio)
    )
    on_bad_line: str = "error"
    sample_pairs: int = SAMPLE_PAIRS
    bpe_dropout: float = 0.0
    copies: int = 1
    """How often each training pair is stored, its words cut anew each time where ``bpe_dropout`` is above 0."""
    augment: Mapping[str, float] = field(default_factory=dict)
    """For each kind of `KINDS` the probability that a training pair gets a version of it beside itself."""
    tags: tuple[str, ...] = ()
    """Tags that the source's vocabulary shall have, beside those of `corpora`, for text that is to come."""
    seed: int = 1

    def __post_init__(self) -> None:
        rules = dataclasses.replace(self.rules, keep=self.rules.keep | self.task.unjudged)
        object.__setattr__(self, "rules", rules)
        if not self.corpora:
            raise TextError(f"nothing to prepare: give {self.task.files}")
        for corpus in (*self.corpora, *self.validation):
            if not 0 < corpus.weight < 1000:
                raise TextError(f"{corpus.name} has weight {corpus.weight:g}: must be above 0 and below 1000")
        if self.on_bad_line not in ("error", "drop"):
            raise TextError(f"--on-bad-line {self.on_bad_line}: must be error or drop")
        for tag in self.all_tags:
            tag_of(tag)  # which raises for what is none
        unknown = [name for name in self.rules.keep if name not in RULES or name in ALWAYS]
        if unknown:
            optional = ", ".join(name for name in RULES if name not in ALWAYS)
            raise TextError(f"--keep {sorted(unknown)[0]}: there is no such rule; there are {optional}")
        if strange := [kind for kind in self.augment if kind not in KINDS]:
            raise TextError(f"--augment {strange[0]}: there is no such kind; there are {', '.join(KINDS)}")
        for name, rule in BOUNDS.items():
            value = getattr(self.rules if hasattr(self.rules, name) else self, name)
            for kind, number in value.items() if isinstance(value, Mapping) else [("", value)]:
                if number is not None and not rule.allows(number):
                    given = f"{kind}={number}" if kind else number
                    raise TextError(f"--{name.replace('_', '-')} {given}: must be {rule.allowed()}")
        if self.validation and self.valid_pairs:
            raise TextError(f"--valid-pairs {self.valid_pairs}: validation text was given already")
        if self.copies > 1 and not self.bpe_dropout:
            raise TextError(f"--copies {self.copies}: without --bpe-dropout all copies would be the same")
        unfit = {
            "--valid-pairs and --test-pairs": self.valid_pairs or self.test_pairs,
            "--separate-vocabularies": self.separate_vocabularies,
            "--augment": self.augment,
            "--tag": self.all_tags,
        }
        if self.task.target_vocabulary and (options := [option for option, given in unfit.items() if given]):
            raise TextError(f"{options[-1]}: not for {self.task.name}, which is given {self.task.files}")
        if self.tokenizer is not None and (self.vocab_size is not None or self.separate_vocabularies):
            option = "--separate-vocabularies" if self.vocab_size is None else f"--vocab-size {self.vocab_size}"
            raise TextError(f"{option}: cannot be had with --tokenizer, whose vocabulary is taken as it is")

    @property
    def all_tags(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.tags, *(text.tag for text in self.corpora if text.tag))))

    @property
    def files(self) -> tuple[Path, ...]:
        """Every file that is read."""
        return (*(path for text in (*self.corpora, *self.validation) for path in text.paths), *self.exclude)

    @property
    def bad_line(self) -> BadLine:
        """What is done with a line that cannot be read."""
        return _refuse_with_cure if self.on_bad_line == "error" else lambda *_: None

    def record(self) -> RequestRecord:
        """The request as the manifest keeps it."""
        values = {item.name: getattr(self, item.name) for item in dataclasses.fields(RequestRecord)}
        values["rules"] = RulesRecord(tuple(sorted(self.rules.keep)), self.rules.max_length, self.rules.max_ratio)
        values |= {"exclude": tuple(map(str, self.exclude)), "augment": dict(self.augment), "tags": self.all_tags}
        values["tokenizer"] = None if self.tokenizer is None else str(self.tokenizer)
        return RequestRecord(**values)


def _refuse_with_cure(path: Path, line: int, reason: str) -> None:
    cures = [cure for beginning, cure in _CURES.items() if reason.startswith(beginning)]
    if without_compression(path).suffix.lower() == ".csv" and reason.startswith("1 field"):
        cures = [_CURE_OF_CSV]
    refuse(path, line, "; ".join([reason, *cures]))
