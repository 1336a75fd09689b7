"""Embedders, contexts and answers of Ollama: `ollama:NAME`.

Ollama speaks the APIs of OpenAI, which crx uses through that backend; its own API says which models
it has and what they can do. The server is that of `OLLAMA_HOST`, by default 127.0.0.1:11434.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from crx._backends.options import split_options
from crx._models.elsewhere import OtherModel
from crx._services.prompt import Prompt
from crx.config import refuse_offline
from crx.errors import ModelError, Unavailable, UsageError
from crx_remote.openai import contextualizer, embedder, generator
from crx_remote.remote_contextualizer import RemoteContextualizer

_PORT = 11434
_TIMEOUT_S = 5.0
_MAX_ANSWER_BYTES = 1 << 24
# Of the context length that Ollama gives a model by default: the least of its defaults. Longer
# prompts are cut off without an error, so none is sent.
_DEFAULT_WINDOW = 4096
_WINDOW = re.compile(r"^num_ctx\s+(\d+)", re.MULTILINE)
# Models that want a prefix before a query and before a passage, by the beginning of their names.
_PREFIXES = {"nomic-embed-text": "nomic"}

# Of the title of a licence, which is shown in a table.
_LICENCE_CHARS = 40

_EMBEDDING, _COMPLETION = "embedding", "completion"
_PURPOSES = {_EMBEDDING: "embedder", _COMPLETION: "generator"}


@dataclass(frozen=True, slots=True)
class OllamaModel:
    """A model's name on a server, and the options of its specification as they were written."""

    url: str
    name: str
    options: Mapping[str, str]

    @property
    def title(self) -> str:
        """What an error begins with; a server alone has no name of a model."""
        return f"ollama:{self.name}" if self.name else "ollama"

    def specification(self, **defaults: str) -> str:
        """Return the model as `URL#MODEL:OPTIONS` of the backend of the OpenAI APIs."""
        options = {**defaults, **self.options}
        written = ",".join(f"{name}={value}" for name, value in options.items())
        address = f"{self.url}/v1#{self.name}"
        return f"{address}:{written}" if written else address


def list_models() -> list[OtherModel]:
    """Return the models of the server of `OLLAMA_HOST`, by name.

    Raises `Unavailable` if it cannot be reached, `ModelError` if what answers is not Ollama.
    """
    server = OllamaModel(server_url(os.environ.get("OLLAMA_HOST", "")), "", {})
    return [_describe(server, entry) for entry in _list(server)]


def _describe(server: OllamaModel, entry: Mapping[str, Any]) -> OtherModel:
    shown = _ask(server, "/api/show", {"model": entry["name"]})
    capabilities = shown.get("capabilities")
    named = capabilities if isinstance(capabilities, list) else []
    kind = next((kind for purpose, kind in _PURPOSES.items() if purpose in named), "")
    # The text of the licence, of which the first line is the title.
    lines = str(shown.get("license") or "").strip().splitlines()
    size = entry.get("size")
    licence = " ".join(lines[0].split())[:_LICENCE_CHARS] if lines else ""
    name = f"ollama:{entry['name'].removesuffix(':latest')}"
    return OtherModel(name, kind, size if isinstance(size, int) else 0, licence, (), name)


def load_embedder(rest: str) -> embedder.OpenAIEmbedder:
    """Return the embedder of `ollama:REST`.

    Raises `Unavailable` if the server is down, upon which a search goes on with BM25, and
    `ModelError` if the server does not have the model, or it is no embedder.
    """
    model = _parse(rest, known=embedder.OPTIONS.keys())
    _require_model(model, purpose=_EMBEDDING)
    beginnings = (value for name, value in _PREFIXES.items() if model.name.startswith(name))
    prefixes = next(beginnings, None)
    defaults = {} if prefixes is None else {"prefixes": prefixes}
    return embedder.load_embedder(model.specification(**defaults), scheme="ollama")


def load_generator(rest: str) -> generator.OpenAIGenerator:
    """Return the generator of `ollama:REST`; `ModelError` if the server does not have it."""
    model = _parse(rest, known=generator.OPTIONS.keys())
    _require_model(model, purpose=_COMPLETION)
    return generator.load_generator(model.specification(), scheme="ollama")


def load_contextualizer(
    rest: str, *, prompt: Prompt | None, cap_dollars: float
) -> RemoteContextualizer[contextualizer.OpenAIContexts]:
    """Return the contextualizer of `ollama:REST`; `ModelError` if the server does not have it.

    The option `window` is the context length that the server gives the model, by default the
    model's `num_ctx`, else 4,096 tokens. Longer documents are sent in excerpts.
    """
    model = _parse(rest, known=contextualizer.OPTIONS.keys())
    shown = _require_model(model, purpose=_COMPLETION)
    found = _WINDOW.search(str(shown.get("parameters", "")))
    window = found.group(1) if found else str(_DEFAULT_WINDOW)
    return contextualizer.load_contextualizer(
        model.specification(window=window),
        prompt=prompt,
        cap_dollars=cap_dollars,
        scheme="ollama",
    )


def server_url(host: str) -> str:
    """Return the address of a server, given `OLLAMA_HOST` in one of the forms that Ollama reads."""
    scheme, separator, rest = host.strip().strip("\"'").rpartition("://")
    address = rest.rstrip("/")
    name, colon, port = address.rpartition(":")
    if not colon or "]" in port:
        name, port = address, "" if separator else str(_PORT)
    # What a server listens on is no address to connect to.
    name = "127.0.0.1" if name in ("", "0.0.0.0", "[::]") else name
    return f"{scheme or 'http'}://{name}" + (f":{port}" if port else "")


def _parse(rest: str, *, known: Any) -> OllamaModel:
    name, options = split_options(rest, known=set(known))
    url, hash_sign, named = name.partition("#")
    if not hash_sign:
        url, named = server_url(os.environ.get("OLLAMA_HOST", "")), name
    if not named:
        raise UsageError(
            f"ollama:{rest}: names no model; write ollama:NAME, or ollama:http://HOST:11434#NAME"
        )
    refuse_offline(f"ollama:{named}")
    return OllamaModel(url.rstrip("/").removesuffix("/v1"), named, options)


def _require_model(model: OllamaModel, *, purpose: str) -> Mapping[str, Any]:
    """Return what the server shows of a model.

    Raises `Unavailable` if the server is down, `ModelError` if it does not have the model, with
    those that it has, or if the model is for another purpose.
    """
    names = [str(each["name"]) for each in _list(model)]
    if model.name not in names and f"{model.name}:latest" not in names:
        there = ", ".join(name.removesuffix(":latest") for name in names) or "none"
        raise ModelError(
            f"ollama:{model.name}: no such model on {model.url}; there: {there}; "
            f"get it with ollama pull {model.name}"
        )
    shown = _ask(model, "/api/show", {"model": model.name})
    capabilities = shown.get("capabilities")
    # Servers before 0.6.4 list none.
    if isinstance(capabilities, list) and capabilities and purpose not in capabilities:
        raise ModelError(
            f"ollama:{model.name}: no {_PURPOSES[purpose]}; it is for {', '.join(capabilities)}"
        )
    return shown


def _list(model: OllamaModel) -> list[dict[str, Any]]:
    """Return what the server lists of its models, by name."""
    listed = _ask(model, "/api/tags", None).get("models")
    if not isinstance(listed, list):
        raise _no_ollama(model)
    entries = [each for each in listed if isinstance(each, dict) and each.get("name")]
    return sorted(
        ({**each, "name": str(each["name"])} for each in entries), key=lambda e: e["name"]
    )


def _ask(model: OllamaModel, path: str, body: Mapping[str, str] | None) -> dict[str, Any]:
    """Return the JSON object that the server answers with.

    Raises `Unavailable` if it cannot be reached, `ModelError` if what answers is not Ollama.
    """
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(
        model.url + path, data=data, headers={"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
            value = json.loads(answer.read(_MAX_ANSWER_BYTES))
    except urllib.error.HTTPError as error:
        if error.code >= 500:
            raise Unavailable(
                f"{model.title}: {model.url} answers with status {error.code}; try again later"
            ) from error
        raise _no_ollama(model) from error
    except OSError as error:
        reason = getattr(error, "reason", error)
        why = str(getattr(reason, "strerror", None) or reason).lower()
        raise Unavailable(
            f"{model.title}: {model.url} cannot be reached ({why}); "
            "start it with ollama serve, or set OLLAMA_HOST"
        ) from error
    except (ValueError, http.client.HTTPException) as error:
        raise _no_ollama(model) from error
    if not isinstance(value, dict):
        raise _no_ollama(model)
    return value


def _no_ollama(model: OllamaModel) -> ModelError:
    return ModelError(
        f"{model.title}: what answers at {model.url} is not Ollama; "
        "set OLLAMA_HOST, or use openai:URL#MODEL for another server"
    )
