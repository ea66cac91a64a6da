"""`heedful prepare --tag bt=FILE`: a model knows which sources were written by a model; no text becomes the tag."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.commands import run_here
from tokenizers import Tokenizer

from heedful.data.corpus import Corpus
from heedful.errors import SubwordError
from heedful.prepare.encoding import given_vocabularies
from heedful.search.spelling import Spelling
from heedful.text.bpe_dropout import RandomCuts
from heedful.text.subwords import Subwords

LINES = ["the <bt> of the tag <bt>", "<bt> and <bt>", "an old <s>, <bt>", "the bt of the bt"]
PLAIN = Subwords.train(LINES * 5, vocab_size=300)
TAGGED = PLAIN.with_tags(["bt"])


def test_a_tag_is_one_more_id_behind_the_others_and_its_file_is_read_again(tmp_path: Path) -> None:
    assert TAGGED.tags == {"<bt>": PLAIN.vocab_size}
    assert TAGGED.tokens == [*PLAIN.tokens, "<bt>"]
    assert TAGGED.vocab_size == len(TAGGED.id_bytes) == PLAIN.vocab_size + 1
    assert TAGGED.with_tags(["bt"]) is TAGGED
    TAGGED.save(tmp_path)
    loaded = Subwords.load(tmp_path)
    assert (loaded.sha256, loaded.tags, loaded.id_bytes) == (TAGGED.sha256, TAGGED.tags, TAGGED.id_bytes)
    assert loaded.with_tags(["new"]).tags == {"<bt>": PLAIN.vocab_size, "<new>": PLAIN.vocab_size + 1}
    tag = loaded.tags["<bt>"]
    assert loaded.decode([tag, *loaded.encode(["the tag"])[0]]) == "the tag"
    assert loaded.pieces([tag]) == ["<bt>"]


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.text(max_size=20), st.lists(st.sampled_from(["<bt>", " ", "<", "bt", ">", "the"])).map("".join)))
def test_no_text_becomes_the_tag(line: str) -> None:
    tag = TAGGED.tags["<bt>"]
    theirs = Tokenizer.from_str(TAGGED.file_text)
    theirs.encode_special_tokens = True
    for ids in (TAGGED.encode([line])[0].tolist(), theirs.encode(line).ids):
        assert ids == PLAIN.encode([line])[0].tolist()
    cut = RandomCuts(TAGGED, dropout=0.3, seed=1).encode_raw([line])[0]
    assert tag not in np.frombuffer(cut, TAGGED.dtype)


def test_no_output_holds_the_tag() -> None:
    spelling = Spelling.of((), TAGGED.id_bytes)
    assert spelling.allows(TAGGED.encode(["the <bt>"])[0].tolist())
    assert not spelling.allows([TAGGED.tags["<bt>"]])


@pytest.mark.parametrize("name", ["", "s", "pad", "BT", "b t", "9", "<bt>", "a" * 17])
def test_a_strange_name_is_refused(name: str) -> None:
    with pytest.raises(SubwordError, match="cannot name a tag"):
        PLAIN.with_tags([name])


@pytest.mark.parametrize("tag", ["the", "<BT>", "bt"])
def test_a_file_with_a_strange_tag_is_refused(tag: str, tmp_path: Path) -> None:
    value = json.loads(TAGGED.file_text)
    value["added_tokens"][-1]["content"] = tag
    (tmp_path / "tokenizer.json").write_text(json.dumps(value))
    with pytest.raises(SubwordError, match="is not a vocabulary that heedful made"):
        Subwords.load(tmp_path)


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    for name, begin in (("real", 0), ("synth", 500)):
        rows = [(f"The house number {n} is old.", f"Haus Nummer {n} ist alt.") for n in range(begin, begin + 300)]
        for side, column in (("en", 0), ("de", 1)):
            (tmp_path / f"{name}.{side}").write_text("".join(f"{row[column]}\n" for row in rows))
    return tmp_path


def prepared(capsys: pytest.CaptureFixture[str], texts: Path, output: str, *more: str | Path) -> dict[str, Any]:
    files = [word for name in ("real", "synth") for word in
             ("--source", texts / f"{name}.en", "--target", texts / f"{name}.de")]  # fmt: skip
    code, out, errors = run_here(capsys, "prepare", *files, *more, "--output", texts / output, "--json")
    assert code == 0, errors
    return json.loads(out)


@pytest.mark.parametrize("separate", [False, True])
def test_the_tag_stands_before_the_sources_of_its_file_and_nowhere_else(
    separate: bool, texts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ["--bpe-dropout", "0.1", "--copies", "2", "--augment", "upper=0.2", "joined=0.2", "--valid-pairs", "20"]
    more += ["--separate-vocabularies"] * separate
    report = prepared(capsys, texts, "corpus", "--tag", f"bt={texts / 'synth.en'}", "--vocab-size", "320", *more)
    source, target = given_vocabularies(texts / "corpus").sides.values()
    assert report["vocabulary"]["source"]["size"] == source.vocab_size == 320, "the tag is one of them"
    assert (source is target) != separate
    assert target.tags == ({} if separate else source.tags)
    tag = source.tags["<bt>"]
    corpus = Corpus(texts / "corpus")
    sources, targets = (side.sentences(len(corpus)) for side in (corpus.source, corpus.target))
    tagged = [corpus.origin(pair)[0].endswith("synth.de") for pair in range(len(corpus))]
    assert 600 < sum(tagged) < len(tagged)
    assert [ids.tolist().count(tag) for ids in sources] == [int(has) for has in tagged]
    assert all(ids[0] == tag for ids, has in zip(sources, tagged, strict=True) if has)
    assert not any(tag in ids for ids in targets) or separate
    valid = Corpus(texts / "corpus", "valid")
    assert all(valid.origin(pair)[0].endswith("real.de") for pair in range(20)), "what a model wrote tests nothing"
    assert not any(tag in ids for ids in valid.source.sentences(20))
    assert run_here(capsys, "data", texts / "corpus", "--samples", "9")[1].count("<bt>") > 0


def test_a_place_is_kept_for_a_tag_that_is_to_come(texts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prepared(capsys, texts, "first", "--tag", "bt")
    report = prepared(capsys, texts, "second", "--tag", f"bt={texts / 'synth.en'}", "--tokenizer", texts / "first")
    first, second = (given_vocabularies(texts / name).sides["source"] for name in ("first", "second"))
    assert first.sha256 == second.sha256
    assert report["notes"] == []
    prepared(capsys, texts, "without")
    report = prepared(capsys, texts, "other", "--tag", "bt", "--tokenizer", texts / "without")
    assert "without has no such tag: --init cannot take a model with its subwords" in report["notes"][0]


@pytest.mark.parametrize(
    ("given_tag", "expected"),
    [("bt=nowhere.en", "nowhere.en is none of the files to train on"), ("BT", "'BT' cannot name a tag: must be")],
)
def test_what_cannot_be_tagged_is_said(
    given_tag: str, expected: str, texts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = ["--source", texts / "real.en", "--target", texts / "real.de"]
    code, _, errors = run_here(capsys, "prepare", *files, "--tag", given_tag, "--output", texts / "corpus")
    assert code == 2
    assert expected in " ".join(errors.split())
