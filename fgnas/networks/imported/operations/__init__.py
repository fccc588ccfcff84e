"""Handlers of torch's operations, a module for each family."""
