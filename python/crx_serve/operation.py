"""The description of an operation: what it takes, what it returns and which path it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from crx_serve.service import SearchService


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A request that is answered with JSON.

    `body` is the Struct of the body of a POST, or of the query of a GET together with the
    parameters of the path. `run` gets the request and the parameters of the path.
    """

    method: Literal["GET", "POST"]
    path: str
    summary: str
    body: type[msgspec.Struct]
    answer: Any
    run: Callable[[SearchService, Any, Mapping[str, str]], object]
