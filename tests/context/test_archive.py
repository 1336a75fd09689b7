"""The archive of contexts: appended to, healed, validated, trimmed, and salvaged."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from crx_process import CrxHere, make_folders
from surveys import SETTINGS, contexts_by_chunk

import crx
from crx import _native
from crx._context.archive import (
    FILE,
    ArchiveContent,
    ArchivedContext,
    ContextArchive,
    drop_damaged_lines,
    drop_unused_contexts,
    read_archive,
)
from crx._context.records import Record, hash_of
from crx._index.salvage import salvage_with_archive
from crx.config import fixed_settings, resolve
from crx.errors import Damaged
from crx.types import Verification

FIXED = fixed_settings(resolve(SETTINGS).settings)
ENTRY = ArchivedContext(
    Record("mem:a", 0, 5, "the start", "fake", "doc_id", hash_of("words")),
    key=bytes(range(32)),
    outcome="ok",
    refresh="section",
)


def entry(number: int) -> ArchivedContext:
    return replace(ENTRY, key=bytes([number]) * 32)


def archive(folder: Path, *entries: ArchivedContext) -> Path:
    """Append contexts to the archive of a folder; returns its file."""
    with ContextArchive(folder) as opened:
        for each in entries:
            opened.add(each)
    return folder / FILE


def shown(index: crx.Index) -> dict[tuple[str, int], str]:
    """Return the contexts that chunks have."""
    return {at: text for at, (text, _) in contexts_by_chunk(index).items() if text}


def archived(folder: Path) -> set[tuple[str, int, str]]:
    """Return (file name, start, text) of each context of an archive."""
    records = [each.record for each in read_archive(folder).contexts]
    return {(Path(each.document).name, each.start, each.context) for each in records}


def stored(index: crx.Index) -> set[tuple[str, int, str]]:
    """Return (file name, start, text) of each context of an index."""
    store = index.store
    chunks = [row for d in store.documents() for row in store.chunks(store.chunk_keys(d.doc))]
    return {(Path(row.uri).name, row.start, row.context) for row in chunks if row.context}


# appending


def test_what_is_appended_is_read_back_once(tmp_path: Path) -> None:
    archive(tmp_path, entry(1), entry(2))
    file = archive(
        tmp_path, entry(2), entry(3), replace(entry(4), record=replace(ENTRY.record, context=""))
    )
    content = read_archive(tmp_path)
    assert content == ArchiveContent((entry(1), entry(2), entry(3)), 0, file.stat().st_size)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_folder_without_an_archive_has_no_contexts(tmp_path: Path) -> None:
    assert read_archive(tmp_path) == ArchiveContent((), 0, 0)


def test_a_torn_last_line_is_cut_off_by_the_next_append(tmp_path: Path) -> None:
    file = archive(tmp_path, entry(1), entry(2))
    for size in range(file.stat().st_size):
        os.truncate(file, size)
        left = read_archive(tmp_path)
        assert left.damaged == 0
        archive(tmp_path, entry(1), entry(2))
        assert read_archive(tmp_path).contexts == (entry(1), entry(2))
        assert file.stat().st_size == file.read_bytes().rfind(b"\n") + 1


def test_a_line_with_any_changed_byte_is_damaged(tmp_path: Path) -> None:
    file = archive(tmp_path, entry(1), entry(2))
    content = file.read_bytes()
    for at in range(content.index(b"\n")):
        file.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        assert entry(2) in read_archive(tmp_path).contexts
        assert entry(1) not in read_archive(tmp_path).contexts, at


@pytest.mark.parametrize(
    "change",
    [
        {"context": "a \u202e b"},
        {"key": "00"},
        {"key": "no hex"},
        {"refresh": "sometimes"},
        {"outcome": "perfect"},
        {"generator": ""},
        {"start": 9},
    ],
)
def test_a_line_that_crx_does_not_write_is_damaged_though_its_hash_matches(
    tmp_path: Path, change: dict[str, object]
) -> None:
    fields = orjson.loads(archive(tmp_path, ENTRY).read_bytes())
    del fields["hash"]
    forged = {**fields, **change}
    forged["hash"] = _native.digest(orjson.dumps(forged)).hex()
    (tmp_path / FILE).write_bytes(orjson.dumps(forged) + b"\n")
    assert read_archive(tmp_path).contexts == ()
    assert read_archive(tmp_path).damaged == 1


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\0" * 512,
        b"[1]",
        b'"hash"',
        b'{"hash": "00"}',
        b'{"hash": "00", "more": ' + b"[" * 300 + b"]" * 300 + b"}",
        b"[" * 10_000,
        b'{"start": 1e999, "hash": "00"}',
    ],
)
def test_any_other_line_is_damaged(tmp_path: Path, line: bytes) -> None:
    file = archive(tmp_path, entry(1), entry(2))
    first, second = file.read_bytes().splitlines()
    file.write_bytes(b"\n".join([first, line, second, b""]))
    assert read_archive(tmp_path).contexts == (entry(1), entry(2))
    assert read_archive(tmp_path).damaged == 1


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("target")])
def test_what_is_no_regular_file_is_refused(tmp_path: Path, make: Callable[[Path], None]) -> None:
    (tmp_path / "target").write_text("mine\n")
    make(tmp_path / FILE)
    with pytest.raises(Damaged, match=FILE):
        read_archive(tmp_path)
    with pytest.raises(Damaged, match=FILE):
        ContextArchive(tmp_path)
    assert (tmp_path / "target").read_text() == "mine\n"


# in an index


def test_each_context_of_a_run_is_in_the_archive(index: crx.Index) -> None:
    index.contextualize("fake:")
    assert archived(index.path) == stored(index) != set()


def test_the_archive_of_an_index_can_be_imported(index: crx.Index, docs: Path) -> None:
    index.contextualize("fake:")
    with crx.open(index.path.with_name("other.crx"), settings=SETTINGS) as other:
        other.add(docs)
        imported = other.import_contexts(index.path / FILE)
        assert (imported.whole, imported.unchecked) == (True, 0)
        assert shown(other) == shown(index)


def test_contexts_that_the_archive_lacks_are_appended_by_the_next_run(index: crx.Index) -> None:
    index.contextualize("fake:")
    file = index.path / FILE
    whole = archived(index.path)
    lines = file.read_bytes().splitlines(keepends=True)
    for left in (b"", b"".join(lines[:-1]), b"".join(lines[:3]) + lines[3][:20]):
        file.write_bytes(left)
        assert index.contextualize("fake:").made == {}
        assert archived(index.path) == whole
        assert len(file.read_bytes().splitlines()) == len(lines)


def test_a_run_that_ends_between_commit_and_append_is_made_good_by_the_next(
    index: crx.Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    add = ContextArchive.add
    added: list[ArchivedContext] = []

    def end(self: ContextArchive, context: ArchivedContext) -> None:
        if len(added) == 5:
            raise KeyboardInterrupt
        added.append(context)
        add(self, context)

    with monkeypatch.context() as patch:
        patch.setattr(ContextArchive, "add", end)
        with pytest.raises(KeyboardInterrupt):
            index.contextualize("fake:")
    assert len(stored(index) - archived(index.path)) == 1
    index.contextualize("fake:")
    assert archived(index.path) == stored(index)


def test_a_run_without_new_contexts_writes_nothing(index: crx.Index) -> None:
    index.contextualize("fake:")
    before = (index.path / FILE).read_bytes()
    index.contextualize("fake:")
    assert (index.path / FILE).read_bytes() == before


def test_a_collection_of_contexts_drops_them_from_the_archive(index: crx.Index) -> None:
    index.contextualize("fake:")
    index.remove(index.store.documents()[0].uri)
    index.gc()
    assert archived(index.path) > stored(index)
    index.gc(contexts=True)
    assert archived(index.path) == stored(index) != set()
    assert stat.S_IMODE((index.path / FILE).stat().st_mode) == 0o600
    assert not list(index.path.glob(f"{FILE}.*"))


def test_a_rewrite_does_not_follow_a_link(index: crx.Index, tmp_path: Path) -> None:
    index.contextualize("fake:")
    mine = tmp_path / "mine"
    mine.write_text("mine\n")
    with (index.path / FILE).open("ab") as file:
        file.write(b"damaged\n")
    (index.path / f"{FILE}.tmp").symlink_to(mine)
    with pytest.raises(Damaged, match="a link"):
        index.gc(contexts=True)
    drop_damaged_lines(index.path)
    assert mine.read_text() == "mine\n"
    assert read_archive(index.path).damaged == 0
    assert archived(index.path) == stored(index)


def test_verify_removes_damaged_lines_and_the_next_run_appends_them(index: crx.Index) -> None:
    index.contextualize("fake:")
    file = index.path / FILE
    content = bytearray(file.read_bytes())
    content[100] ^= 4
    file.write_bytes(content)
    found = index.verify()
    assert found == Verification((), (f"{file}: 1 damaged lines; removed",))
    assert index.verify() == Verification((), ())
    index.contextualize("fake:")
    assert archived(index.path) == stored(index)


def test_a_backup_gets_its_archive_with_the_next_run(index: crx.Index, tmp_path: Path) -> None:
    index.contextualize("fake:")
    with crx.open(index.backup(tmp_path / "copy.crx"), create=False) as copy:
        assert not (copy.path / FILE).exists()
        copy.contextualize("fake:")
        assert archived(copy.path) == archived(index.path)


# salvage


def lose_rows(folder: Path) -> None:
    """Cut a database after its first page, and overwrite that."""
    (folder / "crx.db").write_bytes(b"not a database " * 200)


@pytest.mark.parametrize("lose", [lose_rows, lambda folder: (folder / "crx.db").unlink()])
def test_a_lost_database_costs_no_context(
    index: crx.Index, docs: Path, tmp_path: Path, lose: Callable[[Path], None]
) -> None:
    index.contextualize("fake:")
    expected = shown(index)
    index.close()
    lose(index.path)
    target = tmp_path / "new.crx"
    found = salvage_with_archive(index.path, target, settings=FIXED)
    assert (found.documents, found.contexts_archived) == (0, len(expected))
    assert not found.is_whole
    with crx.open(target, create=False) as salvaged:
        salvaged.add(docs)
        assert shown(salvaged) == expected
        assert salvaged.contextualize("fake:").made == {}
        assert salvaged.verify() == Verification((), ())
        assert archived(target) == stored(salvaged)


def test_contexts_whose_rows_are_lost_are_taken_from_the_archive(
    index: crx.Index, docs: Path, tmp_path: Path
) -> None:
    index.contextualize("fake:")
    expected = shown(index)
    index.close()
    content = bytearray((index.path / "crx.db").read_bytes())
    for page in range(0, len(content), 4096):
        if b" survey: " in content[page : page + 4096]:
            content[page : page + 4096] = bytes(4096)
    (index.path / "crx.db").write_bytes(content)
    target = tmp_path / "new.crx"
    found = salvage_with_archive(index.path, target, settings=FIXED)
    assert found.contexts < len(expected)
    assert found.contexts + found.contexts_archived == len(expected)
    with crx.open(target, create=False) as salvaged:
        salvaged.add(docs)
        assert shown(salvaged) == expected


def test_a_context_of_the_archive_is_for_the_text_that_it_was_written_for(
    index: crx.Index, docs: Path, tmp_path: Path
) -> None:
    index.contextualize("fake:")
    index.close()
    lose_rows(index.path)
    target = tmp_path / "new.crx"
    salvage_with_archive(index.path, target, settings=FIXED)
    for file in docs.iterdir():
        file.write_text("# Geese\n\nAnother text.\n")
    with crx.open(target, create=False) as salvaged:
        salvaged.add(docs)
        assert shown(salvaged) == {}


def test_a_whole_database_takes_nothing_from_the_archive(index: crx.Index, tmp_path: Path) -> None:
    index.contextualize("fake:")
    index.close()
    found = salvage_with_archive(index.path, tmp_path / "new.crx", settings=FIXED)
    assert (found.is_whole, found.contexts_archived) == (True, 0)


def test_without_a_row_and_an_archive_nothing_is_made(index: crx.Index, tmp_path: Path) -> None:
    index.close()
    lose_rows(index.path)
    with pytest.raises(Damaged, match="no intact row"):
        salvage_with_archive(index.path, tmp_path / "new.crx", settings=FIXED)
    assert not (tmp_path / "new.crx").exists()


def test_the_command_tells_what_the_archive_gave(
    index: crx.Index, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index.contextualize("fake:")
    count = len(shown(index))
    index.close()
    lose_rows(index.path)
    work, _ = make_folders(tmp_path)
    done = CrxHere(work, capsys)("salvage", "new.crx", "--index", index.path)
    assert done.code == 3
    assert done.out == (
        "new.crx: 0 documents, 0 in part, 0 chunks, 0 contexts, 0 vectors\n"
        f"{count} contexts more from contexts.jsonl\n"
        "lost: crx.db has no intact row\n"
    )
    assert "reads what was lost from the files again" in done.err


def test_an_archive_is_trimmed_to_what_a_store_has(index: crx.Index) -> None:
    index.contextualize("fake:")
    before = (index.path / FILE).read_bytes()
    drop_unused_contexts(index.path, index.store)
    assert (index.path / FILE).read_bytes() == before
