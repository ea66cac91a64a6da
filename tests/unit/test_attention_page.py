"""The page of a translation holds its weights and its words, and nothing in it can leave its place."""

from __future__ import annotations

import base64
import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.attention_toys import HOSTILE, toy_maps
from tests.pages import Page

from heedful.errors import ReportError
from heedful.report import attention_views as module
from heedful.report.attention_views import KINDS, LONGEST_LABEL, attention_page, labels, write_attention_page
from heedful.report.pages import page_file
from heedful.report.pictures import ABOVE
from heedful.search.attention_maps import AttentionMaps

MAPS = {
    "plain": toy_maps([" Ein", " Haus", "."], [" A", " house", "."]),
    "hostile": toy_maps(HOSTILE, HOSTILE[::-1]),
    "nothing but the ends": toy_maps([], []),
}


def weights_in(data: dict[str, Any], kind: str) -> np.ndarray:
    """The weights, read number by number as the format says."""
    raw, size = base64.b64decode(data["kinds"][kind]["weights"]), data["bits"] // 8
    numbers = [int.from_bytes(raw[at : at + size], "little") for at in range(0, len(raw), size)]
    return (np.array(numbers).reshape(data["kinds"][kind]["shape"]) / (2 ** data["bits"] - 1)) ** 2


@pytest.mark.parametrize("name", MAPS)
def test_the_page_holds_the_weights_and_the_words(name: str) -> None:
    maps = MAPS[name]
    data = Page(attention_page(maps)).data
    assert data["bits"] == 16
    for kind in KINDS:
        expected = getattr(maps, kind)
        assert (np.abs(weights_in(data, kind) - expected) <= np.sqrt(expected) / 65535 + 1e-9).all()
        assert (weights_in(data, kind)[expected == 0] == 0).all()
        assert len(data["kinds"][kind]["queries"]) == expected.shape[2]
        assert len(data["kinds"][kind]["keys"]) == expected.shape[3]
        assert len(data["kinds"][kind]["heads"]) == expected.shape[0] * expected.shape[1]
    assert (data["source"], data["target"]) == (maps.source_text, maps.target_text)
    assert data["kinds"]["decoder"]["keys"] == ["⟨start⟩", *data["kinds"]["decoder"]["queries"][:-1]]


@pytest.mark.parametrize("name", MAPS)
def test_no_subword_becomes_markup_and_nothing_is_requested(name: str) -> None:
    text = attention_page(MAPS[name])
    page, plain = Page(text), Page(attention_page(MAPS["plain"]))
    assert [tag for tag, _ in page.elements] == [tag for tag, _ in plain.elements]
    assert page.texts["script"][1:] == plain.texts["script"][1:]
    assert page.texts["title"] == [f"Attention: {MAPS[name].source_text}"]
    assert not page.open or page.open == ["meta"]  # every element but the void ones is closed
    for tag, attributes in page.elements:
        assert tag not in {"link", "iframe", "img", "object", "base"}
        assert not {"src", "href", "action", "onclick", "onload"} & attributes.keys()
    assert not re.search(r"https?://|@import|url\(|fetch\(|XMLHttpRequest|innerHTML|eval\(", text)
    policy = next(attributes for tag, attributes in page.elements if "http-equiv" in attributes)["content"] or ""
    assert policy.startswith("default-src 'none'")


def test_every_place_the_script_asks_for_is_in_the_page() -> None:
    page = Page(attention_page(MAPS["plain"]))
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    asked = set(re.findall(r'(?:byId|getElementById)\("([^"]+)"\)', page.texts["script"][1]))
    assert len(asked) > 10
    assert asked <= set(ids)


def test_a_long_sentence_stays_below_three_megabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    even = np.full((6, 8, 60, 60), 1 / 60, np.float32)
    words = [" word"] * 60
    maps = AttentionMaps("s", "t", words, words, even, even, even, -1.0, -1.0)
    page = attention_page(maps)
    assert Page(page).data["bits"] == 16
    assert len(page) < 1_500_000
    monkeypatch.setattr(module, "FINE_WEIGHTS", 500_000)
    coarse = Page(attention_page(maps)).data
    assert coarse["bits"] == 8
    np.testing.assert_allclose(weights_in(coarse, "cross"), even, atol=float(np.sqrt(1 / 60)) / 255 + 1e-5)


def test_a_score_that_is_no_number_is_left_out() -> None:
    maps = dataclasses.replace(MAPS["plain"], score=-np.inf, log_probability=np.nan)
    data = Page(attention_page(maps)).data
    assert data["score"] is data["log_probability"] is None


def test_a_page_is_not_overwritten_unasked(tmp_path: Path) -> None:
    path = write_attention_page(MAPS["plain"], tmp_path / "new" / "page.html")
    before = path.read_bytes()
    with pytest.raises(ReportError, match=r"page\.html is there already; give another name, or --overwrite"):
        write_attention_page(MAPS["hostile"], path)
    assert path.read_bytes() == before
    write_attention_page(MAPS["hostile"], path, overwrite=True)
    assert path.read_bytes() != before
    with pytest.raises(ReportError, match="is a folder"):
        write_attention_page(MAPS["plain"], tmp_path)
    with pytest.raises(ReportError, match="cannot be written"):
        write_attention_page(MAPS["plain"], path / "below.html")
    assert [file.name for file in path.parent.iterdir()] == ["page.html"]


def test_labels_show_what_cannot_be_seen() -> None:
    shown = labels(HOSTILE)
    assert shown[5] == "·שלום"
    assert shown[6] == "⟨202e⟩right"  # it would turn the text after it around
    assert shown[7] == "◌\u0301"
    assert shown[8:11] == ["⟨200b⟩", "⟨a⟩", "⟨2028⟩"]
    assert shown[12] == "·👩‍👩‍👧"
    assert labels(["\u200d", "  x", " \u0301", ""]) == ["⟨200d⟩", "··x", "·◌\u0301", ""]
    assert max(len(label) for label in shown) == LONGEST_LABEL


def test_the_page_opens_on_the_layer_that_aligns_and_knows_the_words() -> None:
    maps = toy_maps([" Trans", "former", ",", " ja"], [" A", " trans", "former"], layers=6)
    data = Page(attention_page(maps)).data
    assert data["layer"] == 5  # the last but one of six
    cross, decoder = data["kinds"]["cross"]["words"], data["kinds"]["decoder"]["words"]
    assert cross["keys"] == [["Transformer,", [0, 1, 2]], ["ja", [3]], ["⟨end⟩", [4]]]
    assert cross["queries"] == decoder["queries"] == [["A", [0]], ["transformer", [1, 2]], ["⟨end⟩", [3]]]
    assert decoder["keys"] == [["⟨start⟩", [0]], ["A", [1]], ["transformer", [2, 3]]]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_equal_steps_of_the_scale_look_equal(theme: str) -> None:
    """By CIE's L*, a formula that the scale is not made with."""

    def lightness(colour: list[int]) -> float:
        linear = [c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour]
        y = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
        return 116 * y ** (1 / 3) - 16 if y > 0.008856 else 903.3 * y

    paper = {"light": (0xFC, 0xFC, 0xFB), "dark": (0x16, 0x18, 0x1B)}[theme]
    (brighter,) = re.findall(r"canvas, svg image \{ filter: brightness\(([\d.]+)\)", page_file("attention.css"))
    ink = np.minimum(np.array(list(bytes.fromhex(ABOVE[1:]))) * (float(brighter) if theme == "dark" else 1), 255)
    shares = np.linspace(0, 1, 9)[:, None]
    levels = np.array([lightness(colour) for colour in (ink * shares + np.array(paper) * (1 - shares)).tolist()])
    steps = np.diff(levels) * (1 if theme == "dark" else -1)
    assert steps.min() > 0.75 * steps.mean()
    assert steps.max() < 1.25 * steps.mean()
    assert abs(levels[-1] - levels[0]) > 55
