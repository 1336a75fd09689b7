"""Loading of embedders, rerankers and generators by specification.

A specification is a name, optionally followed by a colon and an argument:

| kind | specifications |
|---|---|
| embedder | `e5@int8`, `onnx:FOLDER`, `openvino:minilm`, `ollama:NAME`, `openai:URL#MODEL` |
| reranker | `crx` (included), `bge@int8`, `onnx:FOLDER`, `st:FOLDER`, `cohere:URL#MODEL` |
| contextualizer | those of a generator, or a file of contexts |
| generator | `llama:PATH`, `ollama:NAME`, `claude:MODEL`, `openai:URL#MODEL`, `fake:` |

`st:FOLDER` is an embedder, too. An index with the embedder `none` has no vectors. Those without a
model, for tests, are `hashed` (an embedder) and `overlap` (a reranker).

Options follow the last colon, as in `minilm:device=cuda` or `llama:PATH:max_tokens=80`. Any other
name is looked up among the models of the store, then among the entry points of the group
`crx.embedders`, `crx.rerankers`, `crx.contextualizers` or `crx.generators`. An entry point is
called with the text after the colon.

Entry points of the group `crx.engines` open indexes that databases keep; their names are schemes of
addresses, as in `postgresql://host/database`.

Entry points of the group `crx.rules` return rules of the order; the setting `rules` names them.

`crx.context_registry` loads contextualizers and the contexts of an index.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from crx.config import require_allowed
from crx.errors import Incompatible, ModelError, NotInstalled, UsageError
from crx.plugins import SHIPPED, find_plugins, load_plugin, load_shipped, require_protocol
from crx.protocols import Embedder, Generator, Reranker
from crx.retrieve.query_language import EMBEDDER_LANGUAGES, record_languages, undeclared_langs
from crx.types import Leg

if TYPE_CHECKING:
    from crx._models.elsewhere import OtherModel
    from crx.retrieve.search_state import RankingRule

DEFAULT_EMBEDDER = "e5@int8"
SHIPPED_RERANKER = "crx"
# The embedder of an index that is searched with BM25 alone.
NO_EMBEDDER = "none"
# The embedder of an index whose program gives the object; see `crx.open`.
OWN_EMBEDDER = "own"

_ONNX = "crx._backends.onnx"
_EMBEDDERS = {
    "hashed": "crx._backends.hashed",
    NO_EMBEDDER: "crx._backends.no_embedder",
    "onnx": _ONNX,
}


def _is_installed(name: str) -> bool:
    from crx._models.store import is_installed  # a search without a model reads no model store

    return is_installed(name)


def load_embedder(spec: str = DEFAULT_EMBEDDER) -> Embedder:
    """Return the embedder that a specification names.

    Raises `ModelError` for an unknown name, with the installed models, and for a backend whose
    package is not installed, with the command that installs it.
    """
    kind, _, rest = spec.partition(":")
    if kind in _EMBEDDERS:
        return require_protocol(import_module(_EMBEDDERS[kind]).load_embedder(rest), Embedder, kind)
    if kind in SHIPPED["crx.embedders"]:
        return require_protocol(load_shipped("crx.embedders", kind)(rest), Embedder, kind)
    if not _is_installed(kind) and (plugin := find_plugins("crx.embedders").get(kind)):
        return require_protocol(load_plugin(plugin)(rest), Embedder, kind)
    return require_protocol(import_module(_ONNX).load_embedder(spec), Embedder, kind)


def list_ollama_models() -> list[OtherModel]:
    """Return the models of the Ollama server, by name.

    Raises `Unavailable` if it cannot be reached, `ModelError` if what answers is not Ollama.
    """
    found: list[OtherModel] = load_shipped("crx.model_lists", "ollama")()
    return found


def embedder_acts(spec: str) -> list[str]:
    """Return what an embedder does outside the index that names it; none for a local model.

    A local model is one of the model store. Anything else may send texts to another machine, load a
    model from any folder, or run the code of a plugin.
    """
    kind, _, rest = spec.partition(":")
    name = rest.partition(":")[0] if kind in ("onnx", "openvino") else kind
    if kind in ("hashed", NO_EMBEDDER, OWN_EMBEDDER) or _is_installed(name):
        return []
    is_known = (
        kind in _EMBEDDERS
        or kind in SHIPPED["crx.embedders"]
        or Path(kind).exists()
        or kind in find_plugins("crx.embedders")
    )
    # A model that is not installed any more is no act: loading it says how to get it.
    return [f"use the embedder {spec}"] if is_known or rest else []


def load_embedder_of_new_index(spec: str) -> Embedder:
    """Return an embedder; the `ModelError` for a missing model also names `--embedder none`."""
    try:
        return load_embedder(spec)
    except ModelError as error:
        raise ModelError(f"{error}, or search with BM25 alone: --embedder {NO_EMBEDDER}") from error


def load_embedder_of_index(folder: str, *, built: Mapping[str, str]) -> Embedder:
    """Return the embedder that an index was built with; `built` are the index's settings.

    Raises `Incompatible` if the embedder of that name now has another fingerprint, `Untrusted` if
    the user has not allowed the index to use it.
    """
    if built["embedder"] == OWN_EMBEDDER:
        raise NotInstalled(
            f"{folder}: built with an embedder that a program gave "
            f"({built.get('embedder_fingerprint', 'unused so far')}); open it with "
            "crx.open(path, embedder=...), or search with BM25 alone"
        )
    require_allowed(folder, embedder_acts(built["embedder"]))
    return require_same_embedder(folder, load_embedder(built["embedder"]), built=built)


def require_same_embedder(folder: str, embedder: Embedder, *, built: Mapping[str, str]) -> Embedder:
    """Return an embedder; raises `Incompatible` if it is not the one that an index was built with.

    `built` are the index's settings.
    """
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


def describe_unread_documents(built: Mapping[str, str], *, langs: Sequence[str]) -> str:
    """Return a note on documents in languages that an index's embedder does not read, or ""."""
    unread = undeclared_langs(built.get(EMBEDDER_LANGUAGES, "").split(), langs)
    if not unread:
        return ""
    return (
        f"documents in {', '.join(unread)} are found by BM25 rather than by vectors: "
        f"the embedder {built['embedder']} does not read them"
    )


def load_reranker(spec: str) -> Reranker:
    """Return the reranker that a specification names; raises as `load_embedder` does."""
    kind, _, rest = spec.partition(":")
    if kind == "onnx":
        spec = rest
    elif kind in SHIPPED["crx.rerankers"]:
        return require_protocol(load_shipped("crx.rerankers", kind)(rest), Reranker, kind)
    elif not _is_installed(kind) and (plugin := find_plugins("crx.rerankers").get(kind)):
        return require_protocol(load_plugin(plugin)(rest), Reranker, kind)
    return require_protocol(import_module(_ONNX).load_reranker(spec), Reranker, kind)


def load_generator(spec: str) -> Generator:
    """Return the generator that a specification names.

    Raises `UsageError` for an unknown name, `ModelError` if the model, package or key is missing,
    and `Offline`.
    """
    name, _, rest = spec.partition(":")
    if name in SHIPPED["crx.generators"]:
        return require_protocol(load_shipped("crx.generators", name)(rest), Generator, name)
    plugins = find_plugins("crx.generators")
    if name not in plugins:
        known = ", ".join(sorted({*SHIPPED["crx.generators"], *plugins}))
        raise UsageError(
            f"{spec}: no such generator; known: {known}, as in llama:PATH or claude:MODEL"
        )
    return require_protocol(load_plugin(plugins[name])(rest), Generator, name)


def require_named_generator(generator: str | Generator) -> str | Generator:
    """Return the generator or its specification; raise `UsageError` if it is empty."""
    if generator:
        return generator
    raise UsageError(
        "no generator is named; give --with llama:PATH, ollama:NAME, claude:MODEL or "
        'openai:URL#MODEL, or "crx config set generator llama:PATH" for good'
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


def load_rules(names: str) -> tuple[RankingRule, ...]:
    """Return the rules of plugins that a setting names, in its order.

    Raises `UsageError` for a name that no plugin has, and `ModelError` for a rule that is none.
    """
    return tuple(map(_load_rule, names.split()))


def _load_rule(name: str) -> RankingRule:
    from crx.retrieve.search_state import RankingRule  # most indexes name no rule

    plugins = find_plugins("crx.rules")
    if name not in plugins:
        known = ", ".join(sorted(plugins)) or "none"
        raise UsageError(f"rules: {name}: no installed package has such a rule; known: {known}")
    rule = require_protocol(load_plugin(plugins[name])(), RankingRule, name)
    if not isinstance(rule.reads, int) or rule.name != name:
        raise ModelError(
            f'plugin "{name}" returned the rule {rule.name!r} that reads {rule.reads!r}; a rule '
            "has the name of its plugin and a whole number of candidates"
        )
    return rule
