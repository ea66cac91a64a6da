"""Lines end at \\n and nowhere else, whatever the file holds and however it is compressed."""

from __future__ import annotations

import contextlib
import gzip
import lzma
import os
import threading
import tracemalloc
from pathlib import Path

import pytest
import zstandard

from heedful.errors import TextError
from heedful.text import reading
from heedful.text.reading import line_blocks, read_lines, require_readable, text_lines

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


@pytest.mark.parametrize("text", ["Two dogs.\nAnd a cat.\n" * 9, "Жили у бабуси\nдва весёлых гуся.\n" * 9])
@pytest.mark.parametrize(
    ("encoding", "named"),
    [
        ("utf-16", "UTF-16"),
        ("utf-32", "UTF-32"),
        ("utf-16-le", "UTF-16LE"),
        ("utf-16-be", "UTF-16BE"),
        ("utf-32-le", "UTF-32LE"),
        ("utf-32-be", "UTF-32BE"),
    ],
)
def test_other_encodings_are_named_with_what_converts_them(
    tmp_path: Path, text: str, encoding: str, named: str
) -> None:
    path = tmp_path / "text"
    path.write_bytes(text.encode(encoding))
    with pytest.raises(TextError, match=rf"is {named} text; heedful reads UTF-8 \(iconv -f {named} -t UTF-8"):
        list(line_blocks(path, on_bad_line=lambda *_: None))


def test_a_nul_makes_a_bad_line(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"one\nt\0wo\nthree\n")
    with pytest.raises(TextError, match="line 2: a NUL character, which no text has"):
        lines_of(path)
    with pytest.raises(TextError, match="line 2: a NUL character, which no text has; a text file in UTF-8 is needed"):
        read_lines(path)
    blocks = line_blocks(path, on_bad_line=lambda *_: None)
    assert [line for block in blocks for line in block] == ["one", None, "three"]


@pytest.mark.parametrize("ending", COMPRESSIONS)
@pytest.mark.parametrize("block_bytes", [16, 64, 1 << 20])
@pytest.mark.parametrize("length", [99, 100, 101, 5000])
def test_a_line_too_long_is_a_bad_line_and_its_neighbours_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, block_bytes: int, length: int
) -> None:
    monkeypatch.setattr(reading, "BLOCK_BYTES", block_bytes)
    monkeypatch.setattr(reading, "LONGEST_LINE", 100)
    path = tmp_path / f"text{ending}"
    path.write_bytes(COMPRESSIONS[ending](b"one\n" + b"x" * length + b"\nthree\n" + b"y" * length))
    seen: list[int] = []
    found = [line for block in line_blocks(path, on_bad_line=lambda _, line, why: seen.append(line)) for line in block]
    if length <= 100:
        assert found == ["one", "x" * length, "three", "y" * length]
    elif block_bytes < 100:
        assert found == ["one", None, "three", None]
        assert seen == [2, 4]


@pytest.mark.parametrize("ending", COMPRESSIONS)
@pytest.mark.parametrize("content", [b"x", b"x\n"], ids=["one endless line", "lines"])
def test_a_small_file_that_grows_without_end_takes_little_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, content: bytes
) -> None:
    monkeypatch.setattr(reading, "BLOCK_BYTES", 1 << 17)
    monkeypatch.setattr(reading, "LONGEST_LINE", 1 << 18)
    path = tmp_path / f"text{ending}"
    path.write_bytes(COMPRESSIONS[ending](content * ((1 << 26) // len(content))))
    largest = 0
    tracemalloc.start()
    for block in reading._line_bytes(path):
        largest = max(largest, len(block or b""))
        if tracemalloc.get_traced_memory()[1] > 1 << 25:
            break
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 25, "64 MiB of text, and half of it was held"
    assert largest <= (1 << 17) + (1 << 18)


def test_devices_are_no_text() -> None:
    for device in ("/dev/zero", "/dev/urandom", "/dev/null"):
        with pytest.raises(TextError, match=f"{device} is a device, not a text file"):
            require_readable(Path(device))


def test_an_endless_pipe_of_nothing_ends_with_an_error(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def write() -> None:
        with contextlib.suppress(BrokenPipeError), pipe.open("wb") as file:
            while True:
                file.write(bytes(1 << 16))

    writer = threading.Thread(target=write)
    writer.start()
    with pytest.raises(TextError, match="is no text: it begins with NUL bytes"):
        list(line_blocks(pipe, on_bad_line=lambda *_: None))
    writer.join(timeout=10)
    assert not writer.is_alive()


@pytest.mark.parametrize("name", ["x" * 300, "a\0b", "loop"])
def test_a_name_that_cannot_be_a_file_is_told(tmp_path: Path, name: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(TextError, match="cannot be read"):
        next(text_lines(tmp_path / name))


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(TextError, match=r"there is no file .*nowhere\.en"):
        lines_of(tmp_path / "nowhere.en")
    with pytest.raises(TextError, match="is a folder, not a text file"):
        lines_of(tmp_path)
