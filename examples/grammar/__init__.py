"""The project's own corpus: a small English–German grammar that writes sentence pairs. All of its text is generated."""
