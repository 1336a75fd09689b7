"""Words of the project's own for which the field has a term, in sources and documents."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = ("benches", "docs", "examples", "fuzz", "models", "python", "rust")
KINDS = ("*.md", "*.py", "*.pyi", "*.rs")
# Position, path, span or slot; self-check; changed; pending; at; snapshot.
BANNED = re.compile(r"\b(?:places?|canary|canaries|touched|owed|as\s+of|holding)\b", re.IGNORECASE)
# Names that users have: an option of models, a key of "crx eval --json", a module of before.
ALLOWED = re.compile(
    r"`places`|\bplaces=|\"places?\"|\bplaces: tuple|\.places\b|\"crx\.ingest\.touched\""
)


def banned(text: str) -> Iterator[str]:
    """Yield the banned words of a text that are no allowed name."""
    return (match[0] for match in BANNED.finditer(ALLOWED.sub("", text)))


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_standard_term_is_used_where_there_is_one(folder: str) -> None:
    files = [file for kind in KINDS for file in (ROOT / folder).rglob(kind)]
    assert files
    found = {(str(file), word) for file in files for word in banned(file.read_text("utf-8"))}
    assert found == set()


def test_documents_at_the_top_use_standard_terms() -> None:
    assert {(file.name, w) for file in ROOT.glob("*.md") for w in banned(file.read_text())} == set()


def test_banned_words_are_found_and_words_that_contain_them_are_not() -> None:
    assert list(banned("Its place,\nas\nof now; a placeholder in `places`")) == ["place", "as\nof"]
