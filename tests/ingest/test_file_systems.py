"""Which file systems report no changes."""

from __future__ import annotations

from pathlib import Path

from crx.watch.mounts import any_is_remote

LINES = (
    "21 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
    "40 21 0:50 / /mnt/team\\040share rw,relatime shared:9 - nfs4 server:/x rw\n"
)


def test_the_kind_of_the_nearest_mount_counts(tmp_path: Path) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(LINES)
    assert any_is_remote(["/home", "/mnt/team share/docs"], mounts=str(mounts))
    assert not any_is_remote(["/home", "/mnt"], mounts=str(mounts))


def test_an_unknown_system_counts_as_local(tmp_path: Path) -> None:
    assert not any_is_remote(["/mnt"], mounts=str(tmp_path / "none"))
