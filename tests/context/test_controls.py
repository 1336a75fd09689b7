"""No context, and no outline, has a control character, whoever wrote it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import crx
from crx._context.controls import has_controls, strip_controls
from crx.errors import InputError
from crx.types import Chunk, Context, Document

BAD = ("\x1b[31m", "\x07", "\x9b", "\u202e", "\u2066", "\u200f", "\U000e0041", "\udcff")
SETTINGS = {"embedder": "hashed", "reranker": ""}


class Plugin:
    """A contextualizer of somebody else, which does not validate."""

    fingerprint = "plugin"

    def situate(self, document: Document, chunks: Sequence[Chunk]) -> Iterator[Context]:
        for _ in chunks:
            yield Context(f"{document.title}\x1b]0;owned\x07 \u202eand tags \U000e0041")


@pytest.mark.parametrize("bad", BAD)
def test_a_control_is_found_and_stripped(bad: str) -> None:
    assert has_controls(f"a{bad}b")
    assert not has_controls(strip_controls(f"a{bad}b"))


@pytest.mark.parametrize("fair", ["a\tb\nc", "日本語 é 🙂", "کتاب‌خانه"])
def test_other_text_is_left_alone(fair: str) -> None:
    assert not has_controls(fair)
    assert strip_controls(fair) == fair


def test_a_context_of_a_plugin_is_stored_as_rejected(tmp_path: Path) -> None:
    with crx.open(tmp_path / "i.crx", settings=SETTINGS) as index:
        index.add_documents([Document("mem:1", "Blue whales eat krill.")])
        index.contextualize(Plugin())
        (row,) = index.store.chunks(index.store.chunk_keys(1))
    assert (row.context, row.outcome) == ("", "rejected:control characters")


def test_a_file_of_contexts_with_one_names_its_line(tmp_path: Path) -> None:
    file = tmp_path / "c.jsonl"
    file.write_text('{"doc_id": "1", "start": 0, "end": 5, "context": "a\\u202eb"}\n')
    with (
        crx.open(tmp_path / "i.crx", settings=SETTINGS) as index,
        pytest.raises(InputError, match='line 1: "context" has control characters'),
    ):
        index.import_contexts(file)


def test_an_outline_has_none(tmp_path: Path) -> None:
    bad = "".join(BAD[:-1])
    with crx.open(tmp_path / "i.crx", settings=SETTINGS) as index:
        title = f"Krill{bad} report"
        index.add_documents([Document("mem:1", f"# Krill{bad}\n\nWhales eat it.", title=title)])
        (row,) = index.store.chunks(index.store.chunk_keys(1))
    assert row.outline.startswith("Krill[31m report")
    assert not has_controls(row.outline)
