"""A server that speaks the chat completions API: its address, its key, what its failures mean."""

from __future__ import annotations

import os
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from crx.config import refuse_offline
from crx.errors import ModelError, UsageError
from crx.remote.errors import refuse_bad_key, translate_errors

# Whose key goes to which host: a key is sent to its own service and nowhere else.
_KEYS = {"api.openai.com": "OPENAI_API_KEY", "api.deepseek.com": "DEEPSEEK_API_KEY"}
_OWN_KEY = "CRX_OPENAI_API_KEY"


class OpenAIClient:
    """The model of `URL#MODEL`.

    Raises `Offline`, `UsageError` for a bad address, and `ModelError` where the SDK is missing or
    the key is none.
    """

    def __init__(self, address: str, *, timeout_s: float, key: str | None = None) -> None:
        refuse_offline(f"openai:{address}")
        url, self._host, self.model = _parsed(address)
        self.name = f"openai:{url}"
        self._sdk = _sdk()
        self._key_name = _KEYS.get(self._host, _OWN_KEY)
        # The SDK wants a key even where the server does not.
        key = key or os.environ.get(self._key_name) or "none"
        refuse_bad_key(key, variable=self._key_name, service=self.name)
        self._client_options: dict[str, Any] = {
            "api_key": key,
            "base_url": url,
            "timeout": timeout_s,
            "max_retries": 0,
        }

    def client(self) -> Any:
        """Return a client, to be used in `async with`."""
        return self._sdk.AsyncOpenAI(**self._client_options)

    def translate_errors(self) -> Any:
        """Turn what the SDK raises within into what `crx.remote.stream` knows."""
        return translate_errors(self._sdk, service=self.name, model=self.model, key=self._key_name)

    def parameters(self, max_tokens: int) -> dict[str, Any]:
        """Greedy, and no longer than that. The vendor's own models take neither by these names."""
        if self._host == "api.openai.com":
            return {"max_completion_tokens": max_tokens}
        return {"max_tokens": max_tokens, "temperature": 0}


def _parsed(address: str) -> tuple[str, str, str]:
    """Return the URL, its host and the model; `UsageError` where one is missing."""
    url, _, model = address.partition("#")
    try:
        parts = urlsplit(url)
        host = (parts.scheme in ("http", "https") and parts.port != 0 and parts.hostname) or ""
    except ValueError:
        host = ""
    if not host:
        raise UsageError(
            f"openai:{address}: not an address; write it like http://127.0.0.1:8080/v1#MODEL"
        )
    if not model:
        raise UsageError(
            f"openai:{address}: names no model; write it like http://127.0.0.1:8080/v1#MODEL"
        )
    return url.rstrip("/"), host, model


def _sdk() -> ModuleType:
    try:
        import openai
    except ImportError:
        raise ModelError('openai: the SDK is not installed; pip install "crx[openai]"') from None
    return openai
