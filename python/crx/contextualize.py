"""The step that situates chunks: choose what writes contexts, say what the legs then read.

What an index is to have is named `none`, `outline`, `SOURCE`, `outline+SOURCE` or `none+SOURCE`.
A source is one of

- `llama:PATH`: an instruct model in a GGUF file; options follow, as in `llama:PATH:places=4`
- `claude:MODEL`: the Messages API; `claude:MODEL:batch=1` for message batches
- `openai:URL#MODEL`: a server that speaks the chat completions API
- `fake:`, `fake:latency=5ms,fail=0.1`: no model, for trying a run
- `NAME:REST`: a plug of the entry point group `crx.contextualizers`, called with `REST`
- the path of a file of contexts (JSON lines)

A file alone stands without the outline, so that what it says is measured alone. A model alone
joins the outline; `none+SOURCE` leaves that out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

from crx.backends.spec import typed_options
from crx.errors import UsageError
from crx.makers import Makers, Prompted
from crx.prompt import Prompt
from crx.protocols import Contextualizer
from crx.reuse import DEFAULT_REFRESH, Origin, Refresh
from crx.spend import parse_price

GROUP = "crx.contextualizers"


@dataclass(frozen=True, slots=True)
class Rungs:
    """The rungs of the context ladder that a build climbs, from what is at hand.

    The outline; a file of contexts; contexts that were made before by `origins`, newest first.
    """

    outline: bool
    contextualizer: Contextualizer | None = None
    origins: tuple[Origin, ...] = ()


@dataclass(frozen=True, slots=True)
class Spec:
    """What a specification names: the outline or not, and a source, "" for none."""

    outline: bool
    source: str = ""

    @property
    def is_file(self) -> bool:
        """Is the source a file of contexts, so that nothing is to be made by a model?"""
        return bool(self.source) and is_file(self.source)


def parse_spec(text: str) -> Spec:
    """Return what `none`, `outline`, `SOURCE`, `outline+SOURCE` or `none+SOURCE` names."""
    if text in ("none", "outline"):
        return Spec(outline=text == "outline")
    for head in ("none+", "outline+"):
        if text.startswith(head):
            return Spec(head == "outline+", text.removeprefix(head))
    return Spec(outline=not is_file(text), source=text)


def parse_rungs(text: str) -> Rungs:
    """Return the rungs of a specification whose contexts are at hand; raises `UsageError`."""
    spec = parse_spec(text)
    if spec.source and not spec.is_file:
        raise UsageError(
            f"{text}: a model writes contexts after the index is made; "
            f'"crx contextualize --with {spec.source}" has it do so'
        )
    return Rungs(spec.outline, load_contextualizer(spec.source) if spec.source else None)


def is_file(source: str) -> bool:
    """Is a source the path of a file of contexts, there or not?"""
    name, colon, _ = source.partition(":")
    known = colon and (name in _LOADERS or name in _plugs())
    return not known


def load_contextualizer(
    source: str, *, prompt: Prompt | None = None, cap_dollars: float = math.inf
) -> Contextualizer:
    """Return the contextualizer that a source names.

    Raises `UsageError` for an unknown one and for a prompt or a cap that it cannot take,
    `ModelError` where its model, package or key is missing, `Offline`.
    """
    name, _, rest = source.partition(":")
    if is_file(source):
        _refuse(source, prompt=prompt, cap_dollars=cap_dollars)
        return _file(source)
    if loader := _LOADERS.get(name):
        return loader(rest, prompt, cap_dollars)
    _refuse(source, prompt=prompt, cap_dollars=cap_dollars)
    maker = _plugs()[name].load()(rest)
    if not isinstance(maker, Contextualizer):
        raise UsageError(f"{source}: {type(maker).__name__} is no contextualizer; mend the plug")
    return maker


def load_makers(
    source: str | Contextualizer,
    *,
    refresh: Refresh = DEFAULT_REFRESH,
    prompt: Prompt | None = None,
    templates: Mapping[str, str] = MappingProxyType({}),
    cap_dollars: float = math.inf,
) -> Makers:
    """Return who makes the contexts of an index: what a source names, or the contextualizer given.

    `templates` are files by folder, for prompts with the glossary of `prompt`. A file of contexts
    needs none. Raises what `load_contextualizer` raises, and `UsageError` for a template that
    cannot work or that the source cannot take, and for a prompt or a cap beside a contextualizer,
    which has its own.
    """
    general = prompt or Prompt.of()
    prompts = {folder: general.with_template(file) for folder, file in templates.items()}
    if not isinstance(source, str):
        _refuse_beside(source, prompt=prompt, cap_dollars=cap_dollars)
        maker = source
    else:
        maker = load_contextualizer(source, prompt=prompt, cap_dollars=cap_dollars)
    if not prompts or (isinstance(source, str) and is_file(source)):
        return Makers(maker, refresh)
    if not isinstance(maker, Prompted):
        raise UsageError(f"{maker.fingerprint}: takes no prompt; take [prompts] out of crx.toml")
    by_folder = {folder: maker.with_prompt(each) for folder, each in prompts.items()}
    return Makers(maker, refresh, by_folder)


def claude_options(rest: str) -> tuple[str, dict[str, Any]]:
    """Return the model that follows `claude:`, and its options as `Claude` takes them."""
    counts = dict.fromkeys(("batch", "width", "window", "max_tokens"), int)
    model, given = typed_options(rest, {**counts, "effort": str, "price": str})
    return model, given | {"batch": bool(given.get("batch"))} | _price(given)


def embedder_reads(outline: str, context: str) -> str:
    """Return what the embedder reads in front of a chunk: the outline's first line, the context.

    The first line names the document and the place in it. The terms on the second are for BM25:
    they would crowd the embedder's window, and move with every edit of the document.
    """
    head = outline.partition("\n")[0]
    return "\n".join(part for part in (head, context) if part)


def _file(source: str) -> Contextualizer:
    if not Path(source).is_file():
        raise UsageError(
            f"{source}: no such contexts file; want none, outline, FILE, outline+FILE, or a model "
            f"such as llama:PATH or claude:MODEL"
        )
    from crx.backends.file import FileContexts

    return FileContexts(Path(source))


def _fake(rest: str, prompt: Prompt | None, cap_dollars: float) -> Contextualizer:
    _refuse("fake:", prompt=None, cap_dollars=cap_dollars)
    from crx.backends.fake import Fake

    fake = Fake.of(rest)
    return fake if prompt is None else fake.with_prompt(prompt)


def _llama(rest: str, prompt: Prompt | None, cap_dollars: float) -> Contextualizer:
    from crx.backends.llama import Llama, Settings

    _refuse("llama:", prompt=None, cap_dollars=cap_dollars)
    path, given = typed_options(rest, {f.name: type(f.default) for f in fields(Settings)})
    return Llama(path, prompt=prompt, settings=Settings(**given))


def _claude(rest: str, prompt: Prompt | None, cap_dollars: float) -> Contextualizer:
    from crx.backends.claude import Claude

    model, given = claude_options(rest)
    return Claude(model, prompt=prompt, cap_dollars=cap_dollars, **given)


def _openai(rest: str, prompt: Prompt | None, cap_dollars: float) -> Contextualizer:
    from crx.backends.openai import OpenAI

    types = {"width": int, "window": int, "max_tokens": int, "price": str}
    address, given = typed_options(rest, types)
    given |= _price(given)
    return OpenAI(address, prompt=prompt, cap_dollars=cap_dollars, **given)


_LOADERS: dict[str, Callable[[str, Prompt | None, float], Contextualizer]] = {
    "fake": _fake,
    "llama": _llama,
    "claude": _claude,
    "openai": _openai,
}


def _price(given: dict[str, Any]) -> dict[str, Any]:
    return {"price": parse_price(given["price"])} if "price" in given else {}


def _refuse(source: str, *, prompt: Prompt | None, cap_dollars: float) -> None:
    if prompt is not None:
        raise UsageError(f"{source}: takes no prompt; leave out --prompt and --glossary")
    if cap_dollars < math.inf:
        raise UsageError(f"{source}: costs no dollars; give the budget as a time, such as 20m")


def _refuse_beside(maker: Contextualizer, *, prompt: Prompt | None, cap_dollars: float) -> None:
    """Raise where a contextualizer would not hear of a prompt or a cap: it was made before."""
    name = maker.fingerprint
    if prompt is not None:
        raise UsageError(f"{name}: has its own; give the prompt to the contextualizer itself")
    if cap_dollars < math.inf:
        raise UsageError(f"{name}: has its own; give the cap to the contextualizer itself")


def _plugs() -> dict[str, Any]:
    from importlib.metadata import entry_points

    return {plug.name: plug for plug in entry_points(group=GROUP)}
