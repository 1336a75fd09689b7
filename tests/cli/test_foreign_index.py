"""An index from elsewhere: what it asks for outside its folder, until the user trusts it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from command_line import BREAD, WHALES, Crx
from vector_server import MODEL, VectorServer, serving

from crx import _native


def change_settings(index: Path, **settings: str) -> None:
    """Change what an index asks for, as whoever ships it can."""
    store = _native.Store.open(str(index), write=True)
    try:
        store.set_settings({**store.settings(), **settings})
    finally:
        store.close()


def root(path: Path | str) -> str:
    return f'[{{"uri":"{path}","exclude":[]}}]'


def choose_no_embedder() -> None:
    """Remove the embedder that the user has chosen, with which an index would have to agree."""
    (Path(os.environ["CRX_HOME"]) / "config.toml").unlink()


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    folder = tmp_path / "secret"
    folder.mkdir()
    (folder / "diary.md").write_text("# Diary\n\nThe password is krill.\n")
    return folder


@pytest.mark.parametrize("command", [("search", "whales"), ("index", "docs"), ("verify",)])
def test_an_embedder_that_sends_gets_nothing_from_an_index_from_elsewhere(
    indexed: Path, crx: Crx, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setenv("CRX_OPENAI_API_KEY", "sk-secret")
    server = VectorServer()
    with serving(server) as url:
        spec = f"openai:{url}/v1#{MODEL}"
        change_settings(indexed, embedder=spec)
        choose_no_embedder()
        (indexed.parent / "docs" / "new.md").write_text("something new")
        done = crx(*command)
        assert server.seen == []
        if command != ("verify",):  # which needs no embedder for rows that are whole
            assert done.code == 2
            assert done.err.startswith(f"crx: {indexed}: asks to use the embedder {spec}, which ")
            assert f'"crx trust {indexed}" allows it if the index is your own' in done.err


def test_an_embedder_that_the_user_named_works_without_asking(docs: Path, crx: Crx) -> None:
    server = VectorServer()
    choose_no_embedder()
    with serving(server) as url:
        assert crx("index", docs, "--embedder", f"openai:{url}/v1#{MODEL}", "-q").code == 0
        assert crx("search", "krill").code == 0
        assert server.seen


def test_trust_allows_an_index_what_it_asks_for_now_and_here(
    indexed: Path, crx: Crx, tmp_path: Path, secret: Path
) -> None:
    change_settings(indexed, roots=root(secret), contexts="outline+/tmp/contexts.jsonl")
    done = crx("trust", indexed)
    assert done.out == (
        ".crx: trusted at this path; it may\n"
        f"  read the contexts of /tmp/contexts.jsonl\n  read {secret}\n"
    )
    change_settings(indexed, contexts="outline")
    assert crx("index").code == 0
    assert "password" in crx("search", "password").out
    # Something else, or the same index at another place, is another matter.
    change_settings(indexed, roots=root(tmp_path))
    assert crx("index").code == 2
    change_settings(indexed, roots=root(secret))
    (tmp_path / "other").mkdir()
    shutil.copytree(indexed, tmp_path / "other" / "notes.crx")
    assert crx("index", "--index", tmp_path / "other" / "notes.crx").code == 2
    assert crx("index").code == 0
    assert crx("trust", indexed, "--revoke").out == ".crx: trusted no longer\n"
    assert crx("index").code == 2


def test_a_copy_may_do_what_the_index_may(
    indexed: Path, crx: Crx, tmp_path: Path, secret: Path
) -> None:
    change_settings(indexed, contexts=f"outline+{secret / 'diary.md'}")
    (secret / "diary.md").write_text("")
    backup, copy = tmp_path / "a.crx", tmp_path / "b.crx"
    for code in (2, 0):
        assert crx("backup", backup).code == crx("copy", indexed, copy, "-q").code == 0
        for place in (backup, copy):
            assert crx("index", "docs", "--index", place).code == code
            shutil.rmtree(place)
        crx("trust", indexed)


def test_an_index_that_asks_for_nothing_needs_no_trust(indexed: Path, crx: Crx) -> None:
    assert crx("trust", indexed).out == ".crx: asks for nothing outside its folder\n"


def test_remembered_roots_of_an_index_from_elsewhere_are_not_followed(
    indexed: Path, crx: Crx, secret: Path, tmp_path: Path
) -> None:
    (indexed.parent / "linked").symlink_to(secret)
    for outside in (
        secret,
        f"{indexed.parent}/../../secret",
        "/etc/hostname",
        indexed.parent / "linked",
    ):
        change_settings(indexed, roots=root(outside))
        for command in (("index",), ("index", "--rehash"), ("watch",)):
            done = crx(*command)
            assert done.code == 2
            assert "which you have not allowed it" in done.err
        assert "password" not in crx("search", "password").out
    assert crx("index", "docs").code == 0
    assert "password" not in crx("search", "password").out
    change_settings(indexed, roots=root(indexed.parent / "docs"))
    assert crx("index").code == 0


def test_roots_that_the_user_named_are_refreshed_without_asking(
    crx: Crx, secret: Path, tmp_path: Path
) -> None:
    place = tmp_path / "notes" / "a.crx"
    assert crx("index", secret, "--index", place, "-q").code == 0
    (secret / "more.md").write_text(BREAD)
    done = crx("index", "--index", place)
    assert (done.code, "1 file added" in done.out) == (0, True)


def test_a_file_of_contexts_of_an_index_from_elsewhere_is_not_read(
    indexed: Path, crx: Crx, secret: Path
) -> None:
    change_settings(indexed, contexts=f"outline+{secret / 'diary.md'}")
    done = crx("index", "docs")
    assert done.code == 2
    assert f"asks to read the contexts of {secret / 'diary.md'}" in done.err


@pytest.mark.parametrize(
    "embedder", ["onnx:./model", "st:/tmp/model", "./model", "openvino:../model", "openai:u#m"]
)
def test_an_index_from_elsewhere_does_not_choose_a_folder_with_a_model(
    indexed: Path, crx: Crx, embedder: str
) -> None:
    (indexed.parent / "model").mkdir()
    change_settings(indexed, embedder=embedder)
    choose_no_embedder()
    done = crx("search", "krill")
    assert done.code == 2
    assert f"asks to use the embedder {embedder}" in done.err
    assert crx("search", "krill", "--leg", "bm25").code == 0


def test_a_model_that_is_not_installed_is_no_matter_of_trust(indexed: Path, crx: Crx) -> None:
    change_settings(indexed, embedder="minilm-of-my-own")
    choose_no_embedder()
    done = crx("search", "krill")
    assert done.code == 0
    assert "no such model" in done.err


def test_an_untrusted_project_file_raises_no_limit(here: Path, docs: Path, crx: Crx) -> None:
    raised = {
        "read_memory_mb": 64_000, "read_seconds": 100_000, "max_file_mb": 5000, "workers": 64,
        "network_disk": 1, "k": 1_000_000, "rank.rerank.ms": 0, "rank.rerank.depth": 100_000,
        "rank.fusion.depth": 10_000_000,
    }  # fmt: skip
    (here / "crx.toml").write_text("".join(f"{name} = {value}\n" for name, value in raised.items()))
    done = crx("index", docs)
    assert done.code == 0
    assert f"ignored {', '.join(raised)}, because the file is not trusted" in done.err
    assert "crx.toml" not in crx("config").out
    (here / "crx.toml").write_text("read_seconds = 5\nread_memory_mb = 500\nk = 30\n")
    assert "ignored" not in crx("index", docs).err


def test_a_project_file_that_is_a_link_out_of_the_project_is_ignored(
    here: Path, docs: Path, crx: Crx, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere.toml").write_text('k = 3\nembedder = "none"\n')
    (here / "crx.toml").symlink_to(tmp_path / "elsewhere.toml")
    done = crx("index", docs)
    assert "crx.toml: ignored, because it is a link that leads out of its folder" in done.err
    for command in (
        ("config", "set", "k", "5", "--project"),
        ("init", "--set", "k=5", "--index", "x"),
    ):
        done = crx(*command)
        assert done.code == 2
        assert "a link that leads out of" in done.err
    assert (tmp_path / "elsewhere.toml").read_text() == 'k = 3\nembedder = "none"\n'


def test_what_is_written_aside_follows_no_link(here: Path, crx: Crx, tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("untouched")
    for name in ("crx.tmp", ".mcp.json.tmp", "corpus.tmp"):
        (here / name).symlink_to(tmp_path / "victim")
    assert crx("config", "set", "k", "5", "--project").code == 0
    (here / ".zed").symlink_to(tmp_path)
    assert crx("mcp", "install", "zed", "--merge", "--index", "x").code == 2
    assert crx("mcp", "install", "claude", "--merge", "--index", "x").code in (0, 2)
    assert (tmp_path / "victim").read_text() == "untouched"
    assert not (tmp_path / "settings.json").exists()


def test_a_file_dated_2300_does_not_end_the_run(docs: Path, crx: Crx) -> None:
    for name, year in (("aaa.md", 2300), ("bbb.md", 1600)):
        (docs / name).write_text(f"dated {year}")
        os.utime(docs / name, ((year - 1970) * 31_556_952,) * 2)
    (docs / "zzz.md").write_text(WHALES)
    done = crx("index", docs)
    assert (done.code, "5 files added" in done.out) == (0, True)
    done = crx("index", docs)
    assert (done.code, "5 files unchanged" in done.out) == (0, True)
    assert crx("search", "dated", "--set", "rank.recency.weight=0.5").code == 0
    assert crx("status").code == 0


def test_a_copy_that_was_killed_says_so(
    indexed: Path, crx: Crx, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from crx_engines.folder.local_engine import LocalEngine

    put = LocalEngine.upsert

    def fail(engine: LocalEngine, documents: list[object]) -> int:
        put(engine, documents[:1])  # type: ignore[arg-type]
        raise KeyboardInterrupt

    target = tmp_path / "copy.crx"
    monkeypatch.setattr(LocalEngine, "upsert", fail)
    assert crx("copy", indexed, target, "-q").code == 130
    monkeypatch.undo()
    monkeypatch.chdir(indexed.parent)
    note = f'holds a part of {indexed}: the copy is under way or was interrupted; "crx copy'
    for command in (("search", "krill"), ("search", "bread"), ("status",)):
        done = crx(*command, "--index", target)
        assert note in done.err + done.out
    assert crx("copy", indexed, target, "-q").code == 0
    for command in (("search", "krill"), ("status",)):
        done = crx(*command, "--index", target)
        assert "holds a part" not in done.err + done.out
