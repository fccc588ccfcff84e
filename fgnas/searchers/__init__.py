"""Searchers: each module with a function `searcher` is one, found by its name."""
