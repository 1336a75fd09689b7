"""Contextual retrieval over your own documents, on your own machine.

>>> import crx
>>> index = crx.open("notes.crx")
>>> index.add("docs/")
>>> for passage in index.search("how is revenue recognised?"):
...     print(passage.uri, passage.text)

Names are imported on first access, so that `import crx` is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crx._index.handle import Index, open
    from crx._index.reader import IndexReader, open_reader
    from crx.errors import (
        CrxError,
        Damaged,
        Incompatible,
        IndexFailure,
        InputError,
        Locked,
        ModelError,
        NoRoom,
        NotAnIndex,
        SystemFailure,
        UsageError,
    )
    from crx.ingest.report import Failure, Progress, Report
    from crx.types import (
        Anchor,
        Answer,
        Chunk,
        Citation,
        Context,
        Document,
        Hit,
        Mark,
        Passage,
        Result,
        Stage,
        Status,
    )

__all__ = [
    "Anchor",
    "Answer",
    "Chunk",
    "Citation",
    "Context",
    "CrxError",
    "Damaged",
    "Document",
    "Failure",
    "Hit",
    "Incompatible",
    "Index",
    "IndexFailure",
    "IndexReader",
    "InputError",
    "Locked",
    "Mark",
    "ModelError",
    "NoRoom",
    "NotAnIndex",
    "Passage",
    "Progress",
    "Report",
    "Result",
    "Stage",
    "Status",
    "SystemFailure",
    "UsageError",
    "open",
    "open_reader",
]

# Names by module. All other names are in `errors`.
_MODULE_NAMES = {
    "ingest.report": "Failure Progress Report",
    "_index.handle": "Index open",
    "_index.reader": "IndexReader open_reader",
    "types": "Anchor Answer Chunk Citation Context Document Hit Mark Passage Result Stage Status",
}
_MODULE_OF = {name: module for module, names in _MODULE_NAMES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name == "__version__":
        return import_module("importlib.metadata").version("crx")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"crx.{_MODULE_OF.get(name, 'errors')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
