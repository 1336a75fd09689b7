"""Models on the Hugging Face Hub and their addresses: `hf:OWNER/NAME[@REVISION][:FILE]`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from crx.errors import UsageError

SCHEME = "hf:"

_ADDRESS = re.compile(
    r"hf:(?P<repository>[\w-][\w.-]*/[\w-][\w.-]*)(?:@(?P<revision>[^:@\s]+))?(?::(?P<file>\S+))?"
)


class HubAddress(NamedTuple):
    """A model, one of its revisions (None: the newest), and one of its files (None: found)."""

    repository: str
    revision: str | None
    file: str | None


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file on the hub: its SHA-256 if it is large, else the id of its git blob (SHA-1)."""

    name: str
    size_bytes: int
    sha256: str
    blob_id: str


@dataclass(frozen=True, slots=True)
class HubModel:
    """A model on the hub at one commit, and the files of it that crx reads.

    `cached` is its snapshot if the hub could not be reached and the cache has it; `files` is then
    empty.
    """

    address: HubAddress
    commit: str
    licence: str
    languages: tuple[str, ...]
    files: tuple[HubFile, ...]
    cached: Path | None = None

    @property
    def size_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)

    @property
    def title(self) -> str:
        """The repository and the beginning of its commit."""
        return f"{SCHEME}{self.address.repository} at {self.commit[:7]}"


def parse_hub_address(text: str) -> HubAddress:
    """Return the parts of an address; `UsageError` if it is invalid."""
    found = _ADDRESS.fullmatch(text)
    if found is None or ".." in text:
        raise UsageError(f"{text}: no address of a model; write hf:OWNER/NAME[@REVISION][:FILE]")
    return HubAddress(found["repository"], found["revision"], found["file"])
