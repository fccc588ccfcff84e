"""Devices that are measured instead of modelled: timed networks, and predictors that are fitted to them."""
