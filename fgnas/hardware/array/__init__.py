"""The multiplier array: one array of multipliers that serves every layer, driven by a programme of descriptors."""
