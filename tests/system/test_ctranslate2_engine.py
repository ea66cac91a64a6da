"""Translations by CTranslate2 through our own command: the same contract as torch's, or a refusal; and no torch."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from safetensors.torch import load_file
from tests.system.test_bundled_models import PINNED

import heedful
from heedful.cli.main import main
from heedful.errors import CheckpointError, ExportError, SearchError, ServeError
from heedful.export import cache
from heedful.runs.folder import DEFAULT_MODEL, bundled_models
from heedful.runs.saved import known_model
from heedful.search.options import SearchOptions
from heedful.translation.lines import Translation

pytest.importorskip("ctranslate2")

LINES = [
    *PINNED[DEFAULT_MODEL].sentences,
    "WE ARE HERE! Where are you?",
    "See https://example.org/a?b=c for {0} and 😀 emoji.",
    "The price is 1,234.50 dollars on 12 May 2020.",
]


@pytest.fixture(scope="module", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield folder / "heedful" / "ctranslate2"


@pytest.fixture(scope="module")
def torch_() -> heedful.Translator:
    return heedful.load(DEFAULT_MODEL, device="cpu")


@pytest.fixture(scope="module")
def exact(cache_folder: Path) -> heedful.Translator:
    """CTranslate2 in the precision of torch."""
    translator = heedful.load(DEFAULT_MODEL, engine="ctranslate2", precision="float32", threads=1)
    with pytest.warns(UserWarning, match="is made ready for CTranslate2"):
        translator.translate(["A dog."])
    return translator


@pytest.fixture(scope="module")
def small(cache_folder: Path) -> heedful.Translator:
    """In int8."""
    translator = heedful.load(DEFAULT_MODEL, engine="ctranslate2")
    with pytest.warns(UserWarning, match="is made ready for CTranslate2"):
        translator.translate(["A dog."])
    return translator


@pytest.fixture(scope="module")
def auto(small: heedful.Translator) -> heedful.Translator:
    return heedful.load(DEFAULT_MODEL, engine="auto", device="cpu")


def found(translator: heedful.Translator, options: SearchOptions, **settings: Any) -> list[list[Translation]]:
    return list(translator.hypotheses(LINES, options, **settings))


def require_same(ours: Sequence[Sequence[Translation]], theirs: Sequence[Sequence[Translation]]) -> None:
    for own, other in zip(ours, theirs, strict=True):
        assert [one.text for one in own] == [one.text for one in other]
        assert [one.parts for one in own] == [one.parts for one in other]
        for one, another in zip(own, other, strict=True):
            assert one.score == pytest.approx(another.score, abs=2e-3)
            assert one.log_probability == pytest.approx(another.log_probability, abs=2e-3)


@pytest.mark.parametrize(
    "asked",
    [
        {"n_best": 3, "beam_size": 8},
        {"length_penalty": 0.0},
        {"stop": "enough"},
        {"method": "greedy", "beam_size": 1},
        {"max_length": 4, "n_best": 2},  # most have not ended by then: torch takes these
    ],
)
def test_in_float32_it_finds_what_torch_finds_with_the_same_scores(
    exact: heedful.Translator, torch_: heedful.Translator, asked: dict[str, Any]
) -> None:
    options = replace(torch_.options, **asked)
    require_same(found(exact, options), found(torch_, options))


def test_a_prefix_and_a_least_length_are_obeyed_and_their_words_counted(
    exact: heedful.Translator, torch_: heedful.Translator
) -> None:
    options = replace(torch_.options, stop="enough")
    require_same(found(exact, options, prefix="Das ist"), found(torch_, options, prefix="Das ist"))
    longer = found(exact, replace(options, min_length=12), split="never", as_is=True)
    assert all(len(best[0].ids) >= 12 for best in longer)
    with pytest.raises(SearchError, match="U\\+FFFD"):
        found(exact, options, prefix="\N{REPLACEMENT CHARACTER}")


def test_in_int8_it_uses_the_whole_numbers_of_the_bundle(small: heedful.Translator, cache_folder: Path) -> None:
    stored = load_file(bundled_models()[DEFAULT_MODEL] / "averaged" / "model.safetensors")
    written = max((path.read_bytes() for path in cache_folder.glob("*/model.bin")), key=lambda one: -len(one))
    for name in (
        "embedding.weight",
        "encoder.layers.3.feed_forward.w_1.weight",
        "decoder.layers.1.self_attention.w_o.weight",
    ):
        assert stored[name].numpy().tobytes() in written
        assert (1 / stored[f"{name}/scale"].numpy()).tobytes() in written


def test_in_int8_the_released_model_says_what_it_said(small: heedful.Translator) -> None:
    pinned = PINNED[DEFAULT_MODEL].sentences
    for options in (small.options, small.options.greedy()):
        assert dict(zip(pinned, small.translate(list(pinned), options=options), strict=True)) == pinned


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"method": "sample"}, "samples"),
        ({"forbidden": ("Hund",)}, "forbidden texts"),
        ({"glossary": (("dog", "Köter"),)}, "a glossary"),
        ({"beam_size": 1}, "one beam"),
        ({"method": "greedy", "drafts": 2}, "drafts"),
    ],
)
def test_what_it_cannot_do_is_refused_and_auto_leaves_it_to_torch(
    small: heedful.Translator,
    auto: heedful.Translator,
    torch_: heedful.Translator,
    asked: dict[str, Any],
    named: str,
) -> None:
    options = replace(torch_.options, **asked)
    with pytest.raises(SearchError, match=f"ctranslate2 cannot do .*{named}"):
        small.translate(["A dog."], options=options)
    assert auto.translate(["A dog."], options=options) == torch_.translate(["A dog."], options=options)


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"device": "cuda"}, "device cuda"),
        ({"precision": "float64"}, "precision float64"),
        ({"engine": "tpu"}, "engine tpu: must be auto, torch, ctranslate2"),
    ],
)
def test_an_engine_that_cannot_be_had_is_refused(asked: dict[str, Any], named: str) -> None:
    with pytest.raises(SearchError, match=named):
        heedful.load(DEFAULT_MODEL, **{"engine": "ctranslate2", **asked})
    with pytest.raises(SearchError, match="several models"):
        heedful.load(DEFAULT_MODEL, DEFAULT_MODEL, engine="ctranslate2")


def test_auto_is_torch_where_precision_is_asked_for_or_it_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert heedful.load(DEFAULT_MODEL, engine="auto", device="cpu").engine == "ctranslate2"
    assert heedful.load(DEFAULT_MODEL, engine="auto", device="cpu", precision="float32").engine == "torch"
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert heedful.load(DEFAULT_MODEL, engine="auto", device="cpu").engine == "torch"
    with pytest.raises(SearchError, match=r"pip install 'heedful\[ctranslate2\]'"):
        heedful.load(DEFAULT_MODEL, engine="ctranslate2")


def test_where_nothing_can_be_kept_auto_is_torch_and_says_so(
    torch_: heedful.Translator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    said: list[str] = []
    saved = known_model(DEFAULT_MODEL)
    auto = heedful.Translator(saved, engine="auto", device="cpu", notice=said.append)
    assert auto.translate(["A dog."]) == torch_.translate(["A dog."])
    assert "PyTorch translates, and not CTranslate2: " in said[-1]
    with pytest.raises(ExportError, match="cannot be made"):
        heedful.Translator(saved, engine="ctranslate2", notice=said.append).translate(["A dog."])


def test_bytes_that_are_no_text_are_never_given(
    small: heedful.Translator, torch_: heedful.Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine that spells half a character, or U+FFFD itself, in its best translation: torch says instead."""
    subwords = small.saved.target_subwords
    half = [subwords.tokens[subwords.byte_ids[byte]] for byte in (0xC3,)]
    whole = [subwords.tokens[subwords.byte_ids[byte]] for byte in "\N{REPLACEMENT CHARACTER}".encode()]
    broken = [SimpleNamespace(hypotheses=[[*words, "</s>"]], scores=[-0.1]) for words in (half, whole)]

    class Broken:
        def translate_batch(self, sources: list[list[str]], **_: Any) -> list[Any]:
            return [SimpleNamespace(result=lambda place=place: broken[place % 2]) for place in range(len(sources))]

    monkeypatch.setitem(vars(small.search), "_engine", Broken())
    assert small.translate(["A dog.", "Two cats."]) == torch_.translate(["A dog.", "Two cats."])


def test_an_export_is_kept_under_the_hash_of_its_model(
    tmp_path: Path, small: heedful.Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[Path] = []

    def write(saved: Any, place: Path, **_: Any) -> None:
        written.append(place)
        place.mkdir(parents=True)
        (place / "model.bin").touch()

    folder = cache.export_once(small.saved, storage="int8", notice=pytest.fail)  # it is there
    monkeypatch.setattr(cache, "write_ctranslate2", write)
    monkeypatch.setattr(cache, "_KEPT", 2)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    other = shutil.copytree(bundled_models()[DEFAULT_MODEL], tmp_path / "other")
    assert cache.export_once(known_model(other), storage="int8", notice=str).name == folder.name, "the same model"
    state = json.loads((other / "run.json").read_text())
    for heads in (2, 3, 4):
        state["config"]["model"]["num_heads"] = heads
        (other / "run.json").write_text(json.dumps(state))
        cache.export_once(known_model(other), storage="int8", notice=str)
    assert len({*written}) == 4
    assert sorted(written[0].parent.iterdir()) == sorted(written[-2:]), "the oldest are gone"
    with (other / "averaged" / "model.safetensors").open("ab") as file:
        file.write(b"x")
    with pytest.raises(CheckpointError, match=r"model\.safetensors is damaged"):
        cache.export_once(known_model(other), storage="int8", notice=str)


def test_the_command_takes_it_by_itself_says_so_once_and_loads_no_torch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    code = (
        "import os, sys\nos.environ.pop('HEEDFUL_ENGINE')\nfrom heedful.cli.main import main\n"
        "try:\n    main(['translate', '--device', 'cpu', 'Where is the nearest station?', 'I am allergic to nuts.'])\n"
        "except SystemExit:\n    pass\nsys.exit('torch' in sys.modules)"
    )
    for first in (True, False):
        done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, encoding="utf-8")
        assert done.stdout == "Wo ist der nächste Bahnhof?\nIch bin allergisch gegen Nüsse.\n"
        assert ("en-de-small is made ready for CTranslate2 in int8, once" in done.stderr) is first
        assert ("--engine torch translates with PyTorch" in done.stderr) is first


def test_a_model_is_evaluated_with_it_when_that_is_asked_for(
    small: heedful.Translator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pinned = PINNED[DEFAULT_MODEL].sentences
    for name, lines in (("test.en", pinned), ("test.de", pinned.values())):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    files = ["--source", str(tmp_path / "test.en"), "--reference", str(tmp_path / "test.de")]
    with pytest.raises(SystemExit) as ended:
        main(["evaluate", *files, "--engine", "ctranslate2", "--resamples", "9", "--json", "--quiet"])
    assert ended.value.code == 0
    measured = json.loads(capsys.readouterr().out)
    assert measured["speed"]["engine"] == "ctranslate2"


@pytest.mark.parametrize("workers", [1, 2])
def test_a_server_translates_whatever_waits_as_a_batch(exact: heedful.Translator, workers: int) -> None:
    from concurrent.futures import ThreadPoolExecutor

    from tests import serving

    spoken = exact.saved.description.languages
    assert spoken is not None
    lines = ["A dog runs.", "Two men are talking. They laugh!", "Mail a@b.de {0} now."] * 3
    expected = exact.translate(lines)
    model = serving.ServedModel("fast", exact, spoken, exact.options)
    with serving.running(model, workers=workers) as own, ThreadPoolExecutor(9) as pool:
        answers = pool.map(lambda line: own.ask("POST", "/api/translate", {"text": line, "n_best": 2}), lines)
        assert [answer.json["results"][0]["translations"][0]["text"] for answer in answers] == expected
        question = {"text": "The contract is ready.", "glossary": {"contract": "Kontrakt"}}
        assert b"Kontrakt" in own.ask("POST", "/api/stream", question).body.splitlines()[-1]
        assert own.ask("POST", "/api/attention", {"text": "A dog."}).status == 200


def test_a_server_takes_torch_for_whoever_wants_what_it_alone_has(
    small: heedful.Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests import serving

    auto = heedful.load(DEFAULT_MODEL, engine="auto", device="cpu", threads=1)
    spoken = auto.saved.description.languages
    assert spoken is not None
    model = serving.ServedModel("auto", auto, spoken, auto.options)
    assert model.engine == "CTranslate2"

    def refused(*_: Any) -> None:
        raise AssertionError("this is CTranslate2's")

    with serving.running(model) as own:
        (expected,) = small.translate(["The old house was sold last year."])
        question = {"text": "The old house was sold last year."}
        with monkeypatch.context() as patch:
            patch.setattr("heedful.search.engine.Engine.turn", refused)
            (found,) = own.ask("POST", "/api/translate", question).json["results"]
            assert found["translations"][0]["text"] == expected
        *beams, last = map(json.loads, own.ask("POST", "/api/stream", question).body.splitlines())
        assert len(beams) > 1, "whoever wants to see them grow does"
        assert last["result"]["results"] == [found], "and has the words that everybody has"
        monkeypatch.setattr("heedful.search.ctranslate2_search.CTranslate2Search.found", refused)
        (found,) = own.ask("POST", "/api/translate", {**question, "prefix": "Im letzten"}).json["results"]
        assert found["translations"][0]["text"].startswith("Im letzten")


def test_a_stream_ends_with_the_words_of_a_translation_and_torch_says_what_ctranslate2_cannot(
    small: heedful.Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words of CTranslate2's own are put in, since on most sentences the engines agree."""
    from tests import serving

    from heedful.search.ctranslate2_search import CTranslate2Search

    spoken = small.saved.description.languages
    assert spoken is not None
    model, hypotheses = serving.ServedModel("small", small, spoken, small.options), CTranslate2Search._hypotheses
    question = {"text": "Two men are talking. A dog runs."}

    def second_best(self: CTranslate2Search, sentence: Any, result: Any, options: SearchOptions) -> Any:
        own = hypotheses(self, replace(sentence, n_best=2), result, options)
        return own[1:] if own else None

    def words(own: serving.Running, route: str) -> Any:
        last = json.loads(own.ask("POST", route, question).body.splitlines()[-1])
        return last.get("result", last)["results"][0]["translations"][0]["text"]

    with serving.running(model, workers=2) as own:
        usual = words(own, "/api/translate")
        monkeypatch.setattr(CTranslate2Search, "_hypotheses", second_best)
        assert words(own, "/api/stream") == words(own, "/api/translate") != usual
        monkeypatch.setattr(CTranslate2Search, "_hypotheses", lambda *_: None)
        assert words(own, "/api/stream") == words(own, "/api/translate") == usual


def test_every_thread_has_a_batch_unless_there_are_fewer_workers(small: heedful.Translator) -> None:
    from tests import serving

    for threads, asked, workers, pieces in ((1, None, 1, 1), (2, None, 2, 1), (8, None, 8, 1), (8, 2, 2, 4)):
        translator = heedful.load(DEFAULT_MODEL, engine="ctranslate2", threads=threads)
        assert translator.saved.description.languages is not None
        model = serving.ServedModel("a", translator, translator.saved.description.languages, translator.options)
        service = serving.Service([model], queue_tokens=1, most_characters=1, workers=asked)
        assert (service.workers, model.shared.batches.pieces) == (workers, pieces)  # type: ignore[union-attr]
        service.close()


def test_a_server_without_ctranslate2_has_torch_for_everybody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests import serving

    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    said: list[str] = []
    auto = heedful.Translator(known_model(DEFAULT_MODEL), engine="auto", device="cpu", notice=said.append)
    assert auto.saved.description.languages is not None
    model = serving.ServedModel("auto", auto, auto.saved.description.languages, auto.options)
    assert (model.shared.batches, model.engine) == (None, "PyTorch")
    assert "PyTorch translates, and not CTranslate2: " in said[-1]
    with pytest.raises(ServeError, match=r"--workers 2: .*leave it out, or take CTranslate2"):
        serving.Service([model], queue_tokens=1, most_characters=1, workers=2)
