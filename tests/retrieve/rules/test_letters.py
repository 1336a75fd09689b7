"""Texts whose words share letters with those of the query rank higher, by words alone."""

from __future__ import annotations

from pathlib import Path

import crx

TEXTS = {
    "a": "Replikation: siehe dort, siehe da, siehe hier, und siehe auch im Anhang unter Begriffe.",
    "b": "Die Datenbankreplikationen der Datenbanken laufen nachts; Replikation ist eingerichtet.",
}


def ranked(tmp_path: Path, query: str) -> list[str]:
    for name, text in TEXTS.items():
        (tmp_path / f"{name}.md").write_text(text)
    index = crx.open(tmp_path / "notes.crx", settings={"embedder": "none"})
    index.add(tmp_path)
    return [Path(hit.uri).stem for hit in index.search(query).hits]


def test_a_compound_raises_its_text(tmp_path: Path) -> None:
    assert ranked(tmp_path, "Replikation Datenbank") == ["b", "a"]
