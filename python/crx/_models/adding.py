"""Addition of a model that anybody may have made, in a child process within limits."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from pathlib import Path

from crx._models.card import ModelCard, Precision, Provenance, read_card
from crx._models.limited_child import run_limited, serve_limited
from crx._models.source_folder import Overrides
from crx._models.store import UNFINISHED, add_model, writable_folder
from crx.workers.messages import Message


def add_foreign_model(
    source: Path,
    *,
    name: str | None = None,
    precision: Precision | None = None,
    into: Path | None = None,
    overrides: Overrides | None = None,
    accepted_licence: str | None = None,
    provenance: Provenance | None = None,
) -> ModelCard:
    """Add a model as `add_model` does, in a child process; nothing is left of one that fails.

    Raises `ModelError` besides, if the model takes more time or memory than one of its size needs,
    or crashes.
    """
    parent = writable_folder(into)
    asked: Message = {
        "op": "open",
        "source": str(source.absolute()),
        "name": name,
        "precision": precision,
        "into": str(parent.absolute()),
        "overrides": asdict(overrides) if overrides else None,
        "accepted_licence": accepted_licence,
        "provenance": asdict(provenance) if provenance else None,
    }

    def remove_left(pid: int) -> None:
        for left in parent.glob(f"{UNFINISHED}{pid}-*"):
            shutil.rmtree(left, ignore_errors=True)

    reply = run_limited(__name__, asked, source=source, done="added", at_end=remove_left)
    return read_card(parent / str(reply["name"]))


def main() -> None:
    """Add the model that the parent names, and tell it how that ended."""
    serve_limited(_add)


def _add(message: Message) -> Message:
    overrides, provenance = message["overrides"], message["provenance"]
    if overrides and overrides["languages"] is not None:
        overrides["languages"] = tuple(overrides["languages"])
    card = add_model(
        Path(message["source"]),
        name=message["name"],
        precision=message["precision"],
        into=Path(message["into"]),
        overrides=Overrides(**overrides) if overrides else None,
        accepted_licence=message["accepted_licence"],
        provenance=Provenance(**provenance) if provenance else None,
    )
    return {"name": card.name}
