"""A pair is never made of lines that do not belong together."""

from __future__ import annotations

from pathlib import Path

import pytest

from heedful.errors import TextError
from heedful.text import reading
from heedful.text.pairs import ParallelText, json_lines, pair_blocks, tsv, two_files


def pairs_of(corpus: ParallelText, **options) -> list[tuple[str | None, str | None]]:
    return [pair for block in pair_blocks(corpus, **options) for pair in zip(block.source, block.target, strict=True)]


def written(folder: Path, name: str, content: bytes) -> Path:
    (folder / name).write_bytes(content)
    return folder / name


def test_lines_stay_aligned_when_the_files_are_cut_into_different_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "BLOCK_BYTES", 64)
    source = written(tmp_path, "a", b"".join(b"%d\n" % number for number in range(1000)))
    target = written(tmp_path, "b", b"".join(b"%s %d\r\n" % (b"x" * (number % 90), number) for number in range(1000)))
    found = pairs_of(two_files(source, target))
    assert [int(source) for source, _ in found if source] == list(range(1000))
    assert all(target and target.split(" ")[1] == source for source, target in found)


def test_line_numbers_are_those_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "BLOCK_BYTES", 16)
    path = written(tmp_path, "t.tsv", b"".join(b"%d\t%d\n" % (number, number) for number in range(1, 100)))
    for block in pair_blocks(tsv(path)):
        assert [int(text) for text in block.source if text] == [
            *range(block.first_line, block.first_line + len(block.source))
        ]


@pytest.mark.parametrize(("left", "right"), [(3, 5), (5, 3), (0, 2), (4000, 4001)])
def test_files_of_different_length_are_refused_with_both_counts(tmp_path: Path, left: int, right: int) -> None:
    corpus = two_files(written(tmp_path, "a.en", b"x\n" * left), written(tmp_path, "a.de", b"y\n" * right))
    with pytest.raises(
        TextError, match=rf"a\.en has {left:,} lines and .*a\.de has {right:,}: .* same number of lines"
    ):
        pairs_of(corpus)


@pytest.mark.parametrize(
    ("line", "reason"),
    [(b"one field", "1 field where two"), (b"a\tb\tc", "3 fields where two")],
)
def test_a_tsv_line_without_exactly_two_fields_is_named(tmp_path: Path, line: bytes, reason: str) -> None:
    corpus = tsv(written(tmp_path, "t.tsv", b"a\tb\n" + line + b"\nc\td\n"))
    with pytest.raises(TextError, match=rf"t\.tsv, line 2: {reason}"):
        pairs_of(corpus)
    assert pairs_of(corpus, on_bad_line=lambda *_: None) == [("a", "b"), (None, None), ("c", "d")]


def test_an_empty_line_is_an_empty_pair_and_no_mistake(tmp_path: Path) -> None:
    lines = tsv(written(tmp_path, "t.tsv", b"a\tb\n\n \nc\td\n\n"))
    assert pairs_of(lines) == [("a", "b"), ("", ""), ("", ""), ("c", "d"), ("", "")]
    objects = json_lines(written(tmp_path, "t.jsonl", b'{"x": "a", "y": "b"}\n\n'), "x", "y")
    assert pairs_of(objects) == [("a", "b"), ("", "")]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("not json", "not JSON"),
        ('["a", "b"]', "a JSON list where an object is needed"),
        ("3", "a JSON int where an object is needed"),
        ('{"en": "a"}', 'no field "de"; there are en'),
        ("{}", 'no field "en"; there are none'),
        ('{"en": "a", "de": 3}', 'field "de" is 3, not text'),
        ('{"en": "a", "de": null}', 'field "de" is null, not text'),
        ('{"en": "\\ud800", "de": "b"}', 'field "en" holds half of a surrogate pair'),
        ('{"en": "a", "de": {"x": 1}}', 'field "de" is an object, not text'),
        ('{"en": "a\\u0000", "de": "b"}', 'field "en" holds a NUL character'),
        ('{"en": "a", "de": "b", "id": ' + "9" * 5000 + "}", "not JSON: .*digits"),
        ("[" * 100_000, "not JSON: it is nested too deeply"),
    ],
)
def test_a_json_line_that_is_no_pair_is_named(tmp_path: Path, line: str, reason: str) -> None:
    content = '{"en": "a", "de": "b", "more": 1}\n' + line + '\n{"de": "d\\n\\u2028", "en": "c"}\n'
    corpus = json_lines(written(tmp_path, "t.jsonl", content.encode()), "en", "de")
    with pytest.raises(TextError, match=rf"t\.jsonl, line 2: {reason}"):
        pairs_of(corpus)
    assert pairs_of(corpus, on_bad_line=lambda *_: None) == [("a", "b"), (None, None), ("c", "d\n\u2028")]
