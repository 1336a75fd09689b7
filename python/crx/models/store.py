"""The store: one folder a model, on a search path of places.

The places, in order: those of `CRX_MODELS` (separated as `PATH` is), the user's data folder,
`share/crx/models` of the Python that runs, and the models that come with crx. A model is published
whole: it is built beside its place, synced, and renamed.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import platformdirs

from crx.errors import ModelError, NoRoom
from crx.models.card import (
    CARD,
    GGUF,
    ModelCard,
    Precision,
    Provenance,
    check_files,
    read_card,
    write_card,
)
from crx.models.carriers import is_carried

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
_SHIPPED = Path(__file__).parents[1] / "shipped"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}(@int8)?")


def places() -> list[Path]:
    """Return the folders that are searched for models, in order, whether or not they exist."""
    named = [Path(place) for place in os.environ.get("CRX_MODELS", "").split(os.pathsep) if place]
    return [*named, _user_place(), Path(sys.prefix) / "share" / "crx" / "models", _SHIPPED]


def folders() -> dict[str, Path]:
    """Return the folder of each model that is here, by name; the first place wins.

    Their cards are not read: a damaged model is here as well.
    """
    found: dict[str, Path] = {}
    for place in places():
        for path in sorted(place.glob(f"*/{CARD}")):
            if _NAME.fullmatch(path.parent.name):
                found.setdefault(path.parent.name, path.parent)
    return dict(sorted(found.items()))


def available() -> list[ModelCard]:
    """Return the cards of the models that are here, by name.

    Raises `ModelError` for a card that cannot be read.
    """
    return [read_card(folder) for folder in folders().values()]


def is_here(name: str) -> bool:
    """Tell whether some place has a model of this name."""
    return _published(name) is not None


def find(name: str) -> Path:
    """Return the folder of a model, by its name or by the path of its folder.

    Raises `ModelError`, naming the models that are here, where there is none.
    """
    folder = _published(name) or Path(name)
    if (folder / CARD).is_file():
        return folder
    here = ", ".join(folders()) or "none"
    fetch = f"crx models pull {name}" if is_carried(name) else "crx models add FOLDER"
    raise ModelError(f"{name}: no such model; here: {here}; add one with {fetch}")


def find_gguf(name: str | Path) -> Path:
    """Return the GGUF file of a model of the store; a name that is not of the store is a path."""
    folder = _published(str(name))
    file = folder / GGUF if folder else Path(name)
    return file if file.is_file() else Path(name)


def verify(name: str) -> ModelCard:
    """Check every file of a model against its card; `ModelError` names the first that differs."""
    folder = find(name)
    card = read_card(folder)
    check_files(folder, card)
    return card


def add(
    source: Path,
    *,
    name: str | None = None,
    precision: Precision = "fp32",
    into: Path | None = None,
    query_prefix: str | None = None,
    passage_prefix: str | None = None,
) -> ModelCard:
    """Convert a model's folder and publish it; returns its card.

    `source` is a folder as sentence-transformers saves it. The name is that of the folder, in
    lower case, where none is given; an int8 model's ends in "@int8". A model of the same name in
    the same place is replaced. The prefixes are the folder's own unless they are given. Raises
    `ModelError` for a folder that cannot be converted.
    """
    name = full_name(name or _plain(source.resolve().name), precision)

    def write(target: Path) -> ModelCard:
        card: ModelCard = converter().convert(
            source,
            target,
            name=name,
            precision=precision,
            query_prefix=query_prefix,
            passage_prefix=passage_prefix,
        )
        return card

    return publish(name, into=into, write=write)


def publish(
    name: str,
    *,
    into: Path | None,
    write: Callable[[Path], ModelCard],
    provenance: Provenance | None = None,
) -> ModelCard:
    """Have a model's files written aside, and move them to their place; returns their card."""
    place = writable(into)
    if (place / name).exists() and not (place / name / CARD).is_file():
        raise ModelError(f"{place / name}: not a model, and not replaced; take another name")
    aside = Path(tempfile.mkdtemp(prefix=".adding-", dir=place))
    try:
        card = replace(write(aside), provenance=provenance)
        write_card(aside, card)
        _publish(aside, place / name)
        return card
    except OSError as error:
        kind = NoRoom if error.errno in _FULL else ModelError
        raise kind(f"{place / name}: {_reason(error)}; make room or name another --into") from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def remove(name: str) -> None:
    """Remove a model by its name; `ModelError` where there is none or it cannot be removed."""
    folder = _published(name)
    if folder is None:
        raise ModelError(f"{name}: no such model in the store; crx models lists what is here")
    if folder.parent == _SHIPPED:
        raise ModelError(f"{name}: comes with crx, and is not removed")
    aside = folder.with_name(f".removed-{os.getpid()}-{folder.name}")
    try:
        folder.rename(aside)
        shutil.rmtree(aside)
    except OSError as error:
        raise ModelError(
            f"{folder}: not removed, {_reason(error)}; remove the folder yourself"
        ) from error


def _published(name: str) -> Path | None:
    """Return the folder of the first place that has the model."""
    if not _NAME.fullmatch(name):
        return None
    return next((at / name for at in places() if (at / name / CARD).is_file()), None)


def _user_place() -> Path:
    return Path(platformdirs.user_data_dir("crx", appauthor=False)) / "models"


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-._")


def full_name(name: str, precision: Precision) -> str:
    """Return the name that a model of this precision is kept by; `ModelError` for a bad one."""
    if precision == "int8" and not name.endswith("@int8"):
        name += "@int8"
    if not _NAME.fullmatch(name) or (precision == "int8") != name.endswith("@int8"):
        raise ModelError(f"{name!r}: not a name for a {precision} model; take letters and digits")
    return name


def writable(into: Path | None) -> Path:
    """Return the folder to write models to; `ModelError` where none can be written to."""
    named = [Path(place) for place in os.environ.get("CRX_MODELS", "").split(os.pathsep) if place]
    candidates = [into] if into is not None else [*named[:1], _user_place()]
    reason = ""
    for place in candidates:
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = _reason(error)
            continue
        if os.access(place, os.W_OK | os.X_OK):
            return place
        reason = "not writable"
    raise ModelError(f"{candidates[0]}: {reason}; name a folder to write to with --into")


def converter() -> ModuleType:
    """Return the module that converts; `ModelError` where its packages are not installed."""
    try:
        from crx.models.convert import convert
    except ModuleNotFoundError as error:
        raise ModelError(
            f'adding a model needs {error.name}; install it with pip install "crx[onnx]"'
        ) from error
    return convert


def _publish(aside: Path, folder: Path) -> None:
    """Sync the files and the folder built aside, and move it to its place."""
    for path in aside.iterdir():
        _sync(path)
    aside.chmod(0o755)
    _sync(aside)
    old = folder.with_name(f".replaced-{os.getpid()}-{folder.name}")
    if folder.exists():
        folder.rename(old)
    aside.rename(folder)
    _sync(folder.parent)
    shutil.rmtree(old, ignore_errors=True)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _sync(path: Path) -> None:
    if os.name == "nt" and path.is_dir():
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
