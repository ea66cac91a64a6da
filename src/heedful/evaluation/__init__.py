"""How good a translation is. No torch here: scores are made of text."""
