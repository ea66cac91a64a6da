"""Programs that know LibreTranslate or DeepL, unmodified; and what Mastodon and Weblate send, as it was recorded."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests import serving

LINES = ["A dog runs through the snow.", "Two men are talking. They laugh!"]


@pytest.fixture(scope="module")
def server() -> Iterator[serving.Running]:
    with serving.running(serving.served("en-de-small")) as started:
        yield started


@pytest.fixture(scope="module")
def expected(server: serving.Running) -> list[str]:
    return server.service.models[0].translator.translate(LINES)


def test_libretranslatepy(server: serving.Running, expected: list[str]) -> None:
    libretranslatepy = pytest.importorskip("libretranslatepy")
    client = libretranslatepy.LibreTranslateAPI(server.url + "/")
    assert [client.translate(line, "en", "de") for line in LINES] == expected
    assert client.detect("This is the way that we do it in the house.")[0]["language"] == "en"
    assert client.languages() == [
        {"code": "en", "name": "English", "targets": ["de"]},
        {"code": "de", "name": "German", "targets": []},
    ]


def test_deepl(server: serving.Running, expected: list[str]) -> None:
    deepl = pytest.importorskip("deepl")
    client = deepl.Translator("any key", server_url=server.url, send_platform_info=False)
    found = client.translate_text(LINES, source_lang="EN", target_lang="DE")
    assert [one.text for one in found] == expected
    assert [one.detected_source_lang for one in found] == ["EN", "EN"]
    assert client.translate_text("Hello <x>world</x>!", target_lang="DE", tag_handling="xml").text.count("<x>") == 1
    assert [one.code for one in client.get_source_languages()] == ["EN"]
    assert [one.code for one in client.get_target_languages()] == ["DE"]
    assert client.get_usage().character.valid
    assert client.list_glossaries() == []
    with pytest.raises(deepl.DeepLException, match="there is no model"):
        client.translate_text("Bonjour", source_lang="FR", target_lang="DE")
    with pytest.raises(deepl.DeepLException, match="formality"):
        client.translate_text("Hello", target_lang="DE", formality="more")


def test_deepl_both_ways() -> None:
    deepl = pytest.importorskip("deepl")
    with serving.running(serving.served("en-de-small"), serving.served("de-en-small")) as own:
        client = deepl.Translator("any key", server_url=own.url, send_platform_info=False)
        found = client.translate_text("Der Hund läuft durch den Schnee.", target_lang="EN-US")
        assert (found.detected_source_lang, "dog" in found.text) == ("DE", True)
        assert client.translate_text("The dog", target_lang="DE").detected_source_lang == "EN"
        assert {one.code for one in client.get_target_languages()} == {"DE", "EN"}


def test_deep_translator(server: serving.Running, expected: list[str]) -> None:
    deep_translator = pytest.importorskip("deep_translator")
    client = deep_translator.LibreTranslator(
        source="en", target="de", custom_url=server.url + "/", api_key="any", use_free_api=False
    )
    assert [client.translate(line) for line in LINES] == expected


POST = (
    '<p><span class="h-card" translate="no"><a href="https://example.org/@ada" class="u-url mention">@<span>ada</span>'
    '</a></span> A dog runs through the snow <span translate="no">:blobcat:</span><br />Two men are talking about it. '
    '<a href="https://example.org/tags/dogs" class="mention hashtag" rel="tag">#<span>dogs</span></a></p>'
)


def test_what_mastodon_sends_to_libretranslate(server: serving.Running) -> None:
    question = {"q": [POST, "A dog"], "source": "en", "target": "de", "format": "html", "api_key": ""}
    answer = server.ask("POST", "/translate", question)
    assert answer.status == 200
    translated = answer.json["translatedText"]
    assert isinstance(translated, list)
    assert len(translated) == 2
    for piece in (
        POST[: POST.index(" A dog")],
        '<span translate="no">:blobcat:</span>',
        "<br />",
        'rel="tag">',
        "</p>",
    ):
        assert translated[0].count(piece) == 1, piece
    assert "Schnee" in translated[0]
    assert "Männer" in translated[0]
    found = server.ask("GET", "/languages").json
    assert {one["code"]: one["targets"] for one in found}["en"] == ["de"]


def test_what_mastodon_sends_to_deepl(server: serving.Running) -> None:
    form = [("text", POST), ("text", "A dog"), ("source_lang", "EN"), ("target_lang", "de"), ("tag_handling", "html")]
    answer = server.ask("POST", "/v2/translate", form, Authorization="DeepL-Auth-Key some-key")
    assert answer.status == 200
    assert [one["detected_source_language"] for one in answer.json["translations"]] == ["EN", "EN"]
    assert "Schnee" in answer.json["translations"][0]["text"]
    listed = server.ask("GET", "/v2/languages?type=target", Authorization="DeepL-Auth-Key some-key").json
    assert [one["language"] for one in listed] == ["DE"]


def test_what_weblate_sends(server: serving.Running, expected: list[str]) -> None:
    question = {"api_key": "", "q": LINES, "source": "en", "target": "de"}
    assert server.ask("POST", "/translate", question).json["translatedText"] == expected
    strings = ['Delete <x id="7"></x> files?', '<x id="0"></x> of <x id="1"></x> done']
    question = {
        "text": strings,
        "source_lang": "EN",
        "target_lang": "DE",
        "formality": "prefer_more",
        "tag_handling": "xml",
        "ignore_tags": ["x"],
        "context": "",
    }
    answer = server.ask("POST", "/v2/translate", question, Authorization="DeepL-Auth-Key some-key").json
    for given, translation in zip(strings, answer["translations"], strict=True):
        for place in ("0", "1", "7"):
            piece = f'<x id="{place}"></x>'
            assert translation["text"].count(piece) == given.count(piece)
