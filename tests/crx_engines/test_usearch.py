"""An index whose graph is that of usearch: what it finds, and what it does with damaged files."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import crx
from crx import _native
from crx._index.seal_key import seal_key
from crx.errors import UsageError
from crx_engines.usearch_leg import SEAL_SETTING, UsearchLeg, load_usearch

if importlib.util.find_spec("usearch") is None:
    pytest.skip("usearch is not installed", allow_module_level=True)
usearch = load_usearch()

OWN = {"embedder": "hashed", "ann_above": 100}
SETTINGS = {**OWN, "ann": "usearch"}
TEXTS = [f"Heron {n} eats {n * n % 97} fish of {n % 31} ponds." for n in range(600)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An index of 600 documents."""
    made = tmp_path / "herons.crx"
    make(made, SETTINGS)
    return made


def make(path: Path, settings: dict[str, object]) -> None:
    with crx.open(path, settings=settings) as index:
        index.add_documents(crx.Document(f"{n:03}", text) for n, text in enumerate(TEXTS))


def graph_of(path: Path) -> Path:
    (graph,) = (path / "derived").glob("usearch-*.usearch")
    return graph


def search(
    path: Path, query: str, *, settings: dict[str, object] = SETTINGS, **options: object
) -> tuple[list[tuple[str, float]], tuple[str, ...]]:
    with crx.open(path, settings=settings) as index:
        result = index.search(query, legs=("dense",), k=10, window=0, **options)  # type: ignore[arg-type]
        return [(hit.uri, hit.stages["dense"].score) for hit in result.hits], result.notes


# What is found


def test_it_finds_what_a_scan_finds_with_the_same_scores(path: Path, tmp_path: Path) -> None:
    make(tmp_path / "scanned.crx", {"embedder": "hashed"})
    assert not list((path / "derived").glob("ann-*"))
    hits = expected_hits = 0
    for text in TEXTS[::60]:
        found, notes = search(path, text)
        expected, _ = search(tmp_path / "scanned.crx", text, settings={})
        assert notes == ()
        assert found[0] == expected[0]
        hits += len({*found} & {*expected})
        expected_hits += len(expected)
    assert hits >= 0.97 * expected_hits


def test_the_graph_is_used_above_the_number_of_rows_alone(path: Path, tmp_path: Path) -> None:
    with crx.open(path, settings=SETTINGS) as index, index.searcher() as searcher:
        assert not searcher.exact
    few = tmp_path / "few.crx"
    make(few, {**SETTINGS, "ann_above": 600})
    settings = {**SETTINGS, "ann_above": 600}
    with crx.open(few, settings=settings) as index, index.searcher() as searcher:
        assert searcher.exact


def test_a_filter_is_answered_exactly(path: Path) -> None:
    found, _ = search(path, TEXTS[7], where={"uri": "007"})
    assert [uri for uri, _ in found] == ["007"]


def test_edits_are_found_at_once_and_come_into_the_graph(path: Path) -> None:
    before = graph_of(path).name
    with crx.open(path, settings=SETTINGS) as index:
        index.remove("008")
        index.add_documents([crx.Document("007", "Blue whales eat krill.")])
    assert search(path, "Blue whales eat krill.")[0][0][0] == "007"
    assert "008" not in [uri for uri, _ in search(path, TEXTS[8])[0]]
    assert graph_of(path).name != before
    assert len(usearch.Index.restore(str(graph_of(path)))) == 599


def test_the_file_is_read_by_usearch_itself(path: Path) -> None:
    index = usearch.Index.restore(str(graph_of(path)))
    assert len(index) == 600
    vector = np.asarray(index.get(int(next(iter(index.keys)))), np.float32)
    assert index.search(vector, 1).distances[0] == pytest.approx(0, abs=1e-3)


def test_without_the_setting_the_same_index_has_its_own_graph(path: Path) -> None:
    with crx.open(path, settings=OWN) as index:
        index.add_documents([crx.Document("new", "A new one.")])
    found, notes = search(path, TEXTS[5], settings=OWN)
    assert (found[0][0], notes) == ("005", ())


# Damage, kills and copies


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "html"])
def test_a_damaged_file_is_named_and_never_opened(path: Path, damage: str) -> None:
    graphed = search(path, TEXTS[3])
    scanned = search(path, TEXTS[3], settings={"embedder": "hashed"})[0]
    graph = graph_of(path)
    content = bytearray(graph.read_bytes())
    content[len(content) // 2] ^= 1
    kinds = {"flip": bytes(content), "cut": bytes(content[:100]), "empty": b"", "html": b"<html>"}
    graph.write_bytes(kinds[damage])
    found, notes = search(path, TEXTS[3])
    assert found == scanned
    assert notes == (f"{graph}: does not match its seal; vectors are compared one by one",)
    with crx.open(path, settings=SETTINGS) as index:
        index.verify()
    assert search(path, TEXTS[3]) == graphed


def test_a_file_from_another_index_is_not_opened(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.crx"
    make(other, SETTINGS)
    with crx.open(other, settings=SETTINGS) as index:
        index.add_documents([crx.Document("000", "Another text.")])
    shutil.copy(graph_of(other), graph_of(path))
    assert "does not match its seal" in search(path, TEXTS[3])[1][0]


def test_a_seal_that_names_another_file_is_ignored(path: Path) -> None:
    store = _native.Store.open(str(path), write=True)
    store.set_settings({SEAL_SETTING: f"../../secret {store.seq} 00"})
    store.close()
    found, notes = search(path, TEXTS[3])
    assert (found[0][0], notes) == ("003", ())


def test_a_moved_index_keeps_its_graph(path: Path, tmp_path: Path) -> None:
    expected, _ = search(path, TEXTS[3])
    moved = path.rename(tmp_path / "moved.crx")
    with crx.open(moved, settings=SETTINGS) as index, index.searcher() as searcher:
        assert not searcher.exact
    assert search(moved, TEXTS[3]) == (expected, ())


KILLED = """
import os, signal, sys
import crx
from crx import _native
from crx_engines import usearch_leg

def kill(*_):
    os.kill(os.getpid(), signal.SIGKILL)

path, at = sys.argv[1:]
class Native:
    replace_file = staticmethod(kill)

    def __getattr__(self, name):
        return getattr(_native, name)

if at == "digest":
    usearch_leg._digest = kill
else:
    usearch_leg._native = Native()
with crx.open(path, settings={"embedder": "hashed", "ann_above": 100, "ann": "usearch"}) as index:
    index.add_documents([crx.Document("new", "Blue whales eat krill.")])
"""


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL")
@pytest.mark.parametrize("at", ["replace_file", "digest"])
def test_a_writer_that_is_killed_leaves_an_index_that_finds_all(path: Path, at: str) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path), at], check=False)
    assert killed.returncode == -signal.SIGKILL
    found, _ = search(path, "Blue whales eat krill.")
    assert found[0][0] == "new"
    with crx.open(path, settings=SETTINGS) as index:
        index.add_documents([crx.Document("next", "Herons sing.")])
    assert len(usearch.Index.restore(str(graph_of(path)))) == 602
    assert search(path, "Herons sing.")[0][0][0] == "next"


MODELS = """
import sys
import crx
from crx.registry import load_reranker
settings = {"embedder": "hashed", "ann_above": 100, "ann": "usearch"}
with crx.open(sys.argv[1], settings=settings) as index:
    index.search("herons", rerank=False)
    print(load_reranker("crx").score("herons", ["herons"]).shape)
"""


def test_a_model_is_loaded_after_the_graph(path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MODELS, str(path)], check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "(1,)\n")


# Settings


def test_an_unknown_graph_is_refused(path: Path) -> None:
    with pytest.raises(UsageError, match="ann=faiss: no such graph; take crx or usearch"):
        crx.open(path, settings={"ann": "faiss"})


def test_a_missing_package_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "usearch.index", None)
    with pytest.raises(UsageError, match=r'pip install "crx\[usearch\]", or set ann=crx'):
        search(path, TEXTS[3])


def test_a_query_of_another_length_is_refused(path: Path) -> None:
    store = _native.Store.open(str(path))
    scan = _native.Dense.open(f"{path}/derived", seal_key=seal_key())
    leg = UsearchLeg(scan, path / "derived", seal_key(), 100)
    leg.sync(store)
    query: NDArray[np.float32] = np.zeros(3, np.float32)
    with pytest.raises(ValueError, match="query: 3 values"):
        leg.search(query, k=1)
    store.close()
