"""The commands of the command line, a module for each group: the options of each, and what it does."""
