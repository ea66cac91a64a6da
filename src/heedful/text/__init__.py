"""Text in, subwords out: reading, cleaning, and the only door between text and ids. Knows no torch and no storage."""
