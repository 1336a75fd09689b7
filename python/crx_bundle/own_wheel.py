"""The wheel of crx, packed again from the files of the running installation.

So a bundle carries the version that made it, also if no registry has it.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, PackagePath
from pathlib import Path

from crx.errors import Damaged, UsageError

# Files that an installer adds to those of the wheel.
_ADDED = frozenset({"INSTALLER", "REQUESTED", "RECORD", "direct_url.json"})
# The earliest time that a ZIP archive can hold: the archive depends on its content alone.
_TIME = (1980, 1, 1, 0, 0, 0)


def pack_wheel(distribution: Distribution, folder: Path) -> Path:
    """Write the wheel of an installed distribution into a folder; return its path.

    Raises `UsageError` for one that runs from its sources, and `Damaged` if a file was changed
    since it was installed.
    """
    members = sorted(_members(distribution), key=str)
    name = distribution.metadata["Name"]
    if f"{name}/__init__.py" not in map(str, members):
        raise UsageError(
            f'{name}: runs from its sources; build its wheel with "pip wheel --no-deps", then '
            "name it with --wheel"
        )
    wheel = folder / f"{name}-{distribution.version}-{_tag(distribution)}.whl"
    record = io.StringIO()
    rows = csv.writer(record, lineterminator="\n")
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for member in members:
            content = Path(str(member.locate())).read_bytes()
            digest = _record_hash(content)
            if member.hash is not None and f"{member.hash.mode}={member.hash.value}" != digest:
                raise Damaged(
                    f"{member.locate()}: changed since it was installed; install it again"
                )
            archive.writestr(zipfile.ZipInfo(str(member), _TIME), content, zipfile.ZIP_DEFLATED)
            rows.writerow([str(member), digest, len(content)])
        about = f"{name}-{distribution.version}.dist-info/RECORD"
        rows.writerow([about, "", ""])
        archive.writestr(zipfile.ZipInfo(about, _TIME), record.getvalue())
    return wheel


def _members(distribution: Distribution) -> Iterator[PackagePath]:
    """Yield the files of a distribution that were in its wheel."""
    for path in distribution.files or ():
        added = path.parent.suffix == ".dist-info" and path.name in _ADDED
        if ".." not in path.parts and path.suffix != ".pyc" and not added:
            yield path


def _tag(distribution: Distribution) -> str:
    """Return the tags of a wheel as they stand in its file's name."""
    lines = (distribution.read_text("WHEEL") or "").splitlines()
    tags = [line.removeprefix("Tag: ").strip().split("-") for line in lines if "Tag: " in line]
    return "-".join(".".join(dict.fromkeys(parts)) for parts in zip(*tags, strict=True))


def _record_hash(content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
    return f"sha256={digest.decode()}"
