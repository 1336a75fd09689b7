"""The model store: models on this machine, one folder each, found by name on a search path.

The search path is the folders of `CRX_MODELS` (separated as in `PATH`), the user's data folder,
`share/crx/models` of the running Python, and the models shipped with crx. A model is published
atomically: it is written to a temporary folder, synced and renamed.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import platformdirs

from crx._models.card import (
    CARD_FILE,
    GGUF_FILE,
    ModelCard,
    Precision,
    Provenance,
    check_files,
    read_card,
    write_card,
)
from crx._models.hub_cache import find_snapshot, is_cache_folder, snapshot_of
from crx._models.licences import require_accepted_if_non_commercial
from crx._models.onnx_folder import detect_precision
from crx._models.pinned_wheels import is_pullable
from crx._models.tried import ONNX, record_tried
from crx.errors import ModelError, NoRoom, NotInstalled
from crx.plugins import load_shipped

if TYPE_CHECKING:
    from crx._models.source_folder import Overrides, SourceFolder

_DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
# Models, and layers of students, that come with crx.
SHIPPED = Path(__file__).parents[1] / "shipped"
# Beginning of the name of a folder whose model is being written, before the number of the process.
UNFINISHED = ".adding-"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}(@int8)?")


def search_path() -> list[Path]:
    """Return the folders that are searched for models, in order, including missing ones."""
    return [*_environment_folders(), _user_folder(), *_installed_folders()]


def is_part_of_installation(folder: Path) -> bool:
    """Return whether a model is in a folder whose writers can write the code of crx, too."""
    return folder.resolve().parent in [each.resolve() for each in _installed_folders()]


def list_models() -> dict[str, Path]:
    """Return the folder of each installed model by name; the first on the search path wins.

    Cards are not read, so damaged models are listed too.
    """
    found: dict[str, Path] = {}
    for parent in search_path():
        for card in sorted(parent.glob(f"*/{CARD_FILE}")):
            if _NAME.fullmatch(card.parent.name):
                found.setdefault(card.parent.name, card.parent)
    return dict(sorted(found.items()))


def read_cards() -> list[ModelCard]:
    """Return the cards of all installed models, sorted by name.

    Raises `ModelError` for a card that cannot be read.
    """
    return [read_card(folder) for folder in list_models().values()]


def is_installed(name: str) -> bool:
    """Return whether a model of this name is on the search path."""
    return _find_by_name(name) is not None


def is_shipped(name: str) -> bool:
    """Return whether a model of this name is the one that comes with crx."""
    folder = _find_by_name(name)
    return folder is not None and folder.parent == SHIPPED


def find_model(name: str) -> Path:
    """Return the folder of a model, given its name or the path of its folder.

    Raises `NotInstalled`, with the names of the installed models, if there is none.
    """
    folder = _find_by_name(name) or Path(name)
    if (folder / CARD_FILE).is_file():
        return folder
    if name.endswith(".gguf"):
        raise ModelError(
            f"{name}: a GGUF file is no embedder or reranker here; serve it with llama-server and "
            "name openai:URL#MODEL, or use it as a language model with llama:PATH"
        )
    if is_installed(f"{name}@int8"):
        raise NotInstalled(f"{name}: no such model; it is installed in int8 alone, as {name}@int8")
    installed = ", ".join(list_models()) or "none"
    command = f"crx models pull {name}" if is_pullable(name) else "crx models add FOLDER"
    raise NotInstalled(f"{name}: no such model; installed: {installed}; add one with {command}")


def find_gguf_file(name: str | Path) -> Path:
    """Return the GGUF file of an installed model; any other name is returned as a path."""
    folder = _find_by_name(str(name))
    file = folder / GGUF_FILE if folder else Path(name)
    return file if file.is_file() else Path(name)


def verify_model(name: str) -> ModelCard:
    """Check every file of a model against its card, and return the card.

    Raises `ModelError` for the first file that differs.
    """
    folder = find_model(name)
    card = read_card(folder)
    check_files(folder, card)
    return card


def add_model(
    source: Path,
    *,
    name: str | None = None,
    precision: Precision | None = None,
    into: Path | None = None,
    overrides: Overrides | None = None,
    accepted_licence: str | None = None,
    provenance: Provenance | None = None,
) -> ModelCard:
    """Convert a model folder, publish the result and return its card.

    `source` is a folder saved by sentence-transformers or transformers, has an ONNX graph, or is a
    model's folder in the Hugging Face cache.
    `name` defaults to the folder's name in lower case; the name of an int8 model ends in "@int8".
    `precision` defaults to that of the graph, and to fp32 for weights. A model of the same name in
    the same store folder is replaced. Raises `ModelError` if the folder cannot be converted, and
    `UsageError` if its licence forbids commercial use and is not the accepted one.
    """
    if is_cache_folder(source):
        source = find_snapshot(source).folder
    title = source.resolve().name
    if provenance is None and (snapshot := snapshot_of(source.resolve())) is not None:
        title = snapshot.repository.rpartition("/")[2]
        provenance = Provenance(f"hf:{snapshot.repository}", snapshot.commit, "", "")
    converter = import_converter()
    folder: SourceFolder = converter.read_folder(source, overrides)
    require_accepted_if_non_commercial(str(source), folder.licence, accepted_licence)
    if precision is None:
        precision = "fp32" if folder.graph is None else detect_precision(folder.graph)
    name = qualified_name(name or normalize_name(title), precision)

    def write(target: Path) -> ModelCard:
        card: ModelCard = converter.convert_folder(folder, target, name=name, precision=precision)
        return card

    return publish_model(name, into=into, write=write, provenance=provenance)


def publish_model(
    name: str,
    *,
    into: Path | None,
    write: Callable[[Path], ModelCard],
    provenance: Provenance | None = None,
) -> ModelCard:
    """Call `write` with a temporary folder, move the folder into the store, and return the card."""
    parent = writable_folder(into)
    target = parent / name
    if target.exists() and not (target / CARD_FILE).is_file():
        raise ModelError(f"{target}: not a model, so it is not replaced; choose another name")
    import tempfile  # not imported for a search

    temporary = Path(tempfile.mkdtemp(prefix=f"{UNFINISHED}{os.getpid()}-", dir=parent))
    try:
        card = replace(write(temporary), provenance=provenance)
        write_card(temporary, card)
        _move_into_place(temporary, target)
        record_tried(card, backend=ONNX)
        return card
    except OSError as error:
        kind = NoRoom if error.errno in _DISK_FULL else ModelError
        raise kind(f"{target}: {_message(error)}; free space or name another --into") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def remove_model(name: str) -> None:
    """Remove a model by name; `ModelError` if it is missing or cannot be removed."""
    folder = _find_by_name(name)
    if folder is None:
        raise ModelError(f'{name}: no such model in the store; "crx models" lists the models')
    if folder.parent == SHIPPED:
        raise ModelError(f"{name}: shipped with crx and cannot be removed")
    temporary = folder.with_name(f".removed-{os.getpid()}-{folder.name}")
    try:
        folder.rename(temporary)
        shutil.rmtree(temporary)
    except OSError as error:
        raise ModelError(
            f"{folder}: not removed, {_message(error)}; remove the folder yourself"
        ) from error


def qualified_name(name: str, precision: Precision) -> str:
    """Return the store name of a model, with "@int8" for int8; `ModelError` if it is invalid."""
    if precision == "int8" and not name.endswith("@int8"):
        name += "@int8"
    if not _NAME.fullmatch(name) or (precision == "int8") != name.endswith("@int8"):
        raise ModelError(
            f"{name!r}: not a valid name for precision {precision}; use lower-case letters, "
            "digits, dots and hyphens, and the suffix @int8 for int8 only"
        )
    return name


def writable_folder(into: Path | None) -> Path:
    """Return the store folder to write to, created if missing: `into`, or the default.

    The default is the first folder of `CRX_MODELS`, else the user's data folder. Raises
    `ModelError` if none is writable.
    """
    candidates = [into] if into is not None else [*_environment_folders()[:1], _user_folder()]
    reason = ""
    for folder in candidates:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = _message(error)
            continue
        if os.access(folder, os.W_OK | os.X_OK):
            return folder
        reason = "not writable"
    raise ModelError(f"{candidates[0]}: {reason}; name a writable folder with --into")


def import_converter() -> ModuleType:
    """Import and return the conversion module; `UsageError` if its packages are missing."""
    converter: ModuleType = load_shipped("crx.converters", "models")
    return converter


def _find_by_name(name: str) -> Path | None:
    """Return the folder of the first model of this name on the search path, or None."""
    if not _NAME.fullmatch(name):
        return None
    folders = (parent / name for parent in search_path())
    return next((folder for folder in folders if (folder / CARD_FILE).is_file()), None)


def _installed_folders() -> list[Path]:
    return [Path(sys.prefix) / "share" / "crx" / "models", SHIPPED]


def _environment_folders() -> list[Path]:
    """Return the folders that `CRX_MODELS` lists."""
    return [Path(path) for path in os.environ.get("CRX_MODELS", "").split(os.pathsep) if path]


def _user_folder() -> Path:
    return Path(platformdirs.user_data_dir("crx", appauthor=False)) / "models"


def normalize_name(name: str) -> str:
    """Return the store name that a model of this name gets."""
    return re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-._")


def _move_into_place(temporary: Path, target: Path) -> None:
    """Sync the files of a temporary folder and rename it to `target`, replacing what is there."""
    for path in temporary.iterdir():
        _sync(path)
    temporary.chmod(0o755)
    _sync(temporary)
    old = target.with_name(f".replaced-{os.getpid()}-{target.name}")
    if target.exists():
        target.rename(old)
    temporary.rename(target)
    _sync(target.parent)
    shutil.rmtree(old, ignore_errors=True)


def _message(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _sync(path: Path) -> None:
    # Windows cannot open a folder.
    if os.name == "nt" and path.is_dir():
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
