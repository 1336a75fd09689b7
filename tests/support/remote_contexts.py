"""Contextualizers of services, from the options of their clients and their own in one call."""

from __future__ import annotations

from typing import Any

from crx_remote.claude.contextualizer import Claude, ClaudeContexts
from crx_remote.openai.contextualizer import OpenAIContexts
from crx_remote.remote_contextualizer import RemoteContextualizer

_OWN = ("width", "form", "cap_dollars", "retry_policy", "poll_s")


def make_claude(model: str, **options: Any) -> Claude:
    """Return a contextualizer of a model on the Messages API."""
    own = {name: options.pop(name) for name in _OWN if name in options}
    return Claude(ClaudeContexts(model, **options), **own)


def make_openai(address: str, **options: Any) -> RemoteContextualizer[OpenAIContexts]:
    """Return a contextualizer of a server with the chat completions API."""
    own = {name: options.pop(name) for name in _OWN if name in options}
    return RemoteContextualizer(OpenAIContexts(address, **options), **{"width": 4} | own)
