"""Hugging Face Marian: MarianMTModel.generate, with random weights or with ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rivals.engine import END, PAD, Engine, Search, Sizes, batches, in_order
from rivals.marian_configuration import marian_configuration


def build(sizes: Sizes, *, device: str, half: bool) -> Engine:
    import torch
    from transformers import MarianMTModel

    torch.manual_seed(1)
    return _engine(MarianMTModel(_configuration(sizes, positions=256)), device=device, half=half)


def load(folder: str, *, device: str, half: bool) -> Engine:
    """The weights of a heedful model, as `heedful export` writes them."""
    from transformers import MarianMTModel

    model = MarianMTModel.from_pretrained(str(Path(folder) / "marian"), attn_implementation="sdpa")
    for side in (model.model.encoder, model.model.decoder):
        side.embed_positions.requires_grad_(False)  # sinusoids are not counted as parameters
    return _engine(model, device=device, half=half)


def _configuration(sizes: Sizes, *, positions: int) -> Any:
    return marian_configuration(
        vocab_size=sizes.vocab_size,
        d_model=sizes.d_model,
        d_ff=sizes.d_ff,
        num_heads=sizes.num_heads,
        encoder_layers=sizes.layers,
        decoder_layers=sizes.layers,
        positions=positions,
    )


def _engine(model: Any, *, device: str, half: bool) -> Engine:
    import torch
    import transformers

    parameters = sum(p.numel() for p in model.parameters() if p.requires_grad)
    model.to(device, torch.bfloat16 if half else torch.float32).eval()

    def decode(sources: list[list[int]], search: Search) -> list[list[int]]:
        found: dict[int, list[int]] = {}
        for places in batches(sources, search.batch):
            width = max(len(sources[place]) for place in places) + 1
            rows = [[*sources[place], END] for place in places]
            ids = torch.tensor([row + [PAD] * (width - len(row)) for row in rows], device=device)
            steps = search.forced_steps or width - 1 + search.max_extra_length + 1
            with torch.inference_mode():
                outputs = model.generate(
                    input_ids=ids,
                    attention_mask=(ids != PAD).long(),
                    num_beams=search.beam_size,
                    do_sample=False,
                    min_new_tokens=search.forced_steps or None,
                    max_new_tokens=steps,
                    length_penalty=search.length_penalty,
                    early_stopping=True,
                )
            for place, row in zip(places, outputs[:, 1:].tolist(), strict=True):
                found[place] = row if search.forced_steps else row[: row.index(END) + 1 if END in row else len(row)]
        return in_order(found)

    return Engine(parameters, {"transformers": transformers.__version__, "torch": torch.__version__}, decode)
