"""English word order: subject, auxiliaries, verb, objects, manner, place, time; do-support; questions turned round."""

from __future__ import annotations

from examples.grammar.alignment import Word
from examples.grammar.english import PRONOUNS, form_of_be, indefinite_article, ing_form, number_word, third_person
from examples.grammar.lexicon import Adverbial, Name, Noun, Verb
from examples.grammar.sentences import Clause, Nominal, NounPhrase, Place, Pronoun, Sentence, Who, agreement

MODALS = {("can", False): "can", ("can", True): "could", ("should", False): "should", ("may", False): "may"}


def english_words(sentence: Sentence) -> list[Word]:
    """The sentence in English, each word with the keys of what it says."""
    main, other, kind = sentence.main, sentence.other, sentence.construction
    if kind == "imperative":
        return [Word("please", ("please",)), *clause_words(main, "a", form="imperative"), Word(".", ("end",))]
    if kind == "wh-question":
        opening = [Word(sentence.lead, ("wh",))] if sentence.lead else []
        return [*opening, *clause_words(main, "a", form="question"), Word("?", ("end",))]
    if kind in ("question", "which-question"):
        return [*clause_words(main, "a", form="question", lead=sentence.lead), Word("?", ("end",))]
    first = clause_words(main, "a", lead=sentence.lead)
    if other and kind == "condition":
        opening = [Word("if", ("conjunction",)), *clause_words(other, "b"), Word(",", ("comma",))]
        return [*opening, *first, Word(".", ("end",))]
    return [*first, *second_clause(sentence), Word(".", ("end",))]


def second_clause(sentence: Sentence) -> list[Word]:
    """The clause that is joined to the first, with the word that joins it."""
    kind, other, main = sentence.construction, sentence.other, sentence.main
    if not other:
        return []
    if kind == "contrast":
        return [Word(",", ("comma",)), Word("but", ("conjunction",)), *clause_words(other, "b")]
    if kind == "coordination":
        return [Word("and", ("conjunction",)), *clause_words(other, "b", form="reduced")]
    if kind == "purpose":
        return [Word("to", ("conjunction",)), *clause_words(other, "b", form="infinitive")]
    conjunction = main.verb.preposition if kind != "because" and main.verb else "because"
    return [Word(conjunction, ("conjunction",)), *clause_words(other, "b")]


def clause_words(
    clause: Clause, key: str, *, form: str = "statement", lead: str = "", who: tuple[int, bool] | None = None
) -> list[Word]:
    """A clause; ``form`` is statement, question, imperative, infinitive or reduced, ``who`` a relative's head."""
    asks_subject = isinstance(clause.subject, Who)
    inverted = form == "question" and not asks_subject
    auxiliaries, verb = verb_words(clause, key, form=form, who=who or agreement(clause.subject), inverted=inverted)
    subject = nominal_words(clause.subject, f"{key}.subject", 0) if form in ("statement", "question") else []
    adverb = adverbial_words(clause.adverb, f"{key}.adverb")
    negation = [Word("not", (f"{key}.not",))] if clause.negated else []
    if negation and auxiliaries and auxiliaries[0].text == "can" and not inverted:
        auxiliaries, negation = [Word("cannot", (*auxiliaries[0].keys, *negation[0].keys)), *auxiliaries[1:]], []
    before, after = (auxiliaries[:1], auxiliaries[1:]) if inverted else ([], auxiliaries)
    middle = [*after[:1], *negation, *adverb, *after[1:]] if after else [*negation, *adverb]
    return [
        *lead_words(clause, key, lead),
        *before,
        *subject,
        *middle,
        *verb,
        *completion(clause, key, lead),
    ]


def lead_words(clause: Clause, key: str, lead: str) -> list[Word]:
    """What stands first instead of the subject."""
    if lead == "time":
        return adverbial_words(clause.time, f"{key}.time")
    if lead == "place" and clause.place:
        return place_words(clause.place, f"{key}.place")
    return nominal_words(clause.object, f"{key}.object", 1) if lead == "object" else []


def completion(clause: Clause, key: str, lead: str) -> list[Word]:
    """Everything after the verb."""
    verb = clause.verb
    words = adverbial_words(clause.degree, f"{key}.degree")
    words += [Word(clause.predicate.english, (f"{key}.predicate",))] if clause.predicate else []
    words += object_words(clause, verb, key, fronted=lead == "object") if verb else []
    words += adverbial_words(clause.manner, f"{key}.manner")
    if clause.companion:
        words += [Word("with", (f"{key}.with",)), *nominal_words(clause.companion, f"{key}.companion", 1)]
    if clause.place and lead != "place":
        words += place_words(clause.place, f"{key}.place")
    words += [Word("yet", (f"{key}.yet",))] if clause.not_yet else []
    return words + (adverbial_words(clause.time, f"{key}.time") if lead != "time" else [])


def object_words(clause: Clause, verb: Verb, key: str, *, fronted: bool) -> list[Word]:
    """Particle, recipient, preposition, object; a particle waits for a pronoun, and a fronted object leaves a gap."""
    particle = [Word(verb.particle, (extra_key(verb, key),))] if verb.particle else []
    recipient = nominal_words(clause.recipient, f"{key}.recipient", 1)
    found = [] if fronted else nominal_words(clause.object, f"{key}.object", 1)
    if verb.preposition and (found or fronted or clause.gap == "object"):
        own = f"{key}.preposition" if verb.german_preposition else extra_key(verb, key)
        found = [Word(verb.preposition, (own,)), *found]
    if recipient and "to" in verb.marks:
        return [*found, Word("to", recipient[0].keys), *recipient]
    late = isinstance(clause.object, Pronoun)
    return [*recipient, *found, *particle] if late else [*particle, *recipient, *found]


def extra_key(verb: Verb, key: str) -> str:
    """What a particle or prefix is aligned by: the other language's, or the verb where that has none."""
    english = verb.particle or (verb.preposition and not verb.german_preposition)
    german = verb.prefix or (verb.german_preposition and not verb.preposition)
    return f"{key}.particle" if english and german else f"{key}.verb"


def verb_words(
    clause: Clause, key: str, *, form: str, who: tuple[int, bool], inverted: bool
) -> tuple[list[Word], list[Word]]:
    """The auxiliaries, of which a question puts the first before the subject, and the rest."""
    finite, content = f"{key}.finite", f"{key}.verb"
    tense, verb = clause.tense, clause.verb
    if not verb:
        return [Word(form_of_be(*who, past=tense == "past"), (finite, content))], []
    base = Word(verb.english, (content,))
    if form == "infinitive":
        return [], [base]
    if form == "imperative":
        return ([Word("do", (finite,))], [base]) if clause.negated else ([], [Word(verb.english, (finite, content))])
    if form == "reduced":
        return [], [reduced(clause, verb, key, who)]
    needs_do = inverted or clause.negated
    if clause.modal:
        return modal_words(clause, verb, key, who, needs_do=needs_do)
    if tense == "progressive":
        return [Word(form_of_be(*who), (finite,))], [Word(ing_form(verb), (content,))]
    if tense == "perfect":
        return [Word(inflected("have", who), (finite,))], [Word(verb.participle, (content,))]
    if tense == "future":
        return [Word("will", (finite,))], [base]
    if needs_do:
        return [Word("did" if tense == "past" else inflected("do", who), (finite,))], [base]
    return [], [Word(verb.past if tense == "past" else inflected(verb.english, who), (finite, content))]


def reduced(clause: Clause, verb: Verb, key: str, who: tuple[int, bool]) -> Word:
    """The second verb after `and`, which shares the first one's auxiliary and subject."""
    keys = (f"{key}.finite", f"{key}.verb")
    if clause.modal or clause.tense == "future":
        return Word(verb.english, keys)
    forms = {"past": verb.past, "perfect": verb.participle, "progressive": ing_form(verb)}
    return Word(forms.get(clause.tense) or inflected(verb.english, who), keys)


def modal_words(
    clause: Clause, verb: Verb, key: str, who: tuple[int, bool], *, needs_do: bool
) -> tuple[list[Word], list[Word]]:
    """can, may, should and must; want to and have to, which are like other verbs; only in statements is it must."""
    finite, content = (f"{key}.finite",), (f"{key}.verb",)
    past, modal = clause.tense == "past", clause.modal
    base = Word(verb.english, content)
    if (modal, past) in MODALS:
        return [Word(MODALS[modal, past], finite)], [base]
    if modal == "must" and not past and not needs_do:
        return [Word("must", finite)], [base]
    plain, past_form = ("have", "had") if modal == "must" else ("want", "wanted")
    rest = [Word("to", content), base]
    if needs_do:
        return [Word("did" if past else inflected("do", who), finite)], [Word(plain, finite), *rest]
    return [], [Word(past_form if past else inflected(plain, who), finite), *rest]


def inflected(verb: str, who: tuple[int, bool]) -> str:
    return third_person(verb) if who == (3, False) else verb


def nominal_words(nominal: Nominal | None, key: str, case: int) -> list[Word]:
    """A subject (case 0) or an object (case 1)."""
    if nominal is None:
        return []
    if isinstance(nominal, Who):
        return [Word("who", (f"{key}.noun",))]
    if isinstance(nominal, Name):
        return [Word(nominal.english, (f"{key}.noun",))]
    if isinstance(nominal, Pronoun):
        gender = "n" if nominal.thing and not nominal.plural else nominal.gender
        return [Word(PRONOUNS[nominal.person, nominal.plural, gender][case], (f"{key}.noun",))]
    return noun_phrase_words(nominal, key)


def noun_phrase_words(phrase: NounPhrase, key: str) -> list[Word]:
    noun = phrase.noun
    words = [Word(number_word(phrase.number), (f"{key}.number",))] if phrase.number else []
    words += [Word(phrase.adjective.english, (f"{key}.adjective",))] if phrase.adjective else []
    words += [Word(noun.english_plural if phrase.plural else noun.english, (f"{key}.noun",))]
    if phrase.of:
        words += [Word("of", (f"{key}.of.determiner",)), *noun_phrase_words(phrase.of, f"{key}.of")]
    return [*determiner_words(phrase, key, words[0].text), *words, *relative_words(phrase, f"{key}.relative")]


def determiner_words(phrase: NounPhrase, key: str, following: str) -> list[Word]:
    own, determiner = (f"{key}.determiner",), phrase.determiner
    if phrase.owner:
        return [Word(f"{phrase.owner.english}'s", own)]
    if determiner == "how many":
        return [Word("how", own), Word("many", (f"{key}.many",))]
    if determiner == "a":
        return [] if phrase.plural or phrase.noun.mass else [Word(indefinite_article(following), own)]
    if determiner == "this" and phrase.plural:
        return [Word("these", own)]
    return [Word(determiner, own)] if determiner else []


def relative_words(phrase: NounPhrase, key: str) -> list[Word]:
    clause = phrase.relative
    if not clause:
        return []
    person = "whom" if clause.gap == "object" else "who"
    pronoun = Word(person if phrase.noun.human else "that", (f"{key}.pronoun",))
    return [pronoun, *clause_words(clause, key, who=(3, phrase.plural) if clause.gap == "subject" else None)]


def place_words(place: Place, key: str) -> list[Word]:
    preposition = Word(place.preposition.english, (f"{key}.preposition",))
    noun = Word(place.where.english, (f"{key}.noun",))
    return [preposition, *([Word("the", (f"{key}.determiner",))] if isinstance(place.where, Noun) else []), noun]


def adverbial_words(adverbial: Adverbial | None, key: str) -> list[Word]:
    return [Word(text, (f"{key}.{number}",)) for text, number in adverbial.english] if adverbial else []
