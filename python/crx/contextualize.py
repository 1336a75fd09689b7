"""The step that situates chunks: what a spec names, and the text that the legs then read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from crx import _native
from crx.errors import UsageError
from crx.protocols import Contextualizer
from crx.types import Chunk, Document


@dataclass(frozen=True, slots=True)
class Rungs:
    """The rungs of the context ladder that a build climbs: the outline, a contextualizer, both."""

    outline: bool
    contextualizer: Contextualizer | None = None


def parse_rungs(spec: str) -> Rungs:
    """Return the rungs of `none`, `outline`, `SOURCE` or `outline+SOURCE`.

    A source is the path of a contexts file (JSON lines).
    """
    if spec == "none":
        return Rungs(outline=False)
    if spec == "outline":
        return Rungs(outline=True)
    source = spec.removeprefix("outline+")
    return Rungs(outline=source != spec, contextualizer=load_contextualizer(source))


def load_contextualizer(source: str) -> Contextualizer:
    """Return the contextualizer that a source names; raises `UsageError`."""
    path = Path(source)
    if not path.is_file():
        raise UsageError(f"{source}: no such contexts file; want none, outline, FILE, outline+FILE")
    from crx.backends.file import FileContexts

    return FileContexts(path)


def context_keys(
    document: Document, chunks: Sequence[Chunk], contextualizer: Contextualizer
) -> list[bytes]:
    """Return the keys under which contexts are kept: by content, so a moved file pays once."""
    maker = contextualizer.fingerprint.encode()
    text = _native.digest(document.text.encode())
    return [
        _native.digest(maker, text, c.start.to_bytes(8, "little"), c.end.to_bytes(8, "little"))
        for c in chunks
    ]


def embedder_reads(outline: str, context: str) -> str:
    """Return what the embedder reads in front of a chunk: the outline's first line, the context.

    The first line names the document and the place in it. The terms on the second are for BM25:
    they would crowd the embedder's window, and move with every edit of the document.
    """
    head = outline.partition("\n")[0]
    return "\n".join(part for part in (head, context) if part)
