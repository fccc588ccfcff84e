"""The laboratory: it synthesises the modules of the hardware at many points, and fits the tables of the area models."""
