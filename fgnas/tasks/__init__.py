"""Tasks: the graphs that networks are trained on, by name or from the user's file."""
