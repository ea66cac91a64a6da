"""A model for Hugging Face's transformers, where the paper's architecture is called Marian.

Its sinusoids are two halves, sines then cosines, where the paper's alternate. So the dimensions of everything that is
added to them, the residual stream, are put into the order evens, then odds: the same function with its coordinates
renamed. The files are plain JSON and safetensors; transformers is not needed to write them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor

from heedful.errors import ExportError
from heedful.export import NEVER, POSITIONS, export_folder, require_exportable
from heedful.files import write_json
from heedful.runs.models import SavedModel
from heedful.symbols import CONTROL_TOKENS, END, PAD, START
from heedful.text.subwords import FILE_NAME

_STORAGES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
_NORMS = {
    "encoder": ("self_attn_layer_norm", "final_layer_norm"),
    "decoder": ("self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm"),
}
_ATTENTIONS = {
    "encoder": {"self_attention": "self_attn"},
    "decoder": {"self_attention": "self_attn", "cross_attention": "encoder_attn"},
}
_CONTROL_IDS = {
    "pad_token_id": PAD,
    "bos_token_id": START,
    "eos_token_id": END,
    "decoder_start_token_id": START,
    "forced_eos_token_id": None,
}
_TOKENIZER_CONFIGURATION = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    **{f"{name}_token": CONTROL_TOKENS[id_] for name, id_ in (("pad", PAD), ("bos", START), ("eos", END))},
    "model_max_length": POSITIONS,
    "padding_side": "right",
    "clean_up_tokenization_spaces": False,
    "split_special_tokens": True,
}


def write_marian(saved: SavedModel, place: Path, *, storage: str = "float32", overwrite: bool = False) -> None:
    """Write a folder that `MarianMTModel.from_pretrained` reads."""
    require_exportable(saved, "Marian", storage=storage, storages=_STORAGES)
    if saved.config.model.positions != "sinusoidal":
        raise ExportError(f"{saved.run} has learned positions, and Marian's are sinusoids: export it to ctranslate2")
    if saved.model.source_embedding is not None:
        raise ExportError(f"{saved.run} has two vocabularies, and Marian's matrix is shared: export it to ctranslate2")
    weights = {name: value.to(_STORAGES[storage]).contiguous() for name, value in _marian_weights(saved).items()}
    search = saved.config.search
    generation = {"num_beams": search.beam_size, "length_penalty": search.length_penalty, "early_stopping": True}
    generation |= {"max_new_tokens": POSITIONS // 2, "do_sample": False, **_CONTROL_IDS}
    with export_folder(place, saved, engine="marian", overwrite=overwrite, positions=POSITIONS) as folder:
        (folder / "model.safetensors").write_bytes(save(weights, {"format": "pt"}))
        write_json(folder / "config.json", _configuration(saved, storage))
        write_json(folder / "generation_config.json", generation)
        write_json(folder / FILE_NAME, _tokenizer(saved))
        write_json(folder / "tokenizer_config.json", _TOKENIZER_CONFIGURATION)


def _marian_weights(saved: SavedModel) -> dict[str, Tensor]:
    """Our weights under Marian's names, residual dimensions reordered."""
    ours, d = saved.model.state_dict(), saved.config.model.d_model
    order = torch.cat([torch.arange(0, d, 2), torch.arange(1, d, 2)])
    embedding = ours["embedding.weight"]
    bias = torch.zeros(1, len(embedding))
    bias[0, [PAD, START]] = NEVER
    theirs = {"model.shared.weight": embedding[:, order], "final_logits_bias": bias}
    counts = {"encoder": saved.config.model.encoder_layers, "decoder": saved.config.model.decoder_layers}
    for side, count in counts.items():
        for number in range(count):
            here, there = f"{side}.layers.{number}", f"model.{side}.layers.{number}"
            for name, their_name in _ATTENTIONS[side].items():
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
                for place, their_name in enumerate(_NORMS[side], start=1):
                    theirs[f"{there}.{their_name}.{kind}"] = ours[f"{here}.add_and_norm_{place}.norm.{kind}"][order]
    return theirs


def _configuration(saved: SavedModel, storage: str) -> dict[str, Any]:
    model = saved.config.model
    return {
        "architectures": ["MarianMTModel"],
        "model_type": "marian",
        "vocab_size": saved.target_subwords.vocab_size,
        "d_model": model.d_model,
        "encoder_layers": model.encoder_layers,
        "decoder_layers": model.decoder_layers,
        **{f"{side}_attention_heads": model.num_heads for side in _NORMS},
        **{f"{side}_ffn_dim": model.d_ff for side in _NORMS},
        "activation_function": "relu",
        "dropout": model.dropout,
        "attention_dropout": model.attention_dropout,
        "activation_dropout": 0.0,
        "scale_embedding": True,
        "static_position_embeddings": True,
        "normalize_before": False,
        "share_encoder_decoder_embeddings": True,
        "tie_word_embeddings": True,
        "max_position_embeddings": POSITIONS,
        "is_encoder_decoder": True,
        "torch_dtype": storage,
        **_CONTROL_IDS,
    }


def _tokenizer(saved: SavedModel) -> dict[str, Any]:
    """Our vocabulary file, which also closes each text with the end symbol."""
    end = CONTROL_TOKENS[END]
    whole = [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": end, "type_id": 0}}]
    pair = [*whole[:1], {"Sequence": {"id": "B", "type_id": 0}}, *whole[1:]]
    closing = {"type": "TemplateProcessing", "single": whole, "pair": pair}
    closing["special_tokens"] = {end: {"id": end, "ids": [END], "tokens": [end]}}
    return {**json.loads(saved.source_subwords.file_text), "post_processor": closing}
