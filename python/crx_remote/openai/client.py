"""The chat completions API of one server: its address, its key, and its SDK."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from crx._services.destination import Destination
from crx.config import refuse_offline
from crx.errors import ModelError, UsageError
from crx_remote.errors import refuse_bad_key, translate_errors

# The variable of each service's key: a key is sent to its own service and nowhere else.
_KEYS = {
    "api.cohere.com": "COHERE_API_KEY",
    "api.deepseek.com": "DEEPSEEK_API_KEY",
    "api.jina.ai": "JINA_API_KEY",
    "api.openai.com": "OPENAI_API_KEY",
}
_OTHER_KEY = "CRX_OPENAI_API_KEY"


class OpenAIClient:
    """The model of `URL#MODEL`; `scheme` is the word before it in a specification.

    Raises `Offline`, `UsageError` for a malformed address, and `ModelError` if the SDK is missing
    or the key is not valid.
    """

    def __init__(
        self, address: str, *, timeout_s: float, key: str | None = None, scheme: str = "openai"
    ) -> None:
        refuse_offline(f"{scheme}:{address}")
        url, host, self.model = _parse(address, scheme)
        self.name = f"{scheme}:{url}"
        self.destination = Destination(host)
        self._sdk = _load_sdk()
        self._key_name = _KEYS.get(host, _OTHER_KEY)
        # The SDK requires a key even if the server needs none.
        key = key or os.environ.get(self._key_name) or "none"
        refuse_bad_key(key, variable=self._key_name, service=self.name)
        self._client_options: dict[str, Any] = {
            "api_key": key,
            "base_url": url,
            "timeout": timeout_s,
            "max_retries": 0,
        }

    def client(self) -> Any:
        """Return a new client, for use in `async with`."""
        return self._sdk.AsyncOpenAI(**self._client_options)

    def translate_errors(self) -> AbstractContextManager[None]:
        """Raise the SDK's exceptions as those of `crx_remote.errors`."""
        return translate_errors(self._sdk, service=self.name, model=self.model, key=self._key_name)

    def parameters(self, max_tokens: int) -> dict[str, Any]:
        """Return the parameters of greedy decoding up to `max_tokens`.

        The vendor's own models accept no temperature, and the limit by another name.
        """
        if self.destination.host == "api.openai.com":
            return {"max_completion_tokens": max_tokens}
        return {"max_tokens": max_tokens, "temperature": 0}


def _parse(address: str, scheme: str) -> tuple[str, str, str]:
    """Return the URL, its host and the model; raise `UsageError` if one is missing."""
    url, _, model = address.partition("#")
    try:
        parts = urlsplit(url)
        host = (parts.scheme in ("http", "https") and parts.port != 0 and parts.hostname) or ""
    except ValueError:
        host = ""
    if not host:
        raise UsageError(
            f"{scheme}:{address}: not an address; write it like http://127.0.0.1:8080/v1#MODEL"
        )
    if not model:
        raise UsageError(
            f"{scheme}:{address}: names no model; write it like http://127.0.0.1:8080/v1#MODEL"
        )
    return url.rstrip("/"), host, model


def _load_sdk() -> ModuleType:
    try:
        # Imported here: the SDK is an extra.
        import openai
    except ImportError:
        raise ModelError('openai: the SDK is not installed; pip install "crx[openai]"') from None
    return openai
