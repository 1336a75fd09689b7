"""The Messages API: the vendor's SDK, the key, and the translation of the SDK's errors."""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any

from crx._services.destination import Destination
from crx.config import refuse_offline
from crx.errors import ModelError
from crx_remote.errors import refuse_bad_key, translate_errors

_KEY = "ANTHROPIC_API_KEY"


class ClaudeClient:
    """A model on the Messages API.

    Raises `Offline`, and `ModelError` if the SDK or the key is missing.
    """

    def __init__(
        self, model: str, *, timeout_s: float, key: str | None = None, url: str | None = None
    ) -> None:
        self.name = f"claude:{model}"
        refuse_offline(self.name)
        self._model = model
        self._sdk = _load_sdk()
        self._client_options: dict[str, Any] = {
            "api_key": key,
            "base_url": url,
            "timeout": timeout_s,
            # Retries are made and paid for by the caller's retry policy.
            "max_retries": 0,
        }
        client = self._checked_client()
        self.destination = Destination(str(client.base_url.host))

    def client(self) -> Any:
        """Return a new client, for use in `async with`."""
        return self._sdk.AsyncAnthropic(**self._client_options)

    @property
    def not_found_error(self) -> type[Exception]:
        """The SDK's exception for an object that the service does not have."""
        not_found: type[Exception] = self._sdk.NotFoundError
        return not_found

    def translate_errors(self) -> AbstractContextManager[None]:
        """Raise the SDK's exceptions as those of `crx_remote.errors`."""
        return translate_errors(self._sdk, service=self.name, model=self._model, key=_KEY)

    def _checked_client(self) -> Any:
        try:
            client = self.client()
        except self._sdk.AnthropicError as error:
            raise ModelError(f"claude: {error}") from None
        if not (client.api_key or client.auth_token or getattr(client, "credentials", None)):
            raise ModelError(f"claude: no key; set {_KEY}")
        refuse_bad_key(client.api_key or "", variable=_KEY, service=self.name)
        return client


def _load_sdk() -> ModuleType:
    try:
        # Imported here: the SDK is an extra.
        import anthropic
    except ImportError:
        raise ModelError('claude: the SDK is not installed; pip install "crx[claude]"') from None
    return anthropic
