"""Small wheels from which a bundle can be made: crx without a core, a dependency, pip."""

from __future__ import annotations

import base64
import ensurepip
import hashlib
import json
import shutil
import sysconfig
import zipfile
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path

import pytest

import crx

VERSION = metadata.version("crx")
CRATES = {
    "bomFormat": "CycloneDX",
    "components": [{"type": "library", "name": "aho", "version": "1", "bom-ref": "path:///x"}],
}


def make_wheels(folder: Path) -> Path:
    """Write the wheels into a new folder; skips the test if this Python brings no wheel of pip."""
    folder.mkdir()
    shutil.copy(_pip_wheel(), folder)
    write_wheel(
        folder,
        "crx",
        VERSION,
        _crx_sources(),
        fields=[
            "License-Expression: Apache-2.0",
            "Requires-Dist: tiny-dep>=1",
            "Provides-Extra: more",
            "Requires-Dist: tiny_more; extra == 'more'",
        ],
    )
    write_wheel(
        folder,
        "tiny_dep",
        "1.5",
        {"tiny_dep.py": b"", "tiny_dep-1.5.dist-info/LICENSE.txt": b"Do what you like.\n"},
        fields=["Classifier: License :: OSI Approved :: MIT License"],
    )
    write_wheel(folder, "tiny_more", "2", {"tiny_more.py": b""})
    return folder


def write_wheel(
    folder: Path,
    name: str,
    version: str,
    files: Mapping[str, bytes],
    *,
    fields: Sequence[str] = (),
    tag: str = "py3-none-any",
) -> Path:
    """Write a wheel with these files into a folder; return its path."""
    about = f"{name}-{version}.dist-info"
    lines = ["Metadata-Version: 2.4", f"Name: {name}", f"Version: {version}", *fields]
    members = {
        **files,
        f"{about}/METADATA": "\n".join([*lines, "", ""]).encode(),
        f"{about}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n".encode(),
    }
    record = [f"{path},{_record_hash(data)},{len(data)}\n" for path, data in members.items()]
    members[f"{about}/RECORD"] = "".join([*record, f"{about}/RECORD,,\n"]).encode()
    wheel = folder / f"{name}-{version}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, data in members.items():
            archive.writestr(path, data)
    return wheel


def _crx_sources() -> dict[str, bytes]:
    """Return the modules that `install.py` needs, and a program in place of the command line."""
    root = Path(crx.__file__).parents[1]
    beside = sorted((root / "crx_bundle").glob("*.py"))
    paths = [root / "crx" / "__init__.py", root / "crx" / "errors.py", *beside]
    about = f"crx-{VERSION}.dist-info"
    return {
        **{path.relative_to(root).as_posix(): path.read_bytes() for path in paths},
        "crx/_native.py": b"",
        "crx/program.py": b"def main():\n    print('crx runs')\n",
        f"{about}/entry_points.txt": b"[console_scripts]\ncrx = crx.program:main\n",
        f"{about}/licenses/LICENSE": b"Apache License\n",
        f"{about}/sboms/crates.cyclonedx.json": json.dumps(CRATES).encode(),
    }


def _pip_wheel() -> Path:
    system = sysconfig.get_config_var("WHEEL_PKG_DIR") or "/usr/share/python-wheels"
    places = (Path(ensurepip.__file__).parent / "_bundled", Path(system))
    found = next((wheel for place in places for wheel in place.glob("pip-*.whl")), None)
    if found is None:
        pytest.skip("this Python brings no wheel of pip")
    return found


def _record_hash(data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
    return f"sha256={digest.decode()}"
