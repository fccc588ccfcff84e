"""The outside tools: where they are, how they are run, what their reports say."""
