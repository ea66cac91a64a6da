"""``heedful translate`` and ``heedful score`` as a user meets them, and the same through the library."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import pty
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.commands import run_here
from tests.trained_toys import train_toy
from tests.training_toys import toy_sentences

import heedful
from heedful.cli import terminal
from heedful.runs import folder as names
from heedful.runs.descriptions import Languages
from heedful.runs.saved import read_model
from heedful.search.options import SearchOptions
from heedful.text.carrying import Passage
from heedful.text.sentences import Layout
from heedful.translation import translator as translator_module
from heedful.translation.lines import Line, line_translations
from heedful.translation.translator import Translation

LINES = [" ".join(words) for words in toy_sentences(40, seed=77)]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_toy(tmp_path_factory.mktemp("toy"))


@pytest.fixture(scope="module")
def translator(model: Path) -> heedful.Translator:
    return heedful.load(model, device="cpu", precision="float64")


def run(*arguments: str | Path, given: str | bytes = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "heedful", *map(str, arguments)]
    data = given.encode() if isinstance(given, str) else given
    done = subprocess.run(command, check=False, capture_output=True, input=data, env={**os.environ, "COLUMNS": "200"})
    return subprocess.CompletedProcess(command, done.returncode, done.stdout.decode(), done.stderr.decode())


def test_arguments_a_file_and_standard_input_give_the_same(
    model: Path, translator: heedful.Translator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [*LINES[:6], "", "  ", LINES[6]]
    expected = "".join(f"{text}\n" for text in translator.translate(lines))
    assert expected.split("\n")[6:8] == ["", "  "]
    with gzip.open(tmp_path / "input.gz", "wt") as file:
        file.write("".join(f"{line}\n" for line in lines))
    options = ("--model", model, "--precision", "float64", "--threads", "1")
    assert run_here(capsys, "translate", *options, *lines)[1] == expected
    assert run("translate", *options, given="\n".join(lines)).stdout == expected
    to_file = run("translate", *options, "--input", tmp_path / "input.gz", "--output", tmp_path / "x")
    assert (to_file.returncode, to_file.stdout, to_file.stderr) == (0, "", "")
    assert (tmp_path / "x").read_text() == expected
    code, _, errors = run_here(capsys, "translate", *options, "ba", "--output", tmp_path / "x")
    assert code == 2
    assert "--overwrite to replace it" in errors


def test_without_a_terminal_only_what_takes_long_says_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    with terminal.progress(unit="lines", quiet=False) as report:
        for seconds, done in ((0, 0), (9, 3), (10, 5), (15, 7), (16, 8), (16, 8)):
            now[0] = seconds
            report("translated", done, 8)
        for seconds, done in ((17, 0), (18, 8)):
            now[0] = seconds
            report("checked", done, 8)
    assert capsys.readouterr().err.splitlines() == ["translated 5 of 8 lines", "translated 8 of 8 lines"]


def test_columns_and_json_say_the_same(
    model: Path, translator: heedful.Translator, capsys: pytest.CaptureFixture[str]
) -> None:
    options = SearchOptions(n_best=3, beam_size=15)
    expected = list(translator.hypotheses(LINES[:3], options))
    given = ("translate", "--model", model, "--precision", "float64", "--n-best", "3", "--alignment", *LINES[:3])
    rows = [line.split("\t") for line in run_here(capsys, *given, "--scores")[1].splitlines()]
    assert [row[0] for row in rows] == [str(number) for number, best in enumerate(expected, 1) for _ in best]
    assert [row[2] for row in rows] == [one.text for best in expected for one in best]
    assert [float(row[1]) for row in rows] == pytest.approx([one.score for best in expected for one in best], abs=1e-4)
    objects = [json.loads(line) for line in run_here(capsys, *given, "--json")[1].splitlines()]
    assert [entry["source"] for entry in objects] == LINES[:3]
    found = [one for entry in objects for one in entry["translations"]]
    assert [(one["text"], one["alignment"]) for one in found] == [(row[2], row[3]) for row in rows]
    for best in expected:
        assert [one.score for one in best] == sorted((one.score for one in best), reverse=True)
        assert len({one.text for one in best}) == len(best)


def test_those_that_read_the_same_are_given_once_where_the_best_of_them_stands() -> None:
    spelled = [("ja", -0.1), ("nein", -0.2), ("ja", -0.3), ("doch", -0.4), ("nein", -0.5)]
    translations = [Translation(text, score, score, ()) for text, score in spelled]
    line = Line(Layout(("", ""), ("yes",)), [Passage("yes", "yes")], [[]])
    found = line_translations(line, [translations], most=9, ranked=True)
    assert [(one.text, one.score) for one in found] == [("ja", -0.1), ("nein", -0.2), ("doch", -0.4)]


def test_of_several_sentences_the_best_that_can_be_put_together_come_first() -> None:
    first, second = ([Translation(text, score, score, ()) for text, score in own] for own in (
        [("ja", -1.0), ("doch", -4.0)], [("gut", -1.0), ("fein", -2.0), ("gut", -2.5), ("naja", -3.5)]))  # fmt: skip
    line = Line(Layout(("", " ", ""), ("yes", "good")), [Passage("yes", "yes"), Passage("good", "good")], [[], []])
    found = line_translations(line, [first, second], most=4, ranked=True)
    assert [one.text for one in found] == ["ja gut", "ja fein", "ja naja", "doch gut"]
    assert [one.score for one in found] == [-2.0, -3.0, -4.5, -5.0]
    samples = line_translations(line, [first, second], most=4, ranked=False)
    assert [one.text for one in samples] == ["ja gut", "doch fein", "doch gut", "doch naja"]
    many = [second] * 40
    line = Line(Layout(("",) * 41, ("good",) * 40), [Passage("good", "good")] * 40, [[]] * 40)
    assert len({one.text for one in line_translations(line, many, most=50, ranked=True)}) == 50


def test_as_many_as_the_beam_holds_are_looked_at_for_the_few_that_are_wanted(translator: heedful.Translator) -> None:
    wide = list(translator.hypotheses(LINES[:3], SearchOptions(beam_size=12, n_best=12)))
    few = list(translator.hypotheses(LINES[:3], SearchOptions(beam_size=12, n_best=2)))
    assert [[one.text for one in best] for best in few] == [[one.text for one in best[:2]] for best in wide]
    assert all(len(best) == 2 for best in few)


def test_forced_decoding_scores_what_the_search_found(
    model: Path, translator: heedful.Translator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    best = [found[0] for found in translator.hypotheses(LINES[:8])]
    scored = translator.score(LINES[:8], [one.text for one in best])
    same = [n for n, one in enumerate(best) if one.ids == ids_of(translator, one.text)]
    assert len(same) > 4  # where the model wrote a word as the vocabulary does
    for number in same:
        assert scored[number].log_probability == pytest.approx(best[number].log_probability, abs=1e-9)
    (tmp_path / "s").write_text("\n".join(LINES[:8]) + "\n")
    (tmp_path / "t").write_text("\n".join(one.text for one in best) + "\n")
    files = ("score", "--model", model, "--source", tmp_path / "s", "--target", tmp_path / "t")
    _, out, errors = run_here(capsys, *files, "--precision", "float64")
    assert [float(line.split("\t")[0]) for line in out.splitlines()] == pytest.approx(
        [one.log_probability for one in scored], abs=1e-4
    )
    assert "8 pairs, perplexity" in errors
    *pairs, whole = [json.loads(line) for line in run_here(capsys, *files, "--json", "--quiet")[1].splitlines()]
    assert whole["whole"]["log_probability"] == pytest.approx(sum(one.log_probability for one in scored), rel=1e-4)
    assert pairs[0]["subwords"][-1]["subword"] == "</s>"
    assert len(pairs[0]["subwords"]) == scored[0].tokens


def ids_of(translator: heedful.Translator, text: str) -> tuple[int, ...]:
    return tuple(translator.saved.target_subwords.encode([text])[0].tolist())


def test_several_models_translate_score_and_are_evaluated_together(
    model: Path, translator: heedful.Translator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = train_toy(tmp_path, steps=8, settings=["model.d_model=16", "model.decoder_layers=1"])
    both = heedful.load(model, other, device="cpu", precision="float64")
    expected = [found[0] for found in both.hypotheses(LINES[:5])]
    (tmp_path / "s").write_text("\n".join(LINES[:5]) + "\n")
    (tmp_path / "t").write_text("\n".join(one.text for one in expected) + "\n")
    options = ("--model", model, "--model", other, "--precision", "float64")
    rows = run_here(capsys, "translate", *options, "--scores", *LINES[:5])[1].splitlines()
    assert rows == [f"{one.score:.4f}\t{one.text}" for one in expected]
    files = ("--source", tmp_path / "s")
    *pairs, _ = run_here(capsys, "score", *options, *files, "--target", tmp_path / "t", "--json")[1].splitlines()
    for one, pair in zip(expected, map(json.loads, pairs), strict=True):
        if one.ids == ids_of(both, one.text):
            assert pair["log_probability"] == pytest.approx(one.log_probability, abs=1e-9)
    facts = json.loads(run_here(capsys, "evaluate", *options, *files, "--reference", tmp_path / "t", "--json")[1])
    assert facts["model"] == f"{model} + {other}"
    assert facts["perplexity"]["subwords"] == sum(len(json.loads(pair)["subwords"]) for pair in pairs)
    alone = [found[0].score for found in translator.hypotheses(LINES[:5])]
    assert [one.score for one in expected] != pytest.approx(alone, abs=1e-3)
    with pytest.raises(heedful.HeedfulError, match="attention is shown of one model"):
        both.attention(LINES[0])


def test_models_that_cannot_translate_together_are_refused(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, errors = run_here(capsys, "translate", "--model", model, "--model", "en-de-small", "ba")
    assert code == 2
    assert "en-de-small cannot be searched together: their source and target subwords differ" in errors
    assert (
        "Parameter --model specified multiple times"
        in run_here(capsys, "attention", "--model", model, "--model", model, "ba")[2]
    )
    saved = read_model(model)
    two = [
        replace(saved, description=replace(saved.description, languages=Languages(*pair)))
        for pair in (("en", "de"), ("de", "en"))
    ]
    with pytest.raises(heedful.HeedfulError, match=r"translates from en to de and .* from de to en"):
        heedful.Translator(*two)


@pytest.mark.parametrize("batch_size", [1, 2, 7, 64])
def test_a_translation_does_not_depend_on_its_batch(
    model: Path, translator: heedful.Translator, batch_size: int
) -> None:
    other = heedful.load(model, device="cpu", precision="float64", batch_size=batch_size)
    order = np.random.default_rng(1).permutation(len(LINES))
    shuffled = other.translate([LINES[place] for place in order])
    assert [shuffled[place] for place in np.argsort(order)] == translator.translate(LINES)


def test_samples_depend_on_seed_and_line_alone(translator: heedful.Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    options = SearchOptions(method="sample", beam_size=2, n_best=2, seed=5)
    whole = [[one.text for one in found] for found in translator.hypotheses(LINES[:9], options)]
    monkeypatch.setattr(translator_module, "BATCHES_AT_ONCE", 1)
    monkeypatch.setattr(translator, "batch_size", 2)
    assert [[one.text for one in found] for found in translator.hypotheses(LINES[:9], options)] == whole
    other = SearchOptions(method="sample", beam_size=2, n_best=2, seed=6)
    assert [[one.text for one in found] for found in translator.hypotheses(LINES[:9], other)] != whole


def test_a_long_line_is_translated_sentence_by_sentence(
    translator: heedful.Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    sentences = [f"{line}." for line in LINES[:4]]
    monkeypatch.setattr(translator_module, "MOST_SOURCE_TOKENS", 16)
    options = replace(translator.options, min_length=3)
    apart = translator.translate(sentences, options=options)
    assert translator.translate([" ".join(sentences)], options=options) == [" ".join(apart)]
    with pytest.warns(UserWarning, match="line 2: a sentence of more than 16 subwords has no full stop"):
        first, second = translator.translate([LINES[0], " ".join(LINES[:4])], options=options)
    assert first == translator.translate([LINES[0]], options=options)[0]
    assert second


def test_a_prefix_and_a_forbidden_word_are_obeyed(translator: heedful.Translator) -> None:
    options = replace(translator.options, min_length=4)
    best = translator.translate([LINES[0]], options=options)[0]
    started = next(iter(translator.hypotheses([LINES[0]], prefix="ba de")))[0].text
    assert started.startswith("ba de")
    word = best.split()[0]
    without = translator.translate([LINES[0]], options=translator.forbidding([word], options))[0]
    assert word not in without.split()
    assert without


def test_the_attention_of_a_translation_is_shown_with_its_subwords(translator: heedful.Translator) -> None:
    maps = translator.attention(LINES[0])
    assert maps.target_text == translator.translate([LINES[0]])[0]
    assert "".join(maps.source[:-1]).strip() == LINES[0]
    assert maps.cross.shape == (2, 2, len(maps.target), len(maps.source))
    forced = translator.attention(LINES[0], target=maps.target_text)
    if forced.target == maps.target:
        assert forced.cross == pytest.approx(maps.cross, abs=1e-5)


def test_a_reader_that_leaves_early_is_no_error(model: Path, tmp_path: Path) -> None:
    (tmp_path / "many").write_text("".join(f"{line}\n" for line in LINES * 10))
    command = f"{sys.executable} -m heedful translate --model {model} --input {tmp_path / 'many'} --threads 1 | head -2"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 2
    assert "Traceback" not in done.stderr


def damaged(model: Path, tmp_path: Path, what: str) -> Path:
    """A copy of the model with something wrong."""
    copy = tmp_path / "copy"
    shutil.copytree(model, copy)
    if what == "half-written":
        shutil.rmtree(copy / "averaged")
        (sorted((copy / "checkpoints").iterdir())[-1] / "state.json").unlink()
    elif what == "damaged":
        (copy / "averaged" / "model.safetensors").write_bytes(b"no weights")
    elif what == "no checkpoint":
        shutil.rmtree(copy / "averaged")
        shutil.rmtree(copy / "checkpoints")
    elif what == "other version":
        description = json.loads((copy / "run.json").read_text())
        description["config"]["model"]["d_gamma"] = 3
        (copy / "run.json").write_text(json.dumps(description))
    return copy


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("half-written", "is not a checkpoint: no state.json in it; the one before is"),
        ("damaged", "is damaged: its contents are not what was written"),
        ("no checkpoint", "has no checkpoint yet"),
        ("other version", "holds settings that this version cannot use"),
    ],
)
def test_a_model_that_cannot_be_read_is_named(
    model: Path, tmp_path: Path, what: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, errors = run_here(capsys, "translate", "--model", damaged(model, tmp_path, what), "ba")
    assert (code, out) == (2, "")
    assert says in errors


def test_what_is_no_model_is_refused_with_the_reason(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(names, "BUNDLED", tmp_path / "nothing-bundled")
    with (tmp_path / "model.pt").open("wb") as file:
        pickle.dump({"weights": 1}, file)
    (tmp_path / "empty").mkdir()
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "manifest.json").write_text("{}")
    (tmp_path / "input").write_bytes(b"ba\n\xff\xfe\x00\x01\n")
    mistakes: list[tuple[Sequence[str | Path], str]] = [
        (("--model", tmp_path / "model.pt", "ba"), "is a pickle"),
        (("--model", tmp_path / "empty", "ba"), "is not a run: no run.json in it"),
        (
            ("--model", tmp_path / "corpus", "ba"),
            f"is a prepared corpus, not a run: `heedful train {tmp_path / 'corpus'} --",
        ),
        (("--model", tmp_path / "missing", "ba"), "there is no folder"),
        (("--model", model / "run.json", "ba"), "give its folder"),
        (("--model", model, "--input", tmp_path / "missing"), "there is no file"),
        (("--model", model, "--input", tmp_path / "input"), "line 2"),
        (("--model", model, "--n-best", "0", "ba"), "--n-best 0"),
        (("--model", model, "--greedy", "--sample", "ba"), "exclude each other"),
        (("--model", model, "--device", "tpu", "ba"), "must be auto, cpu, cuda or cuda:N"),
        (("--model", model, "--precision", "int8", "ba"), "precision int8"),
        (("--model", model, "--alignment", "--alignment-layer", "9", "ba"), "layers 1 to 2"),
        (("ba",), "which model?"),
    ]
    for arguments, says in mistakes:
        code, _, errors = run_here(capsys, "translate", *arguments)
        assert code == 2, arguments
        assert says in errors, errors
    binary = run("translate", "--model", model, given=b"ba\n\xff\n")
    assert binary.returncode == 2
    assert "standard input, line 2" in binary.stderr


def test_files_of_different_length_are_refused(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "two").write_text("ba\nbe\n")
    (tmp_path / "one").write_text("ba\n")
    code, _, errors = run_here(
        capsys, "score", "--model", model, "--source", tmp_path / "two", "--target", tmp_path / "one"
    )
    assert code == 2
    assert "one has 1 line and" in errors


def test_what_a_model_says_is_one_line(translator: heedful.Translator) -> None:
    line_end = tuple(translator.saved.target_subwords.encode(["a\nb"])[0].tolist())
    assert translator._text(np.array(line_end)) == "a b"


def test_the_first_translation_waits_for_nothing_that_it_does_not_need(model: Path) -> None:
    """torch's compiler takes longer to load than torch; pictures and scores are for other commands."""
    code = (
        "import sys, torch\nbefore = set(sys.modules)\nfrom heedful.cli.main import main\n"
        f"try:\n    main(['translate', '--model', {str(model)!r}, 'ba de'])\nexcept SystemExit:\n    pass\n"
        "print(*sorted(set(sys.modules) - before), file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    loaded = set(result.stderr.split())
    assert "heedful.translation.translator" in loaded
    assert not loaded & {"torch._dynamo", "sympy", "triton", "matplotlib", "sacrebleu", "sacremoses", "tensorboard"}


class Typist:
    """Somebody at a terminal in which ``heedful translate`` runs."""

    def __init__(self, *arguments: str | Path) -> None:
        self.seen = ""
        self._process, self._terminal = pty.fork()
        if self._process == 0:
            os.execv(sys.executable, [sys.executable, "-m", "heedful", "translate", *map(str, arguments)])

    def type(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    def wait_for(self, text: str) -> None:
        deadline = time.monotonic() + 60
        while not self.seen.endswith(text):
            assert time.monotonic() < deadline, self.seen
            if select.select([self._terminal], [], [], 1)[0]:
                self.seen += os.read(self._terminal, 4096).decode().replace("\r\n", "\n")

    def exit_code(self) -> int:
        _, status = os.waitpid(self._process, 0)
        os.close(self._terminal)
        return os.waitstatus_to_exitcode(status)


def test_somebody_at_a_terminal_is_greeted_and_prompted(model: Path, translator: heedful.Translator) -> None:
    first, second = (line.strip() for line in LINES[:2])
    expected = translator.translate([first, second])
    typist = Typist("--model", model, "--precision", "float64", "--threads", "1")
    typist.wait_for("Ctrl-D ends.\n> ")
    assert str(model) in typist.seen
    typist.type(f"{first}\r")
    typist.wait_for(f"\n{expected[0]}\n> ")
    typist.type(f"{second}\r")
    typist.wait_for(f"\n{expected[1]}\n> ")
    typist.type("\x1b[A\x1b[A\r")  # up, up: the first line again
    typist.wait_for(f"\n{expected[0]}\n> ")
    typist.type("\x04")
    typist.wait_for("> \n")
    assert typist.exit_code() == 0
    assert "interrupted" not in typist.seen


def test_ctrl_c_at_the_prompt_is_an_end_like_any_other(model: Path) -> None:
    typist = Typist("--model", model, "--threads", "1")
    typist.wait_for("Ctrl-D ends.\n> ")
    typist.type("half a sen")
    typist.wait_for("half a sen")
    time.sleep(0.5)  # a signal that comes before readline waits for the next key is seen with that key
    typist.type("\x03")
    typist.wait_for("\n")
    assert typist.exit_code() == 0


def test_a_program_that_writes_lines_is_not_greeted(model: Path) -> None:
    piped = run("translate", "--model", model, "--threads", "1", given=f"{LINES[0]}\n")
    assert (piped.returncode, piped.stderr) == (0, "")
    assert piped.stdout.count("\n") == 1
