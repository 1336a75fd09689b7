"""Construction of an ONNX graph: nodes and constants in the order they are added."""

from __future__ import annotations

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

Attribute = int | float | str | list[int] | onnx.TensorProto

# The domain of the operators that ONNX Runtime adds to the standard.
RUNTIME_DOMAIN = "com.microsoft"


class GraphWriter:
    """Nodes and constants of a graph; each method returns the name of the tensor it adds."""

    def __init__(self, opset: int, *, name_prefix: str) -> None:
        self.opset = opset
        self._name_prefix = name_prefix
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
        """Add a node; return the name of its output."""
        output = output or f"{self._name_prefix}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], domain=domain, **attributes))  # type: ignore[arg-type]
        return output

    def split(self, x: str, parts: int) -> list[str]:
        """Split the last axis into equal parts; return their names in order."""
        outputs = [f"{self._name_prefix}_{len(self.nodes)}_{part}" for part in range(parts)]
        self.nodes.append(helper.make_node("Split", [x], outputs, axis=-1, num_outputs=parts))
        return outputs

    def constant(self, value: NDArray[np.generic] | np.generic) -> str:
        """Add a constant; return its name."""
        name = f"{self._name_prefix}_constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, order="C"), name))
        return name

    def shared_constant(self, value: np.generic) -> str:
        """Return the name of a scalar constant, which is added on first use only."""
        key = (value.dtype.str, value.shape, value.tobytes())
        if key not in self._shared:
            self._shared[key] = self.constant(value)
        return self._shared[key]

    def int64s(self, *values: int) -> str:
        """Add an int64 vector; return its name."""
        return self.constant(np.array(values, np.int64))
