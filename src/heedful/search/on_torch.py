"""Trained models on torch: where they compute, in which precision, and their search."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from heedful.errors import SearchError
from heedful.model.attention_kernels import padded_attention
from heedful.model.devices import chosen_device, computes_in_half, with_packed_matrices
from heedful.model.transformer import Transformer
from heedful.runs.saved import SavedModel
from heedful.search.model_search import SLOTS, ModelSearch, in_half_precision
from heedful.search.tree_shape import TreeShape
from heedful.tasks import TASKS
from heedful.text.subwords import Subwords

_PRECISIONS = ("float32", "float64", "bfloat16")


@dataclass(frozen=True, eq=False)
class OnTorch:
    """Models where they compute, and their search."""

    device: torch.device
    precision: str
    batch_size: int
    models: list[Transformer]
    search: ModelSearch

    @property
    def half(self) -> bool:
        return self.precision == "bfloat16"


def put_on_torch(
    *saved: SavedModel,
    device: str = "auto",
    precision: str = "auto",
    batch_size: int = 0,
    threads: int | None = None,
    constrained: bool = True,
) -> OnTorch:
    """Put models onto a device. ``threads``: those of the whole process, from now on. ``constrained``: a parser's
    output is a tree over its sentence's words.
    """
    place = chosen_device(device, error=SearchError)
    precision = _precision(precision, place)
    half = precision == "bfloat16"
    if threads is not None:
        torch.set_num_threads(threads)

    def placed(model: Transformer) -> Transformer:
        model = model.to(place, torch.float64 if precision == "float64" else torch.float32)
        model.use(padded_attention(model.config))
        return in_half_precision(model) if half else with_packed_matrices(model)

    models = [placed(own.model) for own in saved]
    target, graphs = saved[0].target_vocabulary, place.type == "cuda"
    subwords = target.id_bytes if isinstance(target, Subwords) else ()
    only_trees = constrained and TASKS[saved[0].description.task].only_trees
    shape = TreeShape(target.tokens, device=place) if only_trees else None
    computing = {"batch_size": batch_size, "half": half, "graphs": graphs}
    search = ModelSearch(*models, **computing, subwords=subwords, constraint=shape)
    return OnTorch(place, precision, batch_size or SLOTS[place.type], models, search)


def _precision(wanted: str, device: torch.device) -> str:
    if wanted not in ("auto", *_PRECISIONS):
        raise SearchError(f"precision {wanted}: must be auto, {', '.join(_PRECISIONS)}")
    if computes_in_half(wanted, device, error=SearchError, setting="precision"):
        return "bfloat16"
    return "float32" if wanted == "auto" else wanted
