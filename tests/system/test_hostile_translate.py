"""What a user may give to translate, score, attention, evaluate and compare, and what must then not happen."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file
from tests.commands import run_here
from tests.trained_toys import train_toy
from tests.training_toys import toy_sentences

import heedful
from heedful.errors import SearchError
from heedful.evaluation.alignments import words_of
from heedful.files import sha256
from heedful.runs.descriptions import read_state, write_state
from heedful.text.sentences import cut
from heedful.translation import translator as translator_module
from heedful.translation.lines import Translation

LINES = [" ".join(words) for words in toy_sentences(12, seed=5)]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_toy(tmp_path_factory.mktemp("toy"))


@pytest.fixture(scope="module")
def translator(model: Path) -> heedful.Translator:
    return heedful.load(model, device="cpu", precision="float64")


@pytest.fixture(scope="module")
def german() -> heedful.Translator:
    return heedful.load("en-de-small", device="cpu")


OPTIONS = [
    (["--greedy", "--n-best", "3"], "--n-best 3: greedy search finds one output"),
    (["--greedy", "--beam-size", "3"], "--beam-size 3: greedy search has one beam"),
    (["--greedy", "--sample"], "--greedy and --sample exclude each other"),
    (["--greedy", "--stop", "enough"], "--stop enough: for beam search alone"),
    (["--drafts", "2"], "--drafts 2: for greedy search alone, and this is beam search, where beams"),
    (["--sample", "--drafts", "2"], "--drafts 2: for greedy search alone, and this is sample search"),
    (["--greedy", "--drafts", "17"], "--drafts 17: must be at least 0 and at most 16"),
    (["--temperature", "0.5"], "--temperature 0.5: for samples alone, and this is beam search"),
    (["--temperature", "1"], "--temperature 1.0: for samples alone"),
    (["--top-k", "5"], "--top-k 5: for samples alone"),
    (["--top-p", "0.5", "--greedy"], "--top-p 0.5: for samples alone, and this is greedy search"),
    (["--seed", "7"], "--seed 7: for samples alone"),
    (["--n-best", "5", "--beam-size", "2"], "--n-best 5: must be at most --beam-size 2"),
    (["--sample", "--n-best", "5", "--beam-size", "2"], "--n-best 5: must be at most --beam-size 2"),
    (["--min-length", "9", "--max-length", "3"], "--min-length 9 is above --max-length 3"),
    (["--max-length", "9", "--max-extra-length", "3"], "--max-extra-length 3: --max-length says"),
    (["--alignment-layer", "1"], "--alignment-layer 1: for --alignment alone"),
    (["--beam-size", "0"], "--beam-size 0: must be at least 1"),
    (["--beam-size", "-1"], "--beam-size -1: must be at least 1"),
    (["--beam-size", "1.5"], "--beam-size 1.5: must be a whole number"),
    (["--beam-size", "1000000000"], "--beam-size 1000000000: must be at least 1 and at most 10,000"),
    (["--n-best", "0"], "--n-best 0"),
    (["--n-best", "1e9"], "--n-best 1e9"),
    (["--batch-size", "-1"], "--batch-size -1"),
    (["--batch-size", "2.5"], "--batch-size 2.5"),
    (["--threads", "-7"], "--threads -7"),
    (["--threads", "0"], "--threads 0"),
    (["--max-length", "1000000000"], "--max-length 1000000000: must be at least 0 and at most 1,000,000"),
    (["--max-length", "-1"], "--max-length -1"),
    (["--min-length", "1e12"], "--min-length 1e12"),
    (["--max-extra-length", "nan"], "--max-extra-length nan"),
    (["--length-penalty", "100"], "--length-penalty 100: must be at least 0 and at most 10"),
    (["--length-penalty", "nan"], "--length-penalty nan"),
    (["--sample", "--temperature", "inf"], "--temperature inf"),
    (["--sample", "--temperature", "0"], "--temperature 0"),
    (["--sample", "--top-p", "0"], "--top-p 0"),
    (["--sample", "--top-k", "-3"], "--top-k -3"),
    (["--sample", "--seed", "-1"], "--seed -1"),
    (["--stop", "never"], "--stop"),
    (["--forbid", " "], "--forbid: an empty text"),
    (["--forbid", "\udcff"], "a lone surrogate"),
    (["--prefix", "ba\tde"], "the prefix 'ba\\tde' holds '\\t'"),
    (["--prefix", "ba\nde"], "a translation is one line of text"),
    (["--prefix", "ba de", "--forbid", "ba"], "the prefix holds a text that is forbidden"),
]


@pytest.mark.parametrize(
    ("arguments", "says"), OPTIONS, ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else ""
)
def test_an_option_that_cannot_be_honoured_is_named(
    model: Path, arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, errors = run_here(capsys, "translate", "--model", model, "ba de", *arguments)
    assert (code, out) == (2, ""), errors
    assert says in errors
    assert "broke down" not in errors


def test_what_does_not_fit_in_memory_is_refused_with_its_figure(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("translate", "--model", model, "ba", "--max-length", "1000000", "--beam-size", "10000")
    code, out, errors = run_here(capsys, *arguments)
    assert (code, out) == (2, "")
    assert "GiB of memory, and" in errors


def test_a_device_and_a_pipe_are_written_to_and_never_replaced(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    _, expected, _ = run_here(capsys, "translate", "--model", model, "ba de")
    for overwrite in ((), ("--overwrite",)):
        if overwrite:
            reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
            reader.start()
        assert run_here(capsys, "translate", "--model", model, "ba de", "--output", pipe, *overwrite)[0] == 0
        reader.join(timeout=30)
    assert read == [expected, expected]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]
    link = tmp_path / "null"
    link.symlink_to("/dev/null")
    assert run_here(capsys, "translate", "--model", model, "ba de", "--output", link, "--overwrite")[0] == 0
    assert run_here(capsys, "attention", "--model", model, "ba de", "--output", link, "--overwrite")[0] == 0
    assert link.is_symlink()
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_files_beside_the_output_stay(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "g.writing").write_text("mine")
    assert run_here(capsys, "translate", "--model", model, "ba de", "--output", tmp_path / "g")[0] == 0
    assert {path.name for path in tmp_path.iterdir()} == {"g", "g.writing"}
    assert (tmp_path / "g.writing").read_text() == "mine"


def test_a_long_sentence_among_many_lines_loses_none_of_them(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translator_module, "MOST_SOURCE_TOKENS", 16)
    lines = [*LINES[:7], " ".join(LINES), *LINES[7:]]
    (tmp_path / "f").write_text("".join(f"{line}\n" for line in lines))
    arguments = ("--input", tmp_path / "f", "--output", tmp_path / "g", "--quiet", "--max-length", "20")
    code, _, errors = run_here(capsys, "translate", "--model", model, *arguments)
    assert code == 0
    assert errors.count("\n") == 1
    assert errors.startswith("line 8: a sentence of more than 16 subwords has no full stop to cut it at")
    assert len((tmp_path / "g").read_text().splitlines()) == len(lines)


@pytest.mark.parametrize(
    "line", ["One two three four. Five six", "seven" * 9, "犬。猫。" * 9, "a b " * 40, "x" * 30 + " y"]
)
def test_a_line_is_cut_into_parts_that_fit_and_lose_nothing(line: str) -> None:
    spans = cut(line, range(1, len(line) + 1), most=12)  # one subword a character
    assert "".join(line[begin:end] for begin, end, _ in spans).strip() == line.strip()
    assert all(len(line[begin:end].strip()) <= 12 for begin, end, _ in spans)


def test_pipes_are_scored(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = {"s": "".join(f"{line}\n" for line in LINES[:3]), "t": "ba\nde\nba de\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        os.mkfifo(tmp_path / f"{name}.pipe")
        threading.Thread(target=(tmp_path / f"{name}.pipe").write_text, args=(text,), daemon=True).start()
    files, pipes = (
        run_here(capsys, "score", "--model", model, "--source", tmp_path / f"s{end}", "--target", tmp_path / f"t{end}")
        for end in ("", ".pipe")
    )
    assert files[0] == pipes[0] == 0
    assert files[1] == pipes[1]
    assert len(files[1].splitlines()) == 3


def test_a_line_that_is_too_long_to_score_is_named_after_those_before_it(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translator_module, "MOST_READ_TOKENS", 40)
    (tmp_path / "s").write_text("ba\nde\n" + "ba " * 60 + "\nba\n")
    (tmp_path / "t").write_text("ba\nde\nba\nba\n")
    code, out, errors = run_here(
        capsys, "score", "--model", model, "--source", tmp_path / "s", "--target", tmp_path / "t", "--quiet"
    )
    assert code == 2
    assert len(out.splitlines()) == 2
    assert "line 3 has 61 subwords, its end included; at most 40 can be scored" in errors


def test_the_attention_of_a_very_long_target_is_refused_with_its_figure(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, errors = run_here(capsys, "attention", "--model", model, "ba", "--target", "ba " * 20_000, "--json")
    assert code == 2
    assert "the translation has 20,001 subwords" in errors
    assert "GiB; at most 1,024 can be shown" in errors


def test_a_line_cut_into_parts_has_the_alignments_of_its_parts(
    translator: heedful.Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    encode = translator.saved.source_subwords.encode
    sentences = sorted((f"{line}." for line in LINES), key=lambda line: len(encode([line])[0]))[-4:]
    options = replace(translator.options, min_length=3, max_length=12)
    apart = [best[0] for best in translator.hypotheses(sentences, options)]
    links: list[str] = []
    source_begin = target_begin = 0
    for sentence, translation in zip(sentences, apart, strict=True):
        (own,) = translator.alignments(sentence, [translation])
        pairs = (map(int, link.split("-")) for link in own.split())
        links += [f"{source + source_begin}-{target + target_begin}" for source, target in pairs]
        source_begin += len(sentence.split())
        target_begin += len(words_of(translator.saved.target_subwords.pieces(translation.ids)))
    monkeypatch.setattr(translator_module, "MOST_SOURCE_TOKENS", len(encode([sentences[-1]])[0]))
    line = " ".join(sentences)
    (best,) = next(iter(translator.hypotheses([line], options)))
    assert len(best.parts) == 4
    assert translator.alignments(line, [best]) == [" ".join(links)]


def test_a_word_that_is_cut_in_two_is_one_word_of_the_alignment(
    translator: heedful.Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translator_module, "MOST_SOURCE_TOKENS", 8)
    options = replace(translator.options, min_length=2, max_length=6)
    line = "ba " + "bade" * 12 + " de"
    with pytest.warns(UserWarning, match="line 1: a sentence of more than 8 subwords"):
        (best,) = next(iter(translator.hypotheses([line], options)))
    (found,) = translator.alignments(line, [best])
    assert {int(link.split("-")[0]) for link in found.split()} <= {0, 1, 2}


@pytest.mark.parametrize("word", ["Hund", "Bahnhof", "ist", "."])
@pytest.mark.parametrize("method", ["beam", "greedy"])
def test_no_translation_holds_a_forbidden_word_however_it_is_spelled(
    german: heedful.Translator, word: str, method: str
) -> None:
    lines = ["The dog sleeps.", "Where is the next station?", "This is the dog, and he is at the station."]
    options = replace(german.options, method=method)
    assert any(word in found for found in german.translate(lines, options=options))
    for best in german.hypotheses(lines, german.forbidding([word], replace(options, n_best=1))):
        words = "".join(one if one.isalnum() else f" {one} " for one in best[0].text).split()
        assert word not in words, best[0].text


def test_a_forbidden_word_leaves_longer_words_alone(german: heedful.Translator) -> None:
    (plain,) = german.translate(["A hundred dogs."])
    assert "Hunde" in plain
    assert german.translate(["A hundred dogs."], options=german.forbidding(["Hund"])) == [plain]


def test_weights_that_are_not_numbers_say_so_and_forbidden_texts_say_so(translator: heedful.Translator) -> None:
    with pytest.raises(SearchError, match="are not numbers"):
        translator._require_some([], translator.options)
    with pytest.raises(SearchError, match="holds a forbidden text"):
        translator._require_some([], translator.forbidding(["ba"]))


def test_a_model_whose_weights_are_not_numbers_is_refused(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(model, broken)
    folder = broken / "averaged"
    weights = load_file(folder / "model.safetensors")
    weights["embedding.weight"][5, 0] = float("nan")
    save_file(weights, folder / "model.safetensors")
    state = read_state(folder)
    write_state(folder, replace(state, files={"model.safetensors": sha256(folder / "model.safetensors")}))
    (tmp_path / "text").write_text("ba de\n")
    files = ("--source", tmp_path / "text", "--target", tmp_path / "text")
    for command in (("translate", "ba"), ("score", *files), ("attention", "ba", "--target", "ba", "--json")):
        code, out, errors = run_here(capsys, *command, "--model", broken)
        assert (code, out) == (2, ""), command
        assert "embedding.weight holds weights that are not numbers" in errors


def test_options_that_have_nothing_to_act_on_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text("ba\n")
    files = ("--reference", tmp_path / "a", "--beam-size", "3")
    code, _, errors = run_here(capsys, "evaluate", "--hypothesis", tmp_path / "b", *files)
    assert code == 2
    assert "--beam-size: --hypothesis is there already" in errors
    code, _, errors = run_here(capsys, "compare", tmp_path / "a", tmp_path / "b", *files)
    assert code == 2
    assert "--beam-size: " in errors


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A standard input that was closed before the process began."""
    with monkeypatch.context() as patched, Path(os.devnull).open() as nothing:
        patched.setattr(sys, "stdin", nothing)
        yield


def test_without_standard_input_there_is_a_message(
    model: Path, closed: None, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, errors = run_here(capsys, "translate", "--model", model)
    assert code == 2
    assert "standard input is closed" in errors


def test_without_standard_output_nothing_is_done_in_vain(model: Path, tmp_path: Path) -> None:
    command = f"{sys.executable} -m heedful translate --model {model} ba >&-"
    done = subprocess.run(["bash", "-c", command], check=False, capture_output=True, text=True)
    assert done.returncode == 2
    assert "standard output is closed" in done.stderr


def test_the_parts_of_a_translation_are_its_subwords_in_their_order() -> None:
    assert Translation("x", 0.0, 0.0, ((1,), (2, 3, 4))).ids == (1, 2, 3, 4)
    assert Translation("", 0.0, 0.0, ()).ids == ()
