"""Wheels as a bundle sees them: name, version, hash, licences, dependencies."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.message import Message
from email.parser import BytesParser
from pathlib import Path, PurePosixPath
from typing import Any

from packaging.utils import canonicalize_name

from crx.errors import UsageError
from crx_bundle.verify import file_sha256

# Files with the text of a licence or a notice that it asks for.
_LICENCE = re.compile(
    r"(?:licen[cs]e|copying|copyright|notice|authors|third.?party.?(?:notices?|licen[cs]es?))"
    r"(?:[-_.].*)?",
    re.IGNORECASE,
)
_CODE = (".py", ".pyi", ".pyc", ".so", ".pyd", ".dll", ".h", ".json")


@dataclass(frozen=True, slots=True)
class WheelFacts:
    """What a wheel says of itself.

    `licences` are an SPDX expression or names of licences; `licence_files` the members of the
    archive with their texts. `requires` are the requirements, as they are written; `extras` the
    optional ones. `components` are those of the software bills of materials in the wheel (PEP 770),
    such as Rust crates.
    """

    path: Path
    name: str
    version: str
    sha256: str
    expression: str
    licences: tuple[str, ...]
    licence_files: tuple[str, ...]
    requires: tuple[str, ...]
    extras: tuple[str, ...]
    components: tuple[Mapping[str, Any], ...]
    unpacked_bytes: int

    @property
    def key(self) -> str:
        """The normalized name, by which packages refer to each other."""
        return canonicalize_name(self.name)


def read_wheel(path: Path) -> WheelFacts:
    """Return what a wheel says of itself; `UsageError` if the file is not a wheel."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            names = [each.filename for each in members]
            (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
            fields = BytesParser().parsebytes(archive.read(metadata))
            about = metadata.removesuffix("METADATA")
            return WheelFacts(
                path=path,
                name=fields["Name"],
                version=fields["Version"],
                sha256=file_sha256(path),
                expression=fields["License-Expression"] or "",
                licences=_named_licences(fields),
                licence_files=tuple(name for name in names if _is_licence(name, about)),
                requires=tuple(fields.get_all("Requires-Dist") or ()),
                extras=tuple(map(canonicalize_name, fields.get_all("Provides-Extra") or ())),
                components=tuple(_read_components(archive, about, names)),
                unpacked_bytes=sum(each.file_size for each in members),
            )
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise UsageError(f"{path}: not a wheel ({error}); name a file that ends in .whl") from None


def _named_licences(fields: Message) -> tuple[str, ...]:
    """Return the licences that classifiers name, else the first line of the field License."""
    classifiers = [
        line.rpartition(" :: ")[2]
        for line in fields.get_all("Classifier") or ()
        if line.startswith("License :: OSI Approved :: ")
    ]
    text = (fields["License"] or "").strip().partition("\n")[0].strip()
    return tuple(classifiers) or ((text,) if text else ())


def _is_licence(member: str, about: str) -> bool:
    path = PurePosixPath(member)
    if path.is_absolute() or ".." in path.parts or member.endswith("/"):
        return False
    if member.startswith(f"{about}licenses/"):
        return True
    return bool(_LICENCE.fullmatch(path.name)) and path.suffix.lower() not in _CODE


def _read_components(
    archive: zipfile.ZipFile, about: str, names: Sequence[str]
) -> list[Mapping[str, Any]]:
    """Return the components of the CycloneDX files in a wheel; others are left out."""
    found: list[Mapping[str, Any]] = []
    for name in names:
        if name.startswith(f"{about}sboms/") and name.endswith(".json"):
            bill = json.loads(archive.read(name))
            if bill.get("bomFormat") == "CycloneDX":
                found += bill.get("components", [])
    return found
