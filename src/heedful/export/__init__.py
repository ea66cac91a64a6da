"""Trained models for other engines: the same numbers under their names."""
