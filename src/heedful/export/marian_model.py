"""A model for Hugging Face's transformers, where the paper's architecture is called Marian.

Its sinusoids are two halves, sines then cosines, where the paper's alternate. So the dimensions of everything that is
added to them, the residual stream, are put into the order evens, then odds: the same function with its coordinates
renamed. The files are plain JSON and safetensors; transformers is not needed to write them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from tokenizers import Tokenizer, processors
from torch import Tensor

from heedful.errors import ExportError
from heedful.export import NEVER, POSITIONS, export_folder, require_exportable
from heedful.files import write_json
from heedful.runs.checkpoints import require_finite
from heedful.runs.saved import SavedModel
from heedful.symbols import CONTROL_TOKENS, END, PAD, START
from heedful.text.subwords import FILE_NAME

_STORAGES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
_NAMES = {
    "self_attention": "self_attn",
    "cross_attention": "encoder_attn",
    "w_o": "out_proj",
    "feed_forward.w_1": "fc1",
    "feed_forward.w_2": "fc2",
    "add_and_norm_1.norm": "self_attn_layer_norm",
}
_LATER_NORMS = {
    "encoder": {"add_and_norm_2.norm": "final_layer_norm"},
    "decoder": {"add_and_norm_2.norm": "encoder_attn_layer_norm", "add_and_norm_3.norm": "final_layer_norm"},
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
    require_finite(saved.model.state_dict(), where=str(saved.weights_from))
    weights = {name: value.to(_STORAGES[storage]).contiguous() for name, value in _marian_weights(saved).items()}
    search = saved.config.search
    generation = {"num_beams": search.beam_size, "length_penalty": search.length_penalty, "early_stopping": True}
    generation |= {"max_new_tokens": POSITIONS // 2, "do_sample": False, **_CONTROL_IDS}
    with export_folder(place, saved, engine="marian", overwrite=overwrite, positions=POSITIONS) as folder:
        (folder / "model.safetensors").write_bytes(save(weights, {"format": "pt"}))
        write_json(folder / "config.json", _configuration(saved, storage))
        write_json(folder / "generation_config.json", generation)
        (folder / FILE_NAME).write_text(_tokenizer(saved), encoding="utf-8")
        write_json(folder / "tokenizer_config.json", _TOKENIZER_CONFIGURATION)


def _marian_weights(saved: SavedModel) -> dict[str, Tensor]:
    """Our weights under Marian's names, residual dimensions reordered."""
    ours, d = saved.model.state_dict(), saved.config.model.d_model
    order = torch.cat([torch.arange(0, d, 2), torch.arange(1, d, 2)])
    embedding = ours.pop("embedding.weight")
    bias = torch.zeros(1, len(embedding))
    bias[0, [PAD, START, *saved.target_subwords.tags.values()]] = NEVER
    theirs = {"model.shared.weight": embedding[:, order], "final_logits_bias": bias}
    for name, value in ours.items():
        place, kind = f"model.{name}".rsplit(".", 1)
        for our_name, their_name in {**_NAMES, **_LATER_NORMS[name.split(".")[0]]}.items():
            place = place.replace(our_name, their_name)
        if not place.endswith(("w_qkv", "fc1")):  # these read the residual stream, all others write it
            value = value[order]
        elif kind == "weight":
            value = value[:, order]
        if place.endswith("w_qkv"):
            projections = zip("qkv", value.split(d), strict=True)
            theirs |= {f"{place[: -len('w_qkv')]}{letter}_proj.{kind}": third for letter, third in projections}
        else:
            theirs[f"{place}.{kind}"] = value
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
        **{f"{side}_attention_heads": model.num_heads for side in _LATER_NORMS},
        **{f"{side}_ffn_dim": model.d_ff for side in _LATER_NORMS},
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


def _tokenizer(saved: SavedModel) -> str:
    """Our vocabulary file, which also closes each text with the end symbol."""
    tokenizer, end = Tokenizer.from_str(saved.source_subwords.file_text), CONTROL_TOKENS[END]
    closing = processors.TemplateProcessing(single=f"$A {end}", pair=f"$A $B {end}", special_tokens=[(end, END)])
    tokenizer.post_processor = closing  # pyright: ignore[reportAttributeAccessIssue]
    return tokenizer.to_str()
