"""Codes and numbers with units: found in whatever groups a document writes them."""

from __future__ import annotations

from pathlib import Path

import pytest

import crx

TEXT = """The pump draws 400 V and weighs 15kg. The account is NL91 ABNA 0417 1643 00.
Call +31 20 624-1111 at night. The card 08:00:2b:01:02:03 fails with 0x800f0922.
The older pump has the number B7731144, and 15 people carry it. The lamp needs 12 W.
"""


@pytest.fixture
def index(tmp_path: Path) -> crx.Index:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "pump.md").write_text(TEXT)
    (tmp_path / "docs" / "other.md").write_text("Nobody carries the V of 31 geese.")
    index = crx.open(tmp_path / "notes.crx", settings={"embedder": "none"})
    index.add(tmp_path / "docs")
    return index


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("400V pump", "400 V pump"),
        ("weighs 15 kg", "weighs 15kg"),
        ("NL91ABNA0417164300", "NL91 ABNA 0417 1643 00"),
        ("+31206241111", "+31 20 624-1111"),
        ("08002b010203", "08:00:2b:01:02:03"),
        ("800f0922", "0x800f0922"),
        ("B773 1144", "B7731144"),
    ],
)
def test_a_code_is_found_as_a_document_writes_it(index: crx.Index, query: str, shown: str) -> None:
    found = index.search(query)
    assert found[0].uri.endswith("pump.md")
    (note,) = (str(note) for note in found.notes if "showing" in note)
    assert note.startswith(f"showing results for: {shown} (")


@pytest.mark.parametrize(
    "query", ["400 V", "15kg", '"400V"', "12 people", "NL92ABNA0417164300", "31 geese", "v1.400V"]
)
def test_what_documents_have_or_none_has_in_any_groups_stays(index: crx.Index, query: str) -> None:
    assert not any("showing results" in note for note in index.search(query).notes)


def test_words_are_no_code_though_their_parts_are_known(index: crx.Index) -> None:
    result = index.search("How many Geese carried the Pump by the 1700s")
    assert not any("showing results" in note for note in result.notes)


def test_a_word_that_documents_have_in_another_form_is_not_joined(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "setup.md").write_text("Windows 11 needs a key. The image is windows11.")
    with crx.open(tmp_path / "notes.crx", settings={"embedder": "none"}) as index:
        index.add(tmp_path / "docs")
        assert not any("showing results" in note for note in index.search("Windows 11 key").notes)
