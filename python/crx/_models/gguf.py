"""Weights of a GGUF file in Q8_0, which llama.cpp multiplies by matrices rather than row by row.

llama.cpp has no kernel for blocks of rows in Q4_1: on a processor with AVX-512 a prompt is read
less than half as fast as in Q8_0. The 4-bit numbers fit in 8 bits, so that next to nothing is lost.
llama.cpp itself converts, in a process of its own: it may write to the terminal, or abort.
"""

from __future__ import annotations

import ctypes
import importlib.util
import subprocess
import sys
from pathlib import Path

from crx.errors import ModelError
from crx.workers.child import script_command


def can_convert_gguf() -> bool:
    """Return whether llama-cpp-python is installed."""
    return importlib.util.find_spec("llama_cpp") is not None


def convert_gguf(source: Path, target: Path) -> None:
    """Write the model of a GGUF file with its weights in Q8_0.

    Raises `ModelError`, with the last line that llama.cpp wrote, if it cannot convert the file.
    """
    command = [*script_command(__name__), str(source), str(target)]
    run = subprocess.run(command, capture_output=True, check=False)
    if run.returncode:
        lines = run.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"]
        raise ModelError(f"{source.name}: llama.cpp cannot convert it to Q8_0: {lines[-1]}")


def main() -> int:
    """Convert the first argument into the second."""
    # Imported here: llama-cpp-python is an extra.
    import llama_cpp as llama

    source, target = (path.encode() for path in sys.argv[1:])
    options = llama.llama_model_quantize_default_params()
    options.ftype = llama.LLAMA_FTYPE_MOSTLY_Q8_0
    options.allow_requantize = True
    return int(llama.llama_model_quantize(source, target, ctypes.byref(options)))


if __name__ == "__main__":
    sys.exit(main())
