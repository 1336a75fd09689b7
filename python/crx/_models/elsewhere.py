"""Models outside of the store that crx can use, such as those in the Hugging Face cache."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from crx._models.hub_cache import CachedSnapshot, list_snapshots
from crx._models.hub_files import choose_files
from crx._models.source_folder import read_front_matter
from crx.errors import ModelError


@dataclass(frozen=True, slots=True)
class OtherModel:
    """A model that is not in the store.

    `use` is its specification, or the command that adds it to the store. `kind` and `licence` are
    empty and `languages` has no element if its files or its server do not say.
    """

    name: str
    kind: str
    size_bytes: int
    licence: str
    languages: tuple[str, ...]
    use: str


def list_cached_models(variables: Mapping[str, str] = os.environ) -> list[OtherModel]:
    """Return the models in the Hugging Face cache whose files crx reads."""
    return [
        model for snapshot in list_snapshots(_cache(variables)) for model in _models_of(snapshot)
    ]


def _models_of(snapshot: CachedSnapshot) -> Iterator[OtherModel]:
    """Yield the weights or the graph that crx takes, or else each GGUF file."""
    names = sorted(
        path.relative_to(snapshot.folder).as_posix()
        for path in snapshot.folder.rglob("*")
        if path.is_file()
    )
    licence, languages = read_front_matter(snapshot.folder)
    files = [name for name in names if name.endswith(".gguf")]
    if not files:
        try:
            chosen = choose_files(snapshot.repository, names, file=None)
        except ModelError:
            return  # neither weights nor a graph that crx reads, such as pickles
        size = sum((snapshot.folder / name).stat().st_size for name in chosen)
        use = f"crx models add {snapshot.folder.parent.parent}"
        yield OtherModel(f"hf:{snapshot.repository}", "", size, licence, languages, use)
    for name in files:
        path = snapshot.folder / name
        title = f"hf:{snapshot.repository}:{name}"
        size = path.stat().st_size
        yield OtherModel(title, "generator", size, licence, languages, f"llama:{path}")


def _cache(variables: Mapping[str, str]) -> Path:
    """Return the folder of the cache, as the hub's own client finds it."""
    if named := variables.get("HF_HUB_CACHE"):
        return Path(named).expanduser()
    home = variables.get("HF_HOME")
    if not home:
        home = str(Path(variables.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface")
    return Path(home).expanduser() / "hub"
