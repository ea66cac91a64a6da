"""Compiling is paid for twice, once for each kind of layer, however different the batches are."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
import torch._dynamo
from tests.training_toys import write_toy
from torch._dynamo.utils import counters

from heedful.data.corpus import Corpus
from heedful.model.attention_kernels import EQUATION_1
from heedful.model.masks import Packed
from heedful.presets import resolve
from heedful.training.batches import Batches
from heedful.training.distributed import World
from heedful.training.setup import built_model
from heedful.training.step import Precision, Trainer

SETTINGS = [
    *("model.d_model=16", "model.d_ff=32", "model.num_heads=2", "model.encoder_layers=2", "model.decoder_layers=2"),
    *("training.source_tokens=700", "training.target_tokens=700", "training.micro_batches=2"),
]


@pytest.fixture(autouse=True)
def _forgotten_compilations() -> Iterator[None]:
    torch._dynamo.reset()
    counters.clear()
    yield
    torch._dynamo.reset()


# dynamo's own look at the inputs
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning")
def test_an_epoch_of_packed_batches_compiles_each_kind_of_layer_once(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    corpus = Corpus(write_toy(tmp_path_factory.mktemp("toy"), task="reverse", pairs=600))
    config, precision = resolve(name="tiny", settings=SETTINGS), Precision(torch.device("cpu"), half=False)
    model = built_model(config, corpus, precision).use(EQUATION_1)
    trainer = Trainer(model, config, precision=precision, world=World())
    batches = Batches(corpus, config.training, layout="packed", device=precision.device, world=World())
    for layer in [*model.encoder.layers, *model.decoder.layers]:
        layer.compile(backend="eager", dynamic=True)

    sizes: set[tuple[int, int]] = set()
    for step in range(1, batches.schedule.steps_per_epoch + 1):
        batch = batches.step(step)
        for micro in batch.micro_batches:
            assert isinstance(micro.source_layout, Packed)
            sizes.add((len(micro.source), len(micro.target_input)))
        trainer.step(batch)
    assert len(sizes) > 1
    assert counters["stats"]["unique_graphs"] == 2, counters["stats"]
    assert not counters["graph_break"]
