"""decode(encode(x)) == x for any text in NFC, and never a control id."""

from __future__ import annotations

import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from heedful.text.subwords import Subwords

SUBWORDS = Subwords.train(["the quick brown fox, </s> Größe 37 000 €"] * 5, vocab_size=330)
ALONE = Tokenizer.from_str(SUBWORDS.file_text)
ALONE.encode_special_tokens = True

TEXT = st.text(st.characters(codec="utf-8"), max_size=60)
TRICKY = st.lists(
    st.sampled_from([" ", "  ", "</s>", "<s>", "<pad>", "the", "\u0301", "e", "\u2028", "\x00", "€", "\r"])
)


@settings(deadline=None, max_examples=500)
@given(text=st.one_of(TEXT, TRICKY.map("".join)))
def test_any_nfc_text_survives_the_round_trip_and_makes_no_control_id(text: str) -> None:
    text = unicodedata.normalize("NFC", text)
    (ids,) = SUBWORDS.encode([text])
    assert SUBWORDS.decode(ids) == text
    assert (ids > 2).all()


@settings(deadline=None, max_examples=300)
@given(text=st.one_of(TEXT, TRICKY.map("".join)))
def test_cached_words_give_the_ids_that_tokenizers_gives_for_the_line(text: str) -> None:
    (ids,) = SUBWORDS.encode([text])
    assert ALONE.encode(text, add_special_tokens=False).ids == ids.tolist()


@settings(deadline=None, max_examples=300)
@given(text=st.one_of(TEXT, TRICKY.map("".join)))
def test_spans_are_the_characters_whose_bytes_a_subword_holds(text: str) -> None:
    text = unicodedata.normalize("NFC", text)
    (ids,) = SUBWORDS.encode([text])
    # A symbol of a byte-level vocabulary stands for one byte; the first byte is the space before the line.
    owners = [place - 1 for place, character in enumerate(" " + text) for _ in character.encode("utf-8")]
    for id_, (first, after) in zip(ids.tolist(), SUBWORDS.spans(ids), strict=True):
        own = [owners.pop(0) for _ in ALONE.id_to_token(id_) or ""]
        assert list(range(first, after)) == sorted({place for place in own if place >= 0})
    assert owners in ([], [-1])  # an empty line has no space before it
