"""Bad input to the installed command: one line, the exit code that is documented, no traceback."""

from __future__ import annotations

import contextlib
import fcntl
import re
import socket
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from crx_process import CrxProcess, make_folders

RELIABILITY = Path(__file__).parents[2] / "RELIABILITY.md"
# A terminal would carry these out: set the title, clear the screen, write from right to left.
CONTROLS = "\x1b]0;owned\x07\x1b[2J\u202e"


@dataclass(frozen=True, slots=True)
class Case:
    """What is wrong, the command that meets it, its exit code, and a part of its line."""

    name: str
    command: str
    code: int
    message: str
    prepare: Callable[[Path], object] = Path.exists


def write(name: str, content: bytes | str) -> Callable[[Path], object]:
    data = content.encode() if isinstance(content, str) else content
    return lambda work: (work / name).write_bytes(data)


def damage(work: Path) -> None:
    with (work / ".crx" / "crx.db").open("r+b") as file:
        file.write(bytes(4096))


def make_newer(work: Path) -> None:
    with contextlib.closing(sqlite3.connect(work / ".crx" / "crx.db")) as db:
        db.execute("PRAGMA user_version = 99")
        db.commit()


def add_trigger(work: Path) -> None:
    with contextlib.closing(sqlite3.connect(work / ".crx" / "crx.db")) as db:
        db.execute("CREATE TRIGGER t AFTER INSERT ON document BEGIN DELETE FROM context; END")
        db.commit()


def destroy(work: Path) -> None:
    (work / ".crx" / "crx.db").write_bytes(b"x" * 100_000)


def damage_rows(work: Path) -> None:
    """Lose the pages of documents, and keep the rest."""
    database = work / ".crx" / "crx.db"
    content = database.read_bytes()
    at = content.index(b"whales.md") // 4096 * 4096
    database.write_bytes(content[:at] + bytes(4096) + content[at + 4096 :])


def link_in_circle(work: Path) -> None:
    (work / "a").symlink_to(work / "b")
    (work / "b").symlink_to(work / "a")


CASES = (
    Case("a path that does not exist", "index nowhere", 2, "nowhere"),
    Case("a folder that is no index", "search krill --index docs", 2, "not an index"),
    Case("a link that leads in a circle", "index a", 2, "a: ", link_in_circle),
    Case("an index of a newer format", "search krill", 4, "index format 99", make_newer),
    Case("a damaged database", "search krill", 4, "not a database; `crx salvage", damage),
    Case("a check of a damaged database", "verify", 4, "not a database; `crx salvage", damage),
    Case("a database with a trigger", "search krill", 4, 'the trigger "t"', add_trigger),
    Case("a database without an intact row", "salvage new", 4, "no intact row", destroy),
    Case("a database of which rows are lost", "salvage new", 3, "reads what was lost", damage_rows),
    Case("a salvage into a folder that exists", "salvage docs", 2, "exists already"),
    Case("a model that is not here", "search krill --set embedder=nowhere", 4, "nowhere"),
    Case(
        "a new index with a model that is not here",
        "index docs --index new --embedder none@none",
        7,
        "none@none",
    ),
    Case("a number out of range", "search krill -k 0", 2, "k must be at least 1"),
    Case("a filter that is not one", "search krill --where lang", 2, "lang"),
    Case(
        "a PDF that cannot be read",
        "index bad.pdf",
        3,
        "bad.pdf",
        write("bad.pdf", b"%PDF-1.7\n\0"),
    ),
    Case(
        "a binary file named .txt",
        "index bad.txt",
        3,
        "bad.txt",
        write("bad.txt", bytes(range(256))),
    ),
    Case("an unknown setting", "search krill", 2, "nonsense", write("crx.toml", "nonsense = 1\n")),
    Case(
        "a configuration that is no TOML", "search krill", 2, "crx.toml", write("crx.toml", "= =\n")
    ),
    Case("an unknown command", "serach krill", 2, "search"),
    Case(
        "a file of contexts that is not one",
        "import bad.jsonl",
        3,
        "bad.jsonl",
        write("bad.jsonl", "{}\n"),
    ),
)


@pytest.fixture
def crx(tmp_path: Path) -> CrxProcess:
    work, home = make_folders(tmp_path)
    (work / "docs").mkdir()
    (work / "docs" / "whales.md").write_text("# Whales\n\nBlue whales eat krill.\n")
    return CrxProcess(work, home)


@pytest.fixture
def indexed(crx: CrxProcess) -> CrxProcess:
    assert crx("index", "docs", "-q").code == 0
    return crx


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_bad_input_is_one_line(case: Case, indexed: CrxProcess) -> None:
    case.prepare(indexed.folder)
    done = indexed(*case.command.split())
    assert done.code == case.code, done.err
    assert re.search(case.message, done.err), done.err
    assert "Traceback" not in done.err


def test_a_lock_is_named(indexed: CrxProcess) -> None:
    with (indexed.folder / ".crx" / "lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = indexed("index", "docs", "-q")
    assert (done.code, done.err.count("\n")) == (5, 1)


@contextlib.contextmanager
def port_in_use() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_port_in_use_is_named(indexed: CrxProcess) -> None:
    with port_in_use() as port:
        done = indexed("serve", "--port", str(port))
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert str(port) in done.err


def test_a_folder_without_permission_is_named(indexed: CrxProcess) -> None:
    index = indexed.folder / ".crx"
    index.chmod(0o500)
    (indexed.folder / "docs" / "new.md").write_text("Herons eat fish.")
    try:
        done = indexed.bound_by_permissions("index", "docs", "-q")
    finally:
        index.chmod(0o700)
    assert (done.code, done.err.count("\n")) == (6, 1), done.err
    assert str(index) in done.err


@pytest.mark.parametrize("command", ["search krill", "status", "doctor"])
def test_an_index_that_may_not_be_read_is_no_missing_index(
    indexed: CrxProcess, command: str
) -> None:
    index = indexed.folder / ".crx"
    index.chmod(0)
    try:
        done = indexed.bound_by_permissions(*command.split())
    finally:
        index.chmod(0o700)
    assert done.code == 6, done.err
    assert str(index) in done.out + done.err
    assert "ermission denied" in done.out + done.err


def test_a_name_with_controls_reaches_no_terminal(crx: CrxProcess) -> None:
    (crx.folder / "docs" / f"{CONTROLS}.md").write_text("Humpbacks sing.\n")
    for words in (("index", "docs"), ("search", "humpbacks"), ("search", "humpbacks", "--json")):
        done = crx(*words)
        assert done.code == 0, done.err
        assert not set("\x1b\x07\u202e") & set(done.out + done.err)


def test_the_table_of_reliability_md_lists_every_case() -> None:
    rows = re.findall(r"^\| (.+) \| `(.+)` \| (\d) \|$", RELIABILITY.read_text(), re.MULTILINE)
    assert {(case.name, case.command, str(case.code)) for case in CASES} <= set(rows)
