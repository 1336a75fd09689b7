"""Contextual retrieval over your own documents, on your own machine.

>>> import crx
>>> index = crx.open("notes.crx")
>>> index.add("docs/")
>>> for passage in index.search("how is revenue recognised?"):
...     print(passage.uri, passage.text)
"""

from crx.build import Failure, Progress, Report
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
from crx.index import Index, Status, open
from crx.search import Result
from crx.types import Chunk, Context, Document, Hit, Mark, Passage, Stage

__all__ = [
    "Chunk",
    "Context",
    "CrxError",
    "Damaged",
    "Document",
    "Failure",
    "Hit",
    "Incompatible",
    "Index",
    "IndexFailure",
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
]
