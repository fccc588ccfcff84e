"""The engine of every search: contracts, loop, store and workers. It imports no system."""
