"""A translation server: one engine thread for everybody, and interfaces that other programs already know."""
