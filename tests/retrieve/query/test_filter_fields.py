"""Notes on a filter that names a field which no document has."""

from __future__ import annotations

from pathlib import Path

import pytest

import crx
from crx._cli import run
from crx.retrieve.request import Where

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
                "the fields are kind, lang, modified, source, tag, title, uri, year",
            ),
        ),
        ({"tag": "land"}, ("nothing found: no document meets the filter",)),
        ({"lang": "fr"}, ("nothing found: no document meets the filter",)),
        (
            {"source": "sea/"},
            (
                "nothing found: no document meets the filter; "
                'source is an absolute path, or a glob such as "**/sea/**"',
            ),
        ),
    ],
)
def test_a_field_that_no_document_has_is_named_with_the_nearest(
    tmp_path: Path, where: Where, notes: tuple[str, ...]
) -> None:
    with crx.open(tmp_path / "notes.crx", settings={"embedder": "hashed"}) as index:
        index.add_documents([WHALES, BREAD])
        result = index.search("whale", where=where)
    assert (result.passages, result.notes) == ((), notes)


def test_the_command_line_names_the_field_instead_of_nothing_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "notes.crx"
    with crx.open(folder, settings={"embedder": "hashed"}) as index:
        index.add_documents([WHALES])
    assert run(["search", "whale", "--where", "yaer=2020", "--index", str(folder)]) == 1
    printed = capsys.readouterr()
    assert printed.err == (
        'crx: nothing found: no document has the field "yaer"; did you mean year?\n'
    )
    assert run(["search", "whale", "--where", "year=1999", "--index", str(folder)]) == 1
    assert capsys.readouterr().err == "crx: nothing found: no document meets the filter\n"
