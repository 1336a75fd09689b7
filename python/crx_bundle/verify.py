"""Checksums of a bundle's files: which files differ, are missing or are extra.

`SHA256SUMS` has the format of `sha256sum`, which can check it too. This module imports the standard
library and `crx.errors` alone; see `crx_bundle.manifest`.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from crx.errors import Damaged
from crx_bundle.files import open_regular, read_list
from crx_bundle.manifest import Manifest, read_manifest
from crx_bundle.signature import SIGNATURE_FILE, SUMS_FILE, check_signature, is_signed

_BLOCK_BYTES = 1 << 20
_LINE = re.compile(r"([0-9a-f]{64})  (\S.*)")


Signature = Literal["good", "unchecked", "none"]


@dataclass(frozen=True, slots=True)
class FileFault:
    """A file of a bundle that is not as it was made; `path` is relative to the bundle."""

    path: str
    fault: Literal["differs", "missing", "extra", "unreadable"]


@dataclass(frozen=True, slots=True)
class CheckedBundle:
    """A bundle after its files were checked.

    `signature` is "good" if a public key was given, which has signed the bundle; else "unchecked"
    or "none".
    """

    manifest: Manifest
    files: int
    faults: tuple[FileFault, ...]
    signature: Signature


def check_bundle(bundle: Path, *, key: Path | None = None) -> CheckedBundle:
    """Check every file of a bundle, and that a public key in the file `key` has signed it.

    Raises `UsageError` for a folder that is not a bundle, and `Damaged` for checksums that cannot
    be read and for a wrong signature.
    """
    manifest = read_manifest(bundle)
    sums = _read_sums(bundle)
    expected = _parse_sums(bundle, sums)
    signature: Signature = "unchecked" if is_signed(bundle) else "none"
    if key is not None:
        check_signature(bundle, key, sums=sums)
        signature = "good"
    faults = tuple(_find_faults(bundle, expected))
    return CheckedBundle(manifest, len(expected), faults, signature)


def write_sums(bundle: Path) -> None:
    """Write the checksums of every file of a bundle, in the order of their paths."""
    lines = [f"{file_sha256(bundle / name)}  {name}\n" for name in sorted(list_files(bundle))]
    (bundle / SUMS_FILE).write_text("".join(lines), encoding="utf-8", newline="\n")


def list_files(bundle: Path) -> set[str]:
    """Return the paths of the files of a bundle, without the checksums and their signature.

    Links are listed and not followed.
    """
    found: set[str] = set()
    for folder, folders, files in os.walk(bundle):
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        for name in (*files, *links):
            found.add(Path(folder, name).relative_to(bundle).as_posix())
    return found - {SUMS_FILE, SIGNATURE_FILE}


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal; raises `OSError` as `open_regular`."""
    digest = hashlib.sha256()
    with open_regular(path) as file:
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()


def _find_faults(bundle: Path, expected: dict[str, str]) -> Iterator[FileFault]:
    present = list_files(bundle)
    for name in sorted(expected.keys() | present):
        if name not in present:
            yield FileFault(name, "missing")
        elif name not in expected:
            yield FileFault(name, "extra")
        else:
            try:
                if (bundle / name).is_symlink():
                    yield FileFault(name, "differs")
                    continue
                same = file_sha256(bundle / name) == expected[name]
            except OSError:
                yield FileFault(name, "unreadable")
                continue
            if not same:
                yield FileFault(name, "differs")


def _read_sums(bundle: Path) -> bytes:
    path = bundle / SUMS_FILE
    try:
        return read_list(path)
    except OSError as error:
        raise Damaged(f"{path}: cannot be read ({error}); copy the bundle again") from None


def _parse_sums(bundle: Path, data: bytes) -> dict[str, str]:
    """Return the checksum of each file by its path; raises `Damaged` if there is no sense in it."""
    path = bundle / SUMS_FILE
    try:
        lines = data.decode().removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise Damaged(f"{path}: cannot be read ({error}); copy the bundle again") from None
    sums: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        found = _LINE.fullmatch(line)
        if found is None:
            raise Damaged(f"{path}:{number}: not a checksum; copy the bundle again")
        sums[found[2]] = found[1]
    return sums
