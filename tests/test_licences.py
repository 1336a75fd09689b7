"""The licences of the Rust crates in the wheel and of what it installs: each is permissive."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
PERMISSIVE = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause",
    "BSL-1.0", "CC0-1.0", "ISC", "MIT", "MIT-0", "Unicode-3.0", "Unlicense", "Zlib",
}  # fmt: skip

# Words of licences that are named by other than an SPDX expression. The Mozilla licence binds those
# who change its files, and crx changes none.
_PERMISSIVE_WORDS = re.compile(
    r"^(?:the )?(?:mit|bsd|3-clause bsd|apache|isc|python software|psf|unlicense|zlib|hpnd|mpl-2"
    r"|mozilla)",
    re.IGNORECASE,
)


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


def dependencies(name: str) -> set[str]:
    """Return a distribution and all that it needs with the extra "all", as far as installed."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        current = canonicalize_name(waiting.pop())
        if current in found:
            continue
        found.add(current)
        for text in metadata.requires(current) or ():
            requirement = Requirement(text)
            extra = "all" if current == "crx" else ""
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                waiting.append(requirement.name)
    return found


def declared_licences(name: str) -> list[str]:
    """Return what a distribution says of its licence, in any of the ways that there are."""
    fields = metadata.metadata(name)
    classifiers = [
        line.rpartition(" :: ")[2]
        for line in fields.get_all("Classifier") or ()
        if line.startswith("License :: OSI Approved :: ")
    ]
    named = fields.get_all("License-Expression") or []
    whole = fields.get_all("License") or []
    return [*named, *classifiers, *(text.partition("\n")[0] for text in whole if text)]


def test_every_python_package_has_a_permissive_licence() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    required = map(Requirement, project["dependencies"])
    named = {each.name for each in required if each.marker is None or each.marker.evaluate()}
    licences = {name: declared_licences(name) for each in named for name in dependencies(each)}
    assert len(licences) > 25
    unknown = {
        name: each
        for name, each in licences.items()
        if not any(is_permissive(one) or _PERMISSIVE_WORDS.search(one) for one in each)
    }
    assert unknown == {}


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
