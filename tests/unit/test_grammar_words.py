"""The word forms of the demo's grammar against tables written by hand."""

from __future__ import annotations

import pytest
from examples.grammar import english
from examples.grammar.german import (
    CASES,
    IRREGULAR,
    PERSONS,
    adjective_form,
    article,
    imperative,
    noun_form,
    number_word,
    participle,
    present,
    preterite,
    relative_pronoun,
    zu_infinitive,
)
from examples.grammar.lexicon import lexicon

ARTICLES = {
    "der": ["der die das die", "den die das die", "dem der dem den", "des der des der"],
    "dies": ["dieser diese dieses diese", "diesen diese dieses diese", "diesem dieser diesem diesen"],
    "jed": ["jeder jede jedes", "jeden jede jedes", "jedem jeder jedem"],
    "welch": ["welcher welche welches welche", "welchen welche welches welche", "welchem welcher welchem welchen"],
    "ein": ["ein eine ein", "einen eine ein", "einem einer einem", "eines einer eines"],
    "kein": ["kein keine kein keine", "keinen keine kein keine", "keinem keiner keinem keinen"],
    "unser": ["unser unsere unser unsere", "unseren unsere unser unsere", "unserem unserer unserem unseren"],
    "ihr": ["ihr ihre ihr ihre", "ihren ihre ihr ihre", "ihrem ihrer ihrem ihren"],
}
"""Rows are cases, columns masculine, feminine, neuter, plural."""

ADJECTIVES = {
    "": ["neuer neue neues neue", "neuen neue neues neue", "neuem neuer neuem neuen", "neuen neuer neuen neuer"],
    "der": ["neue neue neue neuen", "neuen neue neue neuen", "neuen neuen neuen neuen", "neuen neuen neuen neuen"],
    "mein": ["neuer neue neues neuen", "neuen neue neues neuen", "neuen neuen neuen neuen", "neuen neuen neuen neuen"],
}
"""Strong, weak and mixed."""

PRESENTS = {
    "read": "lese liest liest lesen lest lesen",
    "eat": "esse isst isst essen esst essen",
    "carry": "trage trägst trägt tragen tragt tragen",
    "invite": "lade lädst lädt laden ladet laden",
    "run": "laufe läufst läuft laufen lauft laufen",
    "answer": "antworte antwortest antwortet antworten antwortet antworten",
    "draw": "zeichne zeichnest zeichnet zeichnen zeichnet zeichnen",
    "dance": "tanze tanzt tanzt tanzen tanzt tanzen",
    "feed": "füttere fütterst füttert füttern füttert füttern",
    "collect": "sammle sammelst sammelt sammeln sammelt sammeln",
    "play": "spiele spielst spielt spielen spielt spielen",
    "live": "wohne wohnst wohnt wohnen wohnt wohnen",
    "like": "mag magst mag mögen mögt mögen",
    "have": "habe hast hat haben habt haben",
    "know that": "weiß weißt weiß wissen wisst wissen",
}

PARTICIPLES = {
    "buy": "gekauft",
    "sell": "verkauft",
    "open": "aufgemacht",
    "call": "angerufen",
    "invite": "eingeladen",
    "prepare": "vorbereitet",
    "try on": "anprobiert",
    "turn on": "eingeschaltet",
    "give back": "zurückgegeben",
    "congratulate": "gratuliert",
    "visit": "besucht",
    "explain": "erklärt",
    "break": "zerbrochen",
    "understand": "verstanden",
    "forget": "vergessen",
    "work": "gearbeitet",
    "eat": "gegessen",
    "listen to": "zugehört",
    "get up": "aufgestanden",
}

IMPERATIVES = {
    "read": "lies",
    "eat": "iss",
    "give": "gib",
    "help": "hilf",
    "throw away": "wirf",
    "carry": "trag",
    "wash": "wasch",
    "invite": "lade",
    "draw": "zeichne",
    "repair": "repariere",
    "feed": "füttere",
    "open": "mach",
    "answer": "antworte",
}

NOUNS = {
    "man": ["der Mann", "den Mann", "dem Mann", "des Mannes", "die Männer", "den Männern"],
    "boy": ["der Junge", "den Jungen", "dem Jungen", "des Jungen", "die Jungen", "den Jungen"],
    "neighbour": ["der Nachbar", "den Nachbarn", "dem Nachbarn", "des Nachbarn", "die Nachbarn", "den Nachbarn"],
    "boss": ["der Chef", "den Chef", "dem Chef", "des Chefs", "die Chefs", "den Chefs"],
    "daughter": ["die Tochter", "die Tochter", "der Tochter", "der Tochter", "die Töchter", "den Töchtern"],
    "child": ["das Kind", "das Kind", "dem Kind", "des Kindes", "die Kinder", "den Kindern"],
    "girl": ["das Mädchen", "das Mädchen", "dem Mädchen", "des Mädchens", "die Mädchen", "den Mädchen"],
    "teacher": ["die Lehrerin", "die Lehrerin", "der Lehrerin", "der Lehrerin", "die Lehrerinnen", "den Lehrerinnen"],
    "car": ["das Auto", "das Auto", "dem Auto", "des Autos", "die Autos", "den Autos"],
}


@pytest.mark.parametrize("determiner", ARTICLES)
def test_articles_follow_the_hand_written_table(determiner: str) -> None:
    for case, row in zip(CASES, ARTICLES[determiner], strict=False):
        assert (
            " ".join(article(determiner, case, gender) for gender, _ in zip("mfnp", row.split(), strict=False)) == row
        )


@pytest.mark.parametrize("determiner", ADJECTIVES)
def test_adjectives_follow_the_three_hand_written_tables(determiner: str) -> None:
    for case, row in zip(CASES, ADJECTIVES[determiner], strict=True):
        assert " ".join(adjective_form("neu", determiner, case, gender) for gender in "mfnp") == row


def test_adjectives_that_lose_a_letter() -> None:
    assert [adjective_form(word, "der", "acc", "m") for word in ("teuer", "dunkel", "müde")] == [
        "teuren",
        "dunklen",
        "müden",
    ]


@pytest.mark.parametrize("name", NOUNS)
def test_nouns_follow_the_hand_written_table(name: str) -> None:
    noun = lexicon().nouns[name]
    singular = [f"{article('der', case, noun.gender)} {noun_form(noun, case, plural=False)}" for case in CASES]
    plural = [f"{article('der', case, 'p')} {noun_form(noun, case, plural=True)}" for case in ("nom", "dat")]
    assert [*singular, *plural] == NOUNS[name]


@pytest.mark.parametrize("name", PRESENTS)
def test_the_present_follows_the_hand_written_table(name: str) -> None:
    verb = lexicon().verbs[name]
    assert " ".join(present(verb.german, *who, third=verb.german_third) for who in PERSONS) == PRESENTS[name]


def test_the_preterite_of_the_verbs_that_have_one() -> None:
    assert [preterite("sein", *who) for who in PERSONS] == ["war", "warst", "war", "waren", "wart", "waren"]
    assert " ".join(preterite("haben", *who) for who in PERSONS) == "hatte hattest hatte hatten hattet hatten"
    assert " ".join(preterite("können", *who) for who in PERSONS) == "konnte konntest konnte konnten konntet konnten"
    assert set(IRREGULAR) > {verb.german for verb in lexicon().verbs.values() if verb.german.endswith("ögen")}


@pytest.mark.parametrize("name", PARTICIPLES)
def test_participles(name: str) -> None:
    assert participle(lexicon().verbs[name]) == PARTICIPLES[name]


@pytest.mark.parametrize("name", IMPERATIVES)
def test_imperatives(name: str) -> None:
    assert imperative(lexicon().verbs[name]) == IMPERATIVES[name]


def test_zu_goes_between_prefix_and_verb() -> None:
    verbs = lexicon().verbs
    assert zu_infinitive(verbs["open"]) == ("aufzumachen",)
    assert zu_infinitive(verbs["sell"]) == ("zu", "verkaufen")


def test_relative_pronouns_are_articles_but_for_one() -> None:
    rows = ["der die das die", "den die das die", "dem der dem denen"]
    assert [" ".join(relative_pronoun(case, gender) for gender in "mfnp") for case in CASES[:3]] == rows


@pytest.mark.parametrize(
    ("number", "english_word", "german_word"),
    [
        (1, "one", "eins"),
        (2, "two", "zwei"),
        (11, "eleven", "elf"),
        (12, "twelve", "zwölf"),
        (13, "thirteen", "dreizehn"),
        (16, "sixteen", "sechzehn"),
        (17, "seventeen", "siebzehn"),
        (20, "twenty", "zwanzig"),
        (21, "twenty-one", "einundzwanzig"),
        (30, "thirty", "dreißig"),
        (37, "thirty-seven", "siebenunddreißig"),
        (44, "forty-four", "vierundvierzig"),
        (66, "sixty-six", "sechsundsechzig"),
        (70, "seventy", "siebzig"),
        (99, "ninety-nine", "neunundneunzig"),
    ],
)
def test_numbers(number: int, english_word: str, german_word: str) -> None:
    assert (english.number_word(number), number_word(number)) == (english_word, german_word)


def test_all_numbers_are_different() -> None:
    for word in (english.number_word, number_word):
        assert len({word(number) for number in range(100)}) == 100


def test_english_verb_forms() -> None:
    verbs = lexicon().verbs
    forms = {name: (english.third_person(verbs[name].english), english.ing_form(verbs[name])) for name in verbs}
    assert forms["put on"] == ("puts", "putting")
    assert forms["see"] == ("sees", "seeing")
    assert forms["write"] == ("writes", "writing")
    assert forms["tidy up"] == ("tidies", "tidying")
    assert forms["catch"] == ("catches", "catching")
    assert forms["play"] == ("plays", "playing")
    pasts = {name: (verbs[name].past, verbs[name].participle) for name in verbs}
    assert pasts["take off"] == ("took", "taken")
    assert pasts["try on"] == ("tried", "tried")
    assert pasts["buy"] == ("bought", "bought")
    assert pasts["dance"] == ("danced", "danced")


def test_the_dictionary_is_of_several_hundred_words_and_names_each_thing_once() -> None:
    words = lexicon()
    qualities = {quality for kind in words.adjectives.values() for quality in kind}
    adverbs = {adverb for use in words.adverbs.values() for adverb in use}
    assert len(words.nouns) + len(words.verbs) + len(qualities) + len(adverbs) + len(words.people) > 350
    for nouns in ({noun.english_plural for noun in words.nouns.values()}, {n.german for n in words.nouns.values()}):
        assert len(nouns) == len(words.nouns)
    # One English word for each of two German qualities would make a translation a guess.
    assert len({quality.english for quality in qualities}) == len(qualities)
