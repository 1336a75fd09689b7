"""Nodes and constants of an ONNX graph, written one after the other."""

from __future__ import annotations

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

Attribute = int | float | str | list[int] | onnx.TensorProto

# The domain of ONNX Runtime's own operators.
RUNTIME = "com.microsoft"


class GraphWriter:
    """Nodes and constants in the order they are written; a tensor is known by its name."""

    def __init__(self, opset: int, *, mark: str) -> None:
        self.opset = opset
        self._mark = mark
        self._shared: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def op(
        self,
        kind: str,
        *inputs: str,
        domain: str = "",
        output: str = "",
        **attributes: Attribute,
    ) -> str:
        """Write a node; returns its output."""
        output = output or f"{self._mark}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], domain=domain, **attributes))  # type: ignore[arg-type]
        return output

    def split(self, x: str, parts: int) -> list[str]:
        """Write the split of the last axis into equal parts; returns them in order."""
        outputs = [f"{self._mark}_{len(self.nodes)}_{part}" for part in range(parts)]
        self.nodes.append(helper.make_node("Split", [x], outputs, axis=-1, num_outputs=parts))
        return outputs

    def constant(self, value: NDArray[np.generic] | np.generic) -> str:
        """Write a constant; returns its name."""
        name = f"{self._mark}_constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, order="C"), name))
        return name

    def shared(self, value: np.generic) -> str:
        """Return the name of a number that is written once, however often it is asked for."""
        key = (value.dtype.str, value.shape, value.tobytes())
        if key not in self._shared:
            self._shared[key] = self.constant(value)
        return self._shared[key]

    def integers(self, *values: int) -> str:
        """Write a list of whole numbers; returns its name."""
        return self.constant(np.array(values, np.int64))
