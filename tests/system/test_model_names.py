"""A model is a folder or a name, in every command that takes one; where none is named, it is the default."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import pytest
from tests.commands import run_here
from tests.trained_toys import SMALL, train_toy
from tests.training_toys import toy_sentences

import heedful
from heedful.errors import CheckpointError
from heedful.runs import folder as names
from heedful.runs.bundles import write_bundle
from heedful.runs.descriptions import Languages
from heedful.runs.direction import language_check, model_of_text
from heedful.runs.saved import known_model, read_model

LINES = [" ".join(words) for words in toy_sentences(3, seed=7)]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_toy(tmp_path_factory.mktemp("toy"))


@pytest.fixture
def folder(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with a heedful that came with two models."""
    saved = read_model(run)
    for name in ("en-de-small", "toy-copy"):
        write_bundle(saved, tmp_path / "bundled" / name, card=f"# {name}, a toy\n".encode())
    (tmp_path / "bundled" / "notes").mkdir()
    monkeypatch.setattr(names, "BUNDLED", tmp_path / "bundled")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for name in ("source", "target"):
        Path(name).write_text("".join(line + "\n" for line in LINES))
    return tmp_path / "here"


def test_a_name_is_the_model_that_comes_with_heedful(folder: Path) -> None:
    assert list(names.bundled_models()) == ["en-de-small", "toy-copy"]
    by_name, by_path = (heedful.load(model, device="cpu") for model in ("toy-copy", folder.parent / "bundled/toy-copy"))
    assert by_name.translate(LINES) == by_path.translate(LINES)
    assert by_name.saved.run == folder.parent / "bundled" / "toy-copy"


def test_what_lies_there_under_that_path_comes_first(folder: Path, run: Path) -> None:
    shutil.copytree(run, "toy-copy")
    assert read_model("toy-copy").run == Path("toy-copy")


def test_an_unknown_name_is_answered_with_the_known_ones(folder: Path) -> None:
    expected = "there is no folder toy-cpy, and no model of that name (did you mean toy-copy?): heedful comes with "
    with pytest.raises(CheckpointError) as error:
        heedful.load("toy-cpy")
    assert str(error.value) == expected + "en-de-small, toy-copy"
    with pytest.raises(CheckpointError, match=r"^there is no folder runs.toy-copy$"):
        heedful.load(Path("runs/toy-copy"))


def test_a_model_is_chosen_by_its_direction(folder: Path, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved, bundled = read_model(run), folder.parent / "bundled"
    for name in ("en-de-small", "de-en-small"):
        write_bundle(saved, bundled / name, spoken=Languages(*name.split("-")[:2]), overwrite=True)
    asked = {
        (): "en-de-small",
        ("--to", "en"): "de-en-small",
        ("--from", "de"): "de-en-small",
        ("--from", "en", "--to", "de"): "en-de-small",
        ("--model", "de-en-small", "--to", "en"): "de-en-small",
    }
    for given, model in asked.items():
        *_, whole = run_here(capsys, "score", "--source", "source", "--target", "target", *given, "--json")[
            1
        ].splitlines()
        assert json.loads(whole)["whole"]["model"] == model
    assert run_here(capsys, "translate", LINES[0], "--to", "en")[0] == 0
    assert [row.split()[4] for row in run_here(capsys, "models")[1].splitlines()[1:]] == ["de-en", "en-de", "–"]
    write_bundle(saved, bundled / "en-fr-small", spoken=Languages("en", "fr"))
    write_bundle(saved, folder / "mine", spoken=Languages("is", "en"))
    refused = {
        ("--from", "en"): "several models translate from en: en-de-small (en-de), en-fr-small (en-fr); give both",
        ("--to", "is"): "and none that translates to is: give --model with one of yours",
        ("--from", "is"): "and none that translates from is; mine does: give --model mine",
        ("--to", "German"): "--to German: must be the code of a language, such as en or de",
        ("--model", "mine", "--to", "de"): "mine translates from is to en, and not to de",
        ("--model", "toy-copy", "--to", "de"): "toy-copy does not say which languages it translates",
    }
    for given, message in refused.items():
        code, _, errors = run_here(capsys, "translate", LINES[0], *given)
        assert (code, message in errors) == (2, True), errors
    text = ("--hypothesis", "source", "--reference", "target")
    assert "--from and --to choose a model" in run_here(capsys, "evaluate", *text, "--to", "en")[2]


def test_a_text_of_the_other_language_is_told_which_command_helps(folder: Path, run: Path) -> None:
    german = ["Das ist ein Satz, der nicht auf Englisch ist, und er hat genug Wörter, dass man es merkt."]
    real = known_model(Path(heedful.__file__).parent / "bundled" / "en-de-small")
    check = language_check(real)
    assert check is not None
    assert list(check.problems(german)) == [
        "the input looks like the language that this model translates into: check it, or the model"
    ]
    write_bundle(read_model(run), folder.parent / "bundled" / "de-en-small", spoken=Languages("de", "en"))
    check = language_check(real)
    assert check is not None
    (problem,) = check.problems(german)
    assert problem.endswith("translates into: `heedful translate --model de-en-small` translates it")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Ich habe gestern einen großen Hund gesehen, und er war schön.", ("de-en-small", "de")),
        ("I saw a big dog yesterday, and it was beautiful.", None),
        ("Le chat est assis sur la table de la cuisine et il regarde les oiseaux.", None),
        ("Guten Morgen!", ("de-en-small", "de")),
        ("Wo ist der Bahnhof?", ("de-en-small", "de")),
        ("Good morning!", None),
        ("I like sauerkraut.", None),
        ("Volkswagen Golf", None),
        ("Berlin", None),
        ("Das Boot", None),
        ("12:30 €", None),
        ("", None),
    ],
)
def test_a_text_of_the_other_language_has_the_other_model(text: str, found: tuple[str, str] | None) -> None:
    assert model_of_text("en-de-small", text) == found


def test_where_nothing_is_asked_for_the_text_chooses_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    german = "Ich habe gestern einen großen Hund gesehen, und er war schön."
    (tmp_path / "german").write_text(f"{german}\n", encoding="utf-8")
    short = ("--greedy", "--max-length", "4", "--quiet")
    choices: dict[tuple[str, ...], str] = {
        (german,): "I saw",
        ("--input", str(tmp_path / "german")): "I saw",
        (): "I saw",
    }
    told = "the text looks like German, so de-en-small translates it; --model en-de-small is for the other way\n"
    for given, begins in choices.items():
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(f"{german}\n{german}\n".encode())))
        code, output, errors = run_here(capsys, "translate", *given, *short)
        assert (code, errors) == (0, told)
        assert all(line.startswith(begins) for line in output.splitlines())
        assert len(output.splitlines()) == (1 if given else 2)
    code, output, errors = run_here(capsys, "translate", german, "--to", "de", *short)
    assert "translates into: `heedful translate --model de-en-small`" in errors


def test_where_no_model_is_named_it_is_the_default(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    default, named = (run_here(capsys, "translate", LINES[0], *given) for given in ((), ("--model", "en-de-small")))
    assert default == named
    assert default[0] == 0
    assert len(default[1].splitlines()) == 1
    assert default[2] == ""


def test_json_says_which_model_it_was(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = ("--source", "source", "--reference", "target", "--resamples", "9", "--quiet")
    assert json.loads(run_here(capsys, "evaluate", *text, "--json")[1])["model"] == "en-de-small"
    assert "3 sentences of target, translated by en-de-small\n" in run_here(capsys, "evaluate", *text)[1]
    assert json.loads(run_here(capsys, "attention", LINES[0], "--json")[1])["model"] == "en-de-small"
    *_, whole = run_here(capsys, "score", "--source", "source", "--target", "target", "--json")[1].splitlines()
    assert json.loads(whole)["whole"]["model"] == "en-de-small"


def test_a_file_to_score_needs_no_default(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--hypothesis", "source", "--source", "source", "--reference", "target", "--resamples", "9", "--json")
    code, out, _ = run_here(capsys, "evaluate", *words)
    assert (code, json.loads(out)["model"]) == (0, None)


def test_compare_and_report_take_names(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tests = ("--reference", "target", "--resamples", "9", "--trials", "9", "--quiet", "--json")
    code, out, _ = run_here(capsys, "compare", "toy-copy", "target", "--source", "source", *tests)
    assert (code, json.loads(out)["a"]) == (0, "toy-copy")
    code, _, errors = run_here(capsys, "compare", "target", "toy-copy", *tests)
    assert code == 2
    assert "toy-copy is a model, and --source was not given" in errors
    code, out, _ = run_here(capsys, "report", "toy-copy", "--no-scores")
    assert code == 0
    assert Path("report.html").exists()
    assert not list((folder.parent / "bundled").rglob("report.html")), "nothing is written into the package"


def test_a_named_model_can_be_tuned_with_its_own_subwords(
    folder: Path, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--source", "source", "--target", "target", "--keep", "identical", "--output", "corpus")
    assert run_here(capsys, "prepare", *words, "--tokenizer", "toy-copy", "--quiet")[0] == 0
    options = [word for setting in [*SMALL, "training.steps=1"] for word in ("--set", setting)]
    tuned = ("--init", "toy-copy", "--output", "tuned", "--device", "cpu", "--quiet")
    code, _, errors = run_here(capsys, "train", "corpus", "--preset", "tiny", *options, *tuned)
    assert (code, errors) == (0, "")
    assert json.loads(Path("tuned/run.json").read_text())["init"] == "toy-copy"


@pytest.mark.parametrize("command", ["translate", "evaluate", "score", "attention"])
def test_the_help_says_what_the_default_is(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = " ".join(run_here(capsys, command, "--help")[1].replace("│", " ").split())
    assert "A name that heedful models lists" in shown
    assert "en-de-small when not given" in shown


@pytest.mark.parametrize("command", ["parse", "report"])
def test_the_help_names_no_default_that_the_command_does_not_have(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = " ".join(run_here(capsys, command, "--help")[1].replace("│", " ").split())
    assert "--model" in shown
    assert "en-de-small when not given" not in shown
    assert "--from" not in shown


def test_a_parser_is_not_chosen_by_languages(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, errors = run_here(capsys, "parse", "--from", "fr", "A dog barks.")
    assert code == 2
    assert "Unknown option: --from" in errors, "it was ignored"
