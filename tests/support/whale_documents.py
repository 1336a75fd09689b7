"""Documents for workers: several batches of them, of all kinds."""

from __future__ import annotations

from pathlib import Path


def write_whales(folder: Path) -> Path:
    """Write forty documents of prose, one of code, one of a long line, and two that are equal."""
    folder.mkdir()
    for n in range(40):
        paragraphs = (f"Whale {n} eats krill number {n * k}, off the coast {k}." for k in range(4))
        (folder / f"whale{n:02}.md").write_text(f"# Whale {n}\n\n" + "\n\n".join(paragraphs))
    functions = (f"def feed_{n}(whale):\n    return whale.eat({n})\n\n\n" for n in range(30))
    (folder / "feed.py").write_text('"""Feeding."""\n\n\n' + "".join(functions))
    (folder / "line.txt").write_text(" ".join(f"krill{n}" for n in range(900)))
    (folder / "copy.md").write_text((folder / "whale00.md").read_text())
    return folder
