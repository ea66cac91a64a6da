"""Eole 0.6.4: its EncoderDecoderModel and Translator.

It normalises before each sub-layer, and so has one norm more at the end of each stack. It says that its compiled
operations and flash-attn are absent; both are for CUDA.
"""

from __future__ import annotations

from typing import Any

from rivals.engine import Engine, Search, Sizes, batches, in_order
from rivals.stand_ins import install_stand_ins
from rivals.training import plain_words

SPECIALS = {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}


def build(sizes: Sizes, *, device: str, half: bool) -> Engine:
    import torch

    install_stand_ins()
    import eole  # pyright: ignore[reportMissingImports]
    from eole.config.run import PredictConfig  # pyright: ignore[reportMissingImports]
    from eole.models.model import EncoderDecoderModel  # pyright: ignore[reportMissingImports]
    from eole.predict import GNMTGlobalScorer, Translator  # pyright: ignore[reportMissingImports]

    torch.manual_seed(1)
    shape, vocabularies = eole_configuration(sizes), _vocabularies(sizes)
    dtype = torch.bfloat16 if half else torch.float32
    running: dict[str, Any] = {"model_path": "none", "src": "none", "model": shape, "n_best": 1, "fuse_kvq": True}
    running |= {"compute_dtype": dtype, "self_attn_backend": "pytorch"}
    model = EncoderDecoderModel.build(shape, vocabularies, PredictConfig(**running))
    fill_parameters(model)
    parameters = sum(p.numel() for p in model.parameters())
    model.to(device, dtype).eval()
    made: dict[Search, Any] = {}

    def translator(search: Search) -> Any:
        if search not in made:
            lengths = {"min_length": search.forced_steps, "max_length": search.forced_steps, "max_length_ratio": 0}
            config = PredictConfig(**running, **lengths, beam_size=search.beam_size, batch_size=search.batch)
            scorer = GNMTGlobalScorer.from_config(config)
            where = -1 if device == "cpu" else 0
            made[search] = Translator(model, vocabularies, config, shape, device_id=where, global_scorer=scorer)
            running["fuse_kvq"] = False  # done once, in the model itself
        return made[search]

    def decode(sources: list[list[int]], search: Search) -> list[list[int]]:
        found: dict[int, list[int]] = {}
        for places in batches(sources, search.batch):
            rows = [[*sources[place], vocabularies["src"]["</s>"]] for place in places]
            batch = {"src": torch.tensor(rows, device=device)}
            batch["srclen"] = torch.tensor([len(row) for row in rows], device=device)
            result = translator(search).predict_batch(batch, attn_debug=False)
            for place, hypotheses in zip(places, result["predictions"], strict=True):
                found[place] = hypotheses[0].tolist()
        return in_order(found)

    return Engine(parameters, {"eole": eole.__version__, "torch": torch.__version__}, decode)


def eole_configuration(sizes: Sizes) -> Any:
    from eole.config.models import TransformerModelConfig  # pyright: ignore[reportMissingImports]

    return TransformerModelConfig(
        hidden_size=sizes.d_model,
        layers=sizes.layers,
        heads=sizes.num_heads,
        transformer_ff=sizes.d_ff,
        add_qkvbias=True,
        add_ffnbias=True,
        share_embeddings=True,
        share_decoder_embeddings=True,
        embeddings={
            "word_vec_size": sizes.d_model,
            "position_encoding": True,
            "position_encoding_type": "SinusoidalInterleaved",
        },
    )


def fill_parameters(model: Any) -> None:
    """Give every parameter a value: it leaves them as they were found in memory."""
    from torch.nn.init import constant_, xavier_uniform_

    for name, parameter in model.named_parameters():
        if parameter.dim() > 1:
            xavier_uniform_(parameter)
        else:
            constant_(parameter, 0.0 if name.endswith("bias") else 1.0)


class _Words(dict[str, int]):
    """A vocabulary with what its translator asks of one."""

    def lookup_token(self, word: str) -> int:
        return self.get(word, self[SPECIALS["unk_token"]])


def _vocabularies(sizes: Sizes) -> dict[str, Any]:
    shared = _Words(plain_words(sizes, list(SPECIALS.values())))
    return {"src": shared, "tgt": shared, "specials": SPECIALS, "decoder_start_token": "<s>"}
