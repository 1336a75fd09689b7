"""Plugins that installed distributions bring, by name and by the scheme of an address."""

from __future__ import annotations

import importlib.util
import re
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import crx
from crx import context_registry, plugins
from crx.cli import run
from crx.errors import ModelError, UsageError
from crx.plugins import MOVED, load_plugin

MODULE = """
from crx.types import Context


class Motto:
    def __init__(self, words):
        self.words = words

    @property
    def fingerprint(self):
        return f"motto:{self.words}"

    def situate(self, document, chunks):
        for chunk in chunks:
            yield Context(f"{self.words} {chunk.ordinal}")
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution as an installer leaves it: a module beside its *.dist-info."""
    site = tmp_path / "site"
    info = site / "crx_motto-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "crx_motto.py").write_text(MODULE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: crx-motto\nVersion: 1.0\n")
    group = "[crx.contextualizers]\nmotto = crx_motto:Motto\n"
    (info / "entry_points.txt").write_text(group)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("CRX_HOME", str(tmp_path / "home"))


def test_an_installed_contextualizer_is_named_as_a_source(
    tmp_path: Path, installed: None, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "notes.crx"
    with crx.open(place, settings={"embedder": "hashed"}) as index:
        index.add_documents([crx.Document("a", "One.\n\nTwo.", chunks=((0, 6), (6, 10)))])
        assert index.contextualize("motto:We say").made == {"ok": 2}
        hits = index.search("we say", legs=["bm25"]).hits
        assert sorted(hit.context for hit in hits) == ["We say 0", "We say 1"]
    source = ["contextualize", "--index", str(place), "--with", "motto:Again"]
    assert run(source) == 0
    assert run([*source, "--budget", "$1"]) == 2
    assert "costs no dollars" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("address", "scheme"),
    [
        ("postgresql://u@h/d", "postgresql"),
        ("Milvus-Lite:notes.db", "milvus-lite"),
        ("C:/notes.crx", ""),
        ("notes.crx", ""),
        ("notes=postgresql://h/d", ""),
    ],
)
def test_an_address_has_a_scheme_and_a_path_has_none(address: str, scheme: str) -> None:
    assert plugins.scheme_of(address) == scheme


def test_a_missing_package_of_an_address_is_named_with_what_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    installed = {"ray": EntryPoint("ray", "crx_memory:open", "crx.workers")}
    monkeypatch.setattr("crx.plugins.find_plugins", lambda group: installed)
    hidden = 'ray://h: the package crx_memory is not installed; pip install "crx[ray]"'
    with pytest.raises(UsageError, match=re.escape(hidden)):
        plugins.load_for_scheme("crx.workers", "ray", shown="ray://h")
    none = "s3://b: no installed package opens s3: addresses; install one that does; known: ray"
    with pytest.raises(UsageError, match=re.escape(none)):
        plugins.load_for_scheme("crx.workers", "s3", shown="s3://b")


def test_a_plugin_that_imports_a_moved_module_is_told_its_new_name(
    tmp_path: Path, installed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "crx_motto", raising=False)
    (tmp_path / "site" / "crx_motto.py").write_text("from crx.context.window_prompt import Motto")
    new_name = r'plugin "motto" imports crx\.context\.window_prompt, which is now crx\.context\.'
    with pytest.raises(ModelError, match=new_name):
        context_registry.load_contextualizer("motto:")


def test_a_reader_that_imports_a_moved_module_is_told_its_new_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "crx_old_reader.py").write_text("from crx.ingest.readers.sections import Heading")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModelError, match=r"which is now crx\.ingest\.readers\.headings"):
        load_plugin(EntryPoint("old", "crx_old_reader", "crx.readers"))


def test_every_module_that_has_moved_is_where_the_message_says() -> None:
    for former, present in MOVED.items():
        assert importlib.util.find_spec(present), present
        left = importlib.util.find_spec(former)
        assert left is None or left.origin is None, former  # a folder of compiled files
