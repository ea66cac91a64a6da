"""The options that every command with a model takes: which one, where it runs, and how translations are searched."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cyclopts import Group, Parameter

from heedful.cli.options import Seed, Threads, number, whole_number
from heedful.errors import SearchError
from heedful.runs.names import DEFAULT, default_model

if TYPE_CHECKING:
    from heedful.search.options import SearchOptions
    from heedful.search.translator import Translator

MODEL = Group("Model", sort_key=1)
SEARCH = Group("Search", sort_key=2)
SPARE_BEAMS = 12
"""Beams beyond the number of translations that are wanted: many of them spell the same text in other subwords."""


def _option(text: str, group: Group, **more: object) -> Parameter:
    return Parameter(help=text, group=group, **more)  # pyright: ignore[reportArgumentType]


@Parameter(name="*")
@dataclass(frozen=True)
class ModelOptions:
    """Which model, and where it runs."""

    model: Annotated[
        str | None,
        _option(
            "The folder of a run or of one of its checkpoints (RUN/checkpoints/step-N), or the name of a model that "
            f"`heedful models` lists; {DEFAULT} when not given.",
            MODEL,
            show_default=False,
        ),
    ] = None
    device: Annotated[str, _option("auto, cpu, cuda or cuda:N.", MODEL)] = "auto"
    precision: Annotated[
        str, _option("auto (bfloat16 on CUDA, else float32), bfloat16, float32 or float64.", MODEL)
    ] = "auto"
    batch_size: Annotated[
        int,
        whole_number(0, 65_536),
        _option("Sentences decoded together; 0: what suits the device (32 on a CPU, 256 on CUDA).", MODEL),
    ] = 0
    threads: Annotated[Threads, _option("CPU threads; all cores when not given.", MODEL)] = None

    def named(self) -> ModelOptions:
        """The same with the default model where none was given, if heedful came with it."""
        return self if self.model is not None else dataclasses.replace(self, model=default_model())

    def translator(self) -> Translator:
        """Load the model."""
        model = self.named().model
        if model is None:
            raise SearchError("which model? Give --model RUN, the folder that `heedful train` made")
        import torch

        from heedful.search.translator import Translator

        if self.threads is not None:
            torch.set_num_threads(self.threads)
        return Translator.load(model, device=self.device, precision=self.precision, batch_size=self.batch_size)


@Parameter(name="*")
@dataclass(frozen=True)
class RunningOptions(ModelOptions):
    """Where a model runs, for a command that is told in another way which one."""

    model: Annotated[str | None, Parameter(parse=False)] = None


@Parameter(name="*")
@dataclass(frozen=True)
class SearchChoices:
    """How translations are searched; what is not given is the model's own configuration."""

    beam_size: Annotated[
        int | None, whole_number(1, 1000), _option("Hypotheses kept at each step (the paper: 4).", SEARCH)
    ] = None
    length_penalty: Annotated[
        float | None, number(0, 10), _option("α: scores are divided by ((5 + length) / 6)^α (the paper: 0.6).", SEARCH)
    ] = None
    max_extra_length: Annotated[
        int | None,
        whole_number(0, 1_000_000),
        _option("Subwords that an output may have beyond its input's number (the paper: 50).", SEARCH),
    ] = None
    min_length: Annotated[int, whole_number(0, 1_000_000), _option("Subwords that an output has at least.", SEARCH)] = 0
    max_length: Annotated[
        int,
        whole_number(0, 1_000_000),
        _option("Subwords that an output has at most, whatever its input; 0: see above.", SEARCH),
    ] = 0
    stop: Annotated[
        str,
        _option("exact: search on until nothing better can come; enough: until beam-size outputs have ended.", SEARCH),
    ] = "exact"
    greedy: Annotated[
        bool, _option("Take the most probable subword each time: faster, and a little worse.", SEARCH, negative=())
    ] = False
    sample: Annotated[
        bool, _option("Draw subwords by their probability; --beam-size samples a sentence.", SEARCH, negative=())
    ] = False
    temperature: Annotated[
        float,
        number(0, 1000, above=True),
        _option("Samples: below 1 nearer to the most probable, above 1 freer.", SEARCH),
    ] = 1.0
    top_k: Annotated[
        int, whole_number(0, 1_000_000_000), _option("Samples: from so many most probable subwords; 0: all.", SEARCH)
    ] = 0
    top_p: Annotated[
        float,
        number(0, 1, above=True),
        _option("Samples: from the fewest subwords that have this probability together.", SEARCH),
    ] = 1.0
    seed: Annotated[Seed, _option("Samples: another number gives others.", SEARCH)] = 1
    forbid: Annotated[
        tuple[str, ...], _option("A word that no output may hold; may be repeated.", SEARCH, negative=())
    ] = ()

    def options(self, translator: Translator, *, n_best: int = 1) -> SearchOptions:
        """The model's own way of searching with what was asked for here."""
        if self.greedy and self.sample:
            raise SearchError("--greedy and --sample exclude each other")
        given = {
            name: value
            for name in ("beam_size", "length_penalty", "max_extra_length")
            if (value := getattr(self, name)) is not None
        }
        same = ("min_length", "max_length", "stop", "temperature", "top_k", "top_p", "seed")
        given |= {name: getattr(self, name) for name in same}
        given["method"] = "greedy" if self.greedy else "sample" if self.sample else "beam"
        if self.sample and self.beam_size is None:
            given["beam_size"] = n_best
        given["n_best"] = 1 if self.greedy else n_best
        wanted = n_best + SPARE_BEAMS if n_best > 1 and self.beam_size is None and not self.sample else n_best
        given["beam_size"] = max(given.get("beam_size", translator.options.beam_size), wanted)
        return translator.forbidding(self.forbid, dataclasses.replace(translator.options, **given))
