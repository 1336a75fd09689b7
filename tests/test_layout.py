"""The shape of the package: what the import contracts of pyproject.toml do not say."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent / "python" / "crx"
MODULES = sorted(ROOT.parent.glob("crx*/**/*.py"))
# What opens a connection, or a client of a service. `urllib.parse` opens nothing.
NETWORK = {
    "aiohttp", "anthropic", "asyncio", "ftplib", "http", "httpx", "huggingface_hub", "imaplib",
    "openai", "poplib", "requests", "smtplib", "socket", "socketserver", "ssl", "telnetlib",
    "urllib", "urllib3", "xmlrpc",
}  # fmt: skip
PUBLIC_UNDERSCORES = {"__init__", "__main__", "__version__"}
RUNTIMES = {"anthropic", "llama_cpp", "onnxruntime", "openai", "rich", "torch", "tree_sitter"}


def test_importing_crx_loads_no_runtime() -> None:
    code = "import sys, crx; print(*sorted(m.split('.')[0] for m in sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert set(loaded) & RUNTIMES == set()


def imported_names(path: Path) -> set[str]:
    """Return the modules that a file imports, also by a name that it gives as a text."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            names.update(str(each.value) for each in node.args if isinstance(each, ast.Constant))
    return {name for name in names if not name.startswith("urllib.parse")}


def test_no_module_of_crx_can_send_a_text() -> None:
    """Nothing opens a connection. `crx models pull` starts pip, which is given no text."""
    found = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in ROOT.rglob("*.py")
        for name in imported_names(path)
        if name.partition(".")[0] in NETWORK
    }
    assert found == set()


def is_private(name: str) -> bool:
    return any(part.startswith("_") for part in name.split(".") if part not in PUBLIC_UNDERSCORES)


def test_names_that_are_promised_to_nobody_are_behind_an_underscore() -> None:
    """A name of a module is public unless it or a folder above it begins with an underscore."""
    public = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in ROOT.rglob("*.py")
        if not is_private(".".join(path.relative_to(ROOT).with_suffix("").parts))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        for name in defined_names(node)
        if not name.startswith("_")
    ]
    assert len(public) <= 600


def defined_names(node: ast.stmt) -> list[str]:
    """Return the names that a statement of a module gives to functions, classes and values."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    targets = [*getattr(node, "targets", ()), getattr(node, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def test_the_documentation_names_no_module_with_an_underscore() -> None:
    pages = [*(ROOT.parent.parent / "docs").rglob("*.md"), ROOT.parent.parent / "README.md"]
    named = {name for page in pages for name in re.findall(r"\bcrx\.[\w.]+", page.read_text())}
    assert {name for name in named if is_private(name)} == set()


def test_no_class_name_is_defined_twice() -> None:
    names = Counter(
        node.name
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, count in names.items() if count > 1] == []


def function_imports() -> list[tuple[Path, int]]:
    """Return the file and line of each import within a function."""
    return sorted(
        {
            (path, statement.lineno)
            for path in ROOT.rglob("*.py")
            for function in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
            for statement in ast.walk(function)
            if isinstance(statement, (ast.Import, ast.ImportFrom))
        }
    )


def test_at_most_forty_imports_are_within_functions() -> None:
    found = function_imports()
    assert len(found) <= 40, [f"{path}:{line}" for path, line in found]


def test_an_import_within_a_function_has_its_reason_beside_it() -> None:
    for path, line in function_imports():
        lines = path.read_text(encoding="utf-8").splitlines()
        beside = lines[max(0, line - 5) : line]
        assert any("# " in each for each in beside), f"{path}:{line}"
