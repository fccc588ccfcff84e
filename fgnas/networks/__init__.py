"""The networks that candidates describe: float training, quantisation, import of trained models."""
