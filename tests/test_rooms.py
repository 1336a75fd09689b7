"""Where code lives: imports go one way, and heavy runtimes stay in their rooms."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "python" / "crx"

# Each room may import the rooms before it, and itself.
ORDER = (
    ("_native", "errors"),
    ("types", "protocols", "config"),
    ("gate", "prompt", "frames", "spend", "carry", "thoughts", "cite", "quote"),
    ("remote", "ledger", "visit", "talk", "models", "readers", "walk"),
    ("backends",),
    (
        "read",
        "split",
        "outline",
        "embed",
        "reuse",
        "makers",
        "contextualize",
        "generate",
        "answer",
        "lang",
    ),
    ("rerank",),
    ("build", "upgrade", "transfer", "search", "whole"),
    ("index", "plan"),
    ("evaluate",),
    ("cli", "demo", "__main__"),
)
LEVEL = {room: level for level, rooms in enumerate(ORDER) for room in rooms}

# The rooms that may name a runtime. The converter of models checks what it wrote by running it.
RUNTIMES = {
    "onnxruntime": {"backends", "models"},
    "onnx": {"models"},
    "safetensors": {"models"},
    "openvino": {"backends"},
    "sentence_transformers": {"backends"},
    "torch": {"backends"},
    "llama_cpp": {"backends"},
    "anthropic": {"backends"},
    "openai": {"backends"},
    "tree_sitter": {"readers"},
    "pypdfium2": {"readers"},
    "selectolax": {"readers"},
    "charset_normalizer": {"readers"},
    "click": {"cli"},
    "rich": {"cli"},
}


def sources() -> list[Path]:
    return sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def room_of(module: str) -> str:
    return module.split(".")[1]


def imports(path: Path) -> list[tuple[str, bool]]:
    """Return (module, at the top level) of every import."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    top = set(map(id, tree.body))
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, id(node) in top) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found += [(n if node.module == "crx" else node.module, id(node) in top) for n in names]
    return found


@pytest.mark.parametrize("path", sources(), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_one_way(path: Path) -> None:
    own = room_of("crx." + ".".join(path.relative_to(ROOT).with_suffix("").parts))
    for module, _ in imports(path):
        if module.startswith("crx."):
            room = room_of(module)
            assert LEVEL[room] <= LEVEL[own], f"{own} may not import {room}"


@pytest.mark.parametrize("path", sources(), ids=lambda p: str(p.relative_to(ROOT)))
def test_a_runtime_is_named_in_its_own_rooms_only(path: Path) -> None:
    own = path.relative_to(ROOT).parts[0].removesuffix(".py")
    for module, _ in imports(path):
        rooms = RUNTIMES.get(module.split(".")[0], {own})
        assert own in rooms, f"{module} belongs to {rooms}"


def test_importing_crx_loads_no_runtime() -> None:
    code = "import sys, crx; print(*sorted(m.split('.')[0] for m in sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert set(loaded) & set(RUNTIMES) == set()
