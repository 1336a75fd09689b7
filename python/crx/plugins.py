"""Loading of the code that other distributions add by entry points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crx.errors import ModelError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

# Modules by their former names, and their names today.
MOVED = {
    "crx.backends.process": "crx.backends.model_process",
    "crx.context.chunk_requests": "crx.context.remote_requests",
    "crx.context.generic_words": "crx.context.vocabulary",
    "crx.context.licence_header": "crx.context.outline",
    "crx.context.line_counts": "crx.context.chunk_groups",
    "crx.context.opening": "crx.context.excerpts",
    "crx.context.ordering": "crx.context.chunk_prompt",
    "crx.context.phrases": "crx.context.validate",
    "crx.context.priority": "crx.context.documents",
    "crx.context.repetition": "crx.context.validate",
    "crx.context.salvage": "crx.context.archive",
    "crx.context.text_window": "crx.context.remote_requests",
    "crx.context.trial": "crx.context.estimate",
    "crx.context.units": "crx.context.vocabulary",
    "crx.context.window_prompt": "crx.context.chunk_groups",
    "crx.context.window_requests": "crx.context.remote_requests",
    "crx.context.windows": "crx.context.chunk_groups",
    "crx.ingest.compressed": "crx.ingest.read",
    "crx.ingest.readers.archive": "crx.ingest.readers.xml_package",
    "crx.ingest.readers.code_queries": "crx.ingest.readers.code",
    "crx.ingest.readers.encoding": "crx.ingest.readers.decode",
    "crx.ingest.readers.numbering": "crx.ingest.readers.headings",
    "crx.ingest.readers.ooxml": "crx.ingest.readers.xml_package",
    "crx.ingest.readers.pdf_title": "crx.ingest.readers.pdf",
    "crx.ingest.readers.sections": "crx.ingest.readers.headings",
    "crx.ingest.readers.tables": "crx.ingest.readers.text_builder",
    "crx.ingest.readers.typography": "crx.ingest.readers.headings",
    "crx.ingest.readers.xml_walk": "crx.ingest.readers.xml_package",
    "crx.ingest.skipped": "crx.ingest.roots",
    "crx.process": "crx.workers",
    "crx.remote.answer_request": "crx.remote.completion",
    "crx.workers.context_job": "crx.jobs.contexts",
    "crx.workers.context_workers": "crx.jobs.contexts",
    "crx.workers.embedding_job": "crx.jobs.embedding",
    "crx.workers.embedding_workers": "crx.jobs.embedding",
}


def load_plugin(plugin: EntryPoint) -> Any:
    """Import what an entry point names; `ModelError` if it imports a module that has moved."""
    try:
        return plugin.load()
    except ModuleNotFoundError as error:
        if error.name not in MOVED:
            raise
        raise ModelError(
            f'plugin "{plugin.name}" imports {error.name}, which is now {MOVED[error.name]}'
        ) from None
