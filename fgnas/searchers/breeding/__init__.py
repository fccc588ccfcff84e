"""What searchers with a population share: how rows change, and how they are ordered."""
