"""``heedful export``: another engine computes the same numbers, and its folder says how it is used."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ctranslate2
import numpy as np
import pytest
import torch
from safetensors.numpy import load_file as load_arrays
from safetensors.numpy import save_file
from safetensors.torch import load_file
from tests.commands import run_here
from tests.system.test_bundled_models import PINNED
from tests.training_toys import toy_sentences
from torch import Tensor
from torch.nn import functional as F

from heedful import Config, ModelConfig, Transformer
from heedful.errors import CheckpointError, ExportError
from heedful.export.ctranslate2_model import write_ctranslate2
from heedful.export.marian_model import write_marian
from heedful.files import sha256
from heedful.model.embeddings import positional_encoding
from heedful.runs.descriptions import read_state, write_state
from heedful.runs.folder import bundled_models
from heedful.runs.saved import SavedModel, known_model
from heedful.symbols import END, PAD, START
from heedful.text.subwords import Subwords

LINES = [" ".join(words) for words in toy_sentences(60, seed=5)]
SIZES: dict[str, Any] = {"d_model": 32, "d_ff": 48, "num_heads": 4, "encoder_layers": 3, "decoder_layers": 2}
VARIANTS = {"plain": {}, "learned positions": {"positions": "learned", "max_positions": 64}, "two vocabularies": {}}
NAME = "en-de-small"
WIDE = "encoder.layers.0.feed_forward.w_1.weight"


def saved(*, two: bool = False, **changes: Any) -> SavedModel:
    """A model of random weights: each number of its output depends on all of them."""
    model_config = ModelConfig(**{**SIZES, **changes})
    source = target = Subwords.train(LINES, vocab_size=300)
    if two:
        source = Subwords.train(LINES[:30], vocab_size=280)
    torch.manual_seed(1)
    model = Transformer(
        model_config, vocab_size=target.vocab_size, source_vocab_size=source.vocab_size if two else None
    )
    with torch.no_grad():
        for value in model.parameters():
            value.add_(torch.randn_like(value) * 0.1)  # biases and norms must not be what they begin with
    # An export does not ask where its model comes from.
    known: Any = SimpleNamespace(config=Config(model=model_config))
    made = SavedModel(Path("run"), Path("run"), 7, known, source, target)
    vars(made)["model"] = model.eval()  # as if it had been read
    return made


def log_probabilities(model: SavedModel, source: str, target: str) -> Tensor:
    """Of each subword of the target and of the end, where START and PAD are no answers."""
    ids = model.source_subwords.encode([source])[0].tolist()
    words = model.target_subwords.encode([target])[0].tolist()
    with torch.no_grad():
        logits = model.model(torch.tensor([[*ids, END]]), torch.tensor([[START, *words]]))[0]
    logits[:, [PAD, START]] = -torch.inf
    return logits.log_softmax(-1)[range(len(words) + 1), [*words, END]]


@pytest.mark.parametrize("variant", VARIANTS)
def test_ctranslate2_computes_the_same_numbers(variant: str, tmp_path: Path) -> None:
    model = saved(two=variant == "two vocabularies", **VARIANTS[variant])
    write_ctranslate2(model, tmp_path / "engine")
    write_ctranslate2(model, tmp_path / "engine", overwrite=True)  # every file of it is known to be ours
    translator = ctranslate2.Translator(str(tmp_path / "engine"), inter_threads=1, intra_threads=1)

    def named(words: Subwords, text: str) -> list[str]:
        return [words.tokens[id_] for id_ in words.encode([text])[0]]

    pairs = list(zip(LINES[:20], LINES[20:40], strict=True))
    sources = [named(model.source_subwords, source) for source, _ in pairs]
    targets = [named(model.target_subwords, target) for _, target in pairs]
    found = translator.score_batch(sources, targets)
    for (source, target), scored in zip(pairs, found, strict=True):
        expected = log_probabilities(model, source, target)
        torch.testing.assert_close(torch.tensor(scored.log_probs), expected, rtol=0, atol=2e-4)


def test_a_smaller_one_is_near(tmp_path: Path) -> None:
    model = saved()
    write_ctranslate2(model, tmp_path / "engine")
    write_ctranslate2(model, tmp_path / "small", storage="int8")
    large, small = ((tmp_path / name / "model.bin").stat().st_size for name in ("engine", "small"))
    assert small < 0.7 * large  # most of so small a model is its tables of positions
    tokens = [model.source_subwords.tokens[id_] for id_ in model.source_subwords.encode(LINES[:1])[0]]
    sums = [
        sum(ctranslate2.Translator(str(tmp_path / name)).score_batch([tokens], [tokens])[0].log_probs)
        for name in ("engine", "small")
    ]
    assert sums[0] == pytest.approx(sums[1], rel=0.05)
    torch.testing.assert_close(sums[0], float(log_probabilities(model, LINES[0], LINES[0]).sum()), rtol=0, atol=1e-3)


def marian_logits(weights: dict[str, Tensor], config: dict[str, Any], source: Tensor, target: Tensor) -> Tensor:
    """What Marian computes, written down anew: post-norm layers, and sinusoids in two halves."""
    d, heads = config["d_model"], config["encoder_attention_heads"]

    def embedded(ids: Tensor) -> Tensor:
        angles = torch.arange(len(ids))[:, None] / 10000 ** (torch.arange(0, d, 2) / d)
        return weights["model.shared.weight"][ids] * d**0.5 + torch.cat([angles.sin(), angles.cos()], -1)

    def linear(x: Tensor, name: str) -> Tensor:
        return F.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])

    def norm(x: Tensor, name: str) -> Tensor:
        return F.layer_norm(x, (d,), weights[f"{name}.weight"], weights[f"{name}.bias"])

    def attend(x: Tensor, y: Tensor, name: str, *, causal: bool = False) -> Tensor:
        q, k, v = (
            linear(z, f"{name}.{letter}_proj").view(len(z), heads, -1).transpose(0, 1)
            for letter, z in (("q", x), ("k", y), ("v", y))
        )
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        return linear(mixed.transpose(0, 1).reshape(len(x), d), f"{name}.out_proj")

    def feed_forward(x: Tensor, name: str) -> Tensor:
        return norm(x + linear(linear(x, f"{name}.fc1").relu(), f"{name}.fc2"), f"{name}.final_layer_norm")

    memory, x = embedded(source), embedded(target)
    for number in range(config["encoder_layers"]):
        name = f"model.encoder.layers.{number}"
        memory = norm(memory + attend(memory, memory, f"{name}.self_attn"), f"{name}.self_attn_layer_norm")
        memory = feed_forward(memory, name)
    for number in range(config["decoder_layers"]):
        name = f"model.decoder.layers.{number}"
        x = norm(x + attend(x, x, f"{name}.self_attn", causal=True), f"{name}.self_attn_layer_norm")
        x = norm(x + attend(x, memory, f"{name}.encoder_attn"), f"{name}.encoder_attn_layer_norm")
        x = feed_forward(x, name)
    return x @ weights["model.shared.weight"].T + weights["final_logits_bias"]


def test_what_marian_computes_is_the_same(tmp_path: Path) -> None:
    model = saved()
    write_marian(model, tmp_path / "engine")
    weights, config = load_file(tmp_path / "engine" / "model.safetensors"), _json(tmp_path / "engine" / "config.json")
    source, target = torch.tensor([20, 40, 60, END]), torch.tensor([START, 70, 80, 90, 30])
    with torch.no_grad():
        expected = model.model(source[None], target[None])[0]
        found = marian_logits(weights, config, source, target)
    assert (found[:, [PAD, START]] < -1000).all()
    torch.testing.assert_close(found[:, END:], expected[:, END:], rtol=1e-4, atol=1e-4)


@pytest.mark.skipif(importlib.util.find_spec("transformers") is None, reason="transformers is not installed")
def test_transformers_says_what_the_model_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, errors = run_here(capsys, "export", NAME, "--to", "marian", "--output", tmp_path / "engine")
    assert (code, errors) == (0, "")
    sentence, translation = next(iter(PINNED[NAME].sentences.items()))
    assert used(tmp_path / "engine", sentence) == translation


def test_ctranslate2_says_what_the_model_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("export", NAME, "--to", "ctranslate2", "--output", tmp_path / "engine", "--json")
    code, out, errors = run_here(capsys, *words)
    assert (code, errors) == (0, "")
    facts = json.loads(out)
    assert facts["bytes"] == sum(path.stat().st_size for path in (tmp_path / "engine").iterdir())
    for sentence, translation in list(PINNED[NAME].sentences.items())[:3]:
        assert used(tmp_path / "engine", sentence) == translation


def used(folder: Path, sentence: str) -> str:
    """What the lines of Python in a folder's README.md print for a sentence."""
    (code,) = re.findall(r"```python\n(.*?)```", (folder / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    assert "A sentence to translate." in code
    code = code.replace("A sentence to translate.", sentence)
    done = subprocess.run([sys.executable, "-c", code], check=True, cwd=folder, capture_output=True, text=True)
    return done.stdout.strip()


def test_what_an_engine_does_not_know_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "engine"
    with pytest.raises(ExportError, match="keys of 4 and values of 8: CTranslate2 knows only d_model / num_heads"):
        write_ctranslate2(saved(d_k=4), place)
    with pytest.raises(ExportError, match="restricted self-attention"):
        write_marian(saved(neighbourhood=4), place)
    with pytest.raises(ExportError, match="learned positions, and Marian's are sinusoids: export it to ctranslate2"):
        write_marian(saved(positions="learned", max_positions=64), place)
    with pytest.raises(ExportError, match="two vocabularies"):
        write_marian(saved(two=True), place)
    with pytest.raises(ExportError, match="--storage int8: for Marian it must be one of float32, float16, bfloat16"):
        write_marian(saved(), place, storage="int8")
    with pytest.raises(ExportError, match="--storage int4: for CTranslate2 it must be one of float32, int8"):
        write_ctranslate2(saved(), place, storage="int4")
    assert not place.exists()


def test_nothing_is_lost_to_an_export(tmp_path: Path) -> None:
    place = tmp_path / "engine"
    write_marian(saved(), place)
    before = (place / "model.safetensors").read_bytes()
    with pytest.raises(ExportError, match="is there already: give another folder, or --overwrite to replace it"):
        write_marian(saved(), place)
    write_marian(saved(encoder_layers=1), place, overwrite=True)
    assert len((place / "model.safetensors").read_bytes()) < len(before)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "diary.txt").write_text("dear diary")
    with pytest.raises(ExportError, match="is not an export, and only exports are overwritten"):
        write_marian(saved(), tmp_path / "mine", overwrite=True)
    assert (tmp_path / "mine" / "diary.txt").read_text() == "dear diary"
    (place / "notes.txt").write_text("mine")
    with pytest.raises(ExportError, match=r"holds notes.txt beside the export, and replacing it would remove that too"):
        write_marian(saved(), place, overwrite=True)
    assert (place / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("write", [write_ctranslate2, write_marian])
def test_a_model_that_has_broken_down_is_refused(write: Any, tmp_path: Path) -> None:
    model = saved()
    with torch.no_grad():
        model.model.state_dict()["encoder.layers.1.feed_forward.w_1.weight"][3, 4] = torch.nan
    with pytest.raises(CheckpointError, match=r"1.feed_forward.w_1.weight holds weights that are not numbers"):
        write(model, tmp_path / "engine")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (".", "is or holds the folder that you are in, and cannot be replaced: give a new one"),
        ("/", "is or holds the folder that you are in, and cannot be replaced: give a new one"),
        ("x" * 300, "cannot be written: File name too long"),
        ("mine/below", "cannot be made: "),
    ],
)
def test_a_place_that_cannot_be_an_export_is_named(
    place: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine").write_text("mine")
    with pytest.raises(ExportError, match=message):
        write_marian(saved(), Path(place), overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_the_benchmarks_can_write_models_without_torch() -> None:
    code = "import sys; sys.modules.update(torch=None, tokenizers=None, safetensors=None)\n"
    code += "from heedful.export.ctranslate2_model import model_variables, write_model, write_vocabularies"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("storage", ["float32", "float16", "bfloat16"])
def test_each_array_is_there_in_the_type_that_was_asked_for(storage: str, tmp_path: Path) -> None:
    model = saved()
    write_ctranslate2(model, tmp_path / "engine", storage=storage)
    written = (tmp_path / "engine" / "model.bin").read_bytes()
    for name, value in model.model.state_dict().items():
        if "cross_attention.w_qkv" in name:  # which is two there
            continue
        stored = value.to(getattr(torch, storage)).view(torch.uint8).numpy().tobytes()
        assert stored in written, name
    table = positional_encoding(1024, SIZES["d_model"]).to(getattr(torch, storage))
    assert table.view(torch.uint8).numpy().tobytes() in written


def test_a_bundle_that_is_not_what_it_says_is_refused(tmp_path: Path) -> None:
    """Its numbers go to the engine as they are: no array of another shape or type may get there."""

    def shorten(arrays: dict[str, np.ndarray]) -> None:
        for name in (WIDE, f"{WIDE}/scale"):
            arrays[name] = arrays[name][:-1]

    spoiled = {
        "fewer rows": shorten,
        "no scale": lambda arrays: arrays.pop(f"{WIDE}/scale"),
        "not a number": lambda arrays: arrays[f"{WIDE}/scale"].fill(np.nan),
        "missing": lambda arrays: arrays.pop(WIDE),
    }
    for place, spoil in spoiled.items():
        bundle = shutil.copytree(bundled_models()[NAME], tmp_path / place)
        folder, file = bundle / "averaged", bundle / "averaged" / "model.safetensors"
        arrays = load_arrays(file)
        spoil(arrays)
        save_file(arrays, file)
        write_state(folder, replace(read_state(folder), files={file.name: sha256(file)}))
        with pytest.raises(CheckpointError):
            write_ctranslate2(known_model(bundle), tmp_path / "engine", storage="int8")
        assert not (tmp_path / "engine").exists()


def test_mistakes_say_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, errors = run_here(capsys, "export", NAME, "--to", "onnx", "--output", tmp_path / "engine")
    assert (code, errors) == (2, "error: --to onnx: must be ctranslate2 or marian\n")


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
