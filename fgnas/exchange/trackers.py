"""The names of trackers of experiments."""

TRACKERS = {"mlflow": "MLflow", "tensorboard": "TensorBoard"}
"""Name of `--track` -> its class in `tracking`, which is imported when one is asked for: it takes seconds."""
