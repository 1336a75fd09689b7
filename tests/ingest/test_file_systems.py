"""File systems of other machines: they are known, and no index is opened on one unless allowed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from crx_process import CrxProcess, make_folders

import crx
from crx.errors import SystemFailure
from crx.ingest import file_systems
from crx.ingest.file_systems import any_is_remote, require_local_disk

LINES = (
    "21 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
    "40 21 0:50 / /mnt/team\\040share rw,relatime shared:9 - {kind} server:/x rw\n"
)
DISK = Path(__file__).parents[1] / "support" / "empty_fuse_disk.py"


@pytest.fixture
def mounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The table of mounts that is read in place of the system's; it does not exist yet."""
    path = tmp_path / "mountinfo"
    monkeypatch.setattr(file_systems, "MOUNTS", str(path))
    return path


def test_the_kind_of_the_nearest_mount_counts(mounts: Path) -> None:
    mounts.write_text(LINES.format(kind="nfs4"))
    assert any_is_remote(["/home", "/mnt/team share/docs"])
    assert not any_is_remote(["/home", "/mnt"])


def test_an_unknown_system_counts_as_local(mounts: Path) -> None:
    assert not mounts.exists()
    assert not any_is_remote(["/mnt"])


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "fuse.rclone"])
def test_an_index_on_a_network_file_system_is_refused(mounts: Path, kind: str) -> None:
    mounts.write_text(LINES.format(kind=kind))
    with pytest.raises(SystemFailure, match=rf"notes.crx: on a network file system \({kind}\)"):
        require_local_disk(Path("/mnt/team share/notes.crx"))
    require_local_disk(Path("/home/notes.crx"))


def test_a_setting_allows_it(mounts: Path, tmp_path: Path) -> None:
    mounts.write_text(f"40 21 0:50 / {tmp_path} rw - nfs4 server:/x rw\n")
    settings = {"embedder": "hashed"}
    with pytest.raises(SystemFailure, match="set network_disk=1"):
        crx.open(tmp_path / "notes.crx", settings=settings)
    assert not (tmp_path / "notes.crx").exists()
    crx.open(tmp_path / "notes.crx", settings=settings | {"network_disk": 1}).close()


@pytest.mark.skipif(sys.platform != "linux", reason="FUSE and mount namespaces of Linux")
def test_the_command_refuses_a_mounted_one(tmp_path: Path) -> None:
    work, home = make_folders(tmp_path)
    (work / "docs").mkdir()
    (work / "docs" / "a.md").write_text("Krill.\n")
    (work / "shared").mkdir()
    unshare = shutil.which("unshare")
    if unshare is None or not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("needs unshare and a writable /dev/fuse (modprobe fuse)")
    mounted = [unshare, "-rm", sys.executable, str(DISK), str(work / "shared")]
    if subprocess.run([*mounted, "true"], check=False, capture_output=True).returncode:
        pytest.skip("this system forbids to mount without privileges")
    done = CrxProcess(work, home, before=tuple(mounted))(
        "index", "docs", "--index", "shared/notes.crx"
    )
    assert (done.code, done.err.count("\n")) == (6, 1), done.err
    assert "on a network file system (fuse.sshfs)" in done.err
