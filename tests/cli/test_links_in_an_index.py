"""Links, pipes and other names in an index from elsewhere: nothing outside of it is changed."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from command_line import Crx

ROOT = Path(__file__).parents[2]
UNTOUCHED = "ssh-ed25519 AAAA untouched\n"

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows makes no links without a right")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder with a file, to which the links of a hostile index lead."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "keys").write_text(UNTOUCHED)
    return folder


def require_untouched(outside: Path) -> None:
    assert [path.name for path in outside.iterdir()] == ["keys"]
    assert (outside / "keys").read_text() == UNTOUCHED


def replace_by_link(path: Path, target: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.symlink_to(target)


COMMANDS = (
    ("search", "krill"),
    ("index",),
    ("index", "docs"),
    ("rebuild",),
    ("verify",),
    ("gc",),
    ("status",),
    ("remove", "docs/bread.md"),
)


@pytest.mark.parametrize("name", ["lock", "crx.db", "crx.db-wal", "skipped.jsonl.tmp"])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_link_in_an_index_is_refused_in_one_line(
    indexed: Path, outside: Path, crx: Crx, name: str, command: tuple[str, ...]
) -> None:
    replace_by_link(indexed / name, outside / "keys")
    done = crx(*command)
    assert done.code == 4
    assert re.fullmatch(
        rf"crx: .*{re.escape(name)}: a link, which an index does not have.*\n", done.err
    )
    assert "if the index is your own, delete it" in done.err
    require_untouched(outside)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_folder_that_is_a_link_is_neither_emptied_nor_filled(
    indexed: Path, outside: Path, crx: Crx, command: tuple[str, ...]
) -> None:
    replace_by_link(indexed / "derived", outside)
    done = crx(*command)
    assert done.code == 4
    assert "derived: a link, which an index does not have" in done.err
    require_untouched(outside)


@pytest.mark.parametrize("name", ["meta.json", "file-ends.json.tmp", ".tantivy-meta.lock", "x"])
def test_a_link_among_the_files_of_bm25_is_refused(
    indexed: Path, outside: Path, crx: Crx, name: str
) -> None:
    replace_by_link(indexed / "derived" / "bm25" / name, outside / "keys")
    for command in COMMANDS:
        assert f"{name}: a link" in crx(*command).err
    require_untouched(outside)


def test_a_pipe_in_an_index_is_refused_and_does_not_block(indexed: Path, crx: Crx) -> None:
    for name in ("lock", "skipped.jsonl", "contexts.jsonl"):
        (indexed / name).unlink(missing_ok=True)
        os.mkfifo(indexed / name)
        done = crx("index", "docs")
        assert done.code == 4
        assert f"{name}: not a regular file" in done.err
        (indexed / name).unlink()


def test_a_new_index_does_not_write_through_links(outside: Path, docs: Path, crx: Crx) -> None:
    for name in ("lock", "derived", "crx.db", "crx.db-wal", ".gitignore"):
        (docs.parent / ".crx").mkdir()
        for target in ("keys", "new"):
            replace_by_link(docs.parent / ".crx" / name, outside / target)
            # SQLite deletes a log without a database, and the file for Git is replaced.
            assert crx("index", "docs").code in (0, 4)
            require_untouched(outside)
        shutil.rmtree(docs.parent / ".crx")


def test_rebuild_deletes_a_link_and_not_what_it_leads_to(
    indexed: Path, outside: Path, crx: Crx
) -> None:
    deep = indexed / "derived" / "a" / "b" / "c"
    deep.mkdir(parents=True)
    (deep / "link").symlink_to(outside)
    assert crx("rebuild").code == 0
    assert not (indexed / "derived" / "a").exists()
    require_untouched(outside)


def test_an_index_that_is_a_link_is_used_only_if_it_is_named(
    indexed: Path, crx: Crx, tmp_path: Path
) -> None:
    indexed.rename(tmp_path / "elsewhere.crx")
    indexed.symlink_to(tmp_path / "elsewhere.crx")
    for command in (("search", "krill"), ("index", "docs"), ("status",)):
        done = crx(*command)
        assert done.code == 2
        assert f"{indexed.name}: a link, which is followed only if you name it" in done.err
    assert crx("search", "krill", "--index", indexed).code == 0
    assert crx("index", "docs", "--index", indexed).code == 0


@pytest.mark.parametrize("command", ["backup", "salvage"])
def test_an_unrelated_folder_beside_a_copy_is_kept(
    indexed: Path, crx: Crx, tmp_path: Path, command: str
) -> None:
    assert indexed.exists()
    mine = tmp_path / "copy.partial"
    mine.mkdir()
    (mine / "thesis.md").write_text("three years of work")
    done = crx(command, tmp_path / "copy")
    assert done.code == 2
    assert "copy.partial: exists and is no unfinished copy" in done.err
    assert (mine / "thesis.md").read_text() == "three years of work"
    shutil.rmtree(mine)
    assert crx(command, tmp_path / "copy").code == 0
    assert sorted(path.name for path in (tmp_path / "copy").iterdir() if path.is_file()) == [
        "crx.db", *(["lock"] if command == "salvage" else []),
    ]  # fmt: skip


@pytest.mark.parametrize("command", ["backup", "salvage"])
def test_an_unfinished_copy_is_replaced(
    indexed: Path, crx: Crx, tmp_path: Path, command: str, outside: Path
) -> None:
    assert indexed.exists()
    left = tmp_path / "copy.partial"
    left.mkdir()
    (left / "unfinished-copy").touch()
    (left / "crx.db").write_bytes(b"half")
    (left / "link").symlink_to(outside)
    assert crx(command, tmp_path / "copy").code == 0
    assert not left.exists()
    require_untouched(outside)


# What opens a file for writing, or deletes one. `folder` is a handle that follows no link.
WRITES_IN_RUST = re.compile(
    r"File::create|OpenOptions|fs::(?:write|rename|remove\w+|copy|hard_link)|Connection::open\w*\("
)
WRITES_IN_PYTHON = re.compile(
    r"""\.write_(?:text|bytes)\(|\.unlink\(|\.rmdir\(|\.touch\(|shutil\.(?:rmtree|move|copy\w*)\("""
    r"""|os\.(?:open|replace|rename|remove|unlink)\(|open\([^)]*["'][rbt]*[wax+]"""
    r"""|\.(?:replace|rename)\((?:aside|path|corpus|target|folder\b)"""
)
# Files that write to no index: each with what it writes instead.
NO_INDEX = {
    "rust/index_folder.rs": "the one way to open for writing",
    "rust/store/open.rs": "SQLite's own files, after the check of the folder",
    "rust/store/backup.rs": "the rename of a whole copy to its final name",
    "python/crx/__main__.py": "the null device",
    "python/crx_runtimes/llama/child.py": "facts about memory, opened for reading",
    "python/crx_bundle": "bundles, in new folders",
    "python/crx/_cli/__init__.py": "the null device",
    "python/crx_evaluate/commands": "reports that the user names",
    "python/crx/_cli/show.py": "a picture that the user names; its default name may be no link",
    "python/crx/config": "settings, and records of trust",
    "python/crx/_context/records.py": "a file of contexts that the user names",
    "python/crx_evaluate": "results of evaluations, in folders that the user names",
    "python/crx/_index/seal_key.py": "the user's key",
    "python/crx/ingest/discover.py": "documents, opened for reading",
    "python/crx/ingest/ignore.py": "ignore files, opened for reading",
    "python/crx_formats/libreoffice": "documents, in a private temporary folder",
    "python/crx/ingest/read.py": "documents, opened for reading",
    "python/crx/ingest/regular_file.py": "documents, opened for reading",
    "python/crx_serve/mcp/clients.py": "settings of MCP clients",
    "python/crx/_models": "models, in the model store",
    "python/crx_serve/command_client.py": "the null device",
    "python/crx_serve/local_socket.py": "sockets, in the user's runtime folder",
}


def test_nothing_else_opens_a_file_for_writing() -> None:
    found = []
    for language, pattern in (("rust", WRITES_IN_RUST), ("python/crx", WRITES_IN_PYTHON)):
        for path in sorted((ROOT / language).rglob("*.rs" if language == "rust" else "*.py")):
            name = path.relative_to(ROOT).as_posix()
            if path.name == "tests.rs" or any(name.startswith(each) for each in NO_INDEX):
                continue
            code = path.read_text(encoding="utf-8").partition("#[cfg(test)]")[0]
            lines = code.splitlines()
            found += [f"{name}: {line.strip()}" for line in lines if pattern.search(line)]
    assert found == []


def test_what_opens_a_file_for_writing_is_recognized() -> None:
    for line in (
        "std::fs::remove_dir_all(&partial)",
        "OpenOptions::new()",
        "Connection::open(path)",
    ):
        assert WRITES_IN_RUST.search(line)
    for line in (
        "new.write_bytes(ends)",
        "shutil.rmtree(folder)",
        "handle = os.open(aside, flags)",
        'with path.open("wb") as file:',
        'open(path, "r+b")',
        "new.replace(folder / FILE_ENDS)",
        "os.replace(beside, folder / FILE)",
    ):
        assert WRITES_IN_PYTHON.search(line), line
    assert not WRITES_IN_PYTHON.search('with path.open("rb") as file:')
    assert not WRITES_IN_PYTHON.search('name.replace("a", "b")')


def test_no_process_imports_from_the_current_folder() -> None:
    """`-m` does; `crx.workers.child` has the commands that do not."""
    found = [
        path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / "python").rglob("*.py"))
        if re.search(r'"-m",', path.read_text(encoding="utf-8"))
    ]
    assert found == []
