"""Prepared corpora on disk and the batches made of them (section 5.1). Knows ids only: no text, no torch."""
