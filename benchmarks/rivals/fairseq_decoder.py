"""fairseq 0.12.2: its TransformerModel and SequenceGenerator."""

from __future__ import annotations

import dataclasses
from argparse import Namespace
from typing import Any

from rivals.engine import Engine, Search, Sizes, batches, in_order

COPIES = tuple(f"{name}_{kind}" for name in ("in_proj", "out_proj", "fc1", "fc2") for kind in ("weight", "bias"))
"""An encoder layer holds its matrices once more, for a fused kernel."""


def lift_dataclass_check() -> None:
    """fairseq gives dataclasses as defaults of dataclasses, which Python 3.11 refuses unless they can be hashed."""
    original = dataclasses._get_field  # pyright: ignore[reportAttributeAccessIssue]

    def lifted(cls: type, name: str, *rest: Any) -> Any:
        default = getattr(cls, name, None)
        default = default.default if isinstance(default, dataclasses.Field) else default
        if dataclasses.is_dataclass(default) and not isinstance(default, type) and type(default).__hash__ is None:
            type(default).__hash__ = object.__hash__
        return original(cls, name, *rest)

    dataclasses._get_field = lifted  # pyright: ignore[reportAttributeAccessIssue]


def build(sizes: Sizes, *, device: str, half: bool) -> Engine:
    import torch

    lift_dataclass_check()
    import fairseq  # pyright: ignore[reportMissingImports]
    from fairseq.data import Dictionary  # pyright: ignore[reportMissingImports]
    from fairseq.models.transformer import TransformerModel, base_architecture  # pyright: ignore[reportMissingImports]
    from fairseq.sequence_generator import SequenceGenerator  # pyright: ignore[reportMissingImports]

    torch.manual_seed(1)
    words = Dictionary()
    for number in range(sizes.vocab_size - len(words)):
        words.add_symbol(f"w{number}")
    options = Namespace(share_all_embeddings=True, max_source_positions=256, max_target_positions=256)
    for side in ("encoder", "decoder"):
        setattr(options, f"{side}_embed_dim", sizes.d_model)
        setattr(options, f"{side}_ffn_embed_dim", sizes.d_ff)
        setattr(options, f"{side}_layers", sizes.layers)
        setattr(options, f"{side}_attention_heads", sizes.num_heads)
    base_architecture(options)
    model = TransformerModel.build_model(options, Namespace(source_dictionary=words, target_dictionary=words))
    parameters = sum(p.numel() for name, p in model.named_parameters() if not name.endswith(COPIES))
    model.to(device, torch.float16 if half else torch.float32).eval()
    model.make_generation_fast_(beamable_mm_beam_size=None, need_attn=False)
    made: dict[Search, Any] = {}

    def decode(sources: list[list[int]], search: Search) -> list[list[int]]:
        # max_len_b leaves out the end symbol, which takes the last step
        last = search.forced_steps - 1
        if search not in made:
            made[search] = SequenceGenerator(
                [model], words, beam_size=search.beam_size, max_len_a=0, max_len_b=last, min_len=last
            )
        generator = made[search]
        found: dict[int, list[int]] = {}
        for places in batches(sources, search.batch):
            rows = [[*sources[place], words.eos()] for place in places]
            ids = torch.tensor(rows, device=device)
            lengths = torch.tensor([len(row) for row in rows], device=device)
            outputs = generator.generate([model], {"net_input": {"src_tokens": ids, "src_lengths": lengths}})
            for place, hypotheses in zip(places, outputs, strict=True):
                found[place] = hypotheses[0]["tokens"].tolist()
        return in_order(found)

    return Engine(parameters, {"fairseq": fairseq.__version__, "torch": torch.__version__}, decode)
