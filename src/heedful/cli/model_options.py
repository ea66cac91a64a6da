"""The options that every command with a model takes: which one, where it runs, and how translations are searched."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from cyclopts import Group, Parameter

from heedful.cli.options import Bounds, Device, Flag, Repeated, Threads, more, whole_number
from heedful.cli.terminal import say
from heedful.errors import CheckpointError, ScoreError, SearchError
from heedful.runs.folder import DEFAULT_MODEL, default_model
from heedful.search.options import SearchOptions, conflicts, rule_of
from heedful.tasks import PARSING, TRANSLATION

if TYPE_CHECKING:
    from heedful.translation.parser import Parser
    from heedful.translation.translator import Translator

EngineName = Literal["auto", "torch", "ctranslate2"]
_OF_MODEL = ("beam_size", "length_penalty", "max_extra_length")
_LOOKED_AT, _ENOUGH = 50, 2000
"""Lines and characters that say in which language a text is."""
_SPARE_BEAMS = 12
"""Beams beyond the number of translations that are wanted: many of them spell the same text in other subwords."""
_WHICH = (
    "A name that `heedful models` lists, or the folder of a run or of one of its checkpoints (RUN/checkpoints/step-N)"
)
_DEFAULT = f"; {DEFAULT_MODEL} when not given."
_SEVERAL = (
    "May be repeated: models with the same subwords then translate together, each word by the mean of the "
    "log-probabilities that they give it."
)
_MORE_MODEL, _MORE_SEARCH = more("about the model"), more("about the search")


@Parameter(name="*", group=Group("Model", sort_key=2))
@dataclass(frozen=True)
class ModelOptions:
    """Which model, and where it runs; what stands below an option is its help."""

    model: Annotated[str | None, Parameter(help=_WHICH + _DEFAULT)] = None
    device: Device = "auto"
    precision: Annotated[str, _MORE_MODEL] = "auto"
    """What to compute in: auto (bfloat16 on CUDA, else float32), bfloat16, float32 or float64."""
    batch_size: Annotated[int, whole_number(0, 65_536), _MORE_MODEL] = 0
    """Sentences translated together; 0: what suits the device (32 on a CPU, 256 on CUDA)."""
    threads: Annotated[Threads, _MORE_MODEL] = None
    engine: Annotated[EngineName | None, _MORE_MODEL] = None
    """What computes: torch; ctranslate2, on a CPU in int8 and several times as fast (`pip install
    'heedful[ctranslate2]'`); or auto, ctranslate2 where it is there and can do all that is asked for. Without it the
    environment variable HEEDFUL_ENGINE is asked, or else `translate` and `serve` take auto and other commands torch."""

    @property
    def names(self) -> tuple[str, ...]:
        """The models that were given."""
        return () if self.model is None else (self.model,)

    def named(self) -> Self:
        """The same with the default model where none was given, if heedful came with it."""
        return self if self.names else dataclasses.replace(self, model=default_model())

    @property
    def _running(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("device", "precision", "batch_size", "threads")}

    def translator(self, *, engine: str = "torch") -> Translator:
        """Load the model. ``engine``: the one where nobody asks for one."""
        names = self.named().names
        if not names:
            raise SearchError("which model? Give --model RUN, the folder that `heedful train` made")
        from heedful.runs.saved import known_model
        from heedful.translation.translator import Translator

        engine = self.engine or os.environ.get("HEEDFUL_ENGINE") or engine
        return Translator(*map(known_model, names), **self._running, engine=engine, notice=say)

    def parser(self, *, constrained: bool = True) -> Parser:
        """Load a model that was trained for parsing."""
        if not self.names:
            raise SearchError("which model? Give --model RUN, the folder of a run on a corpus of --task parsing")
        from heedful.runs.saved import read_model
        from heedful.translation.parser import Parser

        return Parser(*map(read_model, self.names), **self._running, constrained=constrained)


@dataclass(frozen=True)
class EnsembleOptions(ModelOptions):
    """The same for a command that can search with several models together."""

    model: Annotated[str | None, Parameter(parse=False)] = None
    """What the models are called in messages and results, once they are `named`."""
    models: Annotated[Repeated, Parameter(name="--model", help=f"{_WHICH}{_DEFAULT} {_SEVERAL}")] = ()
    from_: Annotated[str | None, Parameter(name="--from")] = None
    """The language of the text, by its code, such as de: the model that comes with heedful and translates from it is
    taken, or a --model that does not is refused."""
    to: str | None = None
    """The language to translate into, such as en, likewise."""

    @property
    def names(self) -> tuple[str, ...]:
        return self.models

    def named(self) -> Self:
        """The same with the model that is meant where none was given, by direction or the default."""
        for option, code in (("--from", self.from_), ("--to", self.to)):
            if code is not None and not re.fullmatch("[a-z]{2,3}", code):
                raise SearchError(f"{option} {code}: must be the code of a language, such as en or de")
        default, models = default_model(), self.models
        if self.from_ or self.to:
            from heedful.runs.direction import model_between, require_direction

            models = models or (model_between(self.from_, self.to),)
            for model in self.models:
                require_direction(model, self.from_, self.to)
        elif default is not None:
            models = models or (default,)
        return dataclasses.replace(self, models=models, model=" + ".join(models) or None)

    def suiting(self, text: Iterable[str]) -> Self:
        """The same, with the model that translates the other way where none is asked for and the text asks for it."""
        default = default_model()
        if default is None or self.models or self.from_ or self.to:
            return self
        from heedful.runs.direction import LANGUAGE_NAMES, model_of_text

        found = model_of_text(default, " ".join(itertools.islice(text, _LOOKED_AT))[:_ENOUGH])
        if found is None:
            return self
        name, code = found
        language = LANGUAGE_NAMES.get(code, code)
        say(f"the text looks like {language}, so {name} translates it; --model {default} is for the other way")
        return dataclasses.replace(self, models=(name,))


@dataclass(frozen=True)
class ParserOptions(EnsembleOptions):
    """The same for parsing: no model that comes with heedful parses, and there is nothing to choose by language."""

    models: Annotated[Repeated, Parameter(name="--model", help=f"{_WHICH}. {_SEVERAL}")] = ()
    from_: Annotated[str | None, Parameter(parse=False)] = None
    to: Annotated[str | None, Parameter(parse=False)] = None


@dataclass(frozen=True)
class CheckpointOptions(ModelOptions):
    """Where a run's model runs, and which of its checkpoints it is."""

    model: Annotated[str | None, Parameter(help="A checkpoint of the run (RUN/checkpoints/step-N) instead.")] = None


@dataclass(frozen=True)
class RunningOptions(ModelOptions):
    """Where a model runs, for a command that is told in another way which one."""

    model: Annotated[str | None, Parameter(parse=False)] = None


def is_parsing(task: str | None, models: Sequence[str]) -> bool:
    """Whether it is about parses: by what was asked for, or else by what the models have learned."""
    from heedful.runs.saved import description_of

    tasks: set[str] = set()
    for name in models:
        with contextlib.suppress(CheckpointError):  # who loads it says what is wrong
            tasks.add(description_of(name).task)
    if task is not None and tasks - {task}:
        raise ScoreError(f"--task {task}: {models[0]} was trained for {(tasks - {task}).pop()}")
    return (task or next(iter(tasks), TRANSLATION.name)) == PARSING.name


def require_no_text(source: Path | None, language: str | None) -> None:
    """Raise where an option was given that has nothing to act on."""
    for option, given in (("--source", source), ("--language", language)):
        if given is not None:
            raise ScoreError(f"{option} {given}: not for parsing; the words are those of the reference's trees")


def _search(name: str) -> Parameter:
    """An option of `SearchOptions`: its help, its limits and its default are said there."""
    default, rule = rule_of(name)
    own = "when not given, the model's own; in the paper" if name in _OF_MODEL else "default:"
    text = rule.help if rule.choices else rule.help[0].upper() + rule.help[1:]
    for other in _OF_MODEL:
        text = text.replace(other, _flag(other))
    bounds = None if rule.choices else Bounds(rule, whole=isinstance(default, int))
    return Parameter(help=f"{text} ({own} {default}).", converter=bounds)


@Parameter(name="*", group=Group("Search", sort_key=3))
@dataclass(frozen=True)
class SearchChoices:
    """How translations are searched; what is not given is the model's own configuration."""

    beam_size: Annotated[int | None, _search("beam_size")] = None
    length_penalty: Annotated[float | None, _search("length_penalty"), _MORE_SEARCH] = None
    max_extra_length: Annotated[int | None, _search("max_extra_length"), _MORE_SEARCH] = None
    min_length: Annotated[int | None, _search("min_length"), _MORE_SEARCH] = None
    max_length: Annotated[int | None, _search("max_length"), _MORE_SEARCH] = None
    stop: Annotated[Literal["exact", "enough"] | None, _search("stop"), _MORE_SEARCH] = None
    greedy: Flag = False
    """Take the most probable subword each time: faster, and a little worse."""
    drafts: Annotated[int | None, _search("drafts"), _MORE_SEARCH] = None
    sample: Annotated[Flag, _MORE_SEARCH] = False
    """Draw each subword at random, by its probability; --beam-size translations of a sentence."""
    temperature: Annotated[float | None, _search("temperature"), _MORE_SEARCH] = None
    top_k: Annotated[int | None, _search("top_k"), _MORE_SEARCH] = None
    top_p: Annotated[float | None, _search("top_p"), _MORE_SEARCH] = None
    seed: Annotated[int | None, _search("seed"), _MORE_SEARCH] = None
    forbid: Repeated = ()
    """A text that no translation may hold; may be repeated. Whole words, upper and lower case apart: Hund forbids
    neither Hunde nor hund."""

    def require_none(self, why: str) -> None:
        """Raise where an option was given that has nothing to act on."""
        fields = dataclasses.fields(self)
        if given := [_flag(field.name) for field in fields if getattr(self, field.name) != field.default]:
            raise SearchError(f"{', '.join(given)}: {why}")

    def options(self, translator: Translator | Parser, *, n_best: int = 1) -> SearchOptions:
        """The model's own way of searching with what was asked for here."""
        return dataclasses.replace(translator.options, **self.asked(translator.options.beam_size, n_best=n_best))

    def asked(self, beam_size: int = 4, *, n_best: int = 1) -> dict[str, Any]:
        """The options that differ from a model's own, whose beam has this size; raises what cannot be honoured."""
        if self.greedy and self.sample:
            raise SearchError("--greedy and --sample exclude each other")
        method = "greedy" if self.greedy else "sample" if self.sample else "beam"
        if method == "beam" and n_best > 1:
            beam_size = max(beam_size, n_best + _SPARE_BEAMS)
        elif method != "beam":
            beam_size = n_best if self.sample else 1
        same = (item.name for item in dataclasses.fields(self) if item.name not in {"greedy", "sample", "forbid"})
        given = {name: value for name in same if (value := getattr(self, name)) is not None}
        chosen = {"beam_size": beam_size, "n_best": n_best, "method": method, **given}
        values = {"min_length": 0, "max_length": 0, **chosen}
        problems = conflicts(values, given, shown=lambda name: f"{_flag(name)} {values[name]}")
        if self.greedy and self.beam_size not in (None, 1):
            problems.append(f"--beam-size {self.beam_size}: greedy search has one beam")
        if self.max_length and self.max_extra_length is not None:
            problems.append(f"--max-extra-length {self.max_extra_length}: --max-length says how long outputs may be")
        if not all(text.strip() for text in self.forbid):
            problems.append("--forbid: an empty text, which every output holds")
        if problems:
            raise SearchError("; ".join(problems))
        return {**chosen, "forbidden": tuple(text.strip() for text in self.forbid)}


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")
