"""Loading of embedders, rerankers, contextualizers and generators by specification.

A specification is a name, optionally followed by a colon and an argument:

| kind | specifications |
|---|---|
| embedder | `e5@int8`, `onnx:FOLDER`, `openvino:minilm`, `st:FOLDER`, `openai:URL#MODEL`, `none` |
| reranker | `crx` (included), `bge@int8`, `onnx:FOLDER`, `st:FOLDER`, `cohere:URL#MODEL` |
| contextualizer | `llama:PATH`, `claude:MODEL`, `openai:URL#MODEL`, `fake:`, a file of contexts |
| generator | `llama:PATH`, `claude:MODEL`, `openai:URL#MODEL`, `fake:` |

Those without a model, for tests, are `hashed` (an embedder) and `overlap` (a reranker).

Options follow the last colon, as in `minilm:device=cuda` or `llama:PATH:max_tokens=80`. Any other
name is looked up among the models of the store, then among the entry points of the group
`crx.embedders`, `crx.rerankers`, `crx.contextualizers` or `crx.generators`. An entry point is
called with the text after the colon.

Entry points of the group `crx.engines` open indexes that databases keep; their names are schemes of
addresses, as in `postgresql://host/database`.

The contexts of an index are specified as `none`, `outline`, `SOURCE`, `outline+SOURCE` or
`none+SOURCE`. `SOURCE` alone means `none+SOURCE` for a file of contexts, so that its contexts are
measured without the outline, and `outline+SOURCE` for a model.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from crx.errors import Incompatible, ModelError, UsageError
from crx.plugins import load_plugin
from crx.protocols import (
    Contextualizer,
    CostEstimator,
    Embedder,
    Generator,
    Promptable,
    Reranker,
)
from crx.retrieve.dense_languages import record_languages
from crx.types import Leg

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from crx.context.contextualize import ContextSources
    from crx.context.estimate import CostModel
    from crx.context.file_contexts import FileContexts
    from crx.context.prompt import Prompt
    from crx.context.refresh import Refresh
    from crx.context.routing import ContextRouter

DEFAULT_EMBEDDER = "e5@int8"
SHIPPED_RERANKER = "crx"
# The embedder of an index that is searched with BM25 alone.
NO_EMBEDDER = "none"
# The model whose prices are shown by default: the cheapest one with known prices.
PRICED = "claude:claude-haiku-5-5"

_EMBEDDERS = {
    "hashed": "crx.backends.hashed",
    NO_EMBEDDER: "crx.backends.no_embedder",
    "onnx": "crx.backends.onnx",
    "openai": "crx.backends.openai.embedder",
    "openvino": "crx.backends.openvino",
    "st": "crx.backends.sentence_transformers",
}
_RERANKERS = {
    "cohere": "crx.backends.openai.reranker",
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

# The extras of crx that install what addresses need, by group of entry points and scheme.
_EXTRAS = {
    "crx.engines": {
        "milvus": "milvus",
        "milvus-lite": "milvus",
        "postgres": "postgres",
        "postgresql": "postgres",
    },
    "crx.workers": {"ray": "ray"},
}
# At least two characters: one is a drive of Windows.
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+):", re.IGNORECASE)

T = TypeVar("T")


class ContextSpec(NamedTuple):
    """A parsed context specification: whether the outline is included, and a source or ""."""

    outline: bool
    source: str = ""

    @property
    def is_file(self) -> bool:
        """Whether the source is a file of contexts, so that no model is run."""
        return bool(self.source) and is_context_file(self.source)


def _is_installed(name: str) -> bool:
    from crx.models.store import is_installed  # a search without a model reads no model store

    return is_installed(name)


def load_embedder(spec: str = DEFAULT_EMBEDDER) -> Embedder:
    """Return the embedder that a specification names.

    Raises `ModelError` for an unknown name, with the installed models, and for a backend whose
    package is not installed, with the command that installs it.
    """
    kind, _, rest = spec.partition(":")
    if kind in _EMBEDDERS:
        return _checked(import_module(_EMBEDDERS[kind]).load_embedder(rest), Embedder, kind)
    if not _is_installed(kind) and (plugin := _plugins("crx.embedders").get(kind)):
        return _checked(load_plugin(plugin)(rest), Embedder, kind)
    return _checked(import_module(_EMBEDDERS["onnx"]).load_embedder(spec), Embedder, kind)


def load_embedder_of_new_index(spec: str) -> Embedder:
    """Return an embedder; the `ModelError` for a missing model also names `--embedder none`."""
    try:
        return load_embedder(spec)
    except ModelError as error:
        raise ModelError(f"{error}, or search with BM25 alone: --embedder {NO_EMBEDDER}") from error


def load_embedder_of_index(folder: str, *, built: Mapping[str, str]) -> Embedder:
    """Return the embedder that an index was built with; `built` are the index's settings.

    Raises `Incompatible` if the embedder of that name now has another fingerprint.
    """
    embedder = load_embedder(built["embedder"])
    fingerprint = built.get("embedder_fingerprint", embedder.fingerprint)
    if fingerprint != embedder.fingerprint:
        raise Incompatible(
            f"{folder}: built with the embedder {fingerprint}, but {built['embedder']} "
            f"is now {embedder.fingerprint}; restore the old model, or index into a new "
            f"folder: crx index PATH --index DIR"
        )
    return embedder


def has_vectors(built: Mapping[str, str], *, legs: Sequence[Leg], path: str) -> bool:
    """Return whether an index of these settings has a dense leg.

    Raises `UsageError` if it has none and no other leg is to be searched.
    """
    if built["embedder"] != NO_EMBEDDER:
        return True
    if "bm25" not in legs:
        raise UsageError(
            f"{path}: has no dense leg, because it was made with embedder = {NO_EMBEDDER}; "
            "search with BM25, or index into a new folder"
        )
    return False


def record_embedder(embedder: Embedder) -> dict[str, str]:
    """Return the settings that record in an index which embedder it was built with."""
    return {"embedder_fingerprint": embedder.fingerprint, **record_languages(embedder)}


def load_reranker(spec: str) -> Reranker:
    """Return the reranker that a specification names; raises as `load_embedder` does."""
    kind, _, rest = spec.partition(":")
    if kind in _RERANKERS:
        return _checked(import_module(_RERANKERS[kind]).load_reranker(rest), Reranker, kind)
    if not _is_installed(kind) and (plugin := _plugins("crx.rerankers").get(kind)):
        return _checked(load_plugin(plugin)(rest), Reranker, kind)
    return _checked(import_module(_RERANKERS["onnx"]).load_reranker(spec), Reranker, kind)


def load_contextualizer(
    source: str, *, prompt: Prompt | None = None, cap_dollars: float = math.inf
) -> Contextualizer:
    """Return the contextualizer that a source names.

    Raises `UsageError` for an unknown source and for a prompt or a spending cap that the source
    does not support, `ModelError` if its model, package or key is missing, and `Offline`.
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
    return _checked(load_plugin(_plugins("crx.contextualizers")[name])(rest), Contextualizer, name)


def load_generator(spec: str) -> Generator:
    """Return the generator that a specification names.

    Raises `UsageError` for an unknown name, `ModelError` if the model, package or key is missing,
    and `Offline`.
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
    return _checked(load_plugin(plugins[name])(rest), Generator, name)


def require_named_generator(generator: str | Generator) -> str | Generator:
    """Return the generator or its specification; raise `UsageError` if it is empty."""
    if generator:
        return generator
    raise UsageError(
        "no generator is named; give --with llama:PATH, claude:MODEL or openai:URL#MODEL, "
        'or "crx config set generator llama:PATH" for good'
    )


@contextlib.contextmanager
def open_generator(generator: str | Generator) -> Iterator[Generator]:
    """Load the generator of a specification and close it afterwards.

    A generator object is yielded and not closed. Raises what `load_generator` raises.
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
    """Return the router that selects the contextualizer of each folder.

    `source` is a specification or a contextualizer. `templates` are prompt files by folder; each
    gets the glossary of `prompt`. They are ignored for a file of contexts. Raises what
    `load_contextualizer` raises, and `UsageError` for an invalid template, for templates that the
    source does not support, and for a prompt or a cap if `source` is a contextualizer, which has
    its own.
    """
    # Imported here, as in the functions below, because a search does not need these modules.
    from crx.context.routing import ContextRouter

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
    from crx.context.prompt import Prompt

    general = prompt or Prompt.of()
    return {folder: general.with_template(file) for folder, file in templates.items()}


def load_cost_model(source: str = "", *, prompt: Prompt | None = None) -> CostModel:
    """Return the cost model of contexts from a source; "" is the outline alone.

    For a source that costs money, `contextualizer` is None, so that it is not run, and `pricing` is
    its own. For any other source, and for "", `pricing` is that of the model `PRICED`. Raises what
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


def scheme_of(address: str) -> str:
    """Return the scheme of an address in lower case, "" if it has none."""
    found = _SCHEME.match(address)
    return found[1].lower() if found else ""


def has_opener(group: str, scheme: str) -> bool:
    """Return whether a package opens addresses of a scheme: an installed one, or an extra."""
    return scheme in _EXTRAS.get(group, ()) or scheme in _plugins(group)


def load_for_scheme(group: str, scheme: str, *, shown: str) -> Callable[..., object]:
    """Return the entry point of a group that opens addresses of a scheme.

    `shown` is the address as it may be shown. Raises `UsageError` that says what to install if
    there is no such entry point, or its package is missing.
    """
    plugins = _plugins(group)
    fact = f"no installed package opens {scheme}: addresses"
    if scheme in plugins:
        try:
            opener: Callable[..., object] = load_plugin(plugins[scheme])
        except ModuleNotFoundError as error:
            fact = f"the package {error.name} is not installed"
        else:
            return opener
    advice = f"install one that does; known: {', '.join(sorted(plugins)) or 'none'}"
    if extra := _EXTRAS.get(group, {}).get(scheme):
        advice = f'pip install "crx[{extra}]"'
    raise UsageError(f"{shown}: {fact}; {advice}")


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
    from crx.context.contextualize import ContextSources

    spec = parse_contexts(text)
    if spec.source and not spec.is_file:
        raise UsageError(
            f"{text}: a model writes contexts after the index is built; "
            f'run "crx contextualize --with {spec.source}"'
        )
    return ContextSources(spec.outline, load_contextualizer(spec.source) if spec.source else None)


def is_context_file(source: str) -> bool:
    """Return whether a source is the path of a file of contexts; the file may be missing."""
    name, colon, _ = source.partition(":")
    return not (colon and (name in _CONTEXTUALIZERS or name in _plugins("crx.contextualizers")))


def _file(source: str) -> FileContexts:
    if not Path(source).is_file():
        raise UsageError(
            f"{source}: no such file of contexts; use none, outline, FILE, outline+FILE, or a "
            f"model such as llama:PATH or claude:MODEL"
        )
    from crx.context.file_contexts import FileContexts

    return FileContexts(Path(source))


def _claude_pricing(priced: str, prompt: Prompt | None) -> CostEstimator:
    rest = priced.partition(":")[2]
    pricing: CostEstimator = import_module("crx.backends.claude.pricing").load_pricing(
        rest, prompt=prompt
    )
    return pricing


def _refuse_options(
    contextualizer: Contextualizer, *, prompt: Prompt | None, cap_dollars: float
) -> None:
    """Raise `UsageError` for a prompt or a cap, which a contextualizer object has already."""
    name = contextualizer.fingerprint
    if prompt is not None:
        raise UsageError(f"{name}: has a prompt of its own; pass the prompt to the contextualizer")
    if cap_dollars < math.inf:
        raise UsageError(f"{name}: has a cap of its own; pass the cap to the contextualizer")


def _checked(loaded: object, protocol: type[T], name: str) -> T:
    """Return a loaded plugin; `ModelError` if it does not implement the protocol."""
    if not isinstance(loaded, protocol):
        wanted = protocol.__name__
        article = "an" if wanted[0] in "AEIO" else "a"
        raise ModelError(
            f'plugin "{name}" returned {type(loaded).__name__}, which is not {article} {wanted}'
        )
    return loaded


def _plugins(group: str) -> dict[str, EntryPoint]:
    # Imported here: it takes a tenth of a cold start, and models of the store do not need it.
    from importlib.metadata import entry_points

    return {plugin.name: plugin for plugin in entry_points(group=group)}
