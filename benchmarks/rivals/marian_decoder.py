"""Hugging Face Marian: MarianMTModel.generate, with random weights or with ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rivals.engine import END, PAD, START, Engine, Search, Sizes, batches, in_order
from rivals.marian_configuration import marian_configuration

NEVER = -1e4
"""Added to the scores of the control ids that no output may hold."""


def build(sizes: Sizes, *, device: str, half: bool) -> Engine:
    import torch
    from transformers import MarianMTModel  # pyright: ignore[reportMissingImports]

    torch.manual_seed(1)
    return _engine(MarianMTModel(_configuration(sizes, positions=256)), device=device, half=half)


def load(folder: str, *, device: str, half: bool) -> Engine:
    """The weights of a heedful model: see `weights`."""
    from safetensors.torch import load_file
    from transformers import MarianMTModel  # pyright: ignore[reportMissingImports]

    description = json.loads((Path(folder) / "sizes.json").read_text())
    sizes = Sizes(**description["sizes"])
    model = MarianMTModel(_configuration(sizes, positions=description["positions"]))
    converted = weights(load_file(Path(folder) / "model.safetensors"), sizes)
    absent, unknown = model.load_state_dict(converted, strict=False)
    absent = [name for name in absent if not name.endswith(("embed_positions.weight", "lm_head.weight"))]
    assert not [*absent, *unknown], f"absent: {absent}; unknown: {unknown}"
    model.final_logits_bias[0, [PAD, START]] = NEVER
    return _engine(model, device=device, half=half)


def weights(ours: dict[str, Any], sizes: Sizes) -> dict[str, Any]:
    """Our weights under Marian's names.

    Marian's sinusoids are two halves, sines then cosines, ours alternate: so the dimensions of everything that is added
    to them, the residual stream, go in the order evens, then odds.
    """
    import torch

    d = sizes.d_model
    order = torch.cat([torch.arange(0, d, 2), torch.arange(1, d, 2)])
    embedding = ours["embedding.weight"][:, order]
    places = ("shared", "encoder.embed_tokens", "decoder.embed_tokens")
    theirs = {f"model.{place}.weight": embedding for place in places}
    theirs |= {"lm_head.weight": embedding, "final_logits_bias": torch.zeros(1, sizes.vocab_size)}
    norms = {"encoder": ["self_attn_layer_norm", "final_layer_norm"]}
    norms["decoder"] = ["self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm"]
    attentions = {"encoder": {"self_attention": "self_attn"}}
    attentions["decoder"] = {"self_attention": "self_attn", "cross_attention": "encoder_attn"}
    for side in ("encoder", "decoder"):
        for number in range(sizes.layers):
            here, there = f"{side}.layers.{number}", f"model.{side}.layers.{number}"
            for name, their_name in attentions[side].items():
                for kind in ("weight", "bias"):
                    thirds = ours[f"{here}.{name}.w_qkv.{kind}"].split(d)
                    for letter, third in zip("qkv", thirds, strict=True):
                        value = third[:, order] if kind == "weight" else third
                        theirs[f"{there}.{their_name}.{letter}_proj.{kind}"] = value
                    theirs[f"{there}.{their_name}.out_proj.{kind}"] = ours[f"{here}.{name}.w_o.{kind}"][order]
            theirs[f"{there}.fc1.weight"] = ours[f"{here}.feed_forward.w_1.weight"][:, order]
            theirs[f"{there}.fc1.bias"] = ours[f"{here}.feed_forward.w_1.bias"]
            for kind in ("weight", "bias"):
                theirs[f"{there}.fc2.{kind}"] = ours[f"{here}.feed_forward.w_2.{kind}"][order]
                for place, their_name in enumerate(norms[side], start=1):
                    theirs[f"{there}.{their_name}.{kind}"] = ours[f"{here}.add_and_norm_{place}.norm.{kind}"][order]
    return theirs


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
    import transformers  # pyright: ignore[reportMissingImports]

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
