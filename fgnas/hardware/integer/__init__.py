"""The integer network: values and operations without a lane, and the exact meaning of each operation."""
