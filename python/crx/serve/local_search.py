"""`POST /local/search`: a search of the command line, which is sent over a Unix socket alone."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from msgspec import Struct

from crx.errors import Incompatible, NotFound
from crx.serve.operation import Operation
from crx.serve.requests import SearchQuery
from crx.serve.service import SearchService
from crx.serve.socket_places import installation
from crx.types import Passage

LOCAL_PREFIX = "/local/"

# As it was when the server started: an upgrade changes the command's.
_INSTALLATION = installation()


class LocalQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A search of the index at a path, with the installation and the settings of the command."""

    path: str
    installation: str
    settings: dict[str, Any]
    query: SearchQuery


class LocalResults(Struct, frozen=True, kw_only=True):
    """What the command would have found itself."""

    passages: tuple[Passage, ...]
    notes: tuple[str, ...]
    timings_ms: Mapping[str, float]


def search(service: SearchService, request: LocalQuery, _: Mapping[str, str]) -> LocalResults:
    """Return the result of a search.

    Raises `NotFound` for another index, and `Incompatible` if the settings or the version of the
    command are not those of the server: the command then searches by itself.
    """
    served = next((each for each in service.served if _is_same(each.path, request.path)), None)
    if served is None:
        raise NotFound(f"{request.path[:200]}: not served here")
    index = served.get()
    if request.installation != _INSTALLATION or request.settings != asdict(index.configuration):
        raise Incompatible("the command has other settings or another version than the server")
    result = service.search_index(served, request.query)
    return LocalResults(
        passages=result.passages, notes=result.notes, timings_ms=result.timings_ms or {}
    )


def _is_same(one: os.PathLike[str], other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


OPERATION = Operation(
    method="POST",
    path=f"{LOCAL_PREFIX}search",
    summary="Search as the command line does.",
    body=LocalQuery,
    answer=LocalResults,
    run=search,
)
