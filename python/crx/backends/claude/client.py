"""The Messages API: the vendor's SDK, the key, and what its failures mean."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from crx.config import refuse_offline
from crx.errors import ModelError
from crx.remote.errors import refuse_bad_key, translate_errors

_KEY = "ANTHROPIC_API_KEY"


class ClaudeClient:
    """A model on the Messages API. Raises `Offline`, `ModelError` without the SDK or a key."""

    def __init__(
        self, model: str, *, timeout_s: float, key: str | None = None, url: str | None = None
    ) -> None:
        self.name = f"claude:{model}"
        refuse_offline(self.name)
        self._model = model
        self._sdk = _sdk()
        self._client_options: dict[str, Any] = {
            "api_key": key,
            "base_url": url,
            "timeout": timeout_s,
            # Tries are counted and paid for here, so they are made here.
            "max_retries": 0,
        }
        self._check_key()

    def client(self) -> Any:
        """Return a client, to be used in `async with`."""
        return self._sdk.AsyncAnthropic(**self._client_options)

    @property
    def unknown(self) -> type[Exception]:
        """What the SDK raises for what the service does not have."""
        missing: type[Exception] = self._sdk.NotFoundError
        return missing

    def translate_errors(self) -> Any:
        """Turn what the SDK raises within into what `crx.remote.stream` knows."""
        return translate_errors(self._sdk, service=self.name, model=self._model, key=_KEY)

    def _check_key(self) -> None:
        try:
            client = self.client()
        except self._sdk.AnthropicError as error:
            raise ModelError(f"claude: {error}") from None
        if not (client.api_key or client.auth_token or getattr(client, "credentials", None)):
            raise ModelError(f"claude: no key; set {_KEY}")
        refuse_bad_key(client.api_key or "", variable=_KEY, service=self.name)


def _sdk() -> ModuleType:
    try:
        import anthropic
    except ImportError:
        raise ModelError('claude: the SDK is not installed; pip install "crx[claude]"') from None
    return anthropic
