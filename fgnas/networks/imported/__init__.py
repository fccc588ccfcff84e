"""Trained PyG models as integer networks: what they compute, found by running them once."""
