"""Networks of candidates: float training, quantisation, fine-tuning, and import of trained models."""
