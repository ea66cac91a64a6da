"""How letters and mails begin and end: Kind regards is Mit freundlichen Grüßen, whatever a model makes of it.

A phrase is one where it is all that a sentence says, as on a line of its own. This module knows no model.
"""

from __future__ import annotations

import re

from heedful.text.numbers import Languages

_PHRASES = {
    "en": {
        "Mit freundlichen Grüßen": "(?:with )?(?:kind )?regards|(?:yours )?sincerely|yours (?:faithfully|truly)",
        "Viele Grüße": "best regards!?",
        "Herzliche Grüße": "warm(?:est)? regards",
        "Sehr geehrte Damen und Herren": "dear (?:sir or madam|madam or sir|sir/madam|sirs)|to whom it may concern",
        "Hallo zusammen": "(?:hi|hello|dear) (?:all|everyone)!?",
    },
    "de": {
        "Kind regards": "mit freundlich(?:en gruessen|em gruss)|freundliche gruesse|hochachtungsvoll|mfg",
        "Best regards": "(?:viele|beste|schoene|liebe) gruesse!?|mit (?:besten|vielen|lieben) gruessen",
        "Warm regards": "herzliche gruesse|mit herzlichen gruessen",
        "Dear Sir or Madam": "sehr geehrte damen und herren",
        "Hi all": "hallo zusammen!?",
    },
}
_TYPED = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})
_DEAR = re.compile(r"Lieber?(?: (?:[A-ZÄÖÜ][\w.-]*|und))+,")
_NOT_DEAR = "(?:Good|Kind|Love|Lovely|Sweet|Lieber?)(?= )"


def as_in_letters(source: str, translation: str, *, languages: Languages) -> str:
    """The translation, as letters have it where the source is how one begins or ends.

    >>> as_in_letters("Sincerely,", "Aufwendig,", languages=("en", "de"))
    'Mit freundlichen Grüßen'
    >>> as_in_letters("Lieber Tom,", "Good Tom,", languages=("de", "en"))
    'Dear Tom,'
    """
    if languages not in (("en", "de"), ("de", "en")) or source == "MFG":
        return translation
    said = source.rstrip(",. ").lower().translate(_TYPED)
    after = source[len(source.rstrip(",.! ")) :]
    for phrase, own in _PHRASES[str(languages[0])].items():
        if re.fullmatch(own, said):  # no comma ends a German letter
            own = phrase + ("" if "Grüße" in phrase and after == "," else after)
            return own.upper() if source.isupper() else own
    if languages[0] == "de" and _DEAR.fullmatch(source):
        return re.sub(rf"\A{_NOT_DEAR}", "Dear", translation)
    return translation
