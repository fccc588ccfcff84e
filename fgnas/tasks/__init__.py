"""Tasks: the graphs that networks are trained on, by name or from a file of the user's."""
