"""German word order: the verb second, first or last, its prefix and participles at the end, and the field between.

In the field stand pronouns, then whom something is given to, then time, then objects; before `nicht`, `schon` and their
like a definite object stands early. What `nicht` denies by its place (an object with a preposition, a manner, a place)
comes after it.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from examples.grammar.alignment import Word
from examples.grammar.english_clauses import extra_key
from examples.grammar.german import (
    CASES,
    CONTRACTIONS,
    IRREGULAR,
    POSSESSIVES,
    PRONOUNS,
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
from examples.grammar.lexicon import Adverbial, Name, Noun, Verb
from examples.grammar.sentences import Clause, Nominal, NounPhrase, Place, Pronoun, Sentence, Who, agreement

MODALS = {"can": "können", "must": "müssen", "want": "wollen", "should": "sollen", "may": "dürfen"}
DETERMINERS = {"the": "der", "this": "dies", "every": "jed", "which": "welch", "a": "ein", "no": "kein", **POSSESSIVES}
QUESTION_WORDS = {"why": "warum", "when": "wann", "where": "wo"}
CONJUNCTIONS = {"that": "dass", "whether": "ob", "because": "weil"}


def german_words(sentence: Sentence) -> list[Word]:
    """The sentence in German, each word with the keys of what it says."""
    main, other, kind = sentence.main, sentence.other, sentence.construction
    end = Word(".", ("end",))
    if kind == "imperative":
        return [Word("bitte", ("please",)), *clause_words(main, "a", order="command"), end]
    if kind == "question":
        return [*clause_words(main, "a", order="first"), Word("?", ("end",))]
    if kind == "wh-question" and sentence.lead:
        opening = Word(QUESTION_WORDS[sentence.lead], ("wh",))
        return [opening, *clause_words(main, "a", order="first"), Word("?", ("end",))]
    if kind in ("wh-question", "which-question"):
        return [*clause_words(main, "a", order="second", lead=sentence.lead), Word("?", ("end",))]
    if other and kind == "condition":
        opening = [Word("wenn", ("conjunction",)), *clause_words(other, "b", order="last"), Word(",", ("comma",))]
        return [*opening, *clause_words(main, "a", order="first"), end]
    return [*clause_words(main, "a", order="second", lead=sentence.lead), *second_clause(sentence), end]


def second_clause(sentence: Sentence) -> list[Word]:
    """The clause that is joined to the first, with its comma and the word that joins it."""
    kind, other, main = sentence.construction, sentence.other, sentence.main
    if not other:
        return []
    if kind == "contrast":
        opening = [Word(",", ("comma",)), Word("aber", ("conjunction",))]
        return [*opening, *clause_words(other, "b", order="second")]
    if kind == "coordination":
        return [Word("und", ("conjunction",)), *clause_words(other, "b", order="reduced")]
    comma = Word(",", ("conjunction",))
    if kind == "purpose":
        return [comma, Word("um", ("conjunction",)), *clause_words(other, "b", order="zu")]
    conjunction = main.verb.preposition if kind != "because" and main.verb else "because"
    return [comma, Word(CONJUNCTIONS[conjunction], ("conjunction",)), *clause_words(other, "b", order="last")]


def clause_words(
    clause: Clause, key: str, *, order: str, lead: str = "", who: tuple[int, bool] | None = None
) -> list[Word]:
    """A clause; ``order`` is where the verb stands: first, second, last, or command, zu and reduced."""
    verb, rest = verb_words(clause, key, who=who or agreement(clause.subject), order=order)
    subject = nominal_words(clause.subject, "nom", f"{key}.subject")
    middle = middle_words(clause, key, lead)
    if order == "second":
        if lead:
            return [*lead_words(clause, key, lead), *verb, *subject, *middle, *rest]
        return [*subject, *verb, *middle, *rest]
    if order in ("first", "command"):
        return [*verb, *subject, *middle, *rest]
    if order == "reduced":
        return [*middle, *rest] if needs_auxiliary(clause) else [*verb, *middle, *rest]
    return [*subject, *middle, *rest, *verb]


def needs_auxiliary(clause: Clause) -> bool:
    """Whether the verb is said in two words; a past is, but for the few verbs with a spoken preterite."""
    if not clause.verb or (clause.tense == "past" and clause.verb.german in IRREGULAR and not clause.modal):
        return False
    return bool(clause.modal) or clause.tense in ("past", "perfect", "future")


def verb_words(clause: Clause, key: str, *, who: tuple[int, bool], order: str) -> tuple[list[Word], list[Word]]:
    """The finite verb, and what stands at the end: a prefix, a participle or an infinitive."""
    finite, content = f"{key}.finite", f"{key}.verb"
    verb = clause.verb
    if not verb:
        form = preterite("sein", *who) if clause.tense == "past" else present("sein", *who)
        return [Word(form, (finite, content))], []
    whole = (content, extra_key(verb, key))
    if order == "zu":
        zu = [Word(text, ("conjunction",) if text == "zu" else whole) for text in zu_infinitive(verb)]
        return ([zu[0]._replace(keys=(*whole, "conjunction"))] if len(zu) == 1 else zu), []
    if needs_auxiliary(clause):
        auxiliary, end = two_words(clause, verb, who)
        return [Word(auxiliary, (finite,))], [Word(end, whole)]
    if order == "command":
        form = imperative(verb)
    elif clause.tense == "past":
        form = preterite(verb.german, *who)
    else:
        form = present(verb.german, *who, third=verb.german_third)
    if order == "last" or not verb.prefix:
        return [Word(verb.prefix + form, (finite, *whole))] if verb.prefix else [Word(form, (finite, content))], []
    return [Word(form, (finite, content))], [Word(verb.prefix, (extra_key(verb, key),))]


def two_words(clause: Clause, verb: Verb, who: tuple[int, bool]) -> tuple[str, str]:
    """The auxiliary or modal, and the participle or infinitive that goes with it."""
    if clause.modal:
        modal = MODALS[clause.modal]
        # What one should do is sollte, which has the form of a past.
        past = clause.tense == "past" or clause.modal == "should"
        form = preterite(modal, *who) if past else present(modal, *who)
        return form, verb.prefix + verb.german
    if clause.tense == "future":
        return present("werden", *who), verb.prefix + verb.german
    return present("sein" if verb.with_sein else "haben", *who), participle(verb)


def lead_words(clause: Clause, key: str, lead: str) -> list[Word]:
    """What stands before the verb instead of the subject."""
    if lead == "time":
        return adverbial_words(clause.time, f"{key}.time")
    if lead == "place" and clause.place:
        return place_words(clause.place, f"{key}.place")
    return object_words(clause, key)


def middle_words(clause: Clause, key: str, lead: str) -> list[Word]:
    """The field between the verb and what ends the clause."""
    bare = [*bare_objects(clause, key, lead)]
    pronouns = [words for nominal, words in reversed(bare) if isinstance(nominal, Pronoun)]
    others = [(nominal, words) for nominal, words in bare if not isinstance(nominal, Pronoun)]
    denied = clause.negated and not says_kein(clause)
    early = denied or clause.adverb or clause.not_yet
    time = adverbial_words(clause.time, f"{key}.time") if lead != "time" else []
    marks = [*time, *adverbial_words(clause.adverb, f"{key}.adverb")]
    marks += [Word("noch", (f"{key}.yet",))] if clause.not_yet else []
    marks += [Word("nicht", (f"{key}.not",))] if denied else []
    definite = [words for nominal, words in others if is_definite(nominal) and (early or nominal is clause.recipient)]
    indefinite = [words for _, words in others if words not in definite]
    late = [] if lead == "object" or not (clause.verb and clause.verb.german_preposition) else object_words(clause, key)
    late += adverbial_words(clause.manner, f"{key}.manner")
    if clause.companion:
        late += [Word("mit", (f"{key}.with",)), *nominal_words(clause.companion, "dat", f"{key}.companion")]
    if clause.place and lead != "place":
        late += place_words(clause.place, f"{key}.place")
    late += adverbial_words(clause.degree, f"{key}.degree")
    late += [Word(clause.predicate.german, (f"{key}.predicate",))] if clause.predicate else []
    return [*chain(*pronouns, *definite, marks, *indefinite, late)]


def bare_objects(clause: Clause, key: str, lead: str) -> list[tuple[Nominal, list[Word]]]:
    """The objects without a preposition that stand in the field, the dative first."""
    found: list[tuple[Nominal, list[Word]]] = []
    if clause.recipient:
        found.append((clause.recipient, nominal_words(clause.recipient, "dat", f"{key}.recipient")))
    if clause.object and clause.verb and not clause.verb.german_preposition and lead != "object":
        found.append((clause.object, object_words(clause, key)))
    return found


def says_kein(clause: Clause) -> bool:
    """Whether the negation goes into the article of an indefinite object."""
    bare = clause.verb is not None and not clause.verb.german_preposition
    return clause.negated and bare and isinstance(clause.object, NounPhrase) and clause.object.determiner == "a"


def object_words(clause: Clause, key: str) -> list[Word]:
    """The object in the case, and after the preposition, that the verb governs."""
    verb, nominal, own = clause.verb, clause.object, f"{key}.object"
    if not verb or not nominal:
        return []
    if says_kein(clause) and isinstance(nominal, NounPhrase):
        words = noun_phrase_words(replace(nominal, determiner="no"), verb.case, own)
        return [words[0]._replace(keys=(*words[0].keys, f"{key}.not")), *words[1:]]
    words = nominal_words(nominal, verb.case, own)
    if not verb.german_preposition:
        return words
    # auf das Kind, an das Kind, but vom Kind: only von contracts before what is spoken of.
    return after_preposition(verb.german_preposition, f"{key}.preposition", words, contract=verb.case == "dat")


def is_definite(nominal: Nominal) -> bool:
    return nominal.definite if isinstance(nominal, NounPhrase) else True


def after_preposition(preposition: str, key: str, words: list[Word], *, contract: bool = True) -> list[Word]:
    """A preposition and what it governs, the two first words drawn together where German does so."""
    short = CONTRACTIONS.get((preposition, words[0].text)) if contract else None
    if short and words[0].keys[0].endswith("determiner"):
        return [Word(short, (key, *words[0].keys)), *words[1:]]
    return [Word(preposition, (key,)), *words]


def nominal_words(nominal: Nominal | None, case: str, key: str) -> list[Word]:
    """A noun phrase, pronoun or name in a case."""
    if nominal is None:
        return []
    if isinstance(nominal, Who):
        return [Word("wer", (f"{key}.noun",))]
    if isinstance(nominal, Name):
        return [Word(nominal.german, (f"{key}.noun",))]
    if isinstance(nominal, Pronoun):
        gender = "" if nominal.plural else nominal.gender
        return [Word(PRONOUNS[nominal.person, nominal.plural, gender][CASES.index(case)], (f"{key}.noun",))]
    return noun_phrase_words(nominal, case, key)


def noun_phrase_words(phrase: NounPhrase, case: str, key: str) -> list[Word]:
    gender = "p" if phrase.plural else phrase.noun.gender
    determiner = DETERMINERS.get(phrase.determiner, "")
    if phrase.owner or (determiner == "ein" and (phrase.plural or phrase.noun.mass)):
        determiner = ""
    words = [Word(article(determiner, case, gender), (f"{key}.determiner",))] if determiner else []
    if phrase.owner:
        words = [Word(f"{phrase.owner.german}s", (f"{key}.determiner",))]
    if phrase.determiner == "how many":
        words = [Word("wie", (f"{key}.determiner",)), Word(f"viel{'en' if case == 'dat' else 'e'}", (f"{key}.many",))]
    words += [Word(number_word(phrase.number), (f"{key}.number",))] if phrase.number else []
    if phrase.adjective:
        form = adjective_form(phrase.adjective.german, determiner, case, gender)
        words.append(Word(form, (f"{key}.adjective",)))
    words.append(Word(noun_form(phrase.noun, case, plural=phrase.plural), (f"{key}.noun",)))
    words += noun_phrase_words(phrase.of, "gen", f"{key}.of") if phrase.of else []
    return words + relative_words(phrase, gender, f"{key}.relative")


def relative_words(phrase: NounPhrase, gender: str, key: str) -> list[Word]:
    """The relative clause between its commas; the pronoun has the head's gender and its own clause's case."""
    clause = phrase.relative
    if not clause or not clause.verb:
        return []
    by_object = clause.gap == "object"
    pronoun = Word(relative_pronoun(clause.verb.case if by_object else "nom", gender), (f"{key}.pronoun",))
    opening = [Word(",", pronoun.keys), pronoun]
    if by_object and clause.verb.german_preposition:
        opening.insert(1, Word(clause.verb.german_preposition, (f"{key}.preposition",)))
    who = None if by_object else (3, phrase.plural)
    return [*opening, *clause_words(clause, key, order="last", who=who), Word(",")]


def place_words(place: Place, key: str) -> list[Word]:
    preposition, own = place.preposition, f"{key}.preposition"
    if isinstance(place.where, Noun):
        return after_preposition(
            preposition.german, own, noun_phrase_words(NounPhrase(place.where), preposition.case, key)
        )
    return [Word(preposition.german, (own,)), Word(place.where.german, (f"{key}.noun",))]


def adverbial_words(adverbial: Adverbial | None, key: str) -> list[Word]:
    return [Word(text, (f"{key}.{number}",)) for text, number in adverbial.german] if adverbial else []
