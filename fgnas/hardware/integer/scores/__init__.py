"""The kinds of scores that weight messages: one class, in one file, for each."""
