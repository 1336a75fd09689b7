"""Errors of requests to model services, and the translation of SDK exceptions to them.

An exception of an SDK becomes one of three: `Again` (transient; the request is retried), `Failed`
(one chunk gets no context) or `ModelError` (the run ends, after the answers received so far).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from crx.errors import ModelError, Offline, UsageError

NO_PROTOCOL = "the answer is not what the protocol says"
BROKE_OFF = "the answer broke off"

_AGAIN = frozenset({408, 409, 429})
# As Claude, vLLM and OpenAI, llama-server, and LM Studio put it.
_TOO_LONG = ("too long", "context length", "context size", "context window")


class Again(Exception):
    """A moment's trouble. `lost`: the request may have been served, and charged."""

    def __init__(
        self, why: str, *, after_s: float = 0.0, lost: bool = False, unreachable: bool = False
    ) -> None:
        super().__init__(why)
        self.after_s = after_s
        self.lost = lost
        self.unreachable = unreachable


class Failed(Exception):
    """One chunk's trouble, as a short text. `document`: no other chunk of it would fare better."""

    def __init__(self, why: str, *, document: bool = False) -> None:
        super().__init__(why)
        self.document = document


class Exhausted(Failed):
    """The moment's trouble lasted through all tries."""


def refuse_below(least: int, given: int | None, *, what: str) -> None:
    """Raise `UsageError` where an option is given and too small."""
    if given is not None and given < least:
        raise UsageError(f"{what}={given}: too small; give {least} or more")


def refuse_bad_key(key: str, *, variable: str, service: str) -> None:
    """Raise `ModelError` for a key that no request can carry; the SDKs' own words would show it."""
    if not (key.isascii() and key.isprintable()):
        raise ModelError(
            f"{service}: {variable} holds what no key does, such as a line end; set it anew"
        )


def refuse_offline(what: str) -> None:
    """Raise `Offline` when `CRX_OFFLINE` is set."""
    if os.environ.get("CRX_OFFLINE", "0") not in ("", "0"):
        raise Offline(f"{what}: needs the network, and CRX_OFFLINE is set; unset it to go on")


@contextmanager
def translated(sdk: ModuleType, *, service: str, model: str, key: str) -> Iterator[None]:
    """Turn what the SDK raises into `Again`, `Failed` or `ModelError`."""
    try:
        yield
    except sdk.APIStatusError as error:
        raise _of_status(error, service=service, model=model, key=key) from None
    except sdk.APIConnectionError as error:
        # By name: the SDKs moved from one HTTP library to another that kept the names.
        cause = type(error.__cause__).__name__
        unreachable = cause in ("ConnectError", "ConnectTimeout", "UnsupportedProtocol")
        why = f"{service}: cannot be reached" if unreachable else BROKE_OFF
        hint = "; is it running, and is the address right?" if unreachable else ""
        raise Again(why + hint, lost=not unreachable, unreachable=unreachable) from None
    except (sdk.APIResponseValidationError, json.JSONDecodeError):
        raise Again(NO_PROTOCOL, lost=True) from None
    except sdk.APIError as error:  # told in the middle of an answer
        raise Again(_message(error), lost=True) from None
    except Exception as error:
        # Between two pieces of an answer, an SDK lets its HTTP library's own errors through.
        if not any(kind.__name__ == "TransportError" for kind in type(error).__mro__):
            raise
        raise Again(BROKE_OFF, lost=True) from None


def _of_status(error: Any, *, service: str, model: str, key: str) -> Exception:
    status, said = error.status_code, _message(error)
    if status == 200:  # told in the middle of an answer
        return Again(said, lost=True)
    if status in (401, 403):
        return ModelError(f"{service}: refuses the key ({status}: {said}); check {key}")
    if status == 402 or "credit balance is too low" in said:  # Claude says it with a 400
        return ModelError(f"{service}: refuses for want of payment ({said}); check the account")
    if status == 404:
        return ModelError(f"{service}: no model {model} (404: {said}); check the name and address")
    if status in _AGAIN or status >= 500:
        return Again(f"{status}: {said}", after_s=_retry_after_s(error))
    return Failed(f"{status}: {said}", document=status == 413 or is_too_long(said))


def is_too_long(said: str) -> bool:
    """Does a service say that a prompt is longer than what it reads at once?"""
    return any(words in said for words in _TOO_LONG)


def _message(error: Any) -> str:
    """Return what the server said, as one short line."""
    body = error.body
    inner = body.get("error", body) if isinstance(body, dict) else body
    said = inner.get("message", "") if isinstance(inner, dict) else inner
    return " ".join(str(said or error.message).split())[:200]


def _retry_after_s(error: Any) -> float:
    try:
        return float(error.response.headers.get("retry-after", 0))
    except ValueError:
        return 0.0  # a date: our own waits will do
