"""Networks and runs in the formats of other tools: ONNX models, tables of trials."""
