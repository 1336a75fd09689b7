"""GGUF files: the check of a path, and the digest that identifies a file."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

from crx.errors import ModelError


def check_model_file(path: Path) -> None:
    """Raise `ModelError` unless the path is a readable GGUF file."""
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except FileNotFoundError:
        raise ModelError(
            f"{path}: no such model; give the path of a GGUF file, or smollm2 after "
            '"crx models pull smollm2"'
        ) from None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}") from None
    if magic != b"GGUF":
        raise ModelError(f"{path}: not a GGUF file; give the path of one, such as model.Q8_0.gguf")


def file_digest(path: Path) -> str:
    """Return 16 hex digits of a file's SHA-256, read once while its size and time stamp stay."""
    stat = path.stat()
    return _digest(str(path), stat.st_size, stat.st_mtime_ns)


@functools.lru_cache(maxsize=16)
def _digest(path: str, size: int, mtime_ns: int) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 22):
            digest.update(block)
    return digest.hexdigest()[:16]
