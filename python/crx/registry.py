"""Loading of embedders, rerankers, contextualizers and generators by specification.

A specification is a name and what that kind of plugin takes after a colon:

| kind | specifications |
|---|---|
| embedder | `minilm`, `e5@int8`, `onnx:FOLDER`, `openvino:minilm`, `st:FOLDER`, `hashed`, `none` |
| reranker | `crx` (included), `bge`, `bge@int8`, `onnx:FOLDER`, `st:FOLDER`, `overlap` |
| contextualizer | `llama:PATH`, `claude:MODEL`, `openai:URL#MODEL`, `fake:`, a file of contexts |
| generator | `llama:PATH`, `claude:MODEL`, `openai:URL#MODEL`, `fake:` |

Options follow the last colon, as in `minilm:device=cuda` or `llama:PATH:max_tokens=80`. Any other
name is looked up among the models of the store, then among the entry points of the group
`crx.embedders`, `crx.rerankers`, `crx.contextualizers` or `crx.generators`, which are called with
what follows the colon.

What an index reads before each chunk is named `none`, `outline`, `SOURCE`, `outline+SOURCE` or
`none+SOURCE`. A file stands without the outline, so that its contexts are measured alone; a model
joins the outline, and `none+SOURCE` leaves the outline out.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from crx.errors import Incompatible, ModelError, UsageError
from crx.models.store import is_installed
from crx.protocols import (
    Contextualizer,
    CostEstimator,
    Embedder,
    Generator,
    Promptable,
    Reranker,
)
from crx.retrieve.dense_languages import record_languages

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from crx.context.cache import Refresh
    from crx.context.contextualize import ContextSources
    from crx.context.estimate import CostModel
    from crx.context.file_contexts import FileContexts
    from crx.context.prompt import Prompt
    from crx.context.routing import ContextRouter

DEFAULT_EMBEDDER = "minilm"
SHIPPED_RERANKER = "crx"
# The embedder of an index that is searched with BM25 alone.
NO_EMBEDDER = "none"
# The model whose prices are shown when no other is named: the cheapest of those known.
PRICED = "claude:claude-haiku-5-5"

_EMBEDDERS = {
    "hashed": "crx.backends.hashed",
    NO_EMBEDDER: "crx.backends.no_embedder",
    "onnx": "crx.backends.onnx",
    "openvino": "crx.backends.openvino",
    "st": "crx.backends.sentence_transformers",
}
_RERANKERS = {
    "onnx": "crx.backends.onnx",
    "st": "crx.backends.sentence_transformers",
    "overlap": "crx.backends.overlap",
}
_CONTEXTUALIZERS = {
    "claude": "crx.backends.claude.contextualizer",
    "fake": "crx.backends.fake.contextualizer",
    "llama": "crx.backends.llama.contextualizer",
    "openai": "crx.backends.openai.contextualizer",
}
_GENERATORS = {
    "claude": "crx.backends.claude.generator",
    "fake": "crx.backends.fake.generator",
    "llama": "crx.backends.llama.generator",
    "openai": "crx.backends.openai.generator",
}

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ContextSpec:
    """A parsed context specification: with the outline or not, and a source, "" for none."""

    outline: bool
    source: str = ""

    @property
    def is_file(self) -> bool:
        """True if the source is a file of contexts, so that no model is run."""
        return bool(self.source) and is_context_file(self.source)


def load_embedder(spec: str = DEFAULT_EMBEDDER) -> Embedder:
    """Return the embedder that a specification names.

    Raises `ModelError` for an unknown one, listing the models that are here, and for a backend
    whose package is not installed, naming the command that installs it.
    """
    kind, _, rest = spec.partition(":")
    if kind in _EMBEDDERS:
        return _checked(import_module(_EMBEDDERS[kind]).load_embedder(rest), Embedder, kind)
    if not is_installed(kind) and (plugin := _plugins("crx.embedders").get(kind)):
        return _checked(plugin.load()(rest), Embedder, kind)
    return _checked(import_module(_EMBEDDERS["onnx"]).load_embedder(spec), Embedder, kind)


def load_embedder_of_new_index(spec: str) -> Embedder:
    """Return an embedder; the `ModelError` of a missing one also names the way without a model."""
    try:
        return load_embedder(spec)
    except ModelError as error:
        raise ModelError(f"{error}, or search with BM25 alone: --embedder {NO_EMBEDDER}") from error


def load_embedder_of_index(folder: Path, *, built: Mapping[str, str]) -> Embedder:
    """Return the embedder that an index was built with; `built` are its settings.

    Raises `Incompatible` if the embedder of that name is another one now.
    """
    embedder = load_embedder(built["embedder"])
    fingerprint = built.get("embedder_fingerprint", embedder.fingerprint)
    if fingerprint != embedder.fingerprint:
        raise Incompatible(
            f"{folder}: built with the embedder {fingerprint}, but {built['embedder']} "
            f"is now {embedder.fingerprint}; bring the old model back, or index into a new "
            f"folder: crx index PATH --index DIR"
        )
    return embedder


def record_embedder(embedder: Embedder) -> dict[str, str]:
    """Return the settings that record in an index which embedder it was built with."""
    return {"embedder_fingerprint": embedder.fingerprint, **record_languages(embedder)}


def load_reranker(spec: str) -> Reranker:
    """Return the reranker that a specification names; raises as `load_embedder` does."""
    kind, _, rest = spec.partition(":")
    if kind in _RERANKERS:
        return _checked(import_module(_RERANKERS[kind]).load_reranker(rest), Reranker, kind)
    if not is_installed(kind) and (plugin := _plugins("crx.rerankers").get(kind)):
        return _checked(plugin.load()(rest), Reranker, kind)
    return _checked(import_module(_RERANKERS["onnx"]).load_reranker(spec), Reranker, kind)


def load_contextualizer(
    source: str, *, prompt: Prompt | None = None, cap_dollars: float = math.inf
) -> Contextualizer:
    """Return the contextualizer that a source names.

    Raises `UsageError` for an unknown one and for a prompt or a spending cap that it cannot take,
    `ModelError` when its model, package or key is missing, `Offline`.
    """
    name, _, rest = source.partition(":")
    if name in _CONTEXTUALIZERS and not is_context_file(source):
        backend = import_module(_CONTEXTUALIZERS[name])
        loaded = backend.load_contextualizer(rest, prompt=prompt, cap_dollars=cap_dollars)
        return _checked(loaded, Contextualizer, name)
    if prompt is not None:
        raise UsageError(f"{source}: takes no prompt; leave out --prompt and --glossary")
    if cap_dollars < math.inf:
        raise UsageError(f"{source}: costs no dollars; give the budget as a time, such as 20m")
    if is_context_file(source):
        return _file(source)
    return _checked(_plugins("crx.contextualizers")[name].load()(rest), Contextualizer, name)


def load_generator(spec: str) -> Generator:
    """Return the generator that a specification names.

    Raises `UsageError` for an unknown one, `ModelError` when its model, package or key is
    missing, `Offline`.
    """
    name, _, rest = spec.partition(":")
    if name in _GENERATORS:
        return _checked(import_module(_GENERATORS[name]).load_generator(rest), Generator, name)
    plugins = _plugins("crx.generators")
    if name not in plugins:
        known = ", ".join(sorted({*_GENERATORS, *plugins}))
        raise UsageError(
            f"{spec}: no such generator; known: {known}, as in llama:PATH or claude:MODEL"
        )
    return _checked(plugins[name].load()(rest), Generator, name)


@contextlib.contextmanager
def open_generator(generator: str | Generator) -> Iterator[Generator]:
    """Load the generator of a specification and close it afterwards; another is left open.

    Raises as `load_generator`.
    """
    if not isinstance(generator, str):
        yield generator
        return
    with contextlib.closing(load_generator(generator)) as loaded:
        yield loaded


def load_router(
    source: str | Contextualizer,
    *,
    refresh: Refresh = "section",
    prompt: Prompt | None = None,
    templates: Mapping[str, str] = MappingProxyType({}),
    cap_dollars: float = math.inf,
) -> ContextRouter:
    """Return which contextualizer writes the contexts of which folder.

    `source` names a contextualizer or is one. `templates` are prompt files by folder; the glossary
    of `prompt` goes into each. A file of contexts takes none. Raises what `load_contextualizer`
    raises, and `UsageError` for a template that cannot work or that the source cannot take, and
    for a prompt or a cap beside a contextualizer, which has its own.
    """
    # Imported here, as in the functions below: a search needs none of it.
    from crx.context.prompt import Prompt
    from crx.context.routing import ContextRouter

    general = prompt or Prompt.of()
    prompts = {folder: general.with_template(file) for folder, file in templates.items()}
    if isinstance(source, str):
        contextualizer = load_contextualizer(source, prompt=prompt, cap_dollars=cap_dollars)
    else:
        _refuse_options_beside(source, prompt=prompt, cap_dollars=cap_dollars)
        contextualizer = source
    if not prompts or (isinstance(source, str) and is_context_file(source)):
        return ContextRouter(contextualizer, refresh)
    if not isinstance(contextualizer, Promptable):
        raise UsageError(
            f"{contextualizer.fingerprint}: takes no prompt; take [prompts] out of crx.toml"
        )
    by_folder = {folder: contextualizer.with_prompt(each) for folder, each in prompts.items()}
    return ContextRouter(contextualizer, refresh, by_folder)


def load_cost_model(source: str = "", *, prompt: Prompt | None = None) -> CostModel:
    """Return how to estimate what contexts from a source take; "" is the outline alone.

    A source that charges is not run: `contextualizer` is None and `pricing` is its own. For any
    other source, and for none, `pricing` is that of the model `PRICED`. Raises what
    `load_contextualizer` raises.
    """
    from crx.context.estimate import CostModel

    name, _, _ = source.partition(":")
    priced = source if name == "claude" else PRICED
    if name == "claude" or not source:
        return CostModel(source, None, priced, _claude_pricing(priced, prompt))
    contextualizer = load_contextualizer(source, prompt=prompt)
    if isinstance(contextualizer, CostEstimator):
        return CostModel(source, None, source, contextualizer)
    return CostModel(source, contextualizer, priced, _claude_pricing(priced, prompt))


def parse_contexts(text: str) -> ContextSpec:
    """Parse `none`, `outline`, `SOURCE`, `outline+SOURCE` or `none+SOURCE`."""
    if text in ("none", "outline"):
        return ContextSpec(outline=text == "outline")
    for head in ("none+", "outline+"):
        if text.startswith(head):
            return ContextSpec(head == "outline+", text.removeprefix(head))
    return ContextSpec(outline=not is_context_file(text), source=text)


def load_context_sources(text: str) -> ContextSources:
    """Return the context sources of a specification that a build can use without a model.

    Raises `UsageError` for a model: it writes contexts after the index is built.
    """
    from crx.context.contextualize import ContextSources

    spec = parse_contexts(text)
    if spec.source and not spec.is_file:
        raise UsageError(
            f"{text}: a model writes contexts after the index is made; "
            f'"crx contextualize --with {spec.source}" has it do so'
        )
    return ContextSources(spec.outline, load_contextualizer(spec.source) if spec.source else None)


def is_context_file(source: str) -> bool:
    """Return True if a source is the path of a file of contexts, whether it exists or not."""
    name, colon, _ = source.partition(":")
    return not (colon and (name in _CONTEXTUALIZERS or name in _plugins("crx.contextualizers")))


def _file(source: str) -> FileContexts:
    if not Path(source).is_file():
        raise UsageError(
            f"{source}: no such contexts file; want none, outline, FILE, outline+FILE, or a model "
            f"such as llama:PATH or claude:MODEL"
        )
    from crx.context.file_contexts import FileContexts

    return FileContexts(Path(source))


def _claude_pricing(priced: str, prompt: Prompt | None) -> CostEstimator:
    rest = priced.partition(":")[2]
    pricing: CostEstimator = import_module("crx.backends.claude.pricing").load_pricing(
        rest, prompt=prompt
    )
    return pricing


def _refuse_options_beside(
    contextualizer: Contextualizer, *, prompt: Prompt | None, cap_dollars: float
) -> None:
    """Raise for a prompt or a cap beside a contextualizer object, which was built with its own."""
    name = contextualizer.fingerprint
    if prompt is not None:
        raise UsageError(f"{name}: has its own; give the prompt to the contextualizer itself")
    if cap_dollars < math.inf:
        raise UsageError(f"{name}: has its own; give the cap to the contextualizer itself")


def _checked(loaded: object, protocol: type[T], name: str) -> T:
    """Return what a plugin gave if it has the protocol's members, else raise `ModelError`."""
    if not isinstance(loaded, protocol):
        wanted = protocol.__name__
        article = "an" if wanted[0] in "AEIO" else "a"
        raise ModelError(
            f'plugin "{name}" returned {type(loaded).__name__}, which is not {article} {wanted}'
        )
    return loaded


def _plugins(group: str) -> dict[str, EntryPoint]:
    # Imported here: it takes a tenth of a cold start, and a model of the store needs no plugin.
    from importlib.metadata import entry_points

    return {plugin.name: plugin for plugin in entry_points(group=group)}
