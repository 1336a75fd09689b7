"""Contextualizers, and the sources of contexts of an index, by their specifications.

`crx.registry` tells the form of specifications. The contexts of an index are specified as `none`,
`outline`, `SOURCE`, `outline+SOURCE` or `none+SOURCE`. `SOURCE` alone means `none+SOURCE` for a
file of contexts, so that its contexts are measured without the outline, and `outline+SOURCE` for a
model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from crx import _context, _services
from crx._context.cache import Refresh
from crx._context.sources import ContextRouter, ContextSources
from crx.errors import UsageError
from crx.plugins import SHIPPED, find_plugins, load_plugin, load_shipped, require_protocol
from crx.protocols import Contextualizer, Promptable
from crx.registry import embedder_acts

if TYPE_CHECKING:
    from crx._context.records import FileContexts
    from crx._services.prompt import Prompt

# Those that take a prompt and a cap.
_OWN = frozenset(SHIPPED["crx.contextualizers"])


class ContextSpec(NamedTuple):
    """A parsed context specification: whether the outline is included, and a source or ""."""

    outline: bool
    source: str = ""

    @property
    def is_file(self) -> bool:
        """Whether the source is a file of contexts, so that no model is run."""
        return bool(self.source) and is_context_file(self.source)


def load_contextualizer(
    source: str, *, prompt: Prompt | None = None, cap_dollars: float = math.inf
) -> Contextualizer:
    """Return the contextualizer that a source names.

    Raises `UsageError` for an unknown source and for a prompt or a spending cap that the source
    does not support, `ModelError` if its model, package or key is missing, and `Offline`.
    """
    name, _, rest = source.partition(":")
    if name in _OWN and not is_context_file(source):
        load = load_shipped("crx.contextualizers", name)
        loaded = load(rest, prompt=prompt, cap_dollars=cap_dollars)
        return require_protocol(loaded, Contextualizer, name)
    if prompt is not None:
        raise UsageError(f"{source}: takes no prompt; leave out --prompt and --glossary")
    if cap_dollars < math.inf:
        raise UsageError(f"{source}: costs no dollars; give the budget as a time, such as 20m")
    if is_context_file(source):
        return _file(source)
    plugin = load_plugin(find_plugins("crx.contextualizers")[name])
    return require_protocol(plugin(rest), Contextualizer, name)


def load_router(
    source: str | Contextualizer,
    *,
    refresh: Refresh = "section",
    prompt: Prompt | None = None,
    templates: Mapping[str, str] = MappingProxyType({}),
    cap_dollars: float = math.inf,
) -> ContextRouter:
    """Return the router that selects the contextualizer of each folder.

    `source` is a specification or a contextualizer. `templates` are prompt files by folder; each
    gets the glossary of `prompt`. They are ignored for a file of contexts. Raises what
    `load_contextualizer` raises, and `UsageError` for an invalid template, for templates that the
    source does not support, and for a prompt or a cap if `source` is a contextualizer, which has
    its own.
    """
    prompts = read_prompts(prompt, templates=templates)
    if isinstance(source, str):
        contextualizer = load_contextualizer(source, prompt=prompt, cap_dollars=cap_dollars)
    else:
        _refuse_options(source, prompt=prompt, cap_dollars=cap_dollars)
        contextualizer = source
    if not prompts or (isinstance(source, str) and is_context_file(source)):
        return ContextRouter(contextualizer, refresh)
    if not isinstance(contextualizer, Promptable):
        raise UsageError(
            f"{contextualizer.fingerprint}: takes no prompt; remove [prompts] from crx.toml"
        )
    by_folder = {folder: contextualizer.with_prompt(each) for folder, each in prompts.items()}
    return ContextRouter(contextualizer, refresh, by_folder)


def read_prompts(prompt: Prompt | None, *, templates: Mapping[str, str]) -> dict[str, Prompt]:
    """Return the prompt of each folder's template, with the glossary of `prompt`.

    Raises `UsageError` for an invalid template.
    """
    general = prompt or _services.prompt.Prompt.of()
    return {folder: general.with_template(file) for folder, file in templates.items()}


def parse_contexts(text: str) -> ContextSpec:
    """Parse `none`, `outline`, `SOURCE`, `outline+SOURCE` or `none+SOURCE`."""
    if text in ("none", "outline"):
        return ContextSpec(outline=text == "outline")
    for head in ("none+", "outline+"):
        if text.startswith(head):
            return ContextSpec(head == "outline+", text.removeprefix(head))
    return ContextSpec(outline=not is_context_file(text), source=text)


def load_context_sources(text: str) -> ContextSources:
    """Return the context sources of a specification, which an index uses while it is built.

    Raises `UsageError` for a model, because models write contexts after the index is built.
    """
    spec = parse_contexts(text)
    if spec.source and not spec.is_file:
        raise UsageError(
            f"{text}: a model writes contexts after the index is built; "
            f'run "crx contextualize --with {spec.source}"'
        )
    return ContextSources(spec.outline, load_contextualizer(spec.source) if spec.source else None)


def context_acts(text: str) -> list[str]:
    """Return what contexts of a specification do outside the index that names them."""
    source = parse_contexts(text).source
    return [f"read the contexts of {source}"] if source else []


def index_acts(built: Mapping[str, str]) -> list[str]:
    """Return what an index of these settings does outside its folder, besides reading roots."""
    return [*embedder_acts(built["embedder"]), *context_acts(built["contexts"])]


def is_context_file(source: str) -> bool:
    """Return whether a source is the path of a file of contexts; the file may be missing."""
    name, colon, _ = source.partition(":")
    return not (colon and (name in _OWN or name in find_plugins("crx.contextualizers")))


def _file(source: str) -> FileContexts:
    if not Path(source).is_file():
        raise UsageError(
            f"{source}: no such file of contexts; use none, outline, FILE, outline+FILE, or a "
            f"model such as llama:PATH or claude:MODEL"
        )
    return _context.records.FileContexts(Path(source))


def _refuse_options(
    contextualizer: Contextualizer, *, prompt: Prompt | None, cap_dollars: float
) -> None:
    """Raise `UsageError` for a prompt or a cap, which a contextualizer object has already."""
    name = contextualizer.fingerprint
    if prompt is not None:
        raise UsageError(f"{name}: has a prompt of its own; pass the prompt to the contextualizer")
    if cap_dollars < math.inf:
        raise UsageError(f"{name}: has a cap of its own; pass the cap to the contextualizer")
