"""What a model can learn: translation, or parsing (section 6.3). A task says what `prepare` reads, what the target's
vocabulary is and what a score is. Training, search and pages know nothing of it: a third task is one more row here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from heedful.config import SearchConfig
from heedful.errors import TextError
from heedful.evaluation.counts import Counted, system_counts
from heedful.parsing.bracket_scores import parse_counts
from heedful.parsing.trees import tree_from, tree_pairs
from heedful.presets import PARSERS_SEARCH
from heedful.text.closed_vocabulary import ClosedVocabulary
from heedful.text.pairs import PairBlock, pair_blocks


@dataclass(frozen=True)
class Task:
    """What is learned from a corpus."""

    name: str
    files: str
    """The options of `heedful prepare` that give its text."""
    pair_blocks: Callable[..., Iterator[PairBlock]]
    """The pairs of texts of a file: see `heedful.text.pairs`."""
    counts: Callable[[Sequence[str], Sequence[str]], list[Counted]]
    """Outputs and references, each a text, counted for every score; the first is the one to choose by."""
    training: str
    """The options of `heedful train` to begin with."""
    uses: tuple[str, ...]
    """What to do with a model, after `heedful`; RUN stands for its folder."""
    target_vocabulary: Callable[[Iterable[str]], ClosedVocabulary] | None = None
    """Made of the target's lines; None: subwords are learned, of both sides together if nobody asks otherwise."""
    unjudged: frozenset[str] = frozenset()
    """Rules of cleaning that are not for its pairs."""
    search: SearchConfig = field(default_factory=SearchConfig)
    """How a model is searched that no preset is named for."""
    only_trees: bool = False
    """Whether an output is searched for among the trees over the source's words."""


def _translation_counts(outputs: Sequence[str], references: Sequence[str]) -> list[Counted]:
    return system_counts(outputs, references).scores


def _parse_counts(outputs: Sequence[str], references: Sequence[str]) -> list[Counted]:
    wanted = [tree_from(text) for text in references]
    if None in wanted:
        raise TextError(f"reference {wanted.index(None) + 1:,} is no tree: {references[wanted.index(None)]!r:.80}")
    return parse_counts([tree_from(text) for text in outputs], [tree for tree in wanted if tree is not None])


TEXT_TO_SCORE = "--source FILE --reference FILE"
"""As `Task.uses` has it; a corpus that has put a test set aside names its own."""
TRANSLATION = Task(
    "translation",
    "--source and --target, --tsv or --jsonl",
    pair_blocks,
    _translation_counts,
    training="--minutes 15",
    uses=("translate --model RUN", f"evaluate --model RUN {TEXT_TO_SCORE}"),
)
PARSING = Task(
    "parsing",
    "--trees and --valid-trees",
    tree_pairs,
    _parse_counts,
    training="--preset parser-small",
    uses=("parse --model RUN", "evaluate --model RUN --reference TREES"),
    target_vocabulary=ClosedVocabulary.of_lines,
    # Short sentences come again with the same tree, and many have one shape: a treebank is taken as it is.
    unjudged=frozenset({"identical", "validation", "duplicate", "ratio"}),
    search=SearchConfig(**PARSERS_SEARCH),
    only_trees=True,
)
TASKS = {task.name: task for task in (TRANSLATION, PARSING)}
