"""First load of a model from elsewhere, in a child process within limits.

Whoever made it may have made its graph to crash, to take all memory or never to end. One that was
loaded and has run is loaded in the process of crx from then on.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from crx._models.card import ModelCard
from crx._models.store import is_part_of_installation
from crx._models.tried import is_tried, record_tried
from crx.protocols import Embedder
from crx.workers.messages import Message

_TEXT = "a line of text"


def require_tried(folder: Path, card: ModelCard, *, backend: str) -> None:
    """Load a model in a child process, unless it was made or tried by it on this machine.

    `backend` is the module whose `open_model` loads it. Raises `ModelError` if it cannot be loaded,
    takes more time or memory than a model of its size needs, or crashes.
    """
    if is_part_of_installation(folder) or is_tried(card, backend=backend):
        return
    from crx._models.limited_child import run_limited  # not imported for a search

    asked: Message = {"op": "open", "folder": str(folder.absolute()), "backend": backend}
    run_limited(__name__, asked, source=folder, done="loaded")
    record_tried(card, backend=backend)


def main() -> None:
    """Load the model that the parent names, and tell it how that ended."""
    from crx._models.limited_child import serve_limited  # in the child alone

    serve_limited(_load)


def _load(message: Message) -> Message:
    model = import_module(message["backend"]).open_model(Path(message["folder"]))
    # A graph may do with a long text what it does not with a short one.
    texts = [_TEXT, f"{_TEXT} " * 1000]
    if isinstance(model, Embedder):
        model.embed(texts)
        model.embed([_TEXT], query=True)
    else:
        model.score(_TEXT, texts)
    return {}
