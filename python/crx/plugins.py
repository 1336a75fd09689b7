"""Plugins: code that is added by entry points, found by name or by scheme.

The packages beside crx in its wheel (`crx_remote`, `crx_serve` and the others) are plugins, too.
Their entry points are repeated here with the extra that installs what each needs: to read the
metadata of all installed packages takes longer than a search.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from crx.errors import InputError, MissingExtra, ModelError, UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

# The entry points that open an address: named by its scheme, called with it, they return an engine.
ENGINES = "crx.engines"

# The entry points of the packages in the wheel of crx, and their extras, by group and name.
SHIPPED = {
    "crx.archives": {"7z": ("crx_formats.sevenzip.files:list_files", "formats")},
    "crx.commands": {
        "agents": ("crx_serve.commands.agents:command", "mcp"),
        "bundle": ("crx_bundle.command:command", "bundle"),
        "copy": ("crx_engines.commands.copy:command", "postgres"),
        "eval": ("crx_evaluate.commands:command", "eval"),
        "mcp": ("crx_serve.commands.mcp:command", "mcp"),
        "serve": ("crx_serve.commands.serve:command", "serve"),
        "watch": ("crx_serve.commands.watch:command", "serve"),
    },
    "crx.contextualizers": {
        "claude": ("crx_remote.claude.contextualizer:load_contextualizer", "claude"),
        "fake": ("crx_runtimes.fake.contextualizer:load_contextualizer", "llama"),
        "llama": ("crx_runtimes.llama.contextualizer:load_contextualizer", "llama"),
        "ollama": ("crx_remote.ollama:load_contextualizer", "openai"),
        "openai": ("crx_remote.openai.contextualizer:load_contextualizer", "openai"),
    },
    "crx.converters": {"models": ("crx_convert.convert", "convert")},
    "crx.embedders": {
        "ollama": ("crx_remote.ollama:load_embedder", "openai"),
        "openai": ("crx_remote.openai.embedder:load_embedder", "openai"),
        "openvino": ("crx_runtimes.openvino:load_embedder", "openvino"),
        "st": ("crx_runtimes.sentence_transformers:load_embedder", "st"),
    },
    "crx.engines": {
        "milvus": ("crx_engines.milvus.milvus_engine:open_milvus", "milvus"),
        "milvus-lite": ("crx_engines.milvus.milvus_engine:open_milvus", "milvus"),
        "postgres": ("crx_engines.postgres.sharded_engine:open_database", "postgres"),
        "postgresql": ("crx_engines.postgres.sharded_engine:open_database", "postgres"),
    },
    "crx.generators": {
        "claude": ("crx_remote.claude.generator:load_generator", "claude"),
        "fake": ("crx_runtimes.fake.generator:load_generator", "llama"),
        "llama": ("crx_runtimes.llama.generator:load_generator", "llama"),
        "ollama": ("crx_remote.ollama:load_generator", "openai"),
        "openai": ("crx_remote.openai.generator:load_generator", "openai"),
    },
    "crx.model_lists": {"ollama": ("crx_remote.ollama:list_models", "openai")},
    "crx.graphs": {"usearch": ("crx_engines.usearch_leg", "usearch")},
    "crx.grammars": {"tree-sitter": ("crx_formats.grammars", "code")},
    "crx.joint": {"search": ("crx_engines.folder.joint_search:search_all", "serve")},
    "crx.mail": {
        "msg": ("crx_formats.outlook:parse", "formats"),
        "signed": ("crx_formats.signed_mail:signed_content", "formats"),
        "tnef": ("crx_formats.tnef:parse", "formats"),
    },
    "crx.model_sources": {"hf": ("crx_remote.hub", "hub")},
    "crx.openers": {"database": ("crx_engines.engine.opened:open_address", "postgres")},
    "crx.pickers": {"terminal": ("crx_serve.picker.application:run_picker", "picker")},
    "crx.pools": {"workers": ("crx_engines.pools.open_workers", "ray")},
    "crx.prices": {"claude": ("crx_remote.claude.pricing:load_pricing", "claude")},
    "crx.programs": {"libreoffice": ("crx_formats.libreoffice.program:find_program", "formats")},
    "crx.readers": {
        "contacts": ("crx_formats.contacts", "formats"),
        "epub": ("crx_formats.epub", "formats"),
        "ipynb": ("crx_formats.ipynb", "formats"),
        "legacy_office": ("crx_formats.legacy_office", "formats"),
        "markup": ("crx_formats.markup", "formats"),
        "mhtml": ("crx_formats.mhtml", "formats"),
        "odf": ("crx_formats.odf", "formats"),
        "parquet": ("crx_formats.parquet", "formats"),
        "rtf": ("crx_formats.rtf", "formats"),
        "sqlite": ("crx_formats.sqlite", "formats"),
        "subtitles": ("crx_formats.subtitles", "formats"),
        "xml": ("crx_formats.xml", "formats"),
    },
    "crx.recognizers": {"man": ("crx_formats.man:find_page", "formats")},
    "crx.rerankers": {
        "cohere": ("crx_remote.openai.reranker:load_reranker", "openai"),
        "overlap": ("crx_runtimes.overlap:load_reranker", "st"),
        "st": ("crx_runtimes.sentence_transformers:load_reranker", "st"),
    },
    "crx.served": {"search": ("crx_serve.search_client:ask_server", "serve")},
    "crx.sheets": {
        "excel_2003": ("crx_formats.excel_2003:read_sheets", "formats"),
        "ods": ("crx_formats.ods", "formats"),
        "xls": ("crx_formats.xls:open_xls", "formats"),
    },
    "crx.workers": {"ray": ("crx_engines.ray.ray_actors:open_ray", "ray")},
}
# At least two characters: one is a drive of Windows.
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+):", re.IGNORECASE)

_T = TypeVar("_T")


def load_plugin(plugin: EntryPoint) -> Any:
    """Import what an entry point names; `ModelError` if it imports what this crx does not have."""
    try:
        return plugin.load()
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "crx":
            raise
        raise ModelError(
            f'plugin "{plugin.name}" is for another version of crx: {error}; install one for this'
        ) from None


def load_shipped(group: str, name: str, *, address: str = "", option: str = "") -> Any:
    """Import what a package in the wheel of crx adds: a module or a name of it.

    Raises `MissingExtra` for a package that is missing, or is of another version than crx. If it
    is for an `address`, the extra is that of its scheme; the message names the address, or the
    `option` that asked for it.
    """
    target, extra = SHIPPED[group][name]
    module, _, attribute = target.partition(":")
    try:
        loaded = import_module(module)
        return getattr(loaded, attribute) if attribute else loaded
    except ModuleNotFoundError as error:
        fact = f"the package {error.name} is not installed"
    except (ImportError, AttributeError):
        fact = f"the package {module.partition('.')[0]} is of another version than crx"
    extra = SHIPPED[ENGINES].get(scheme_of(address), ("", extra))[1]
    shown = without_password(address) or option or name
    raise MissingExtra(f'{shown}: {fact}; pip install "crx[{extra}]"', extra=extra)


def load_format(group: str, name: str) -> Any:
    """Import what reads a format, as `load_shipped` does; `InputError` if a package is missing."""
    try:
        return load_shipped(group, name)
    except MissingExtra as missing:
        raise InputError(f'is read after pip install "crx[{missing.extra}]"') from None


def find_plugins(group: str) -> dict[str, EntryPoint]:
    # Imported here: it takes a tenth of a cold start, and models of the store do not need it.
    from importlib.metadata import entry_points

    return {plugin.name: plugin for plugin in entry_points(group=group)}


def installed_packages() -> str:
    """Return a text that changes when a package is installed, removed or replaced."""
    folders = [folder for folder in sys.path if folder.endswith("-packages")]
    times = [f"{os.stat(folder).st_mtime_ns}" for folder in folders if os.path.isdir(folder)]
    return " ".join(times)


def require_protocol(loaded: object, protocol: type[_T], name: str) -> _T:
    """Return a loaded plugin; `ModelError` if it does not implement the protocol."""
    if not isinstance(loaded, protocol):
        wanted = protocol.__name__
        article = "an" if wanted[0] in "AEIO" else "a"
        raise ModelError(
            f'plugin "{name}" returned {type(loaded).__name__}, which is not {article} {wanted}'
        )
    return loaded


def scheme_of(address: str) -> str:
    """Return the scheme of an address in lower case, "" if it has none."""
    found = _SCHEME.match(address)
    return found[1].lower() if found else ""


def load_for_scheme(group: str, scheme: str, *, shown: str) -> Callable[..., object]:
    """Return the entry point of a group that opens addresses of a scheme.

    `shown` is the address as it may be shown. Raises `UsageError` that says what to install if
    there is no such entry point, or its package is missing.
    """
    plugins = find_plugins(group)
    fact = f"no installed package opens {scheme}: addresses"
    if scheme in plugins:
        try:
            opener: Callable[..., object] = load_plugin(plugins[scheme])
        except ModuleNotFoundError as error:
            fact = f"the package {error.name} is not installed"
        else:
            return opener
    advice = f"install one that does; known: {', '.join(sorted(plugins)) or 'none'}"
    if shipped := SHIPPED.get(group, {}).get(scheme):
        advice = f'pip install "crx[{shipped[1]}]"'
    raise UsageError(f"{shown}: {fact}; {advice}")


def is_engine_address(text: object) -> bool:
    """Return whether a text is the address of an engine, and not the path of a folder.

    Each URL is one, so that a scheme without an engine is refused; other paths with a colon are
    addresses if an engine has their scheme.
    """
    if not isinstance(text, str) or not (scheme := scheme_of(text)):
        return False
    is_url = text.startswith("//", len(scheme) + 1)
    return is_url or scheme in SHIPPED[ENGINES] or scheme in find_plugins(ENGINES)


def without_password(url: str) -> str:
    """Return a URL as it may be shown."""
    return re.sub(r"(//[^:@/]*):[^@/]*@", r"\1@", url)
