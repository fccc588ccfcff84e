"""Which compute unit runs which step of a network: platforms, chains of steps, and the exact front of mappings."""
