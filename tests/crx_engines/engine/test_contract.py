"""Engines keep the contract, and the suite names the rule that a broken one breaks."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from crx_example.memory import MemoryEngine, MemorySnapshot
from numpy.typing import NDArray

import crx
from crx.types import Ranking
from crx_engines.engine.protocol import (
    CollectionStatistics,
    Conditions,
    Engine,
    FoundChunk,
    FoundSpan,
    Saturation,
    StoredDocument,
)
from crx_engines.engine_contract.expectations import BrokenRule
from crx_engines.engine_contract.rules import RULES, Rule
from crx_engines.folder.copy import copy_documents, open_engine
from crx_engines.folder.local_engine import LocalEngine


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("kind", ["folder", "memory"])
def test_the_folder_and_the_example_keep_each_rule(rule: Rule, kind: str, tmp_path: Path) -> None:
    new: dict[str, Callable[[], Engine]] = {
        "folder": lambda: LocalEngine(tmp_path / "index.crx"),
        "memory": lambda: MemoryEngine("memory:test"),
    }
    rule.check(new[kind])


def test_a_copy_in_the_example_is_searched_as_the_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin = EntryPoint("memory", "crx_example.memory:open_memory", "crx.engines")
    monkeypatch.setattr("crx.plugins.find_plugins", lambda group: {"memory": plugin})
    copy_documents(open_engine(str(folder)), open_engine("memory:copy"))
    with crx.open(folder) as local, crx.open("memory:copy") as copied:
        for query in ("how does the server answer a search", "龙头山的寺庙什么时候修复"):
            where = {"year": {">": 0}}
            one, other = (index.search(query, where=where) for index in (local, copied))
            assert [p.text for p in other.passages] == [p.text for p in one.passages] != []
            np.testing.assert_allclose(
                [h.score for h in other.hits], [h.score for h in one.hits], atol=1e-4
            )


class Sorted(MemorySnapshot):
    def rows(self, keys: Sequence[int]) -> list[FoundChunk]:
        return super().rows(sorted(keys))


class Pending(MemorySnapshot):
    def stats(self) -> CollectionStatistics:
        return replace(super().stats(), pending=0)


class Rounded(MemorySnapshot):
    def sparse_topk(self, weights: Any, *, saturation: Saturation, **options: Any) -> Ranking:
        return super().sparse_topk(weights, saturation=Saturation(), **options)


class Unfiltered(MemorySnapshot):
    def dense_topk(
        self, vector: NDArray[np.float32], *, k: int, where: Conditions | None
    ) -> Ranking:
        return super().dense_topk(vector, k=k, where=None)


class Backwards(MemorySnapshot):
    def dense_topk(self, vector: NDArray[np.float32], **options: Any) -> Ranking:
        found = super().dense_topk(vector, **options)
        return Ranking(found.keys[::-1], found.scores[::-1])


class Tolerant(MemorySnapshot):
    def has_document(self, *, where: Conditions) -> bool:
        with contextlib.suppress(ValueError):
            return super().has_document(where=where)
        return False


class FromZero(MemorySnapshot):
    def spans(self, spans: Sequence[tuple[int, int, int]]) -> list[FoundSpan]:
        found = super().spans(spans)
        return [replace(each, lines=(each.lines[0] - 1, each.lines[1] - 1)) for each in found]


class Endless(MemorySnapshot):
    def neighbours(self, places: Sequence[tuple[int, int]], *, each_side: int) -> NDArray[np.int64]:
        return super().neighbours(places, each_side=each_side + 1)


class Nameless(MemorySnapshot):
    def fields(self) -> set[str]:
        return set()


class Failing(MemorySnapshot):
    def read(self, uri: str) -> StoredDocument | None:
        return self.by_uri[uri]


class Live(MemorySnapshot):
    """Reads whatever its engine holds now."""

    def __init__(self, engine: MemoryEngine) -> None:
        self._engine = engine

    def __getattribute__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "_engine")._snapshot, name)


class Overwriting(MemoryEngine):
    def create(self, settings: Mapping[str, str]) -> None:
        self._settings = dict(settings)


class Counting(MemoryEngine):
    def upsert(self, documents: Sequence[StoredDocument]) -> int:
        super().upsert(documents)
        return len(documents)


class Asking(MemoryEngine):
    def delete(self, uris: Sequence[str]) -> int:
        super().delete(uris)
        return len(uris)


class Keeping(MemoryEngine):
    def upsert(self, documents: Sequence[StoredDocument]) -> int:
        known = self._snapshot.by_uri
        super().upsert([each for each in documents if each.uri not in known])
        return len(documents)


class Reading(MemoryEngine):
    """An engine whose snapshots are of another class."""

    kind: Callable[[MemoryEngine], MemorySnapshot]

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[MemorySnapshot]:
        yield type(self).kind(self)


def reading(kind: type[MemorySnapshot]) -> type[MemoryEngine]:
    """Return an engine whose snapshots are broken."""

    def make(engine: MemoryEngine) -> MemorySnapshot:
        if kind is Live:
            return Live(engine)
        return kind(engine._snapshot.by_uri, engine._snapshot.version)

    return type(kind.__name__, (Reading,), {"kind": staticmethod(make)})


@pytest.mark.parametrize(
    ("kind", "rule", "fact"),
    [
        (Overwriting, "Settings are none before create", "settings after a second create: {"),
        (Counting, "upsert counts the documents", "the same documents put again: 5 instead of 0"),
        (Asking, "delete counts the documents", "documents removed: 3 instead of 2"),
        (Keeping, "A document replaces the one of its URI", "documents of the new title: {}"),
        (reading(Live), "A snapshot is one state", "a state: (CollectionStatistics("),
        (reading(Sorted), "Rows are in the order of the keys", "keys: [0, "),
        (reading(Pending), "Statistics are sums over", "pending=0"),
        (reading(Rounded), "sparse_topk ranks by inner products", "scores "),
        (reading(Unfiltered), "dense_topk ranks by inner products", "where={'lang': 'zh'}"),
        (reading(Backwards), "Larger scores are first", "(-score, key): [("),
        (reading(Tolerant), "A filter that is not valid raises", "{'year': {}} is accepted"),
        (reading(FromZero), "Spans have their text, lines and marks", "lines=(2, "),
        (reading(Endless), "Neighbours are the layout", "rows within 0 chunks: {"),
        (reading(Nameless), "Fields are the names", "fields: set() instead of {"),
        (reading(Failing), "A document reads back as it was put", "KeyError: 'none'"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_the_rule_that_a_broken_engine_breaks_is_named(
    kind: type[MemoryEngine], rule: str, fact: str
) -> None:
    broken = {}
    for each in RULES:
        try:
            each.check(lambda: kind("memory:broken"))
        except BrokenRule as error:
            broken[str(each)] = str(error)
    (text,) = (text for text in broken if text.startswith(rule))
    assert broken[text].startswith(text)
    assert fact in broken[text]
    assert "\n" not in text
