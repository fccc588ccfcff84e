"""Variation and ranking of rows, shared by the searchers that keep a population."""
