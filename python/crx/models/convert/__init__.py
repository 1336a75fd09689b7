"""Conversion of model folders to ONNX graphs of the store."""
