"""`crx copy`, and the commands that take the URL of a database."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Crx


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Crx:
    return Crx(capsys)


@pytest.mark.parametrize("new", ["new_database", "new_lite"])
def test_an_index_is_copied_and_searched_by_its_url(
    command: Crx, folder: Path, new: str, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue(new)()
    copied = command("copy", folder, url, "--hnsw", "--json")
    assert copied.code == 0, copied.err
    report = json.loads(copied.out)
    assert report["copied"] == report["documents"] > 0
    assert " 0 copied," in command("copy", folder, url).out
    remote = command("search", "--index", url, "--json", "龙头山的寺庙")
    local = command("search", "--index", folder, "--json", "龙头山的寺庙")
    assert remote.code == local.code == 0
    texts = [[p["text"] for p in json.loads(done.out)["passages"]] for done in (remote, local)]
    assert texts[0] == texts[1]


def test_the_status_of_a_database_is_printed(command: Crx, database: str) -> None:
    done = command("status", "--all", "--index", database)
    assert done.code == 0, done.err
    assert "dense search: exact" in done.out


@pytest.mark.parametrize(
    ("arguments", "code", "fact"),
    [
        (("search", "--index", "postgresql://u@/d?host=/nowhere", "x"), 6, "no connection"),
        (("index", "--index", "postgresql://u@/d", "."), 2, "needs an index folder"),
        (("serve", "postgresql://u:p@/d?schema=x"), 2, "//u@/d?schema=x: a server needs an index"),
        (("serve", "notes=postgresql://u@/d"), 2, "a server needs an index folder"),
        (("serve", "milvus://u:p@h"), 2, "milvus://u@h: a server needs an index"),
        (("index", "--index", "milvus-lite:notes.db", "."), 2, "needs an index folder"),
        (("copy", "nowhere.crx", "milvus-lite:x.db"), 2, "holds no index"),
        (("search", "--index", "milvus://h?colection=x", "x"), 2, "no such parameter"),
        (("copy", "nowhere.crx", "postgresql://u@/d"), 2, "holds no index"),
        (("copy", "a.crx", "b.crx", "--hnsw"), 2, "--hnsw is for a database"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    command: Crx,
    arguments: tuple[str, ...],
    code: int,
    fact: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    done = command(*arguments)
    assert (done.code, done.out) == (code, "")
    assert fact in done.err
    assert done.err.count("\n") == 1
