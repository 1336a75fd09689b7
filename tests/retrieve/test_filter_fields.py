"""Notes on a filter that names a field which no document has."""

from __future__ import annotations

from pathlib import Path

import pytest

import crx
from crx.index import Where

WHALES = crx.Document("whales", "The blue whale eats krill.", metadata={"year": 2020, "tag": "sea"})
BREAD = crx.Document("bread", "Bake with steam.", metadata={"year": 2024})


@pytest.mark.parametrize(
    ("where", "notes"),
    [
        ({"yaer": 2020}, ('nothing found: no document has the field "yaer"; did you mean year?',)),
        (
            {"foo": "bar", "lang": "en"},
            (
                'nothing found: no document has the field "foo"; '
                "the fields are lang, source, tag, title, uri, year",
            ),
        ),
        ({"tag": "land"}, ()),
        ({"lang": "fr"}, ()),
    ],
)
def test_a_field_that_no_document_has_is_named_with_the_nearest(
    tmp_path: Path, where: Where, notes: tuple[str, ...]
) -> None:
    with crx.open(tmp_path / "notes.crx", settings={"embedder": "hashed"}) as index:
        index.add_documents([WHALES, BREAD])
        result = index.search("whale", where=where)
    assert (result.passages, result.notes) == ((), notes)
