"""The errors a user can cause. Each message says what was given, what is allowed, and where."""

from __future__ import annotations

from collections.abc import Sequence


class HeedfulError(Exception):
    """Something the user gave cannot be used; the message says what, why, and what to do."""


class _ProblemsError(HeedfulError):
    """Everything that is wrong, together; ``problems`` holds a line for each."""

    about: str

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        head = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
        super().__init__(f"{self.about.format(head)}\n" + "\n".join(f"  - {line}" for line in self.problems))


class ConfigError(_ProblemsError):
    """One or more settings are wrong."""

    about = "{} in the configuration:"


class PlanError(_ProblemsError):
    """A run that was planned could not be run."""

    about = "{} would stop this run:"


class ReportError(HeedfulError):
    """What a run left behind cannot be read, or cannot be shown as asked."""


class ShapeError(HeedfulError):
    """A tensor or a size does not fit."""


class MaskError(HeedfulError):
    """An attention mask has the wrong type, values or shape."""


class KernelError(HeedfulError):
    """An attention kernel cannot do what was asked of it."""


class TextError(HeedfulError):
    """A text file cannot be read as what it should be; the message names the file and, where it can, the line."""


class SubwordError(HeedfulError):
    """A subword vocabulary cannot be trained, loaded or used as asked."""


class CorpusError(HeedfulError):
    """A prepared corpus is missing, damaged, of another version, or in the way."""


class BatchError(HeedfulError):
    """No batches can be made of this corpus with these budgets."""


class CheckpointError(HeedfulError):
    """A run folder or a checkpoint cannot be read or written."""


class NotARunError(CheckpointError):
    """A folder is not a run, or not a checkpoint, at all."""


class ExportError(HeedfulError):
    """A model cannot be exported: another engine does not know it, is not installed, or the folder is in the way."""


class TrainingError(HeedfulError):
    """A run cannot begin or go on."""


class ScoreError(HeedfulError):
    """Translations cannot be scored as asked."""


class DemoError(HeedfulError):
    """The demo cannot be run as asked, or not in that folder."""


class MissingExtraError(HeedfulError):
    """What was asked for needs a package that is not installed; the message says which."""


class SearchError(HeedfulError):
    """A translation cannot be searched for as asked."""


class ServeError(HeedfulError):
    """The server cannot do what was asked of it; ``status``: what HTTP calls that."""

    status = 500

    def __init__(self, message: str, *, status: int | None = None, retry_after: int | None = None) -> None:
        """``retry_after``: seconds after which to try again."""
        super().__init__(message)
        self.status, self.retry_after = status or self.status, retry_after


class BusyError(ServeError):
    """There is too much to do at the moment."""

    status = 429


class GoneError(ServeError):
    """Whoever asked does not wait for the answer."""

    status = 499


_OUT_OF_MEMORY = ("not enough memory", "can't allocate memory", "cannot allocate memory", "out of memory")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether this says that there is no memory left: Python's own error, torch's on a GPU, or torch's off it."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and any(text in str(error).lower() for text in _OUT_OF_MEMORY)
