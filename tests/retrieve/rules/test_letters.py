"""Texts whose words share letters with those of the query rank higher, by words alone."""

from __future__ import annotations

from pathlib import Path

import crx

TEXTS = {
    "alone": "Die Replikation ist hier kurz beschrieben.",
    "compound": "Die Replikation ist eine Datenbankreplikation und kurz beschrieben.",
    "other": "Eine Datenbank.",
}


def ranked(tmp_path: Path, query: str) -> list[str]:
    for name, text in TEXTS.items():
        (tmp_path / f"{name}.md").write_text(text)
    index = crx.open(tmp_path / "notes.crx", settings={"embedder": "none"})
    index.add(tmp_path)
    return [Path(hit.uri).stem for hit in index.search(query).hits]


def test_a_compound_raises_its_text(tmp_path: Path) -> None:
    order = ranked(tmp_path, "Replikation der Datenbanken")
    assert order.index("compound") < order.index("alone")
