"""The first command on a machine without models, and an index that needs none."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Crx, Done, process

import crx as api
from crx.errors import ModelError, UsageError

# As after `pip install crx` with an empty home: no model in any place but the package.
NO_MODELS = """
import sys
sys.prefix = "/nowhere"
from crx.cli import main
main()
"""

First = Callable[..., Done]


@pytest.fixture
def first(here: Path, monkeypatch: pytest.MonkeyPatch) -> First:
    """Runs commands as a user who has just installed crx."""
    for name in ("HOME", "CRX_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(here / "empty-home"))
    monkeypatch.delenv("CRX_MODELS", raising=False)

    def command(*arguments: object) -> Done:
        words = process(*arguments, code=NO_MODELS)
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        return Done(done.returncode, done.stdout, done.stderr)

    return command


def test_the_first_command_without_a_model_names_both_ways_on_and_leaves_nothing(
    first: First, docs: Path, here: Path
) -> None:
    done = first("index", "docs")
    assert (done.code, done.out) == (7, "")
    assert done.err == (
        "crx: e5@int8: no such model; installed: crx; add one with crx models pull e5@int8, or "
        "search with BM25 alone: --embedder none\n"
    )
    assert sorted(each.name for each in here.iterdir()) == ["docs"]


def test_an_index_without_an_embedder_lacks_nothing(first: First, docs: Path) -> None:
    assert first("index", "docs", "--embedder", "none") == Done(
        0, ".crx: 2 added; 2 chunks put\n", ""
    )
    done = first("search", "krill", "-k", 1, "--explain")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("1. docs/whales.md:1-7  Whales\n")
    assert "bm25 1 (" in done.out
    assert "dense" not in done.out
    status = json.loads(first("status", "--json").out)
    assert (status["counts"]["pending"], status["counts"]["vectors"]) == (0, 0)
    assert status["notes"] == []
    assert "dense search: off; the index was made with --embedder none\n" in first("status").out
    assert first("index", "docs") == Done(0, ".crx: 2 unchanged; 0 chunks put\n", "")
    assert first("verify").out == ".crx: every row matches its hash\n"
    assert first("contextualize", "--with", "fake:", "-q").code == 0
    assert first("ask", "what do blue whales eat?", "--with", "fake:").code == 0


def test_the_dense_leg_of_an_index_without_an_embedder_is_a_usage_error(
    crx: Crx, docs: Path
) -> None:
    with api.open("a.crx", settings={"embedder": "none"}) as index:
        index.add(docs)
        (passage,) = index.search("krill")
        assert list(passage.hits[0].stages) == ["bm25"]
        with pytest.raises(UsageError, match="has no dense leg, because it was made with"):
            index.search("krill", legs=("dense",))


def test_plan_and_doctor_accept_no_embedder(crx: Crx, docs: Path) -> None:
    planned = json.loads(crx("plan", "docs", "--embedder", "none", "--json").out)
    assert planned["embedding_seconds"] == 0.0
    assert crx("config", "set", "embedder", "none").code == 0
    assert "none: no vectors; BM25 alone" in crx("doctor").out
    assert crx("index", "docs", "--embedder", "none:d=3").err == (
        "crx: none:d=3: takes no options; write none\n"
    )


def test_a_new_index_whose_model_is_missing_is_not_made(here: Path) -> None:
    with pytest.raises(ModelError, match="--embedder none"):
        api.open("a.crx", settings={"embedder": "nowhere"})
    assert list(here.iterdir()) == []
