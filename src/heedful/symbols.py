"""The ids every vocabulary begins with."""

PAD = 0
"""Fills a padded batch; never text, never predicted."""
START = 1
"""The first thing the decoder is given."""
END = 2
"""Closes every source and target sentence."""
CONTROL_TOKENS = ("<pad>", "<s>", "</s>")
"""The names of ids 0, 1, 2. Text that reads like one of them stays text."""
START_LABEL, END_LABEL = "⟨start⟩", "⟨end⟩"
"""How pictures show START and END."""
