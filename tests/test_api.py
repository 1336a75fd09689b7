"""`import crx`: what it gives, and how little it loads."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

import pytest

import crx


def modules_after(code: str, environ: Mapping[str, str] | None = None) -> set[str]:
    code += "\nprint(*sorted(sys.modules), file=sys.stderr)"
    command = [sys.executable, "-c", "import sys\n" + code]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, **(environ or {})}
    )
    return set(done.stderr.split())


def test_every_public_name_is_there() -> None:
    assert set(crx.__all__) <= set(dir(crx))
    assert all(getattr(crx, name) is not None for name in crx.__all__)


def test_the_version_is_that_of_the_installed_package() -> None:
    assert crx.__version__ == metadata.version("crx")
    assert "importlib.metadata" not in modules_after("import crx")


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'crx' has no attribute 'opne'"):
        _ = crx.opne


# What a pass over unchanged files and a search by words have no need of.
UNNEEDED = {
    "crx._context.run",
    "crx.ingest.read",
    "crx_engines.pools.open_workers",
    "importlib.metadata",
    "numpy.ma",
    "onnxruntime",
    "rich",
}
# What only a file that has changed needs.
NEEDED_BY_CHANGES = {
    "crx._answer.prompt",
    "crx._context.archive",
    "crx._context.budget",
    "crx._context.exchange",
    "crx._context.outline",
    "crx._context.records",
    "crx._context.report",
    "crx.ingest.embed",
    "crx.ingest.readers.decode",
    "crx.ingest._worker.isolated_reader",
    "crx._models.store",
    "crx.retrieve.search",
    "crx._services.prompt",
    "numpy",
}


def test_what_is_done_often_loads_little(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("words")
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (tmp_path / "a.unknown").write_text("words")
    index = str(tmp_path / "own.crx")
    prepare = f"from crx._cli import run; run(['index', {str(tmp_path)!r}, '--index', {index!r}])"
    commands = {
        ("index", "--index", index): UNNEEDED | NEEDED_BY_CHANGES,
        ("search", "--index", index, "words"): UNNEEDED,
    }
    modules_after(prepare, environ={"CRX_EMBEDDER": "none"})
    for command, unneeded in commands.items():
        loaded = modules_after(f"from crx._cli import run; run({[*command]})")
        assert not loaded & unneeded, command


def test_import_crx_loads_neither_numpy_nor_a_step() -> None:
    loaded = modules_after("import crx")
    assert {name for name in loaded if name.startswith("crx")} == {"crx"}
    assert "numpy" not in loaded


def test_a_reader_loads_nothing_that_indexes() -> None:
    loaded = modules_after("import crx; crx.open_reader")
    assert "crx._index.reader" in loaded
    assert not loaded & {"crx._index.handle", "crx.ingest.indexer", "crx._index.verify"}


def test_a_search_loads_neither_a_reader_nor_what_indexes() -> None:
    loaded = modules_after(
        "import crx._cli.search, crx._index.reader, crx.retrieve.search_models, crx._backends.onnx"
    )
    unwanted = {
        "crx._context.cache",
        "crx._context.names",
        "crx._index.handle",
        "crx.ingest.embed",
        "crx.ingest.embed_pending",
        "crx.ingest.indexer",
        "crx.ingest.read",
        "crx.ingest.discover",
        "crx._index.verify",
        "crx.ingest.report",
        "crx._models.source_folder",
        "importlib.metadata",
        "rich",
        "socket",
    }
    assert loaded & unwanted == set()


def test_a_search_without_a_model_loads_no_model_store_and_no_threads() -> None:
    loaded = modules_after("import crx._cli.search, crx._index.reader, crx.retrieve.search_models")
    assert not loaded & {"concurrent.futures", "crx._models.store", "hashlib", "subprocess"}
