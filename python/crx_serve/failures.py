"""HTTP statuses and bodies of failures, in the shape that OpenAI's clients read."""

from __future__ import annotations

import msgspec
from starlette.responses import Response

from crx.errors import (
    Busy,
    CrxError,
    IndexFailure,
    InputError,
    Interrupted,
    Locked,
    ModelError,
    NoRoom,
    NotAnIndex,
    NotFound,
    SystemFailure,
    UsageError,
)

# The first class that an exception is an instance of decides.
_STATUSES: tuple[tuple[type[Exception], int], ...] = (
    (NotFound, 404),
    (NotAnIndex, 503),
    (UsageError, 400),
    (Locked, 503),
    (InputError, 422),
    (IndexFailure, 503),
    (NoRoom, 507),
    (Busy, 429),
    (Interrupted, 504),
    (SystemFailure, 503),
    (ModelError, 502),
    (CrxError, 500),
    (msgspec.ValidationError, 422),
    (msgspec.DecodeError, 400),
    (ValueError, 400),
)
# Exceptions that an operation may raise for what a request holds or an index lacks.
EXPECTED = (CrxError, ValueError)


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Why a request failed, in one line; `type` is the name of the exception."""

    message: str
    type: str
    code: int
    param: str | None = None


class Failed(msgspec.Struct, frozen=True, kw_only=True):
    """The body of every answer that is an error."""

    error: Problem


def status_of(error: Exception) -> int:
    """Return the HTTP status of a failure."""
    return next((status for kind, status in _STATUSES if isinstance(error, kind)), 500)


def describe_failure(error: Exception) -> Failed:
    """Return the body for an exception."""
    status = status_of(error)
    message = str(error)
    if isinstance(error, msgspec.DecodeError) and not isinstance(error, msgspec.ValidationError):
        message = f"the body is not valid JSON: {message}"
    return Failed(error=Problem(message=message, type=type(error).__name__, code=status))


def failure_response(status: int, message: str, kind: str) -> Response:
    """Return an answer with a failure of this kind."""
    body = Failed(error=Problem(message=message, type=kind, code=status))
    return Response(msgspec.json.encode(body), status, media_type="application/json")


def exception_response(error: Exception) -> Response:
    """Return the answer for an exception."""
    failed = describe_failure(error)
    status = failed.error.code
    headers = {"retry-after": "5"} if status == 429 else None
    return Response(msgspec.json.encode(failed), status, headers, media_type="application/json")
