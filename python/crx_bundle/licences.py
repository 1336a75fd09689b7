"""Licences of what a bundle contains: the texts in each wheel, and a list of all."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Sequence
from pathlib import Path

from crx._models.card import ModelCard
from crx_bundle.wheel import WheelFacts

LICENCES_FOLDER = "licences"
LIST_FILE = "list.txt"


def write_licences(
    bundle: Path, *, wheels: Sequence[WheelFacts], models: Sequence[ModelCard]
) -> tuple[str, ...]:
    """Write the texts of all licences and their list; return the wheels that name no licence."""
    folder = bundle / LICENCES_FOLDER
    folder.mkdir()
    lines = ["package\tversion\tlicence\ttexts"]
    unnamed: list[str] = []
    for wheel in wheels:
        texts = _copy_texts(wheel, folder / f"{wheel.name}-{wheel.version}")
        licence = licence_of(wheel)
        if not licence and not texts:
            unnamed.append(f"{wheel.name} {wheel.version}")
        lines.append(f"{wheel.name}\t{wheel.version}\t{licence or 'unknown'}\t{texts}")
    for card in models:
        lines.append(f"model {card.name}\t{card.source}\t{card.licence or 'unknown'}\t0")
    (folder / LIST_FILE).write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    return tuple(unnamed)


def licence_of(wheel: WheelFacts) -> str:
    """Return the licence of a wheel: an SPDX expression, or names, "" if it gives neither."""
    return wheel.expression or ", ".join(wheel.licences)


def _copy_texts(wheel: WheelFacts, folder: Path) -> int:
    """Copy the licence files of a wheel into a folder; return how many there were."""
    with zipfile.ZipFile(wheel.path) as archive:
        for member in wheel.licence_files:
            path = folder / _plain(member)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(archive.read(member))
    return len(wheel.licence_files)


def _plain(member: str) -> str:
    """Return the path of a member below its `dist-info/licenses`, in portable characters."""
    below = re.sub(r"^[^/]+\.dist-info/(?:licenses/)?", "", member)
    return re.sub(r"[^A-Za-z0-9._+/-]", "_", below)
