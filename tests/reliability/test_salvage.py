"""Random damage to a database: what is salvaged from it is as it was, and no context is lost."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from fault_injection.effort import Effort

import crx
from crx._index.handle import Index
from crx._index.salvage import Salvaged, salvage_index, salvage_with_archive
from crx.config import fixed_settings, resolve
from crx.errors import Damaged
from crx.types import Document

PAGE = 4096
SECTOR = 512
LOST = "\ufffd"

SETTINGS = {"embedder": "hashed", "reranker": ""}
NOTES = [
    Document(f"mem:{n}", f"Heron {n} of lake {n} eats krill in winter. " * (20 + 30 * n), "")
    for n in range(25)
]

Salvage = Callable[[Path, Path], Salvaged]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index with contexts, and texts of one piece and of several."""
    folder = tmp_path_factory.mktemp("whole") / "notes.crx"
    with crx.open(folder, settings=SETTINGS) as index:
        index.add_documents(NOTES)
        index.contextualize("fake:")
    return folder


def damage(content: bytearray, rng: random.Random) -> str:
    """Damage a database in one of five ways; returns which."""
    kind = rng.choice(("zeroed", "torn", "flipped", "truncated", "header"))
    places = rng.sample(range(len(content) // SECTOR), rng.randrange(1, 40))
    for place in places:
        at = place * SECTOR
        match kind:
            case "zeroed":
                page = at - at % PAGE
                content[page : page + PAGE] = bytes(PAGE)
            case "torn":
                content[at : at + SECTOR] = rng.randbytes(SECTOR)
            case "flipped":
                content[at + rng.randrange(SECTOR)] ^= 1 << rng.randrange(8)
    if kind == "truncated":
        del content[rng.randrange(PAGE, len(content)) :]
    if kind == "header":
        end = rng.choice((16, 100, PAGE))
        content[:end] = rng.randbytes(end)
    return kind


def rows(index: Index) -> dict[str, tuple[str, dict[str, str]]]:
    """Return the text of each document, and the contexts of its chunks by their text."""
    store = index.store
    return {
        row.uri: (
            store.text(row.doc),
            {chunk.text: chunk.context for chunk in store.chunks(store.chunk_keys(row.doc))},
        )
        for row in store.documents()
    }


def salvage_once(whole: Path, folder: Path, rng: random.Random, salvage: Salvage) -> str:
    """Damage a copy of an index, salvage it, and compare; returns the damage and the outcome.

    Once the documents are added again, all contexts are there.
    """
    source, target = folder / "damaged.crx", folder / "salvaged.crx"
    shutil.copytree(whole, source)
    content = bytearray((source / "crx.db").read_bytes())
    kind = damage(content, rng)
    (source / "crx.db").write_bytes(content)
    found = salvage(source, target)
    assert (source / "crx.db").read_bytes() == content
    shutil.rmtree(source)
    with crx.open(whole, create=False) as index:
        originals = rows(index)
    with crx.open(target, create=False) as index:
        assert index.store.verify() == []
        kept = rows(index)
        index.add_documents(NOTES)
        assert rows(index) == originals
    shutil.rmtree(target)
    assert kept.keys() <= originals.keys()
    for uri, (text, contexts) in kept.items():
        original, written = originals[uri]
        assert all(a in (b, LOST) for a, b in zip(text, original, strict=False)), uri
        for chunk, context in contexts.items():
            assert context in (written[chunk], ""), uri
    assert sum(kept[uri] == originals[uri] for uri in kept) >= found.documents
    assert kept == originals or not found.is_whole
    share = "all" if kept == originals else "part" if kept else "none"
    return f"{kind}: {share} kept"


def salvage_several(whole: Path, folder: Path, rng: random.Random, salvage: Salvage) -> None:
    for _ in range(20):
        salvage_once(whole, folder, rng, salvage)


def take_rows(source: Path, target: Path) -> Salvaged:
    return salvage_index(source, target, settings=fixed_settings(resolve(SETTINGS).settings))


def take(source: Path, target: Path) -> Salvaged:
    return salvage_with_archive(source, target, settings=fixed_settings(resolve(SETTINGS).settings))


def test_what_is_salvaged_is_as_it_was(whole: Path, tmp_path: Path, effort: Effort) -> None:
    for run in range(effort.runs(quick=10, full=1000)):
        rng = random.Random(f"{effort.seed} {run}")
        effort.outcomes[salvage_once(whole, tmp_path, rng, take)] += 1
        effort.done += 1


def test_a_salvage_that_takes_another_text_is_found(
    whole: Path, tmp_path: Path, effort: Effort
) -> None:
    def take_another(source: Path, target: Path) -> Salvaged:
        found = take(source, target)
        with crx.open(target, create=False) as index:
            index.add_documents([Document("mem:0", "Something else.")])
        return found

    with pytest.raises(AssertionError, match="mem:"):
        salvage_once(whole, tmp_path, effort.chance, take_another)


def test_a_salvage_without_the_archive_is_found(
    whole: Path, tmp_path: Path, effort: Effort
) -> None:
    chance = effort.chance
    with pytest.raises((AssertionError, Damaged)):
        salvage_several(whole, tmp_path, chance, take_rows)
