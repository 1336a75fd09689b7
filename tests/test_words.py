"""Words of the project's own for which the field has a term, in the sources edited for them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# Packages and documents without these words; others are added as they are edited.
CLEAN = (
    "docs",
    "python/crx/answer",
    "python/crx/backends",
    "python/crx/bundle",
    "python/crx/cli",
    "python/crx/config",
    "python/crx/context",
    "python/crx/engine_contract",
    "python/crx/evaluate",
    "python/crx/ingest",
    "python/crx/integrations",
    "python/crx/jobs",
    "python/crx/mcp",
    "python/crx/models",
    "python/crx/remote",
    "python/crx/serve",
    "python/crx/watch",
    "python/crx/workers",
    "python/crx_engines",
)
# Position, path, span or slot; self-check; changed; pending; at; snapshot.
BANNED = re.compile(r"\b(?:places?|canary|canaries|touched|owed|as\s+of|holding)\b", re.IGNORECASE)
# Names that users have: an option of models, a key of "crx eval --json".
ALLOWED = re.compile(r"`places`|\bplaces=|\"places?\"|\bplaces: tuple|\.places\b")


def banned(text: str) -> Iterator[str]:
    """Yield the banned words of a text that are no allowed name."""
    return (match[0] for match in BANNED.finditer(ALLOWED.sub("", text)))


@pytest.mark.parametrize("folder", CLEAN)
def test_a_standard_term_is_used_where_there_is_one(folder: str) -> None:
    files = [*(ROOT / folder).rglob("*.py"), *(ROOT / folder).rglob("*.md")]
    assert files
    found = {(str(file), word) for file in files for word in banned(file.read_text("utf-8"))}
    assert found == set()


def test_banned_words_are_found_and_words_that_contain_them_are_not() -> None:
    assert list(banned("Its place,\nas\nof now; a placeholder in `places`")) == ["place", "as\nof"]
