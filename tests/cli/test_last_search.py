"""`crx open` and `crx show` of a passage by its number, `crx list` and `crx search -g`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from zipfile import ZipFile

import pytest
from command_line import BREAD, WHALES, Crx, Done

import crx._cli.search
from crx._cli.opener import editor_command
from crx._cli.screen import make_screen


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches that print on a terminal."""
    screen = make_screen((80, 24), environ={}, folder=os.getcwd())
    monkeypatch.setattr(crx._cli.search, "own_screen", lambda: screen)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What is opened: commands of editors, and what the system is given."""
    found: list[object] = []
    monkeypatch.setattr("subprocess.run", lambda command, check: found.append(command))
    monkeypatch.setattr("click.launch", lambda target: found.append(target))
    monkeypatch.setenv("EDITOR", "vim -R")
    monkeypatch.delenv("VISUAL", raising=False)
    return found


@pytest.mark.usefixtures("indexed", "terminal")
def test_a_passage_of_the_last_search_opens_by_its_number(crx: Crx, opened: list[object]) -> None:
    docs = Path.cwd() / "docs"
    crx("search", "whales eat krill, steam")
    assert crx("open", 2) == Done(0, "", "")
    assert crx("open", "--original") == Done(0, "", "")
    assert opened == [["vim", "-R", "+3", f"{docs}/bread.md"], f"{docs}/whales.md"]
    assert crx("show", 1).out == WHALES + "\n"
    assert crx("show", 2).out == BREAD + "\n"
    assert crx("open", 3).err == (
        "crx: 3: no passage of the last search on a terminal; it printed 2\n"
    )
    assert (Path(os.environ["CRX_HOME"]) / "last-search.json").stat().st_mode & 0o777 == 0o600
    (docs / "bread.md").unlink()
    assert crx("open", 2).err == (
        'crx: docs/bread.md: no such file; "crx show" prints what the index has\n'
    )


@pytest.mark.usefixtures("terminal")
def test_a_search_for_what_is_like_a_passage_of_the_last_search(crx: Crx, docs: Path) -> None:
    (docs / "song.md").write_text("Humpback whales sing; blue whales eat krill.", encoding="utf-8")
    crx("index", docs, "-q")
    assert crx("search", "eat krill").out.startswith("1. docs/song.md")
    like = crx("search", "--like", 1, "--files-only")
    assert like == Done(0, "docs/whales.md\ndocs/bread.md\n", "")
    assert crx("search", "--like", 1).out.startswith("1. docs/whales.md")
    assert crx("search", "--like", 1).out.startswith("1. docs/song.md")
    assert crx("search", "--like", 9).err.startswith("crx: 9: no passage of the last search")
    assert crx("search", "--like", 1, "krill").err == (
        "crx: --like stands instead of a query; leave out QUERY and -i\n"
    )
    crx("remove", docs / "song.md")
    crx("search", "krill")
    (docs / "whales.md").unlink()
    crx("index", docs, "-q")
    assert "docs/whales.md" not in crx("search", "--like", 1).out


@pytest.mark.usefixtures("terminal")
def test_a_file_of_an_archive_in_an_archive_opens_the_outer(
    crx: Crx, docs: Path, opened: list[object]
) -> None:
    with ZipFile(docs / "inner.zip", "w") as inner:
        inner.writestr("whales.md", WHALES)
    with ZipFile(docs / "outer.zip", "w") as outer:
        outer.write(docs / "inner.zip", "inner.zip")
    crx("index", docs / "outer.zip", "-q")
    assert "outer.zip#inner.zip#whales.md" in crx("search", "krill").out
    assert crx("open", "--original") == Done(0, "", "")
    assert opened == [str(Path.cwd() / docs / "outer.zip")]
    crx("search", "krill", "--where", "ext=pdf")
    assert crx("open").err.endswith("; it printed none\n")


@pytest.mark.usefixtures("indexed", "terminal")
def test_a_list_of_files_is_a_search_whose_numbers_open(crx: Crx) -> None:
    crx("search", "whales eat krill, steam")
    crx("search", "--by", "file", "bread")
    assert crx("show", 1).out == BREAD + "\n"


@pytest.mark.usefixtures("terminal")
def test_a_passage_of_a_file_in_two_indexes_is_shown_from_its_own(crx: Crx, docs: Path) -> None:
    for name, text in (("old", "Whales eat krill."), ("new", "Steam and krill: a recipe.")):
        (docs / "whales.md").write_text(text)
        crx("index", docs / "whales.md", "--index", f"{name}.crx", "-q", "--embedder", "none")
    printed = crx("search", "-g", "krill").out
    shown = [crx("show", n).out.strip() for n in (1, 2)]
    assert sorted(shown, key=printed.index) == shown
    assert len(set(shown)) == 2


@pytest.mark.usefixtures("indexed")
def test_a_search_in_a_pipe_keeps_nothing(crx: Crx) -> None:
    crx("search", "krill")
    told = "crx: 1: no passage of the last search on a terminal; there was none\n"
    assert crx("open") == Done(2, "", told)
    assert crx("show", 1) == Done(2, "", told)
    assert crx("show", 2024).err.startswith("crx: 2024: not in the index; ")


def test_an_editor_that_is_not_there_or_fails_is_told(
    crx: Crx, indexed: Path, terminal: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    crx("search", "krill")
    for editor, told in {
        "nowhere-editor": "nowhere-editor: no such editor; set EDITOR to one",
        "false": "false: the editor ended with 1",
        " ": "' ' is no command; set VISUAL or EDITOR to an editor",
        '"vim': "'\"vim' is no command; set VISUAL or EDITOR to an editor",
    }.items():
        monkeypatch.setenv("VISUAL", editor)
        assert crx("open") == Done(2, "", f"crx: {told}\n")


def test_each_editor_is_told_the_line_in_its_way() -> None:
    for editor, command in {
        "vim": ["vim", "+7", "/a b"],
        "/usr/bin/code --wait": ["/usr/bin/code", "--wait", "--goto", "/a b:7"],
        "cursor": ["cursor", "--goto", "/a b:7"],
        "windsurf": ["windsurf", "--goto", "/a b:7"],
        "code-insiders": ["code-insiders", "--goto", "/a b:7"],
        "hx": ["hx", "/a b:7"],
        "emacsclient -nw": ["emacsclient", "-nw", "+7", "/a b"],
    }.items():
        assert editor_command(editor, "/a b", line=7) == command


def test_all_indexes_of_the_user_are_listed_and_searched(
    crx: Crx, here: Path, terminal: None, opened: list[object]
) -> None:
    assert crx("list") == Done(1, "", 'crx: no index yet; "crx index PATH" makes one\n')
    assert crx("search", "-g", "krill").err == 'crx: no index yet; "crx index PATH" makes one\n'
    for name, text in (("sea", WHALES), ("kitchen", BREAD), ("gone", "Krill.")):
        (here / name).mkdir()
        (here / name / "a.md").write_text(text)
        crx("index", here / name, "--index", here / f"{name}.crx", "-q")
        crx("index", here / name, "--index", here / f"{name}.crx", "-q")
    (here / "gone.crx").rename(here / "elsewhere.crx")
    assert crx("list").out == "sea.crx      1 document\nkitchen.crx  1 document\n"
    assert json.loads(crx("list", "--json").out) == [
        {"index": str(here / "sea.crx"), "documents": 1},
        {"index": str(here / "kitchen.crx"), "documents": 1},
    ]
    found = crx("search", "-g", "whales krill steam")
    assert "sea/a.md" in found.out
    assert "kitchen/a.md" in found.out
    numbers = [crx("show", n).out for n in (1, 2)]
    assert numbers == [WHALES + "\n", BREAD + "\n"]
    assert crx("search", "-g", "krill", "--index", "sea.crx").code == 2


def test_indexes_whose_vectors_do_not_compare_are_searched_by_turns(crx: Crx, here: Path) -> None:
    for name, text, embedder in (("sea", WHALES, "hashed"), ("kitchen", BREAD, "hashed:d=128")):
        (here / name).mkdir()
        (here / name / "a.md").write_text(text)
        index = ("--index", here / f"{name}.crx")
        assert crx("index", here / name, *index, "-q", "--embedder", embedder).code == 0
    found = crx("search", "-g", "krill", "--files-only", "--leg", "bm25")
    assert found.out.splitlines() == ["sea/a.md"]
    several = ("search", "-g", "krill steam", "--leg", "dense")
    assert len(crx(*several, "--files-only").out.split()) == 2
    for options in (("--files-only",), ("--by", "file", "--files-only")):
        found = crx(*several, "-k", 1, *options)
        assert found.out.splitlines() == ["sea/a.md"]
        assert found.err.endswith("; each gives a passage by turns\n")
    (here / "kitchen.crx" / "crx.db").write_bytes(b"damaged")
    found = crx("search", "-g", "krill", "--files-only")
    assert found.out.splitlines() == ["sea/a.md"]
    assert "kitchen.crx" in found.err
