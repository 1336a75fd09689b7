"""Installation of a bundle, from its own `install.py`, and what is left after an error."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from command_line import Done, flip

from crx.errors import Damaged, Incompatible, NoRoom, SystemFailure, UsageError
from crx_bundle.install import install_bundle
from crx_bundle.manifest import oldest_glibc, read_manifest
from crx_bundle.verify import check_bundle, write_sums

PROGRAM = Path("Scripts/crx.exe" if os.name == "nt" else "bin/crx")


def run_script(bundle: Path, *arguments: object) -> Done:
    """Run a bundle's `install.py` with the standard library alone."""
    # -S leaves out every installed package, -I the folder and the environment of the user.
    command = [sys.executable, "-I", "-S", str(bundle / "install.py"), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    return Done(done.returncode, done.stdout, done.stderr)


def change_manifest(bundle: Path, changes: Mapping[str, Any]) -> None:
    path = bundle / "bundle.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    write_sums(bundle)


def test_the_script_of_a_bundle_installs_it_with_nothing_but_python(
    bundle: Path, tmp_path: Path
) -> None:
    done = run_script(bundle, tmp_path / "new")
    program = tmp_path / "new" / PROGRAM
    assert done == Done(0, f"{tmp_path / 'new'}: crx 0.1.0 installed; run {program}\n", "")
    ran = subprocess.run([program], capture_output=True, text=True, env={})
    assert ran.stdout == "crx runs\n"
    share = tmp_path / "new" / "share" / "crx"
    assert (share / "models" / "tiny" / "model.json").is_file()
    assert (share / "config.toml").read_text() == 'embedder = "tiny"\n'
    # It has read the wheel of crx and left no trace there.
    assert run_script(bundle, "--verify").code == 0


def test_the_script_names_what_is_wrong_and_exits_as_crx_does(bundle: Path, tmp_path: Path) -> None:
    flip(bundle / "models" / "tiny" / "model.onnx", 100)
    verified = run_script(bundle, "--verify")
    assert verified == Done(
        4, "models/tiny/model.onnx: differs\n", f"install.py: {bundle}: damaged; copy it again\n"
    )
    assert run_script(bundle, tmp_path / "new").code == 4
    assert run_script(bundle).code == 2
    assert run_script(bundle, tmp_path).code == 2
    assert not (tmp_path / "new").exists()


def test_a_module_planted_in_a_bundle_is_named_and_not_imported(
    bundle: Path, tmp_path: Path
) -> None:
    for name in ("hashlib.py", "json.py", "pathlib.py"):
        (bundle / name).write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nraise SystemExit(0)\n")
    command = [sys.executable, str(bundle / "install.py"), "--verify"]
    done = subprocess.run(command, cwd=bundle, capture_output=True, text=True)
    assert not (tmp_path / "ran").exists()
    assert done.returncode == 4
    assert "hashlib.py: extra\n" in done.stdout


@pytest.mark.parametrize(("name", "other"), [("python", "cpython 2.7"), ("machine", "plan9 mips")])
def test_another_python_or_machine_is_refused(
    bundle: Path, tmp_path: Path, name: str, other: str
) -> None:
    change_manifest(bundle, {name: other})
    with pytest.raises(Incompatible, match=rf"made for .*{other}.*, and this is "):
        install_bundle(bundle, tmp_path / "new")


def test_a_python_of_another_version_is_told_so_before_anything_is_imported(bundle: Path) -> None:
    script = bundle / "install.py"
    here = ", ".join(map(str, sys.version_info[:2]))
    script.write_text(script.read_text().replace(f"({here})", "(3, 9)"))
    done = run_script(bundle, "--verify")
    assert (done.code, "this bundle is for" in done.err) == (4, True)


def test_an_older_c_library_is_refused(bundle: Path, tmp_path: Path) -> None:
    change_manifest(bundle, {"glibc": "99.0"})
    with pytest.raises(Incompatible, match=r"needs glibc 99\.0 or newer"):
        install_bundle(bundle, tmp_path / "new")


def test_the_c_library_that_a_wheel_needs_is_its_oldest_tag() -> None:
    wheels = [
        "a-1-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl",
        "b-py3-none-any.whl",
    ]
    assert oldest_glibc(wheels) == "2.27"
    assert oldest_glibc([*wheels, "c-1-cp310-abi3-manylinux_2_4_x86_64.whl"]) == "2.27"
    assert oldest_glibc(wheels[1:]) == ""


def test_a_folder_that_is_not_empty_is_refused_and_an_empty_one_is_used(
    bundle: Path, tmp_path: Path
) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "mine").write_text("kept")
    with pytest.raises(UsageError, match="exists already"):
        install_bundle(bundle, tmp_path / "new")
    assert (tmp_path / "new" / "mine").read_text() == "kept"


def test_a_damaged_bundle_is_not_installed(bundle: Path, tmp_path: Path) -> None:
    (bundle / "README.txt").unlink()
    with pytest.raises(Damaged, match=r"1 damaged, first README\.txt \(missing\)"):
        install_bundle(bundle, tmp_path / "new")


def test_too_small_a_disk_is_refused_before_anything_is_written(
    bundle: Path, tmp_path: Path
) -> None:
    change_manifest(bundle, {"installed_bytes": 10**18})
    with pytest.raises(NoRoom, match=r"MB free, 1,000,000,000,000 MB needed"):
        install_bundle(bundle, tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("number", "error", "message"),
    [
        (errno.ENOSPC, NoRoom, "no space left; free some or name another folder"),
        (errno.EIO, SystemFailure, "input/output error; name another folder, or mend it"),
    ],
)
def test_a_disk_that_fails_leaves_nothing_behind(
    bundle: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    error: type[Exception],
    message: str,
) -> None:
    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("crx_bundle.install._install_wheels", lambda *_: None)
    monkeypatch.setattr("crx_bundle.install.copy_regular", fail)
    with pytest.raises(error, match=message):
        install_bundle(bundle, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_wheel_that_was_exchanged_after_the_check_is_refused_and_nothing_is_left(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check_and_exchange(*arguments: Any, **options: Any) -> object:
        checked = check_bundle(*arguments, **options)
        (wheel,) = (bundle / "wheels").glob("tiny_dep-*.whl")
        shutil.copy(next((bundle / "wheels").glob("pip-*.whl")), wheel)
        return checked

    monkeypatch.setattr("crx_bundle.install.check_bundle", check_and_exchange)
    with pytest.raises(Damaged, match="a wheel was changed after it was checked"):
        install_bundle(bundle, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_manifest_says_what_the_bundle_holds(bundle: Path) -> None:
    manifest = read_manifest(bundle)
    assert (manifest.models, manifest.extras, manifest.index) == (("tiny",), (), False)
    assert manifest.installed_bytes > 10_000
