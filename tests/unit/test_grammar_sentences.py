"""Word order and alignment of the demo's grammar: sentences built and aligned by hand, then claims over thousands."""

from __future__ import annotations

from functools import cache

import pytest
from examples.grammar.alignment import PUNCTUATION, text_of
from examples.grammar.corpus import Pair, pair_of, pairs
from examples.grammar.german import PERSONS, participle, present, preterite
from examples.grammar.lexicon import lexicon
from examples.grammar.sampling import sentence
from examples.grammar.sentences import Clause, NounPhrase, Place, Pronoun, Sentence, combinations

from heedful.demo.stages import tokens_of

CONSTRUCTIONS = {
    *("statement", "fronted", "topic", "question", "wh-question", "which-question", "imperative", "because", "that"),
    *("whether", "condition", "consequence", "subject relative", "object relative", "purpose"),
    *("coordination", "contrast"),
}
WORDS = lexicon()
NOUNS, VERBS = WORDS.nouns, WORDS.verbs
ANNA, PETER = (next(name for name in WORDS.people if name.english == text) for text in ("Anna", "Peter"))
OLD = WORDS.adjectives["person"][0]
NEW = WORDS.adjectives["case"][0]
YESTERDAY = next(item for item in WORDS.adverbs["past"] if item.english[0][0] == "yesterday")
THE_WINDOW = NounPhrase(NOUNS["window"])
PETER_OPENS = Clause(VERBS["open"], PETER, object=THE_WINDOW)
OPENED = Clause(VERBS["open"], PETER, "past", object=THE_WINDOW)
INTO_THE_KITCHEN = Place(WORDS.directions["kitchen"], NOUNS["kitchen"])

BY_HAND = [
    (
        Sentence("statement", PETER_OPENS),
        "Peter opens the window.",
        "Peter macht das Fenster auf.",
        "0-0 1-1 1-4 2-2 3-3 4-5",
    ),
    (
        Sentence("fronted", Clause(VERBS["open"], PETER, "past", object=THE_WINDOW, time=YESTERDAY), lead="time"),
        "Yesterday Peter opened the window.",
        "Gestern hat Peter das Fenster aufgemacht.",
        "0-0 1-2 2-1 2-5 3-3 4-4 5-6",
    ),
    (
        Sentence("that", Clause(VERBS["know that"], ANNA), PETER_OPENS),
        "Anna knows that Peter opens the window.",
        "Anna weiß, dass Peter das Fenster aufmacht.",
        "0-0 1-1 2-2 2-3 3-4 4-7 5-5 6-6 7-8",
    ),
    (
        Sentence("question", Clause(VERBS["open"], PETER, "past", object=THE_WINDOW)),
        "Did Peter open the window?",
        "Hat Peter das Fenster aufgemacht?",
        "0-0 1-1 2-4 3-2 4-3 5-5",
    ),
    (
        Sentence("statement", Clause(VERBS["open"], PETER, modal="must", negated=True, object=THE_WINDOW)),
        "Peter does not have to open the window.",
        "Peter muss das Fenster nicht aufmachen.",
        "0-0 1-1 2-4 3-1 4-5 5-5 6-2 7-3 8-6",
    ),
    (
        Sentence("statement", Clause(VERBS["open"], PETER, modal="can", negated=True, object=THE_WINDOW)),
        "Peter cannot open the window.",
        "Peter kann das Fenster nicht aufmachen.",
        "0-0 1-1 1-4 2-5 3-2 4-3 5-6",
    ),
    (
        Sentence("statement", Clause(VERBS["have"], PETER, negated=True, object=NounPhrase(NOUNS["dog"], "a"))),
        "Peter does not have a dog.",
        "Peter hat keinen Hund.",
        "0-0 1-1 2-2 3-1 4-2 5-3 6-4",
    ),
    (
        Sentence("statement", Clause(VERBS["wait for"], ANNA, negated=True, object=NounPhrase(NOUNS["bus"], "a"))),
        "Anna does not wait for a bus.",
        "Anna wartet nicht auf einen Bus.",
        "0-0 1-1 2-2 3-1 4-3 5-4 6-5 7-6",
    ),
    (
        Sentence("imperative", Clause(VERBS["turn on"], object=NounPhrase(NOUNS["lamp"]))),
        "Please turn on the lamp.",
        "Bitte schalte die Lampe ein.",
        "0-0 1-1 2-4 3-2 4-3 5-5",
    ),
    (
        Sentence("wh-question", Clause(VERBS["wait for"], Pronoun(2), "progressive", object=THE_WINDOW), lead="why"),
        "Why are you waiting for the window?",
        "Warum wartest du auf das Fenster?",
        "0-0 1-1 2-2 3-1 4-3 5-4 6-5 7-6",
    ),
    (
        Sentence(
            "purpose",
            Clause(VERBS["go"], ANNA, "past", place=INTO_THE_KITCHEN),
            Clause(VERBS["open"], object=THE_WINDOW),
        ),
        "Anna went into the kitchen to open the window.",
        "Anna ist in die Küche gegangen, um das Fenster aufzumachen.",
        "0-0 1-1 1-5 2-2 3-3 4-4 5-6 5-7 5-10 6-10 7-8 8-9 9-11",
    ),
    (
        Sentence(
            "object relative",
            Clause(
                subject=NounPhrase(NOUNS["man"], relative=Clause(VERBS["help"], ANNA, "past", gap="object")),
                predicate=OLD,
            ),
        ),
        "The man whom Anna helped is old.",
        "Der Mann, dem Anna geholfen hat, ist alt.",
        "0-0 1-1 2-2 2-3 3-4 4-5 4-6 5-8 6-9 7-10",
    ),
    (
        Sentence(
            "coordination",
            Clause(VERBS["buy"], ANNA, "past", object=NounPhrase(NOUNS["apple"], "a")),
            Clause(VERBS["eat"], ANNA, "past", object=Pronoun(3, gender="m", thing=True)),
        ),
        "Anna bought an apple and ate it.",
        "Anna hat einen Apfel gekauft und ihn gegessen.",
        "0-0 1-1 1-4 2-2 3-3 4-5 5-7 6-6 7-8",
    ),
    (
        Sentence("condition", Clause(VERBS["open"], ANNA, "future", object=NounPhrase(NOUNS["box"])), PETER_OPENS),
        "If Peter opens the window, Anna will open the box.",
        "Wenn Peter das Fenster aufmacht, wird Anna die Kiste aufmachen.",
        "0-0 1-1 2-4 3-2 4-3 5-5 6-7 7-6 8-10 9-8 10-9 11-11",
    ),
    (
        Sentence(
            "because",
            Clause(VERBS["buy"], ANNA, object=NounPhrase(NOUNS["suitcase"])),
            Clause(subject=Pronoun(3, gender="m", thing=True), predicate=NEW),
        ),
        "Anna buys the suitcase because it is new.",
        "Anna kauft den Koffer, weil er neu ist.",
        "0-0 1-1 2-2 3-3 4-4 4-5 5-6 6-8 7-7 8-9",
    ),
    (
        Sentence(
            "statement",
            Clause(VERBS["explain"], ANNA, recipient=PETER, object=NounPhrase(NOUNS["rule"], "his", True)),
        ),
        "Anna explains his rules to Peter.",
        "Anna erklärt Peter seine Regeln.",
        "0-0 1-1 2-3 3-4 4-2 5-2 6-5",
    ),
]


@cache
def many() -> list[Pair]:
    return pairs(5, 2500)


@pytest.mark.parametrize(("said", "english", "german", "alignment"), BY_HAND, ids=[row[1] for row in BY_HAND])
def test_sentences_translated_and_aligned_by_hand(said: Sentence, english: str, german: str, alignment: str) -> None:
    pair = pair_of(said)
    assert (pair.english, pair.german, pair.pharaoh) == (english, german, alignment)


def test_alignments_name_tokens_of_the_text_and_leave_no_word_out() -> None:
    for pair in many():
        english, german = tokens_of(pair.english), tokens_of(pair.german)
        assert text_of(english) == pair.english
        assert text_of(german) == pair.german
        assert {source for source, _ in pair.alignment} == set(range(len(english)))
        alone = set(range(len(german))) - {target for _, target in pair.alignment}
        # Only the comma that closes a relative clause has nothing to stand for in English.
        assert all(german[place] == "," and "relative" in pair.sentence.construction for place in alone)
        marks = [(english[s], german[t]) for s, t in pair.alignment if english[s] in PUNCTUATION]
        assert all(source == target for source, target in marks)


def finite_forms(clause: Clause) -> set[str]:
    """Every German form the clause's verb can take as its finite part, prefix apart."""
    verb = clause.verb
    assert verb
    modals = ("können", "müssen", "wollen", "sollen", "dürfen")
    helpers = {present(word, *who) for word in ("haben", "sein", "werden", *modals) for who in PERSONS}
    helpers |= {preterite(word, *who) for word in modals for who in PERSONS}
    if verb.german in ("haben", "mögen"):
        helpers |= {preterite(verb.german, *who) for who in PERSONS}
    return helpers | {present(verb.german, *who, third=verb.german_third) for who in PERSONS}


def test_the_verb_is_second_in_statements_and_first_in_questions() -> None:
    places = {"statement": 1, "fronted": 1, "question": 0}
    seen = dict.fromkeys(places, 0)
    for pair in many():
        clause, kind = pair.sentence.main, pair.sentence.construction
        if not clause.verb or kind not in places or not isinstance(clause.subject, Pronoun):
            continue
        if kind == "fronted" and (not clause.time or len(clause.time.german) > 1):
            continue
        tokens = tokens_of(pair.german)
        assert tokens[places[kind]].lower() in finite_forms(clause)
        subject = 0 if kind == "statement" else places[kind] + 1
        assert tokens[subject].lower() in ("ich", "du", "er", "sie", "wir")
        seen[kind] += 1
    assert min(seen.values()) > 20


def test_the_verb_is_last_in_subordinate_clauses() -> None:
    seen = set()
    for pair in many():
        kind, clause = pair.sentence.construction, pair.sentence.other
        if kind not in ("because", "that", "whether") or not clause or not clause.verb:
            continue
        last = tokens_of(pair.german)[-2]
        assert last.removeprefix(clause.verb.prefix) in finite_forms(clause)
        seen.add(kind)
    assert seen == {"because", "that", "whether"}


def test_a_separable_prefix_ends_a_main_clause_and_is_joined_elsewhere() -> None:
    found = {"apart": 0, "participle": 0, "infinitive": 0}
    for pair in many():
        clause = pair.sentence.main
        if pair.sentence.construction not in ("statement", "fronted", "question") or not clause.verb:
            continue
        verb, last = clause.verb, tokens_of(pair.german)[-2]
        if verb.prefix and clause.modal + clause.tense in ("present", "progressive"):
            assert last == verb.prefix
            found["apart"] += 1
        elif verb.prefix and (clause.modal or clause.tense == "future"):
            assert last == verb.prefix + verb.german
            found["infinitive"] += 1
        elif verb.prefix:
            assert last == participle(verb)
            found["participle"] += 1
    assert min(found.values()) > 20


def test_every_construction_comes_and_german_nouns_are_large() -> None:
    assert {name for pair in many() for *_, name in combinations(pair.sentence)} == CONSTRUCTIONS
    small = {noun.german.lower() for noun in NOUNS.values()} - {"junge", "frage"}  # der junge Mann, ich frage
    words = {word for pair in many() for word in tokens_of(pair.german)[1:]}
    assert not words & small


def test_one_english_sentence_has_one_translation() -> None:
    translations: dict[str, str] = {}
    for index in range(4000):
        pair = pair_of(sentence(11, index))
        assert translations.setdefault(pair.english, pair.german) == pair.german
