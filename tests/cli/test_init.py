"""`crx init`: an index in the current folder, and where its settings are kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Crx, Done


def test_an_index_is_made_here_although_there_is_one_above(
    crx: Crx, indexed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (indexed.parent / "sub").mkdir()
    monkeypatch.chdir(indexed.parent / "sub")
    done = crx("init")
    assert done == Done(
        0,
        ".crx: an empty index with the embedder hashed\n",
        f"crx: used here from now on, instead of {indexed}\n"
        'crx: "crx index PATH" adds documents; "crx config" prints the settings\n',
    )
    Path("krill.md").write_text("Krill.\n")
    assert crx("index", "krill.md", "-q").out.startswith(".crx: 1 file added")
    assert json.loads(crx("status", "--json").out)["counts"]["documents"] == 1


def test_settings_go_into_the_index_and_the_file_of_the_project(crx: Crx, here: Path) -> None:
    done = crx("init", "--embedder", "none", "--set", "chunk_tokens=300", "--set", "k=40")
    assert done.out == (
        ".crx: an empty index with the embedder none\n"
        "crx.toml: chunk_tokens = 300, k = 40, embedder = none\n"
    )
    # The user's own file, which names another embedder, comes after that of the project.
    assert json.loads(crx("config", "--json").out)["k"]["value"] == 40
    assert json.loads(crx("status", "--json").out)["settings"]["chunk_tokens"] == "300"


def test_an_index_that_exists_is_left_as_it_is(crx: Crx, indexed: Path) -> None:
    done = crx("init", "--set", "k=40")
    assert (done.code, "exists already" in done.err) == (2, True)
    assert not Path("crx.toml").exists()


def test_nothing_is_made_with_a_wrong_setting_or_model(crx: Crx, here: Path) -> None:
    assert crx("init", "--set", "k=many").code == 2
    assert crx("init", "--set", "kk=1").code == 2
    assert crx("init", "--embedder", "nowhere").code == 7
    assert list(here.iterdir()) == []
