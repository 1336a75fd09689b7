"""Specifications of context sources."""

from __future__ import annotations

import pytest

from crx.context_registry import ContextSpec, load_contextualizer, parse_contexts
from crx.errors import ModelError, UsageError


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("none", ContextSpec(outline=False)),
        ("outline", ContextSpec(outline=True)),
        ("contexts.jsonl", ContextSpec(outline=False, source="contexts.jsonl")),
        ("outline+contexts.jsonl", ContextSpec(outline=True, source="contexts.jsonl")),
        ("llama:model.gguf", ContextSpec(outline=True, source="llama:model.gguf")),
        ("none+llama:model.gguf", ContextSpec(outline=False, source="llama:model.gguf")),
    ],
)
def test_a_specification_names_the_outline_and_a_source(text: str, spec: ContextSpec) -> None:
    assert parse_contexts(text) == spec


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nowhere.jsonl", "no such file of contexts"),
        ("fake:sleepy=1", "no such setting"),
        ("llama:nowhere.gguf", "no such model"),
        ("llama:x.gguf:places=many", "wants int"),
    ],
)
def test_a_source_that_cannot_be_loaded_is_named(source: str, message: str) -> None:
    with pytest.raises((UsageError, ModelError), match=message):
        load_contextualizer(source)
