"""The licences of the Rust crates in the wheel: each must be permissive."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PERMISSIVE = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause",
    "BSL-1.0", "CC0-1.0", "ISC", "MIT", "MIT-0", "Unicode-3.0", "Unlicense", "Zlib",
}  # fmt: skip


def is_permissive(expression: str) -> bool:
    """Evaluate an SPDX expression; crates of old write `/` for OR."""
    expression = re.sub(r"\s*/\s*", " OR ", expression)
    while inner := re.search(r"\(([^()]*)\)", expression):
        value = "MIT" if is_permissive(inner[1]) else "none"
        expression = expression[: inner.start()] + value + expression[inner.end() :]
    return any(set(choice.split(" AND ")) <= PERMISSIVE for choice in expression.split(" OR "))


@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")
def test_every_crate_has_a_permissive_licence() -> None:
    command = ["cargo", "metadata", "--offline", "--locked", "--format-version", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    packages = json.loads(done.stdout)["packages"]
    licences = {package["name"]: package["license"] or "none" for package in packages}
    assert len(licences) > 100
    assert {name: each for name, each in licences.items() if not is_permissive(each)} == {}


@pytest.mark.parametrize(
    ("expression", "permissive"),
    [
        ("MIT/Apache-2.0", True),
        ("MIT OR GPL-3.0-only", True),
        ("MIT AND GPL-3.0-only", False),
        ("(MIT OR MPL-2.0) AND Unicode-3.0", True),
        ("(LGPL-2.1 OR MPL-2.0) AND Unicode-3.0", False),
        ("GPL-3.0-only", False),
    ],
)
def test_an_expression_needs_one_permissive_choice(expression: str, *, permissive: bool) -> None:
    assert is_permissive(expression) is permissive
