"""Conversion of models to the ONNX graphs of the model store."""
