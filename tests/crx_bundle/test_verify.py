"""Checksums: every file that differs, is missing or is extra is named."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest
from command_line import flip

from crx.errors import Damaged, Incompatible, UsageError
from crx_bundle.install import install_bundle
from crx_bundle.verify import FileFault, check_bundle, write_sums


def test_a_bundle_as_it_was_made_has_no_fault(bundle: Path) -> None:
    checked = check_bundle(bundle)
    assert (checked.faults, checked.signature) == ((), "none")
    assert checked.manifest.models == ("tiny",)


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="needs sha256sum")
def test_sha256sum_checks_the_same_files(bundle: Path) -> None:
    command = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
    done = subprocess.run(command, cwd=bundle, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == check_bundle(bundle).files


def test_every_file_that_differs_is_missing_or_extra_is_named(bundle: Path) -> None:
    flip(bundle / "models" / "tiny" / "model.onnx", 100)
    (bundle / "licences" / "list.txt").unlink()
    (bundle / "wheels" / "more.whl").write_bytes(b"")
    (bundle / "elsewhere").symlink_to("/etc")
    (bundle / "README.txt").rename(bundle / "kept")
    (bundle / "README.txt").symlink_to("kept")
    assert check_bundle(bundle).faults == (
        FileFault("README.txt", "differs"),
        FileFault("elsewhere", "extra"),
        FileFault("kept", "extra"),
        FileFault("licences/list.txt", "missing"),
        FileFault("models/tiny/model.onnx", "differs"),
        FileFault("wheels/more.whl", "extra"),
    )


def test_a_folder_that_is_no_bundle_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"not a bundle, it contains no bundle\.json"):
        check_bundle(tmp_path)
    with pytest.raises(UsageError, match="no such folder"):
        check_bundle(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="not a bundle"):
        check_bundle(tmp_path / "file")


@pytest.mark.parametrize(
    ("file", "text", "error", "message"),
    [
        ("bundle.json", "{", Damaged, "cannot be read"),
        ("bundle.json", "[]", Damaged, "cannot be read"),
        ("bundle.json", "[" * 100_000, Damaged, "cannot be read"),
        ("bundle.json", '{"format": 1}', Damaged, "cannot be read"),
        ("bundle.json", '{"format": 9, "crx": "7.1"}', Incompatible, r"made by crx 7\.1"),
        ("bundle.json", "9" * 17_000_000, Damaged, "it has more than 16,000,000 bytes"),
        ("SHA256SUMS", "no sums\n", Damaged, "SHA256SUMS:1: not a checksum"),
    ],
)
def test_a_damaged_list_is_an_error_that_names_it(
    bundle: Path, file: str, text: str, error: type[Exception], message: str
) -> None:
    (bundle / file).write_text(text)
    with pytest.raises(error, match=message):
        check_bundle(bundle)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("models", ["../up"]),
        ("models", ["/etc"]),
        ("models", [1]),
        ("models", "tiny"),
        ("extras", {"mcp": 1}),
        ("python", 3),
        ("python", ""),
        ("machine", ["linux"]),
        ("glibc", 2.28),
        ("crx", "1\x1b[2J"),
        ("index", "yes"),
        ("installed_bytes", "many"),
        ("installed_bytes", -1),
        ("format", True),
        ("created", None),
    ],
)
def test_a_field_of_the_manifest_with_another_type_or_name_is_an_error(
    bundle: Path, tmp_path: Path, field: str, value: object
) -> None:
    manifest = json.loads((bundle / "bundle.json").read_text())
    (bundle / "bundle.json").write_text(json.dumps({**manifest, field: value}))
    write_sums(bundle)
    with pytest.raises(Damaged, match=rf"bundle\.json: cannot be read \({field} is "):
        check_bundle(bundle)
    with pytest.raises(Damaged):
        install_bundle(bundle, tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("kind", ["pipe", "link to a device", "socket"])
@pytest.mark.parametrize("name", ["README.txt", "bundle.json", "SHA256SUMS", "SHA256SUMS.sig"])
def test_what_is_no_file_is_not_opened(
    bundle: Path, name: str, kind: str, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (bundle / name).unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(bundle / name)
    elif kind == "socket":
        monkeypatch.chdir(bundle)  # the path of a socket is short
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(name)
    else:
        (bundle / name).symlink_to("/dev/zero")
    if name == "README.txt":
        fault = "differs" if kind == "link to a device" else "unreadable"
        assert check_bundle(bundle).faults == (FileFault(name, fault),)  # type: ignore[arg-type]
        return
    with pytest.raises(Damaged, match=r"cannot be read \(it is a link, a pipe or a device"):
        check_bundle(bundle, key=key.with_suffix(".pub"))


def test_a_bundle_without_one_pip_is_not_installed(bundle: Path, tmp_path: Path) -> None:
    next((bundle / "wheels").glob("pip-*.whl")).unlink()
    write_sums(bundle)
    with pytest.raises(Damaged, match="does not hold one wheel of pip"):
        install_bundle(bundle, tmp_path / "new")
    assert not (tmp_path / "new").exists()
