"""Documents whose files cannot be seen: only what is seen to be gone is removed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from crx_process import CrxProcess, Finished


@pytest.fixture
def crx(crx_process: CrxProcess) -> CrxProcess:
    """Return a command in a folder with an index of `docs/a.md` and `docs/sub/b.md`."""
    crx = crx_process
    (crx.folder / "docs" / "sub").mkdir(parents=True)
    (crx.folder / "docs" / "a.md").write_text("# Whales\n\nKrill.\n")
    (crx.folder / "docs" / "sub" / "b.md").write_text("# Bread\n\nFlour.\n")
    assert crx("index", "-q", "docs").out.startswith(".crx: 2 files added")
    return crx


@pytest.fixture
def close() -> Iterator[Callable[[Path], None]]:
    """Return a function that takes all permissions from a path; they are back after the test."""
    closed: list[tuple[Path, int]] = []

    def chmod(path: Path) -> None:
        closed.append((path, path.stat().st_mode))
        path.chmod(0)

    yield chmod
    for path, mode in closed:
        path.chmod(mode)


def documents(crx: CrxProcess) -> list[str]:
    return crx("status", "--documents").out.splitlines()


def test_a_folder_that_cannot_be_listed_keeps_its_documents(
    crx: CrxProcess, close: Callable[[Path], None]
) -> None:
    close(crx.folder / "docs" / "sub")
    done = crx.bound_by_permissions("index", "-q", "docs")
    assert done == Finished(
        3,
        ".crx: 1 file kept, 1 unchanged, 1 failed\n",
        "crx: docs/sub: permission denied; the text of 1 file below it is kept, "
        '"crx remove" removes it\n',
    )
    assert documents(crx) == ["docs/a.md", "docs/sub/b.md"]
    assert "docs/sub: permission denied" in crx("status").err


def test_a_root_that_cannot_be_listed_keeps_its_documents(
    crx: CrxProcess, close: Callable[[Path], None]
) -> None:
    close(crx.folder / "docs")
    done = crx.bound_by_permissions("index", "-q", "docs")
    assert (done.code, done.out) == (3, ".crx: 2 files kept, 1 failed\n")
    assert documents(crx) == ["docs/a.md", "docs/sub/b.md"]


def test_a_file_that_became_unreadable_keeps_its_text_and_is_named(
    crx: CrxProcess, close: Callable[[Path], None]
) -> None:
    close(crx.folder / "docs" / "a.md")
    done = crx.bound_by_permissions("index", "-q", "docs")
    assert done == Finished(
        3,
        ".crx: 1 file kept, 1 unchanged, 1 failed\n",
        "crx: docs/a.md: permission denied; the text of an earlier run is kept\n",
    )
    assert crx("search", "krill").code == 0


def test_what_can_be_read_again_is_no_failure_any_more(
    crx: CrxProcess, close: Callable[[Path], None]
) -> None:
    for name in ("a.md", "sub"):
        path = crx.folder / "docs" / name
        mode = path.stat().st_mode
        close(path)
        assert crx.bound_by_permissions("index", "-q", "docs").code == 3
        path.chmod(mode)
        done = crx.bound_by_permissions("index", "-q", "docs")
        assert (done.code, done.out) == (0, ".crx: 2 files unchanged\n"), done.err
        assert crx("status").err == ""


def test_an_ignore_file_that_cannot_be_read_hides_its_folder(
    crx: CrxProcess, close: Callable[[Path], None]
) -> None:
    """Without its rules, files that were ignored would be indexed."""
    (crx.folder / "docs" / "sub" / ".gitignore").write_text("c.md\n")
    (crx.folder / "docs" / "sub" / "c.md").write_text("# Secret\n")
    close(crx.folder / "docs" / "sub" / ".gitignore")
    done = crx.bound_by_permissions("index", "-q", "docs")
    assert (done.code, "docs/sub: .gitignore: permission denied" in done.err) == (3, True)
    assert documents(crx) == ["docs/a.md", "docs/sub/b.md"]


def test_what_is_seen_to_be_gone_is_removed(crx: CrxProcess) -> None:
    shutil.rmtree(crx.folder / "docs" / "sub")
    (crx.folder / "docs" / "a.md").unlink()
    assert crx("index", "-q", "docs").out.startswith(".crx: 2 files removed")
    assert documents(crx) == []


def _mount(folder: Path) -> bool:
    command = ["mount", "-t", "tmpfs", "tmpfs", str(folder)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.fixture
def mounted(crx: CrxProcess) -> Iterator[Path]:
    """Return a folder in `docs` on a file system of its own."""
    folder = crx.folder / "docs" / "disk"
    folder.mkdir()
    if shutil.which("mount") is None or not _mount(folder):
        pytest.skip("may not mount a file system here; needs root")
    yield folder
    subprocess.run(["umount", str(folder)], capture_output=True, check=False)


def test_a_disk_that_is_not_mounted_keeps_its_documents(crx: CrxProcess, mounted: Path) -> None:
    (mounted / "c.md").write_text("# Disk\n\nPlankton.\n")
    assert crx("index", "-q", "docs").out.startswith(".crx: 1 file added, 2 unchanged")
    subprocess.run(["umount", str(mounted)], check=True)
    done = crx("index", "-q", "docs")
    assert (done.code, done.out) == (3, ".crx: 1 file kept, 2 unchanged, 1 failed\n")
    assert done.err.startswith(
        "crx: docs/disk: is not mounted; the text of 1 file below it is kept"
    )
    assert crx("search", "plankton").code == 0
    mounted.rmdir()
    assert crx("index", "-q", "docs").out.startswith(".crx: 1 file kept, 2 unchanged, 1 failed")


def test_a_folder_that_was_a_disk_and_holds_files_is_a_folder(
    crx: CrxProcess, mounted: Path
) -> None:
    (mounted / "c.md").write_text("# Disk\n\nPlankton.\n")
    crx("index", "-q", "docs")
    subprocess.run(["umount", str(mounted)], check=True)
    (mounted / "d.md").write_text("# Folder\n\nAlgae.\n")
    assert crx("index", "-q", "docs").out == ".crx: 1 file added, 1 removed, 2 unchanged\n"
