"""A letter begins and ends in the other language as letters there do."""

from __future__ import annotations

import pytest

from heedful.text.letters import as_in_letters

EN_DE, DE_EN = ("en", "de"), ("de", "en")


@pytest.mark.parametrize(
    ("source", "translation", "languages", "expected"),
    [
        ("Kind regards,", "Freundliche Grüße,", EN_DE, "Mit freundlichen Grüßen"),
        ("Yours sincerely", "Eure aufrichtig", EN_DE, "Mit freundlichen Grüßen"),
        ("Best regards!", "Beste Grüße!", EN_DE, "Viele Grüße!"),
        ("Dear Sir or Madam,", "Sehr geehrter Herr oder Frau,", EN_DE, "Sehr geehrte Damen und Herren,"),
        ("Mit freundlichen Grüßen", "With friendly greetings", DE_EN, "Kind regards"),
        ("MIT FREUNDLICHEN GRUESSEN,", "X,", DE_EN, "KIND REGARDS,"),
        ("MfG", "MfG", DE_EN, "Kind regards"),
        ("Liebe Grüße!", "Love Greet!", DE_EN, "Best regards!"),
        ("Lieber Tom, liebe Anna,", "Good Tom, dear Anna,", DE_EN, "Good Tom, dear Anna,"),
        ("Lieber Tom,", "Good Tom,", DE_EN, "Dear Tom,"),
        ("Lieber Herr Dr. Weber und Anna,", "Dear Dr Weber and Anna,", DE_EN, "Dear Dr Weber and Anna,"),
    ],
)
def test_a_greeting_is_that_of_the_other_language(
    source: str, translation: str, languages: tuple[str, str], expected: str
) -> None:
    assert as_in_letters(source, translation, languages=languages) == expected


@pytest.mark.parametrize(
    ("source", "languages"),
    [
        ("Kind regards from Berlin", EN_DE),
        ("He regards,", EN_DE),
        ("Kind regards,", ("en", "fr")),
        ("MFG", DE_EN),
        ("Sehr geehrte Damen und Herren!", DE_EN),  # a speech
        ("Lieber spät als nie,", DE_EN),
        ("Lieber Gott!", DE_EN),
    ],
)
def test_what_is_more_than_a_greeting_is_left_to_the_model(source: str, languages: tuple[str, str]) -> None:
    assert as_in_letters(source, "Good one", languages=languages) == "Good one"
