"""500 lines in English and 500 in German of what people send: names, numbers, amounts, dates, addresses, emoji,
CAPITALS, tags; each with what must be in its translation, and with a translation that is right.

A line is a sentence with values put in; the same sentence and values in the other language are its translation. All of
it is made up here. Nothing is random: line n takes the sentences and values in turns, so it is the same everywhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Language = Literal["en", "de"]
LANGUAGES: tuple[Language, Language] = ("en", "de")
Pair = tuple[str, str]
"""English and German."""


Words = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Value:
    """Something that is put into a sentence."""

    text: Pair
    right: tuple[str, ...]
    """What a translation into each language may have for it: a pattern."""

    def pattern(self, language: Language) -> re.Pattern[str]:
        return re.compile(self.right[LANGUAGES.index(language)])


@dataclass(frozen=True)
class Case:
    """A line, and what its translation is checked for."""

    kind: str
    line: str
    values: tuple[Value, ...]
    words: Words
    """In capitals: for each of these one must be in the translation, in some word."""
    reference: str
    """A translation that is right."""


SENTENCES: dict[str, tuple[Pair, ...]] = {
    "names": (
        ("{} is waiting for us at the station.", "{} wartet am Bahnhof auf uns."),
        ("Have you talked to {} about the meeting?", "Hast du mit {} über das Treffen gesprochen?"),
        ("I received a long letter from {} yesterday.", "Gestern habe ich einen langen Brief von {} bekommen."),
        ("{} and {} have known each other for many years.", "{} und {} kennen sich seit vielen Jahren."),
        ("The new teacher is called {}.", "Der neue Lehrer heißt {}."),
        ("My neighbour {} repaired the old car.", "Mein Nachbar {} hat das alte Auto repariert."),
        ("Please ask {} for the key.", "Bitte frag {} nach dem Schlüssel."),
        ("Did {} send you the photos?", "Hat dir {} die Fotos geschickt?"),
        ("We want to visit {} next summer.", "Wir wollen {} nächsten Sommer besuchen."),
        ("This book was written by {}.", "Dieses Buch wurde von {} geschrieben."),
        ("{} says that the train is late.", "{} sagt, dass der Zug Verspätung hat."),
        ("Nobody knows where {} lives now.", "Niemand weiß, wo {} jetzt wohnt."),
        ("{} thanked {} for the flowers.", "{} hat {} für die Blumen gedankt."),
    ),
    "numbers": (
        ("The bridge is {} metres long.", "Die Brücke ist {} Meter lang."),
        ("The package weighs {} kilograms.", "Das Paket wiegt {} Kilogramm."),
        ("Prices rose by {} percent.", "Die Preise sind um {} Prozent gestiegen."),
        ("The town has {} inhabitants.", "Die Stadt hat {} Einwohner."),
        ("We counted {} birds in the park.", "Wir haben im Park {} Vögel gezählt."),
        ("They sold {} tickets on the first day.", "Am ersten Tag haben sie {} Karten verkauft."),
        ("The library has {} books.", "Die Bibliothek hat {} Bücher."),
        ("The file contains {} lines and {} words.", "Die Datei enthält {} Zeilen und {} Wörter."),
        ("The company has {} employees.", "Die Firma hat {} Angestellte."),
        ("The mountain is {} metres high.", "Der Berg ist {} Meter hoch."),
        ("He drove {} kilometres in two days.", "Er ist in zwei Tagen {} Kilometer gefahren."),
    ),
    "amounts": (
        ("The ticket costs {}.", "Die Fahrkarte kostet {}."),
        ("I paid {} for this coat.", "Ich habe {} für diesen Mantel bezahlt."),
        ("She still owes me {}.", "Sie schuldet mir noch {}."),
        ("The repair will cost about {}.", "Die Reparatur wird etwa {} kosten."),
        ("They collected {} for the hospital.", "Sie haben {} für das Krankenhaus gesammelt."),
        ("He sold his bicycle for {}.", "Er hat sein Fahrrad für {} verkauft."),
        ("The rent is {} a month.", "Die Miete beträgt {} im Monat."),
        ("We have spent {} on food this week.", "Wir haben diese Woche {} für Essen ausgegeben."),
        ("The price fell from {} to {}.", "Der Preis ist von {} auf {} gefallen."),
    ),
    "dates": (
        ("The meeting is on {}.", "Das Treffen ist am {}."),
        ("He was born on {}.", "Er wurde am {} geboren."),
        ("The shop will be closed on {}.", "Das Geschäft ist am {} geschlossen."),
        ("Please answer before {}.", "Bitte antworten Sie vor dem {}."),
        ("We moved to this town on {}.", "Wir sind am {} in diese Stadt gezogen."),
        ("The contract ends on {}.", "Der Vertrag endet am {}."),
        ("The museum opened on {}.", "Das Museum wurde am {} eröffnet."),
        ("The exam takes place on {}.", "Die Prüfung findet am {} statt."),
        ("The letter from {} arrived too late.", "Der Brief vom {} kam zu spät an."),
    ),
    "e-mail addresses": (
        ("Please write to {}.", "Bitte schreiben Sie an {}."),
        ("You can reach me at {}.", "Sie erreichen mich unter {}."),
        ("Send the form to {} before Friday.", "Schicken Sie das Formular vor Freitag an {}."),
        ("My new address is {}.", "Meine neue Adresse ist {}."),
        ("The message came from {}.", "Die Nachricht kam von {}."),
        ("Is {} still your address?", "Ist {} noch Ihre Adresse?"),
        ("I have forwarded your question to {} and {}.", "Ich habe Ihre Frage an {} und {} weitergeleitet."),
    ),
    "web addresses": (
        ("The photos are at {}.", "Die Fotos sind unter {} zu finden."),
        ("See {} for more details.", "Mehr Einzelheiten finden Sie unter {}."),
        ("You will find the map on {}.", "Sie finden die Karte auf {}."),
        ("Please register at {} today.", "Bitte melden Sie sich heute bei {} an."),
        ("Did you read the article on {}?", "Haben Sie den Artikel auf {} gelesen?"),
        ("Open {} in your browser.", "Öffnen Sie {} in Ihrem Browser."),
        ("Our shop has moved from {} to {}.", "Unser Geschäft ist von {} nach {} umgezogen."),
    ),
    "emoji": (
        ("Thank you for everything {}", "Danke für alles {}"),
        ("{} Happy birthday, my friend!", "{} Alles Gute zum Geburtstag, mein Freund!"),
        ("I am so tired today {} but happy.", "Ich bin heute so müde {} aber glücklich."),
        ("See you tomorrow! {}", "Bis morgen! {}"),
        ("That was a great evening {} {}", "Das war ein toller Abend {} {}"),
        ("{} Good morning everybody!", "{} Guten Morgen alle zusammen!"),
        ("We have won the game {} at last.", "Wir haben endlich das Spiel gewonnen {}."),
        ("I like this song very much {}.", "Mir gefällt dieses Lied sehr {}."),
    ),
    "tags": (
        ("Click on <b>Save</b> to keep the text.", "Klicken Sie auf <b>Speichern</b>, um den Text zu behalten."),
        ("The word <i>always</i> is important here.", "Das Wort <i>immer</i> ist hier wichtig."),
        ("Read the <a href=\"{}\">manual</a> first.", "Lesen Sie zuerst das <a href=\"{}\">Handbuch</a>."),
        ("<strong>Note:</strong> the door is locked.", "<strong>Hinweis:</strong> Die Tür ist abgeschlossen."),
        ("Hello <b>{}</b>, how are you today?", "Hallo <b>{}</b>, wie geht es Ihnen heute?"),
        ("Please <u>do not</u> open the window.", "Bitte öffnen Sie das Fenster <u>nicht</u>."),
        ("This is <b><i>very</i></b> important to us.", "Das ist für uns <b><i>sehr</i></b> wichtig."),
        ("My sister lives here.<br/>My brother does not.", "Meine Schwester wohnt hier.<br/>Mein Bruder nicht."),
        ("<p>The house has <em>two</em> doors.</p>", "<p>Das Haus hat <em>zwei</em> Türen.</p>"),
        ("The <span class=\"x\">red car</span> is mine.", "Das <span class=\"x\">rote Auto</span> gehört mir."),
    ),
}  # fmt: skip
CAPITALS: tuple[tuple[str, str, str, str], ...] = (
    ("PLEASE DO NOT OPEN THE WINDOW", "BITTE NICHT DAS FENSTER ÖFFNEN", "FENSTER", "WINDOW"),
    ("NO SMOKING IN THE BUILDING", "RAUCHEN IM GEBÄUDE VERBOTEN", "RAUCH GEBÄUDE|HAUS", "SMOK BUILDING"),
    ("THE SHOP IS CLOSED ON SUNDAY", "DAS GESCHÄFT IST AM SONNTAG GESCHLOSSEN", "SONNTAG", "SUNDAY CLOSED|SHUT"),
    ("WHERE IS MY KEY", "WO IST MEIN SCHLÜSSEL", "WO SCHLÜSSEL", "WHERE KEY"),
    ("WE NEED MORE WATER", "WIR BRAUCHEN MEHR WASSER", "MEHR WASSER", "MORE WATER"),
    ("THE TRAIN IS LATE AGAIN", "DER ZUG HAT WIEDER VERSPÄTUNG", "ZUG", "TRAIN"),
    ("I HAVE LOST MY PASSPORT", "ICH HABE MEINEN PASS VERLOREN", "PASS VERLOREN", "PASSPORT LOST"),
    ("PLEASE WASH YOUR HANDS", "BITTE WASCHEN SIE SICH DIE HÄNDE", "WASCH|WÄSCH HÄNDE", "WASH HANDS"),
    ("THE DOG IS IN THE GARDEN", "DER HUND IST IM GARTEN", "HUND GARTEN", "DOG GARDEN|YARD"),
    ("DO NOT TOUCH THE MACHINE", "BERÜHREN SIE NICHT DIE MASCHINE", "MASCHINE|GERÄT NICHT", "MACHINE NOT|N'T"),
    ("MY BROTHER LIVES IN BERLIN", "MEIN BRUDER WOHNT IN BERLIN", "BRUDER BERLIN", "BROTHER BERLIN"),
    ("THE COFFEE IS COLD", "DER KAFFEE IST KALT", "KAFFEE KALT", "COFFEE COLD"),
    ("THE CHILDREN ARE SLEEPING", "DIE KINDER SCHLAFEN", "KINDER SCHLAF", "CHILDREN|KIDS SLEEP"),
    ("OPEN THE DOOR", "ÖFFNEN SIE DIE TÜR", "TÜR", "DOOR"),
    ("TODAY IS MY BIRTHDAY", "HEUTE IST MEIN GEBURTSTAG", "HEUTE GEBURTSTAG", "TODAY BIRTHDAY"),
    ("THE TEACHER READS A BOOK", "DER LEHRER LIEST EIN BUCH", "LEHRER BUCH", "TEACHER BOOK"),
    ("THE FOOD WAS VERY GOOD", "DAS ESSEN WAR SEHR GUT", "ESSEN|SPEISE|NAHRUNG GUT", "FOOD|MEAL GOOD"),
    ("WE ARE GOING HOME NOW", "WIR GEHEN JETZT NACH HAUSE", "HAUSE|HEIM", "HOME"),
    ("THE NIGHT WAS LONG AND COLD", "DIE NACHT WAR LANG UND KALT", "NACHT LANG KALT", "NIGHT LONG COLD"),
    ("THE CAR IS TOO EXPENSIVE", "DAS AUTO IST ZU TEUER", "AUTO|WAGEN TEUER", "CAR EXPENSIVE|DEAR"),
)  # fmt: skip
_CALLED = ("ANNA", "PEDRO", "YUKI", "AMIRA", "TOM")

NAMES = (
    *("Zeynep Yılmaz", "Łukasz Kowalczyk", "Siobhán O'Brien", "Nguyen Van Minh", "Priya Raghunathan", "José Ibáñez"),
    *("Hiroshi Takahashi", "Oluwaseun Adeyemi", "Fatima al-Hashimi", "Björn Åkesson", "Anastasia Petrova", "Çelik"),
    *("Kwame Mensah", "Aroha Ngata", "Giulia Ferraro", "Jean-Luc Moreau", "Ngozi Okafor", "Dimitris Papadakis"),
    *("Marta Novák", "Tom Whitaker", "Ingrid Solberg", "Mehmet Demir", "Wanjiru Kamau", "Li Wei", "Søren Krogh"),
    *("Ayşe Şahin", "Catalina Quispe", "Rajesh Iyer", "Mareike Vogt"),
)
_WITH_FRACTIONS = 3
"""The first sentences with numbers, in which they need not be whole."""
INTEGERS = (417, 3417, 28950, 1250000, 132, 7808, 640, 15300, 2304, 986, 61274, 1988, 444)
DECIMALS = ("12.75", "0.35", "99.5", "3.8", "1,204.6", "46.25", "0.07")
AMOUNTS = ("1,299.50", "5", "45", "2,400", "89.99", "0.99", "1,299", "320", "17.80", "64,000", "750")
EMAILS = (
    "info@example.com",
    "a.b-c@mail.example.org",
    "jan+news@post.example.de",
    "SUPPORT@EXAMPLE.NET",
    "x_1@y.example.io",
)
URLS = (
    *(
        "https://example.com/a?b=1&c=2",
        "http://www.example.org",
        "www.example.de/karte",
        "https://example.net/news/2024/",
    ),
    *("https://sub.example.com/Path_with(brackets)/x.html", "ftp://files.example.org/readme.txt"),
    "https://example.de/@name/bild.png",
)
EMOJI = ("🙂", "🎉🎉", "👩‍💻", "👍🏽", "❤️", "🇩🇪", "👨‍👩‍👧", "☕", "🚲", "😂😂😂", "1️⃣", "✨", "🌍")
_MONTHS = (
    *(("January", "Januar"), ("February", "Februar"), ("March", "März"), ("April", "April"), ("May", "Mai")),
    *(("June", "Juni"), ("July", "Juli"), ("August", "August"), ("September", "September"), ("October", "Oktober")),
    *(("November", "November"), ("December", "Dezember")),
)
CURRENCIES = (
    ("€", r"(?:€|EUR|[Ee]uros?)"),
    ("£", r"(?:£|GBP|Pfund(?: Sterling)?|pounds?(?: sterling)?)"),
    ("$", r"(?:(?:US-?)?\$|USD|(?:US-)?Dollars?|(?:US )?dollars?)"),
)
_ONES = [
    words.split()
    for words in (
        "null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn "
        "siebzehn achtzehn neunzehn",
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen",
    )
]
_TENS = [
    words.split()
    for words in (
        "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
        "twenty thirty forty fifty sixty seventy eighty ninety",
    )
]


def spelled(number: int) -> Pair:
    """Patterns of a number below a thousand in words.

    >>> spelled(417)
    ('four hundred (?:and )?seventeen', 'vierhundert(?:und)?siebzehn')
    """
    hundreds, rest = divmod(number, 100)
    german, english = (ones[rest] for ones in _ONES) if rest < 20 else ("", "")
    if rest >= 20:
        ones = rest % 10
        german = (f"{_ONES[0][ones]}und" if ones else "") + _TENS[0][rest // 10 - 2]
        english = _TENS[1][rest // 10 - 2] + (f"[- ]{_ONES[1][ones]}" if ones else "")
    if hundreds:
        german = (
            ("(?:ein)?" if hundreds == 1 else _ONES[0][hundreds]) + "hundert" + (f"(?:und)?{german}" if rest else "")
        )
        english = f"{_ONES[1][hundreds]} hundred" + (f" (?:and )?{english}" if rest else "")
    return english, german


def _ordinal(day: int) -> str:
    """A pattern of a German ordinal in words."""
    return {1: "erste", 3: "dritte", 7: "siebte", 8: "achte"}.get(day, spelled(day)[1] + "s" * (day > 19) + "te")


def _number(text: str) -> tuple[Pair, str]:
    """A number as both write it, from the English form; and a pattern of every right form."""
    german = text.translate(str.maketrans(",.", ".,"))
    whole, _, part = text.partition(".")
    groups = "[.,'’ \u00a0\u202f]?".join(whole.split(","))
    pattern = rf"(?<![\d.,]){groups}" + (f"[.,]{part}" if part else "(?:[.,]00)?") + r"(?![\d]|[.,]\d)"
    return (text, german), pattern


def name(text: str) -> Value:
    pattern = re.escape(text).replace("'", "['’]")
    return Value((text, text), (rf"(?<!\w){pattern}(?:['’]?s|['’])?(?!\w)",) * 2)


def integer(number: int) -> Value:
    forms, pattern = _number(f"{number:,}")
    return Value(forms, tuple(f"{pattern}|{words}" for words in spelled(number)) if number < 1000 else (pattern,) * 2)


def decimal(text: str) -> Value:
    forms, pattern = _number(text)
    return Value(forms, (pattern,) * 2)


def amount(text: str, currency: tuple[str, str]) -> Value:
    (english, german), pattern = _number(text)
    sign, named = currency
    if text.isdecimal():
        pattern = f"(?:{pattern}|{'|'.join(spelled(int(text)))})"
    right = rf"{named}[\s-]?{pattern}|{pattern}[\s-]?{named}"
    return Value((f"{sign}{english}", f"{german} {sign}"), (right, right))


def date(year: int, month: int, day: int, style: int) -> Value:
    """A date: in words (two ways in English), or in the order of ISO 8601."""
    english, german = _MONTHS[month - 1]
    iso, dotted = f"{year}-{month:02}-{day:02}", rf"0?{day}\. ?0?{month}\. ?(?:{year}|{year % 100:02})"
    ordinal = rf"{day}(?:st|nd|rd|th)?"
    slashed = rf"0?{day}/0?{month}/{year}|0?{month}/0?{day}/{year}"
    right_english = (
        rf"{english} {ordinal},? {year}|{ordinal}(?: of)? {english},? {year}|{ordinal}\. {english} {year}"
        rf"|{iso}|{dotted}|{slashed}"
    )
    right_german = rf"(?:0?{day}\.|{_ordinal(day)}[nrs]?) ?{german},? {year}|{dotted}|{iso}|0?{day}/0?{month}/{year}"
    written = (f"{english} {day}, {year}", f"{day} {english} {year}", iso)[style % 3]
    text = (written, (f"{day}. {german} {year}", f"{day:02}.{month:02}.{year}", iso)[style % 3])
    return Value(text, tuple(rf"(?<!\d)(?:{one})(?!\d)" for one in (right_english, right_german)))


def verbatim(text: str) -> Value:
    return Value((text, text), (rf"(?<!\w){re.escape(text)}(?!\w)" if text[0].isalnum() else re.escape(text),) * 2)


def _value(kind: str, place: int, *, whole: bool = False) -> Value:
    """The value of a kind at a place; ``whole``: no decimal fraction."""
    if kind == "numbers" and place % 3 == 0 and not whole:
        return decimal(DECIMALS[place // 3 % len(DECIMALS)])
    if kind == "numbers":
        return integer(INTEGERS[place % len(INTEGERS)])
    if kind == "amounts":
        return amount(AMOUNTS[place % len(AMOUNTS)], CURRENCIES[place % len(CURRENCIES)])
    if kind == "dates":
        return date(1931 + place * 7 % 99, 1 + place * 5 % 12, 1 + place * 11 % 28, place)
    if kind == "names":
        return name(NAMES[place % len(NAMES)])
    texts = {"e-mail addresses": EMAILS, "web addresses": URLS, "emoji": EMOJI}[kind]
    return verbatim(texts[place % len(texts)])


COUNTS = {
    "names": 80,
    "numbers": 80,
    "amounts": 70,
    "dates": 60,
    "e-mail addresses": 35,
    "web addresses": 35,
    "emoji": 50,
    "CAPITALS": 50,
    "tags": 40,
}


def cases(language: Language) -> list[Case]:
    """All the lines in a language, of every kind."""
    places = [(kind, place) for kind, count in COUNTS.items() for place in range(count)]
    made = [(_in_capitals(place) if kind == "CAPITALS" else _filled(kind, place)) for kind, place in places]
    own = LANGUAGES.index(language)
    return [
        Case(kind, lines[own], tuple(values), words[1 - own], lines[1 - own])
        for (kind, _), (lines, values, words) in zip(places, made, strict=True)
    ]


Made = tuple[Pair, list[Value], tuple[Words, Words]]
"""A line in both languages, its values, and the words that it must have in each."""


def _filled(kind: str, place: int) -> Made:
    """A sentence with its values: each has other values at its next turn."""
    turn, number = divmod(place, len(SENTENCES[kind]))
    sentence = SENTENCES[kind][number]
    slots, begin = sentence[0].count("{}"), 3 * number + turn * max(1, sentence[0].count("{}"))
    if kind == "tags":
        values = [_value("web addresses" if "href" in sentence[0] else "names", begin)][:slots]
        before = f"{_CALLED[turn].title()}: " if not slots else ""  # what they differ by that have no value
        sentence = (before + sentence[0], before + sentence[1])
    else:
        whole = kind == "numbers" and number >= _WITH_FRACTIONS
        values = [_value(kind, begin + slot, whole=whole) for slot in range(slots)]
    english, german = (text.format(*(one.text[own] for one in values)) for own, text in enumerate(sentence))
    return (english, german), values, ((), ())


def _in_capitals(place: int) -> Made:
    turn, number = divmod(place, len(CAPITALS))
    english, german, *words = CAPITALS[number]
    called = _CALLED[number % len(_CALLED)]
    before, after = (f"{called}: " if turn == 2 else ""), ("!" if turn == 1 else "")
    stems = [(*(tuple(one.split("|")) for one in own.split()), *([(called,)] if before else [])) for own in words]
    return (before + english + after, before + german + after), [], (stems[1], stems[0])
