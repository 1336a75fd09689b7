"""Damage to the files of a folder: one random change to one file."""

from __future__ import annotations

import os
import random
from pathlib import Path

SECTOR = 512
PAGE = 4096


def damage(folder: Path, chance: random.Random) -> str:
    """Damage one file of a folder, the database most often; returns what was done."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    path = chance.choice([*files, *[each for each in files if each.name.startswith("crx.db")] * 4])
    data = bytearray(path.read_bytes())
    kinds = ["missing", "swapped", "appended"]
    if data:
        kinds += ["bit"] * 8 + ["zeroed sector", "zeroed page", "truncated", "misplaced page"] * 2
    kind = chance.choice(kinds)
    what = f"{path.relative_to(folder)}: {kind}"
    at = chance.randrange(len(data)) if data else 0
    match kind:
        case "missing":
            path.unlink()
            return what
        case "swapped":
            # Two files of BM25 with sound checksums: see `test_damage.py`.
            others = [
                each for each in files if each.parent != path.parent or "bm25" not in each.parts
            ]
            other = chance.choice([each for each in others if each != path])
            data, rest = bytearray(other.read_bytes()), bytes(data)
            other.write_bytes(rest)
            what += f" with {other.relative_to(folder)}"
        case "appended":
            data += chance.randbytes(SECTOR)
        case "bit":
            bit = chance.randrange(8)
            data[at] ^= 1 << bit
            what += f" {bit} of byte {at}"
        case "zeroed sector":
            what += f" at {_fill(data, at, SECTOR, bytes(SECTOR))}"
        case "zeroed page":
            what += f" at {_fill(data, at, PAGE, bytes(PAGE))}"
        case "truncated":
            del data[at:]
            what += f" to {at} bytes"
        case "misplaced page":
            source = chance.randrange(len(data)) // PAGE * PAGE
            what += f" from {source} at {_fill(data, at, PAGE, data[source : source + PAGE])}"
    path.write_bytes(data)
    return what


def _fill(data: bytearray, at: int, size: int, content: bytes | bytearray) -> int:
    """Replace the block around a byte; returns where the block begins."""
    start = at // size * size
    end = min(start + size, len(data), start + len(content))
    data[start:end] = content[: end - start]
    return start


def copy_folder(source: Path, target: Path) -> None:
    """Copy a small folder; quicker than `shutil.copytree`, which copies times and modes."""
    target.mkdir()
    for entry in os.scandir(source):
        if entry.is_dir():
            copy_folder(Path(entry.path), target / entry.name)
        else:
            (target / entry.name).write_bytes(Path(entry.path).read_bytes())
