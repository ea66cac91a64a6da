"""docs/recipes.md: every command line runs, on small files under the names it uses, and the paper's are the paper's."""

from __future__ import annotations

import gzip
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest
from examples.grammar.corpus import pairs
from tests.doc_pages import DOCS, blocks_of, shell

from heedful.cli.main import main
from heedful.config import Config
from heedful.presets import resolve

ROOT = DOCS.parent
PAGE = (DOCS / "recipes.md").read_text(encoding="utf-8")
RECIPES = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, flags=re.DOTALL | re.MULTILINE))
EN_DE, EN_FR, G2P = (next(name for name in RECIPES if word in name) for word in ("German", "French", "Grapheme"))
TINY = {"d_model": 16, "d_ff": 16, "num_heads": 2, "encoder_layers": 1, "decoder_layers": 1}
SHORT = {"steps": 2, "validation_steps": 2, "samples": 0, "checkpoint_steps": 1, "average_last": 2}
FILE = re.compile(r"--(?:valid-)?(?:source|target|reference|exclude) ([\w./-]+)")


def commands_of(recipe: str) -> list[str]:
    """The command lines, each on one line."""
    text = "".join(block.commands for block in blocks_of(recipe))
    return [line.strip() for line in text.replace("\\\n", " ").splitlines()]


def without_launcher(command: str) -> str:
    """A command of torchrun as one process runs it; the number of processes does not change a run."""
    return re.sub(r"^torchrun .*? -m heedful", "heedful", command)


def shortened(command: str) -> list[str]:
    words = shlex.split(without_launcher(command))[1:]
    if words[0] == "train":
        changes = {f"model.{name}": value for name, value in TINY.items()}
        changes |= {f"training.{name}": value for name, value in SHORT.items()}
        words += [word for name, value in changes.items() for word in ("--set", f"{name}={value}")]
    if words[0] == "compare":
        words += ["--resamples", "20", "--trials", "20"]
    limits = {"evaluate": ["--resamples", "20", "--max-length", "8"], "attention": ["--max-length", "8"]}
    return [*words, *limits.get(words[0], [])]


def write_files(recipe: str, folder: Path) -> None:
    """Generated sentences in every file that a recipe names and does not make itself; no two files share a sentence."""
    commands = " ".join(commands_of(recipe))
    made = {*re.findall(r"> (\S+)", commands), *re.findall(r"--output(?:-file)? (\S+)", commands)}
    names = [name for name in dict.fromkeys(FILE.findall(commands)) if name not in made and not name.startswith("g2p/")]
    stems = list(dict.fromkeys(re.sub(r"\.(en|de|fr)(\.gz)?$", "", name) for name in names))
    generated = pairs(3, 900)
    for place, stem in enumerate(stems):
        size = 6 if "test" in stem or "valid" in stem else 120
        mine = generated[120 * place : 120 * place + size]
        for name in (name for name in names if name.startswith(f"{stem}.")):
            write(folder / name, (pair.english if ".en" in name else pair.german for pair in mine))
    if "card.md" in commands:
        write(folder / "card.md", ["# Generated sentences, English to German"])
    if "pairs.tsv" in commands:
        write(folder / "pairs.tsv", (f"{pair.english}\t{pair.german}" for pair in generated[:600]))


def write(path: Path, lines: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)


def run_here(words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code in (0, None), words


def model_before(recipe: str, folder: Path) -> None:
    """What "Fine-tuning" and others take for granted: the corpus and the model of the first recipe."""
    if not any(word.startswith("heedful prepare") and "--output corpus" in word for word in commands_of(recipe)):
        first = RECIPES["Translation, two files"]
        write_files(first, folder)
        for command in commands_of(first)[:1] + commands_of(first)[2:3]:
            run_here(shortened(command))
        if not re.findall(r"--init run\b|heedful (bundle|export) run\b", recipe):
            shutil.rmtree(folder / "run")


@pytest.mark.parametrize("name", [name for name in RECIPES if name != G2P])
def test_every_command_of_a_recipe_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    recipe = RECIPES[name]
    if "wmt14" not in recipe:
        model_before(recipe, tmp_path)
    write_files(recipe, tmp_path)
    for command in commands_of(recipe):
        if without_launcher(command).startswith("heedful "):
            run_here(shortened(command))
        else:
            subprocess.run(["bash", "-c", command], check=True, env=shell(tmp_path))
    assert commands_of(recipe)


def settings_of(command: str) -> Config:
    words = shlex.split(command)
    given = {name: [words[i + 1] for i, word in enumerate(words) if word == name] for name in ("--preset", "--set")}
    return resolve(name=given["--preset"][0], settings=given["--set"])


def test_the_wmt14_recipes_are_the_papers() -> None:
    """By Table 3 and sections 5 and 6.1: d_model, d_ff, heads, dropout, steps, averaged, and steps in ten minutes."""
    paper = {
        "base": (512, 2048, 8, 0.1, 100_000, 5, round(600 / 0.4)),
        "big": (1024, 4096, 16, 0.3, 300_000, 20, round(600 / 1.0)),
        "big-en-fr": (1024, 4096, 16, 0.1, 300_000, 20, round(600 / 1.0)),
    }
    trained = [line for name in (EN_DE, EN_FR) for line in commands_of(RECIPES[name]) if "heedful train" in line]
    assert len(trained) == 6
    for command in trained:
        config = settings_of(command)
        model, training, search = config.model, config.training, config.search
        preset = re.findall(r"--preset (\S+)", command)[0]
        found = (model.d_model, model.d_ff, model.num_heads, model.dropout, training.steps, training.average_last)
        assert (*found, training.checkpoint_steps) == paper[preset]
        assert (model.encoder_layers, model.decoder_layers, model.key_size, model.value_size) == (6, 6, 64, 64)
        assert (training.source_tokens, training.target_tokens, training.warmup_steps) == (25_000, 25_000, 4000)
        adam = (training.adam_beta1, training.adam_beta2, training.adam_epsilon, training.learning_rate_scale)
        assert adam == (0.9, 0.98, 1e-9, 1.0)
        assert (training.label_smoothing, training.checkpoint_minutes, training.micro_batches) == (0.1, 0, 8)
        assert (search.beam_size, search.length_penalty, search.max_extra_length) == (4, 0.6, 50)
        processes = re.findall(r"--nproc-per-node (\d+)", command)
        assert all(training.micro_batches % int(number) == 0 for number in processes)
    for name, size in ((EN_DE, "37000"), (EN_FR, "32000")):
        assert re.findall(r"--vocab-size (\d+)", RECIPES[name]) == [size]
        assert "--valid-source newstest2013.en" in RECIPES[name]


def test_one_gpu_and_eight_are_one_run() -> None:
    for name in (EN_DE, EN_FR):
        trained = [line for line in commands_of(RECIPES[name]) if "heedful train" in line]
        for one, eight in zip(trained[::2], trained[1::2], strict=True):
            assert "--nproc-per-node 8" in eight
            assert settings_of(one) == settings_of(without_launcher(eight))


def test_the_scripts_lines_are_the_recipes() -> None:
    script = (ROOT / "examples" / "g2p.sh").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [" ".join(line.split()) for line in script.replace('"$examples"', "examples").splitlines()]
    lines = [line.removesuffix(' "$@"').removeprefix("test -f g2p/train.letters || ") for line in lines]
    wanted = [" ".join(line.split()) for line in commands_of(RECIPES[G2P])]
    assert lines[-len(wanted) :] == wanted


@pytest.mark.long
def test_torchrun_takes_the_recipes_words(tmp_path: Path) -> None:
    """Two processes instead of eight; otherwise the line as it stands."""
    write_files(RECIPES[EN_DE], tmp_path)
    prepare, eight = (
        next(line for line in commands_of(RECIPES[EN_DE]) if line.startswith(word)) for word in ("heedful", "torchrun")
    )
    settings = " ".join(shortened(eight)[shortened(eight).index(f"model.d_model={TINY['d_model']}") - 1 :])
    two = eight.replace("--nproc-per-node 8", "--nproc-per-node 2")
    for command in (prepare, f"{two} {settings} --device cpu --threads 1"):
        result = subprocess.run(["bash", "-c", command], check=False, cwd=tmp_path, env=shell(tmp_path), timeout=300)
        assert result.returncode == 0
    assert (tmp_path / "base-8" / "averaged" / "model.safetensors").is_file()
