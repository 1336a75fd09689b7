"""Models from the Hugging Face Hub, through its own client, `huggingface_hub`.

The client reads `HF_ENDPOINT`, `HF_TOKEN`, `HF_HOME` and the cache, and resumes broken downloads.
It compares sizes alone, so every file is compared here with the hash that the hub lists for it.
"""

from __future__ import annotations

import errno
import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from crx._models.adding import add_foreign_model
from crx._models.card import GGUF_FILE, ModelCard, Precision, Provenance, file_digest
from crx._models.hub_address import SCHEME, HubAddress, HubFile, HubModel
from crx._models.hub_cache import CachedSnapshot, cache_folder, find_snapshot
from crx._models.hub_files import choose_files
from crx._models.licences import require_accepted
from crx._models.source_folder import Overrides, read_front_matter
from crx._models.store import (
    import_converter,
    normalize_name,
    publish_model,
    qualified_name,
)
from crx.config import refuse_offline
from crx.errors import CrxError, ModelError, NoRoom, UsageError

_BLOCK_BYTES = 1 << 20
_GGUF_MAGIC = b"GGUF"
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
# Statuses of the hub, and what to do about them.
_ADVICE = {
    401: "no such model, or a private one: check the name, or set HF_TOKEN",
    403: "not allowed: accept its terms on its page and set HF_TOKEN",
    404: "no such model, revision or file",
    429: "too many requests; try again later",
}


def find_hub_model(address: HubAddress) -> HubModel:
    """Ask the hub for a model, its licence and its files; download nothing.

    Raises `ModelError` if the package is not installed, if the hub does not have the model or what
    crx reads of it, or cannot be reached while the cache does not have it; `Offline`.
    """
    refuse_offline(f"crx models pull {SCHEME}{address.repository}")
    client = _client(address)
    try:
        with _mapped_errors(address):
            return _ask(client, address)
    except ModelError as error:
        if not _is_transport_error(error):
            raise
        return _find_cached(client, address, error)


def pull_hub_model(
    model: HubModel,
    *,
    name: str | None = None,
    precision: Precision | None = None,
    into: Path | None = None,
    overrides: Overrides | None = None,
    accepted_licence: str | None = None,
) -> ModelCard:
    """Fetch the files of a model, convert and store it, and return its card.

    Raises `UsageError` for a licence that is not permissive and not accepted, and for options that
    a GGUF file does not have; `ModelError` for a
    model that cannot be fetched or converted or a file that differs from the hub's hash, `NoRoom`.
    """
    repository, _, file = model.address
    require_accepted(f"{SCHEME}{repository}", model.licence, accepted_licence)
    overrides = overrides or Overrides()
    is_gguf = file is not None and file.endswith(".gguf")
    if is_gguf and overrides.kind is not None:
        raise ModelError(
            f"{SCHEME}{repository}:{file}: a GGUF file is a generator here, not {overrides.kind}; "
            "name safetensors or an ONNX graph, or serve it with llama-server"
        )
    if is_gguf and (precision is not None or overrides != Overrides()):
        raise UsageError(
            f"{SCHEME}{repository}:{file}: a GGUF file is stored as it is; of the options of a "
            "model only --name and --accept-licence apply"
        )
    if not is_gguf:
        import_converter()  # before hundreds of megabytes are fetched for it
    folder = model.cached or _fetch(model)
    provenance = Provenance(f"{SCHEME}{repository}", model.commit, "", file or "")
    if is_gguf:
        assert file is not None
        source = folder / file
        return _store_gguf(model, source, name=name, into=into, provenance=provenance)
    overrides = replace(
        overrides,
        graph=overrides.graph or file,
        licence=model.licence if overrides.licence is None else overrides.licence,
        languages=model.languages if overrides.languages is None else overrides.languages,
        title=repository,
    )
    return add_foreign_model(
        folder,
        name=name or normalize_name(repository.rpartition("/")[2]),
        precision=precision,
        into=into,
        overrides=overrides,
        accepted_licence=accepted_licence,
        provenance=provenance,
    )


def _client(address: HubAddress) -> ModuleType:
    try:
        client = import_module("huggingface_hub")
        import_module("huggingface_hub.errors")
    except ModuleNotFoundError as error:
        raise ModelError(
            f"{SCHEME}{address.repository}: needs {error.name}; "
            'install it with pip install "crx[hub]"'
        ) from error
    # Its warnings repeat the errors that are raised, and each retry.
    client.logging.set_verbosity_error()
    return client


def _ask(client: ModuleType, address: HubAddress) -> HubModel:
    api = client.HfApi()
    info = api.model_info(address.repository, revision=address.revision)
    card = info.card_data.to_dict() if info.card_data is not None else {}
    listed = api.list_repo_tree(address.repository, revision=info.sha, recursive=True)
    found = {entry.path: entry for entry in listed if isinstance(entry, client.hf_api.RepoFile)}
    chosen = choose_files(address.repository, sorted(found), file=address.file)
    return HubModel(
        address=address,
        commit=str(info.sha),
        licence=_licence(card),
        languages=_languages(card),
        files=tuple(_hub_file(found[name]) for name in chosen),
    )


def _hub_file(entry: Any) -> HubFile:
    sha256 = entry.lfs.sha256 if entry.lfs is not None else ""
    return HubFile(entry.path, int(entry.size), str(sha256), str(entry.blob_id))


def _licence(card: dict[str, Any]) -> str:
    """Return the licence of a model's page, in lower case; "" if it names none."""
    licence = str(card.get("license") or "").lower()
    return str(card.get("license_name") or licence).lower() if licence == "other" else licence


def _languages(card: dict[str, Any]) -> tuple[str, ...]:
    """Return the ISO 639-1 codes of a model's page; "multilingual" is not one."""
    listed = card.get("language") or []
    codes = [listed] if isinstance(listed, str) else listed
    return tuple(str(code) for code in codes if len(str(code)) == 2)


def _find_cached(client: ModuleType, address: HubAddress, error: ModelError) -> HubModel:
    """Return the model of the cache; raise `error` if it is not there."""
    cache = cache_folder(Path(client.constants.HF_HUB_CACHE), address.repository)
    try:
        snapshot: CachedSnapshot = find_snapshot(cache, address.revision)
    except ModelError:
        raise error from error.__cause__
    if address.file is not None and address.file.endswith(".gguf"):
        if not (snapshot.folder / address.file).is_file():
            raise error from error.__cause__
        return HubModel(address, snapshot.commit, "", (), (), snapshot.folder)
    licence, languages = read_front_matter(snapshot.folder)
    return HubModel(address, snapshot.commit, licence, languages, (), snapshot.folder)


def _fetch(model: HubModel) -> Path:
    """Download the files into the client's cache, check each, and return their folder."""
    client = _client(model.address)
    path = Path()
    with _mapped_errors(model.address):
        for file in model.files:
            path = Path(
                client.hf_hub_download(model.address.repository, file.name, revision=model.commit)
            )
            _check_hash(model, file, path)
    return path.parents[len(Path(model.files[-1].name).parts) - 1]


def _check_hash(model: HubModel, file: HubFile, path: Path) -> None:
    """Compare a downloaded file with the hub's hash; remove it if they differ."""
    digest = hashlib.sha256() if file.sha256 else hashlib.sha1(usedforsecurity=False)
    if not file.sha256:
        digest.update(b"blob %d\0" % path.stat().st_size)
    with path.open("rb", buffering=0) as content:
        while block := content.read(_BLOCK_BYTES):
            digest.update(block)
    if digest.hexdigest() == (file.sha256 or file.blob_id):
        return
    path.resolve().unlink()
    path.unlink(missing_ok=True)
    raise ModelError(
        f"{SCHEME}{model.address.repository}: {file.name} differs from the hash that the hub lists "
        "and was removed from the cache; pull it again"
    )


def _store_gguf(
    model: HubModel, source: Path, *, name: str | None, into: Path | None, provenance: Provenance
) -> ModelCard:
    with source.open("rb") as file:
        if file.read(len(_GGUF_MAGIC)) != _GGUF_MAGIC:
            raise ModelError(f"{source}: not a GGUF file; pull another one")
    name = qualified_name(name or normalize_name(source.stem), "gguf")

    def write(target: Path) -> ModelCard:
        shutil.copyfile(source, target / GGUF_FILE)
        return ModelCard(
            name=name,
            kind="generator",
            dimensions=0,
            sequence=0,
            max_tokens=0,
            pooling="none",
            query_prefix="",
            passage_prefix="",
            precision="gguf",
            licence=model.licence,
            source=f"{model.address.repository}:{model.address.file}",
            converter=0,
            opset=0,
            files={GGUF_FILE: file_digest(target / GGUF_FILE)},
            languages=model.languages,
        )

    return publish_model(name, into=into, write=write, provenance=provenance)


@contextmanager
def _mapped_errors(address: HubAddress) -> Iterator[None]:
    """Raise the client's errors as one line of `ModelError` or `NoRoom`."""
    name = f"{SCHEME}{address.repository}"
    try:
        yield
    except CrxError:
        raise
    except Exception as error:  # those of the client and of its HTTP library have no common root
        if isinstance(error, OSError) and error.errno in _DISK_FULL:
            raise NoRoom(
                f"{name}: no space left to download it; free space, or set HF_HOME to a folder on "
                "another disk"
            ) from error
        raise ModelError(f"{name}: {_explain(error)}") from error


def _explain(error: Exception) -> str:
    """Return what failed, and the next step, in one line."""
    chain = list(_causes(error))
    kinds = {kind.__name__ for each in chain for kind in type(each).__mro__}
    statuses = [getattr(getattr(each, "response", None), "status_code", None) for each in chain]
    status = 403 if "GatedRepoError" in kinds else next(filter(None, statuses), None)
    if status in _ADVICE:
        return f"{_ADVICE[status]} ({status})"
    if status is not None and status >= 400:
        return f"the hub answers with status {status}; try again later"
    if _is_transport_error(error):
        return (
            "the hub cannot be reached; check the network and HF_ENDPOINT, or add a downloaded "
            "folder with crx models add"
        )
    if kinds & {"FileMetadataError", "ValueError", "KeyError"}:
        return "what answers is no hub; check HF_ENDPOINT and the proxy"
    why = (str(error).splitlines() or [type(error).__name__])[0]
    return f"not fetched ({why}); pull it again, and the download goes on"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and those that it was raised from: the client wraps those of requests."""
    while error is not None:
        yield error
        error = error.__cause__


def _is_transport_error(error: BaseException | None) -> bool:
    """Return whether an error is one of the HTTP library (httpx, or httpx2 in newer clients)."""
    names = {kind.__name__ for each in _causes(error) for kind in type(each).__mro__}
    return bool(names & {"TransportError", "OfflineModeIsEnabled", "ConnectionError"})
