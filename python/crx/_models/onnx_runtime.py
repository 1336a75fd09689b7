"""ONNX Runtime, imported with its telemetry off.

Since version 1.29 its packages for Linux and macOS write an identifier of the device into the
user's cache and send events of each session to Microsoft, unless this variable is set before it is
imported. Whatever value it had is replaced: crx promises that it sends nothing.
"""

from __future__ import annotations

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import onnxruntime

__all__ = ["onnxruntime"]
