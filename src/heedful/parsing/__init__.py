"""Section 6.3, English constituency parsing: trees, the sequences that stand for them, and their scores."""
