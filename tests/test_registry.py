"""A contextualizer that an installed distribution brings."""

from __future__ import annotations

from pathlib import Path

import pytest

import crx
from crx.cli import run

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
