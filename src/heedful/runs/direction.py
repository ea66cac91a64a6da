"""Which model translates from which language into which. Loads none of them.

Only a model that comes with heedful is chosen by its direction: the same command means the same model in every folder.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from heedful.errors import SearchError
from heedful.runs.folder import model_folder
from heedful.runs.lists import ListedModel, bundled, languages, models_in, usual_folders
from heedful.runs.saved import SavedModel, description_of
from heedful.text.profile import LanguageCheck, read_profile

_NAMES = (
    "ar Arabic, bg Bulgarian, ca Catalan, cs Czech, da Danish, de German, el Greek, en English, eo Esperanto, es "
    "Spanish, et Estonian, eu Basque, fa Persian, fi Finnish, fr French, ga Irish, gl Galician, he Hebrew, hi "
    "Hindi, hr Croatian, hu Hungarian, id Indonesian, is Icelandic, it Italian, ja Japanese, ka Georgian, ko "
    "Korean, lt Lithuanian, lv Latvian, mk Macedonian, ms Malay, nb Norwegian, nl Dutch, nn Norwegian, no "
    "Norwegian, pl Polish, pt Portuguese, ro Romanian, ru Russian, sk Slovak, sl Slovenian, sq Albanian, sr "
    "Serbian, sv Swedish, ta Tamil, th Thai, tl Tagalog, tr Turkish, uk Ukrainian, ur Urdu, vi Vietnamese, zh "
    "Chinese"
)
LANGUAGE_NAMES = {pair[:2]: pair[3:] for pair in _NAMES.split(", ")}
_OWN, _OTHER = 0.6, 0.3
"""The share of frequent words from which on a text may be in a language."""
_SURE = 5.0
"""How much more probable the letters of a text are in the other language, as a logarithm. Of 60,000 English sentences
none is taken for German then, and of German ones 61 in 100 of two words are known, 92 of four, and 99 of seven."""


def model_between(source: str | None, target: str | None) -> str:
    """The name of the model that comes with heedful and translates from and into these languages; None is any."""
    ours, asked = bundled(), _direction(source, target)
    fitting = [model for model in ours if _fits(model, source, target)]
    shown = ", ".join(f"{model.model} ({model.languages})" for model in fitting or ours)
    if len(fitting) > 1:
        raise SearchError(f"several models translate {asked}: {shown}; give both --from and --to, or --model")
    if not fitting:
        own = [model.model for model in models_in(usual_folders()) if _fits(model, source, target)]
        advice = f"; {own[0]} does: give --model {own[0]}" if own else ": give --model with one of yours"
        raise SearchError(f"heedful comes with {shown or 'no model'}, and none that translates {asked}{advice}")
    return fitting[0].model


def require_direction(model: Path | str, source: str | None, target: str | None) -> None:
    """Raise where a model does not translate from and into these languages; None is any."""
    spoken = languages(description_of(model))
    if spoken is None:
        raise SearchError(f"{model} does not say which languages it translates: leave --from and --to out")
    if source not in (None, spoken.source) or target not in (None, spoken.target):
        own, asked = _direction(spoken.source, spoken.target), _direction(source, target)
        raise SearchError(f"{model} translates {own}, and not {asked}")


def model_of_text(model: str, text: str) -> tuple[str, str] | None:
    """The model that comes with heedful and translates the other way than this one, and the language that it reads, if
    a text is surely in that language; else None.
    """
    own, spoken = read_profile(model_folder(model)), languages(description_of(model))
    if own is None or spoken is None or own.source.share_known(text) >= _OWN:
        return None
    others = (one.model for one in bundled() if _fits(one, spoken.target, spoken.source))
    for other in others:
        profile = read_profile(model_folder(other))
        if profile is not None and profile.source.share_known(text) >= _OTHER:
            odds = profile.source.likelihood(text) - own.source.likelihood(text)
            return (other, spoken.target) if odds > _SURE else None
    return None


def language_check(saved: SavedModel, *, opposite: Callable[[], str] | None = None) -> LanguageCheck | None:
    """What notices a text in another language than a model translates; where nothing is given to say of text in the
    target's, it names a model that comes with heedful and translates the other way. None for a model without a profile.
    """

    def named() -> str:
        spoken = languages(saved.description)
        others = [model.model for model in bundled() if spoken and _fits(model, spoken.target, spoken.source)]
        return f"`heedful translate --model {others[0]}` translates it" if others else "check it, or the model"

    return LanguageCheck(saved.profile, opposite=opposite or named) if saved.profile else None


def _fits(model: ListedModel, source: str | None, target: str | None) -> bool:
    own = (model.languages or "").split("-")
    return len(own) == 2 and source in (None, own[0]) and target in (None, own[1])


def _direction(source: str | None, target: str | None) -> str:
    return " ".join(f"{word} {code}" for word, code in (("from", source), ("to", target)) if code is not None)
