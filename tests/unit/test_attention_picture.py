"""Pictures are drawn of whatever a sentence holds, and show its weights in their places."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread
from PIL import Image
from tests.attention_toys import HOSTILE, toy_maps

from heedful.errors import ReportError
from heedful.report.attention_views import PICTURES, alignment_picture, write_attention_pictures
from heedful.report.picture import Cells, Frame, Inset, Picture, Stroke, Words
from heedful.report.raster import NOT_IN_FONTS, _drawable, png


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


def test_every_mark_is_drawn_where_the_picture_has_it() -> None:
    """Read back pixel by pixel, two for each of the picture's own."""
    marks = [
        Cells(np.array([[0.0, 1.0]]), (10, 10, 20, 10)),
        Frame("bar train", (50, 10, 10, 10)),
        Stroke("dots mark", [(80, 15)], dots=True),
        Inset([Frame("bar train", (0, 0, 40, 10))], (10, 30), cut=(0, 0, 20, 10)),
        Inset([Frame("bar train", (0, 0, 40, 10))], (10, 50)),
        Words("tick end", "x", (95, 60)),
    ]
    with Image.open(io.BytesIO(png(Picture(100, 70, marks, "")))) as read:
        pixels = np.asarray(read.convert("L")).astype(int)
    edge = (pixels.shape[1] - 200) // 2, (pixels.shape[0] - 140) // 2
    dark = {
        (x, y): bool(pixels[edge[1] + 2 * y, edge[0] + 2 * x] < 140)
        for x, y in [(15, 15), (25, 15), (55, 15), (80, 15), (65, 15), (15, 35), (35, 35), (15, 55), (45, 55)]
    }
    assert [place for place, is_dark in dark.items() if is_dark] == [
        *[(25, 15), (55, 15), (80, 15), (15, 35), (15, 55), (45, 55)]
    ]
    written = np.argwhere(pixels[:, edge[0] + 170 :] < 200)
    assert written[:, 1].max() + 170 == pytest.approx(190, abs=2)  # it ends there
    assert written[:, 0].max() - edge[1] == pytest.approx(120, abs=2)


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
    dark_rows, dark_columns = np.nonzero((cells != bare).any(axis=2) & (cells[..., :3].sum(axis=2) < 0.8))
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
