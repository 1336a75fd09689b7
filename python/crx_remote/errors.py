"""Errors of requests to model services, and the translation of SDK exceptions to them.

An exception of an SDK becomes one of three: `TransientError` (the request is retried),
`RequestFailed` (one chunk gets no context) or `ModelError` (the run ends, after the answers
received so far).
"""

from __future__ import annotations

import json
import re
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from crx.errors import ModelError, UsageError

INVALID_RESPONSE = "the answer does not follow the protocol"
INCOMPLETE_RESPONSE = "the answer broke off"

_RETRYABLE_STATUSES = frozenset({408, 409, 429})
# The wording of Claude; vLLM and OpenAI; llama-server; LM Studio.
_TOO_LONG = ("too long", "context length", "context size", "context window")

_TAG = re.compile(r"<[^>]*>")
_PAGE = re.compile(r"\s*<(?:.*?<title>(?P<title>[^<]*))?", re.DOTALL | re.IGNORECASE)


class TransientError(Exception):
    """A failure that may pass: the request is retried.

    `after_s` is the wait that the service asked for. `lost` means that the request may have been
    served and charged. `unreachable` means that no connection was made.
    """

    def __init__(
        self, why: str, *, after_s: float = 0.0, lost: bool = False, unreachable: bool = False
    ) -> None:
        super().__init__(why)
        self.after_s = after_s
        self.lost = lost
        self.unreachable = unreachable


class RequestFailed(Exception):
    """A permanent failure of one chunk. `document`: every chunk of the document would fail."""

    def __init__(self, why: str, *, document: bool = False) -> None:
        super().__init__(why)
        self.document = document


class RetriesExhausted(RequestFailed):
    """A transient error that persisted through all retries."""


def refuse_below(least: int, given: int | None, *, what: str) -> None:
    """Raise `UsageError` if an option is given and smaller than `least`."""
    if given is not None and given < least:
        raise UsageError(f"{what}={given}: too small; give {least} or more")


def refuse_bad_key(key: str, *, variable: str, service: str) -> None:
    """Raise `ModelError` for a key that no HTTP header can carry, without showing the key."""
    if not (key.isascii() and key.isprintable()):
        raise ModelError(
            f"{service}: {variable} is not a valid key: it contains a line end or a character "
            f"outside ASCII; set it again"
        )


@contextmanager
def translate_errors(sdk: ModuleType, *, service: str, model: str, key: str) -> Iterator[None]:
    """Raise the SDK's exceptions as `TransientError`, `RequestFailed` or `ModelError`."""
    try:
        yield
    except sdk.APIStatusError as error:
        raise _from_status(error, service=service, model=model, key=key) from None
    except sdk.APIConnectionError as error:
        if tls := _tls_error(error):
            raise ModelError(f"{service}: TLS fails ({tls}); check the address") from None
        # By name: the SDKs moved from one HTTP library to another that kept the names.
        cause = type(error.__cause__).__name__
        unreachable = cause in ("ConnectError", "ConnectTimeout", "UnsupportedProtocol")
        why = f"{service}: cannot be reached" if unreachable else INCOMPLETE_RESPONSE
        hint = "; check that it is running and that the address is right" if unreachable else ""
        raise TransientError(why + hint, lost=not unreachable, unreachable=unreachable) from None
    except (sdk.APIResponseValidationError, json.JSONDecodeError):
        raise TransientError(INVALID_RESPONSE, lost=True) from None
    except sdk.APIError as error:  # an error event within a stream
        raise TransientError(_message(error), lost=True) from None
    except Exception as error:
        # While a stream is read, an SDK lets exceptions of its HTTP library through.
        if not any(kind.__name__ == "TransportError" for kind in type(error).__mro__):
            raise
        raise TransientError(INCOMPLETE_RESPONSE, lost=True) from None


def _tls_error(error: BaseException | None) -> str:
    """Return why no TLS connection was made, if that is the cause of an error, else ""."""
    while error is not None and not isinstance(error, ssl.SSLError):
        error = error.__cause__ or error.__context__
    if error is None or isinstance(error, ssl.SSLEOFError):  # the connection was cut
        return ""
    return str(getattr(error, "verify_message", "") or error.reason or error).lower()


def _from_status(error: Any, *, service: str, model: str, key: str) -> Exception:
    status, message = error.status_code, _message(error)
    if status == 200:  # an error event within a stream
        return TransientError(message, lost=True)
    if status in (401, 403):
        return ModelError(f"{service}: refuses the key ({status}: {message}); check {key}")
    # Claude reports an empty account with status 400.
    if status == 402 or "credit balance is too low" in message:
        return ModelError(f"{service}: refuses for want of payment ({message}); check the account")
    if status == 404:
        return ModelError(
            f"{service}: no model {model} (404: {message}); check the name and address"
        )
    if status in _RETRYABLE_STATUSES or status >= 500:
        return TransientError(f"{status}: {message}", after_s=_retry_after_s(error))
    return RequestFailed(f"{status}: {message}", document=status == 413 or is_too_long(message))


def is_too_long(message: str) -> bool:
    """Return True if an error message means that the prompt exceeds the model's token limit."""
    return any(words in message for words in _TOO_LONG)


def _message(error: Any) -> str:
    """Return the service's error message on one line of at most 200 characters."""
    body = error.body
    inner = body.get("error", body) if isinstance(body, dict) else body
    message = inner.get("message", "") if isinstance(inner, dict) else inner
    text = str(message or error.message)
    if page := _PAGE.match(text):  # of a proxy before the service
        text = page["title"] or _TAG.sub(" ", text)
    return " ".join(text.split()).removeprefix(f"{getattr(error, 'status_code', '')} ")[:200]


def _retry_after_s(error: Any) -> float:
    try:
        return float(error.response.headers.get("retry-after", 0))
    except ValueError:
        return 0.0  # an HTTP date; the retry policy's own delay applies
