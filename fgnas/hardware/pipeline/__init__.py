"""The pipeline, the accelerator of FGNAS: units for each layer, one object read by every model and back end."""
