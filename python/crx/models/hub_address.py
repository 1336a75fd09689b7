"""Addresses of models on the Hugging Face Hub: `hf:OWNER/NAME[@REVISION][:FILE]`."""

from __future__ import annotations

import re
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


def parse_hub_address(text: str) -> HubAddress:
    """Return the parts of an address; `UsageError` if it is invalid."""
    found = _ADDRESS.fullmatch(text)
    if found is None or ".." in text:
        raise UsageError(f"{text}: no address of a model; write hf:OWNER/NAME[@REVISION][:FILE]")
    return HubAddress(found["repository"], found["revision"], found["file"])
