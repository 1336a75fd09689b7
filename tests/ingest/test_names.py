"""File and folder names that are no ordinary text."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest
from crx_process import CrxProcess
from hypothesis import given
from hypothesis import strategies as st

from crx.ingest.paths import escape_path, path_of

# Names as bytes: not UTF-8, an escape spelled out, a newline, a terminal sequence, a bidi override.
NAMES = [
    b"caf\xe9.md",
    b"caf\\xe9.md",
    b"two\nlines.md",
    b"\x1b[2Jclear.md",
    "\u202egnp.md".encode(),
    b"100%E9.md",
]


@pytest.fixture
def crx(crx_process: CrxProcess) -> CrxProcess:
    return crx_process


def write(folder: Path, name: bytes, text: str) -> None:
    """Write a file whose name, and that of the folders above it, may be any bytes."""
    path = os.path.join(os.fsencode(folder), name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    Path(os.fsdecode(path)).write_text(text)


def stored_uris(folder: Path) -> list[str]:
    """Return the URIs in an index, read as SQLite holds them."""
    with sqlite3.connect(folder / "crx.db") as db:
        db.text_factory = bytes
        return [uri.decode("utf-8") for (uri,) in db.execute("SELECT uri FROM document")]


def test_every_name_is_indexed_found_and_shown(crx: CrxProcess) -> None:
    for at, name in enumerate(NAMES):
        write(crx.folder / "docs", name, f"# Whale {at}\n\nKrill number {at}.\n")
    write(crx.folder / "docs", b"folder\xff/z.md", "# Last\n\nAfter all the others.\n")
    done = crx("index", "-q", "docs")
    assert (done.code, done.out) == (0, ".crx: 7 files added\n"), done.err
    assert len(set(stored_uris(crx.folder / ".crx"))) == 7
    shown = [crx("show", b"docs/" + name) for name in [*NAMES, b"folder\xff/z.md"]]
    assert [each.code for each in shown] == [0] * 7
    assert "Krill number 0." in shown[0].out
    assert "Krill number 1." in shown[1].out
    again = crx("index", "-q", "docs")
    assert again.out.startswith(".crx: 7 files unchanged"), again.err


def test_a_name_that_is_not_utf_8_is_shown_escaped_and_opened_by_what_is_shown(
    crx: CrxProcess,
) -> None:
    write(crx.folder, b"docs/caf\xe9.md", "# Whales\n\nKrill.\n")
    crx("index", "-q", "docs")
    listed = crx("status", "--documents")
    assert listed.out == "docs/caf\\xe9.md\n"
    assert crx("show", listed.out.strip()).out.startswith("# Whales")
    assert crx("search", "krill").out.startswith("1. docs/caf\\xe9.md:3")


def test_a_folder_that_is_not_utf_8_is_indexed_from_inside(crx: CrxProcess) -> None:
    write(crx.folder, b"caf\xe9/a.md", "# Whales\n\nKrill.\n")
    inside = Path(os.fsdecode(os.fsencode(crx.folder) + b"/caf\xe9"))
    done = crx("index", ".", "--index", crx.folder / "index.crx", cwd=inside)
    assert (done.code, "1 file added" in done.out) == (0, True), done.err
    found = crx("search", "krill", "--index", crx.folder / "index.crx", cwd=inside)
    assert found.out.startswith("1. a.md:3")


def test_an_index_in_such_a_folder_is_refused_before_it_is_made(crx: CrxProcess) -> None:
    write(crx.folder, b"caf\xe9/a.md", "# Whales\n\nKrill.\n")
    inside = Path(os.fsdecode(os.fsencode(crx.folder) + b"/caf\xe9"))
    done = crx("index", "a.md", cwd=inside)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "caf\\xe9/.crx: the path of an index must be UTF-8; put the index elsewhere" in done.err
    assert os.listdir(inside) == ["a.md"]


@given(st.binary(min_size=1).filter(lambda name: b"\0" not in name))
def test_a_path_is_found_again_by_its_uri(name: bytes) -> None:
    path = os.fsdecode(name)
    escaped = escape_path(path)
    assert path_of(escaped.encode("utf-8").decode("utf-8")) == path


@given(st.lists(st.sampled_from(["\\", "x", "5c", "e9", "9", "\udce9", "é", "/"])).map("".join))
def test_paths_that_spell_out_escapes_have_uris_of_their_own(path: str) -> None:
    assert path_of(escape_path(path)) == path
