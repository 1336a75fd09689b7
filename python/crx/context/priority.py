"""Order of the documents in a run: those whose chunks gain most by a context come first."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from crx import _native

# Words at the start of a chunk that refer to something named before it.
_REFERENCE = re.compile(
    r"""\W*(?:(?:it|its|they|their|them|this|these|those|such|he|she|his|her|said|the\ (?:said|same
    |former|latter|foregoing|above)|as\ (?:above|noted|described|mentioned)|however|therefore|thus
    |moreover|otherwise|also|in\ addition|il|elle|ils|elles|ce|cette|ces|cela|celui-ci|celle-ci
    |ledit|ladite|lesdits|toutefois|cependant|er|sie|es|diese|dieser|dieses|nó|họ|điều\ này
    |những)\b|[它他她]们?|[这該该此其]|これ|それ|この|その|同)""",
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class PendingDocument:
    """A stored document, the ordinals of its chunks without a context, and its `estimate_need`."""

    row: _native.DocumentRow
    missing: tuple[int, ...]
    need: float


def estimate_need(texts: Sequence[str]) -> float:
    """Return how much the chunks of a document gain by contexts; larger is more.

    The share of chunks that open with a reference to something named before them, plus a half,
    times the logarithm of the number of chunks: in a long document more of it is out of sight.
    """
    referring = sum(bool(_REFERENCE.match(text)) for text in texts)
    return (0.5 + referring / max(1, len(texts))) * math.log2(1 + len(texts))


def group_documents(
    pending: Iterable[PendingDocument], chunks: int
) -> Iterator[list[PendingDocument]]:
    """Yield documents in groups that each lack at least `chunks` contexts; the last may lack fewer.

    A document is never split, so a group of documents may lack many more than `chunks`.
    """
    group: list[PendingDocument] = []
    lacking = 0
    for document in pending:
        group.append(document)
        lacking += len(document.missing)
        if lacking >= chunks:
            yield group
            group, lacking = [], 0
    if group:
        yield group
