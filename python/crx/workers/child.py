"""The process of a local worker: it embeds the texts that it is sent until its input ends.

It answers `open` (what to load) with `ready`, or `refused` with the reason, and each `embed` with
`embedded`, or `failed` with the reason.
"""

from __future__ import annotations

import base64
import os

from crx.errors import CrxError
from crx.ingest.embed import Situated
from crx.ingest.worker.limits import end_with_parent
from crx.process.pipe import Message, Parent
from crx.workers.embedding_worker import EmbeddingWorker, WorkerModel

_INPUT = 0


def main() -> None:
    """Serve on the standard streams."""
    end_with_parent(_INPUT)
    serve(Parent())
    os._exit(0)  # runtimes may crash while they unload, and there is nothing to save


def serve(parent: Parent) -> None:
    """Answer messages until the parent is gone."""
    opening = parent.receive()
    if opening is None:
        return
    try:
        worker = EmbeddingWorker(WorkerModel(**opening["model"]))
    except CrxError as why:
        parent.send({"op": "refused", "why": str(why)})
        return
    parent.send({"op": "ready"})
    while (message := parent.receive()) is not None:
        parent.send(_embed(worker, message))


def _embed(worker: EmbeddingWorker, message: Message) -> Message:
    texts = [Situated(before, text, tokens) for before, text, tokens in message["texts"]]
    try:
        rows, windowed = worker.embed(texts)
    except CrxError as why:
        return {"op": "failed", "why": str(why)}
    data = base64.b64encode(rows.tobytes()).decode()
    return {"op": "embedded", "rows": data, "windowed": windowed}
