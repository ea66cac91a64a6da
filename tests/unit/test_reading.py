"""Lines end at \\n and nowhere else, whatever the file holds and however it is compressed."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path

import pytest
import zstandard

from heedful.errors import TextError
from heedful.text import reading
from heedful.text.reading import in_background, line_blocks

COMPRESSIONS = {
    ".txt": lambda data: data,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}


def lines_of(path: Path) -> list[str | None]:
    return [line for block in line_blocks(path) for line in block]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a\nb\n", ["a", "b"]),
        (b"a\nb", ["a", "b"]),
        (b"a\n\n\nb\n", ["a", "", "", "b"]),
        (b"\xef\xbb\xbfa\nb\n", ["a", "b"]),
        (b"\xef\xbb\xbf", []),
        (b"a\n\xef\xbb\xbfb\n", ["a", "\ufeffb"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\r\r\nb\rc\n", ["a\r", "b\rc"]),
        (b"a\x00b\nc\n", ["a\x00b", "c"]),
        (b"a\tb\n", ["a\tb"]),
        (
            "a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg\x1dh\x1ei\n".encode(),
            ["a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg\x1dh\x1ei"],
        ),
    ],
)
def test_lines_end_at_newline_only(tmp_path: Path, content: bytes, expected: list[str]) -> None:
    path = tmp_path / "text"
    path.write_bytes(content)
    assert lines_of(path) == expected


@pytest.mark.parametrize("ending", COMPRESSIONS)
@pytest.mark.parametrize("block_bytes", [4, 7, 1 << 20])
def test_block_edges_and_compression_change_no_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, block_bytes: int
) -> None:
    monkeypatch.setattr(reading, "BLOCK_BYTES", block_bytes)
    content = "\ufeff" + "".join(f"Zeile {number} €𐍈\u2028 {'x' * (number % 30)}\r\n" for number in range(300)) + "Ende"
    path = tmp_path / f"text{ending}"
    path.write_bytes(COMPRESSIONS[ending](content.encode()))
    assert lines_of(path) == [line.removesuffix("\r") for line in content[1:].split("\n")]


@pytest.mark.parametrize("ending", [".gz", ".xz", ".zst"])
def test_several_compressed_streams_in_one_file_are_read_to_the_end(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"text{ending}"
    path.write_bytes(COMPRESSIONS[ending](b"a\nb\n") + COMPRESSIONS[ending](b"c\n"))
    assert lines_of(path) == ["a", "b", "c"]


@pytest.mark.parametrize("ending", [".gz", ".xz", ".zst"])
def test_a_truncated_compressed_file_is_an_error(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"text{ending}"
    # Hard to compress, so that half of the file is half of the text.
    content = b"".join(b"%d\n" % (number * number % 1000003) for number in range(20000))
    whole = COMPRESSIONS[ending](content)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(TextError, match=r"text\.\w+ is cut short: the compressed data ends in the middle"):
        lines_of(path)


@pytest.mark.parametrize("ending", [".gz", ".xz", ".zst"])
def test_a_file_that_is_not_compressed_as_its_name_says_is_an_error(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"text{ending}"
    path.write_bytes(b"plain text\n" * 10)
    with pytest.raises(TextError, match="damaged, or not compressed as its name says"):
        lines_of(path)


def test_a_line_that_is_not_utf8_is_refused_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"good\nbad \xff\ngood\n")
    with pytest.raises(TextError, match=r"text, line 2: not UTF-8: byte 0xff at position 5 \(--on-bad-line drop"):
        lines_of(path)


def test_a_dropped_line_keeps_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "BLOCK_BYTES", 8)
    path = tmp_path / "text"
    path.write_bytes(b"one\ntwo\nb\xc3\xff\nfour\n\xed\xa0\x80\nsix")
    seen = []
    blocks = line_blocks(path, on_bad_line=lambda path, line, reason: seen.append(line))
    assert [line for block in blocks for line in block] == ["one", "two", None, "four", None, "six"]
    assert seen == [3, 5]


def test_utf16_is_named(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes("a\nb\n".encode("utf-16"))
    with pytest.raises(TextError, match="is UTF-16 text; heedful reads UTF-8"):
        lines_of(path)


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(TextError, match=r"there is no file .*nowhere\.en"):
        lines_of(tmp_path / "nowhere.en")
    with pytest.raises(TextError, match="is a folder, not a text file"):
        lines_of(tmp_path)


def test_an_error_in_the_background_is_raised_where_it_is_read() -> None:
    def items():
        yield 1
        raise TextError("later")

    found = in_background(items())
    assert next(found) == 1
    with pytest.raises(TextError, match="later"):
        next(found)
