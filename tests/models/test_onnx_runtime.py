"""ONNX Runtime as crx imports it: without telemetry."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

RERANK = "from crx.registry import load_reranker; print(*load_reranker('crx').score('a', ['b']))"
CONVERT = "import crx_convert.convert"


def run_in(home: Path, code: str) -> list[str]:
    """Run code with an empty home; return the paths that it left there."""
    # Telemetry is also off where a variable tells of continuous integration.
    foreign = ("CI", "TF_BUILD", "GITHUB_", "XDG_", "ORT_", "JENKINS", "BUILD")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    environ |= {"HOME": str(home), "ORT_DISABLE_TELEMETRY": "0"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environ, capture_output=True)
    return sorted(path.relative_to(home).as_posix() for path in home.rglob("*"))


def test_a_model_leaves_no_identifier_of_the_device_in_the_home(tmp_path: Path) -> None:
    assert run_in(tmp_path, RERANK) == []


def test_the_converter_turns_telemetry_off_as_well(tmp_path: Path) -> None:
    assert run_in(tmp_path, CONVERT) == []
