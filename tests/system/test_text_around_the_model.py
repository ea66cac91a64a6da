"""The text people really send, through the model that comes with heedful."""

from __future__ import annotations

import json
import lzma
import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import sacrebleu
from tests.commands import run_here

import heedful
from heedful.errors import SearchError
from heedful.runs.folder import DEFAULT_MODEL, bundled_models
from heedful.runs.saved import read_model
from heedful.text.profile import PROFILE, read_profile, write_profile
from heedful.text.sentences import layout
from heedful.translation.translator import Translator

pytestmark = pytest.mark.skipif(DEFAULT_MODEL not in bundled_models(), reason="heedful came without its model")

TATOEBA = Path(__file__).parents[3] / "shared" / "data" / "tatoeba-en-de" / "train.tsv.xz"


@pytest.fixture(scope="module")
def translator() -> heedful.Translator:
    return heedful.load(DEFAULT_MODEL, device="cpu")


@pytest.fixture(scope="module")
def translate(translator: heedful.Translator) -> Callable[[str], str]:
    return lambda text: translator.translate([text])[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Line one.\nLine two is here.", "Zeile eins.\nZeile zwei ist hier."),
        ("It costs 5€.", "Es kostet 5€."),
        ("€99.90", "€99.90"),
        ("(No. 2026/0417)", "(Nr. 2026/0417)"),
        ("He is 6'2\" tall.", "Er ist 6'2\" groß."),
        ("Mon–Fri", "Mo–Fr"),
        ("Name:\tTom", "Name:\tTom"),
        ("Save the file\tCtrl+S", "Datei speichern\tStrg+S"),
        ("It costs €99.90 a month.", "Es kostet 99,90 Euro pro Monat."),
        ("I speak français.", "Ich spreche Français."),
        ("He said Привет мир to me.", "Er sagte Привет мир zu mir."),
        ("The word 你好 means hello.", "Das Wort 你好 bedeutet Hallo."),
        ("The letter λ is Greek.", "Der Brief λ ist Griechisch."),
        ("<b>Note:</b> Read the manual.", "<b>Hinweis:</b> Lesen Sie das Handbuch."),
        ("mail me at a.b@c.de", "schickt mich bei a.b@c.de"),
        ("I like it 😀😀 a lot!", "Ich mag es 😀😀 sehr!"),
        ("😀", "😀"),
        ("Could not open {0}: {1}", "{0} konnte nicht geöffnet werden: {1}"),
        ("Hello %s, you have %d new messages.", "Hallo %s, Sie haben %d neue Nachrichten."),
        ("Use `rm -rf` with care.", "`rm -rf` mit Sorgfalt verwenden."),
        ("I'M NOT SURE.", "ICH BIN MIR NICHT SICHER."),
        ("PLEASE CLOSE THE DOOR WHEN YOU LEAVE.", "SCHLIESS BITTE DIE TÜR, WENN DU GEHST."),
        ("", ""),
        ("  \n ", "  \n "),
    ],
)
def test_what_went_wrong_before_sentences_were_found_and_pieces_carried(
    translate: Callable[[str], str], text: str, expected: str
) -> None:
    assert translate(text) == expected


def test_an_email_keeps_its_lines_lists_and_indentation(translate: Callable[[str], str]) -> None:
    text = (
        "Dear Anna,\n\nI hope you are well.  We will meet at 5 o'clock. Please bring:\n"
        "  - the keys\n  * a book\n  1. Open https://example.org/a?b=c first.\n> Thank you!\r\n\tTom\n"
    )
    translated = translate(text)
    shape = re.compile(r"^(\s*(?:[-*>] |\d\. )?)", re.MULTILINE)
    assert shape.findall(translated) == shape.findall(text)
    assert re.findall(r"\s{2,}", translated) == re.findall(r"\s{2,}", text)
    assert translated.count("https://example.org/a?b=c") == 1
    assert layout(translated).gaps == layout(text).gaps


def test_a_text_is_translated_as_its_sentences_are(translator: heedful.Translator) -> None:
    sentences = ["I am hungry.", "Where is the station?", "Tom lives in Boston.", "It is raining again."] * 3
    apart = translator.translate(sentences)
    assert translator.translate([" ".join(sentences), "\n".join(sentences)]) == [" ".join(apart), "\n".join(apart)]
    together = translator.translate([" ".join(sentences)], split="never")
    assert together == translator.translate([" ".join(sentences)], split="lines") != [" ".join(apart)]


def test_as_it_stands_the_model_gets_everything(translator: heedful.Translator) -> None:
    assert translator.translate(["I'M NOT SURE."], as_is=True) != translator.translate(["I'M NOT SURE."])
    with pytest.raises(SearchError, match="split words: must be sentences, lines, never"):
        translator.translate(["a"], split="words")  # pyright: ignore


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("Das Wetter ist heute sehr schön und wir gehen in den Park, weil die Sonne scheint.", "translates into"),
        (
            "Le chat est assis sur la table de la cuisine et il regarde les oiseaux dans le jardin.",
            "does not look like",
        ),
        ("Съешь же ещё этих мягких булок", "most letters"),
    ],
)
def test_another_language_is_noticed_once(text: str, warning: str) -> None:
    told: list[str] = []
    translator = Translator(read_model(DEFAULT_MODEL), device="cpu", notice=told.append)
    options = replace(translator.options.greedy(), max_length=3)
    for _ in range(2):
        translator.translate([text, text], options=options)
    assert len(told) == 1
    assert warning in told[0]


def test_english_is_not_doubted(translator: heedful.Translator) -> None:
    options = replace(translator.options.greedy(), max_length=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        translator.translate(
            ["Where is the next station, and when does the train to Berlin leave today?"] * 3, options=options
        )
        translator.translate(["NO SMOKING", "Click the button.", "5 €"], options=options)


def test_the_command_says_where_numbers_differ_and_when_there_is_nothing_to_translate(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, out, _ = run_here(capsys, "translate", "--json", "It was built in 1998.", "One.\nTwo.")
    found = [json.loads(line)["translations"][0] for line in out.splitlines()]
    assert "numbers_differ" not in found[0]
    assert found[1]["text"].count("\n") == 1
    _, out, _ = run_here(capsys, "translate", "--json", "It was built in 1998.", "--prefix", "Es wurde 1989")
    differing = json.loads(out)["translations"][0]
    assert differing["numbers_differ"] == {"missing": ["1998"], "added": ["1989"]}, differing["text"]
    code, out, errors = run_here(capsys, "translate", "12:30", "--split", "lines")
    assert (code, out) == (0, "12:30\n")
    assert errors == "there was nothing to translate: the input is empty, or holds numbers and signs alone\n"
    assert len(run_here(capsys, "translate", "--scores", "One.\nTwo.")[1].splitlines()) == 1


def test_a_model_without_a_profile_is_used_without_asking(tmp_path: Path, translator: heedful.Translator) -> None:
    saved = replace(translator.saved, profile=None)
    told: list[str] = []
    old = Translator(saved, device="cpu", notice=told.append)
    assert old.translate(["I am hungry. Open {0}."]) == translator.translate(["I am hungry. Open {0}."])
    assert "ꙮ" not in old.translate(["She wrote ꙮ twice."])[0]
    assert not told


def test_a_damaged_profile_is_an_error_that_names_it(tmp_path: Path) -> None:
    folder = bundled_models()[DEFAULT_MODEL]
    profile = read_profile(folder)
    assert profile is not None
    write_profile(tmp_path, profile)
    assert (tmp_path / PROFILE).read_bytes() == (folder / PROFILE).read_bytes()
    for content in ("{", "[]", '{"format": "heedful text profile", "format_version": 1}', '{"format": "other"}'):
        (tmp_path / PROFILE).write_text(content)
        with pytest.raises(heedful.HeedfulError, match=PROFILE):
            read_profile(tmp_path)
    assert read_profile(tmp_path / "nowhere") is None


@pytest.mark.skipif(not TATOEBA.exists(), reason=f"{TATOEBA} is not there")
def test_joined_sentences_lose_nothing() -> None:
    translator = heedful.load(DEFAULT_MODEL, device="cpu")
    with lzma.open(TATOEBA, "rt", encoding="utf-8") as file:
        pairs = [line.rstrip("\n").split("\t")[:2] for _, line in zip(range(40_000), file, strict=False)][::1000]
    sources, references = (list(side) for side in zip(*pairs, strict=True))
    options = translator.options.greedy()
    groups = [slice(at, at + 4) for at in range(0, len(pairs), 4)]
    apart = translator.translate(sources, options=options)
    joined = translator.translate([" ".join(sources[group]) for group in groups], options=options)
    expected, found = [" ".join(apart[group]) for group in groups], joined
    wanted = [[" ".join(references[group]) for group in groups]]
    assert abs(sacrebleu.corpus_bleu(found, wanted).score - sacrebleu.corpus_bleu(expected, wanted).score) <= 0.3
    words = [sum(len(line.split()) for line in lines) for lines in (found, expected)]
    assert words[0] == pytest.approx(words[1], rel=0.03)
