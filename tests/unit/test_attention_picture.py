"""Pictures are drawn of whatever a sentence holds, and show its weights in their places."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread
from tests.attention_toys import HOSTILE, toy_maps

from heedful.errors import ReportError
from heedful.report.attention_views import PICTURES, alignment_picture, write_attention_pictures
from heedful.report.pictures import NOT_IN_FONTS, _drawable


@pytest.mark.parametrize("subwords", [[], [" a"], HOSTILE], ids=["empty", "one", "hostile"])
def test_four_pictures_are_drawn_of_any_sentence(subwords: list[str], tmp_path: Path) -> None:
    pictures = write_attention_pictures(toy_maps(subwords, subwords[:5]), tmp_path / "new", layer=2)
    assert [path.name for path in pictures] == list(PICTURES)
    for path in pictures:
        assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert "matplotlib.pyplot" not in sys.modules


def test_the_chosen_layer_is_the_one_that_is_drawn(tmp_path: Path) -> None:
    maps = toy_maps([" a", " b"], [" c"])
    first, again, second = (
        write_attention_pictures(maps, tmp_path / str(place), layer=layer)[3].read_bytes()
        for place, layer in enumerate((1, 1, 2))
    )
    assert first == again
    assert first != second


def test_true_links_are_framed_where_they_are() -> None:
    """Around the cell that turns dark where the weight of that link alone is 1."""
    sides = {"source": ["a", "b"], "target": ["c", "d"], "layer": 1}
    framed, bare = (
        imread(io.BytesIO(alignment_picture(np.full((2, 2), 0.5), links=frozenset(links), **sides)))
        for links in ([(0, 1)], [])
    )
    rows, columns = np.nonzero((framed != bare).any(axis=2))
    cells = imread(io.BytesIO(alignment_picture(np.array([[0.0, 0.0], [1.0, 0.0]]), links=frozenset(), **sides)))
    below = cells.shape[0] * 2 // 3  # there the scale of colours begins
    cells, bare = cells[:below], bare[:below]
    dark_rows, dark_columns = np.nonzero((cells != bare).any(axis=2) & (cells[..., :3].sum(axis=2) < 1.3))
    for frame, cell in ((rows, dark_rows), (columns, dark_columns)):
        assert (frame.min(), frame.max()) == pytest.approx((cell.min(), cell.max()), abs=5)
    assert len(rows) < len(dark_rows)


@pytest.mark.parametrize("word", ["of", "getroffen", "Donaudampfschifffahrtsgesellschaft"])
def test_no_word_is_cut_at_the_edge(word: str) -> None:
    for rows, columns in ((2, 12), (11, 10), (12, 2)):
        words = {"source": [word] * columns, "target": [word] * rows}
        picture = alignment_picture(np.zeros((rows, columns)), **words, links=frozenset(), layer=1)
        pixels = imread(io.BytesIO(picture))
        edges = (pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1])
        assert all((edge == 1).all() for edge in edges)


def test_a_character_that_no_font_has_is_a_box() -> None:
    families, label = _drawable("a\U000f0000ü$")
    assert label == f"a{NOT_IN_FONTS}ü$"
    assert families == ["DejaVu Sans"]


def test_pictures_are_not_overwritten_unasked(tmp_path: Path) -> None:
    maps = toy_maps([" a"], [" b"])
    (tmp_path / "cross.png").write_bytes(b"mine")
    with pytest.raises(ReportError, match=r"cross\.png is there already"):
        write_attention_pictures(maps, tmp_path, layer=1)
    assert [path.name for path in tmp_path.iterdir()] == ["cross.png"]
    write_attention_pictures(maps, tmp_path, layer=1, overwrite=True)
    assert (tmp_path / "cross.png").read_bytes() != b"mine"
