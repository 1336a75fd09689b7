"""Creation of a bundle: wheels, models, an index, licences, bill of materials, checksums."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from crx._index import handle
from crx._models.card import CARD_FILE, ModelCard
from crx._models.pinned_wheels import is_pullable
from crx._models.store import find_model, is_shipped, list_models, verify_model
from crx.config import Settings, resolve
from crx.errors import Incompatible
from crx_bundle.install import require_new, system_error
from crx_bundle.licences import write_licences
from crx_bundle.manifest import (
    FORMAT,
    INDEX_FOLDER,
    MODELS_FOLDER,
    Manifest,
    current_machine,
    current_python,
    oldest_glibc,
    write_manifest,
)
from crx_bundle.sbom import write_sbom
from crx_bundle.signature import sign
from crx_bundle.verify import write_sums
from crx_bundle.wheel import WheelFacts
from crx_bundle.wheelhouse import WheelSources, choose_extras, collect_wheels

_INSTALL = '''\
"""Check and install this bundle of crx {crx}: install.py FOLDER, or install.py --verify."""

import os
import sys

if sys.version_info[:2] != ({numbers}):
    sys.stderr.write("install.py: this bundle is for {name}; run it with python{version}\\n")
    sys.exit({incompatible})
here = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
# Python puts the folder of a script first, and a file of it, such as hashlib.py, would be imported
# before any is checked.
sys.path[:] = [path for path in sys.path if os.path.realpath(path) != os.path.realpath(here)]
sys.path.insert(0, os.path.join(here, "wheels", "{wheel}"))

from pathlib import Path

from crx_bundle.standalone import run

if __name__ == "__main__":
    sys.exit(run(Path(here), sys.argv[1:]))
'''

_README = """\
This folder holds crx {crx} for {name} on {machine}, with all that it needs.

  sha256sum -c SHA256SUMS              check the files, without running anything of the bundle
  python{version} install.py --verify     check them, and that there are no others
  python{version} install.py FOLDER       install into a new folder

Both commands of install.py take --key FILE.pub, which checks the signature.
licences/ has the licence of each package, sbom.cdx.json the bill of materials (CycloneDX).
"""


@dataclass(frozen=True, slots=True)
class CreatedBundle:
    """A new bundle: its folder, its manifest, its wheels, its size, and notes on it."""

    folder: Path
    manifest: Manifest
    wheels: tuple[WheelFacts, ...]
    size_bytes: int
    signed: bool
    notes: tuple[str, ...]


def create_bundle(
    folder: Path,
    *,
    sources: WheelSources,
    models: Sequence[str] = (),
    index: Path | None = None,
    key: Path | None = None,
    on_step: Callable[[str], None] = lambda _: None,
) -> CreatedBundle:
    """Create a bundle for this Python and machine; after an error, nothing is left behind.

    `models` are names in the model store; the embedder of `index` is added to them. `key` is an
    SSH key that signs the bundle. Raises `UsageError`, also if the folder is not empty,
    `ModelError` for a model that is missing or damaged, `NoRoom`, and `SystemFailure` if pip fails.
    """
    require_new(folder)
    cards = {name: verify_model(name) for name in models}
    try:
        folder.absolute().parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(
            prefix=".bundling-", dir=folder.absolute().parent
        ) as temporary:
            draft = Path(temporary) / "bundle"
            draft.mkdir()
            if index is not None:
                on_step("copying the index")
                cards |= _copy_index(index, draft)
            on_step("collecting wheels")
            wheels = collect_wheels(draft, sources)
            on_step("copying models")
            _copy_models(draft, cards)
            own = next(wheel for wheel in wheels if wheel.key == "crx")
            manifest = _describe(wheels, cards, choose_extras(sources, own), draft)
            notes = _write_documents(draft, manifest, wheels, list(cards.values()))
            on_step("computing checksums")
            write_sums(draft)
            if key is not None:
                sign(draft, key)
            if folder.exists():
                folder.rmdir()
            size = _size(draft)
            draft.rename(folder)
    except OSError as error:
        raise system_error(error, folder) from error
    return CreatedBundle(folder, manifest, tuple(wheels), size, key is not None, notes)


def models_of(settings: Settings) -> list[str]:
    """Return the models of the store that the settings name, those included in crx left out."""
    specs = (settings.embedder, settings.reranker, settings.generator)
    names = dict.fromkeys(part for spec in specs for part in _store_names(spec))
    return [name for name in names if not is_shipped(name)]


def _store_names(spec: str) -> list[str]:
    """Return the names in a specification, such as `llama:smollm2`, that are those of models."""
    installed = list_models()
    return [part for part in spec.split(":") if part in installed or is_pullable(part)]


def _copy_index(index: Path, bundle: Path) -> dict[str, ModelCard]:
    """Copy an index into a bundle; return the card of its embedder by name, if that is a model."""
    with handle.open(index, create=False) as opened:
        opened.backup(bundle / INDEX_FOLDER)
        names = _store_names(opened.settings["embedder"])
    return {name: verify_model(name) for name in names}


def _copy_models(bundle: Path, cards: Mapping[str, ModelCard]) -> None:
    for name, card in cards.items():
        source, target = find_model(name), bundle / MODELS_FOLDER / card.name
        target.mkdir(parents=True)
        for file in (CARD_FILE, *card.files):
            shutil.copyfile(source / file, target / file)


def _describe(
    wheels: Sequence[WheelFacts],
    cards: Mapping[str, ModelCard],
    extras: Sequence[str],
    bundle: Path,
) -> Manifest:
    unpacked = sum(wheel.unpacked_bytes for wheel in wheels)
    others = _size(bundle / MODELS_FOLDER) + _size(bundle / INDEX_FOLDER)
    return Manifest(
        format=FORMAT,
        crx=next(wheel.version for wheel in wheels if wheel.key == "crx"),
        created=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        python=current_python(),
        machine=current_machine(),
        glibc=oldest_glibc(wheel.path.name for wheel in wheels),
        extras=tuple(extras),
        models=tuple(card.name for card in cards.values()),
        index=(bundle / INDEX_FOLDER).is_dir(),
        installed_bytes=unpacked + others,
        embedder=_default_embedder(list(cards.values())),
    )


def _default_embedder(cards: Sequence[ModelCard]) -> str:
    """Return the embedder that the settings name if it is in the bundle, else the first there."""
    names = [card.name for card in cards if card.kind == "embedder"]
    chosen = resolve().settings.embedder
    return chosen if chosen in names else next(iter(names), "")


def _write_documents(
    bundle: Path, manifest: Manifest, wheels: Sequence[WheelFacts], cards: Sequence[ModelCard]
) -> tuple[str, ...]:
    """Write what describes a bundle, and its `install.py`; return notes for its maker."""
    unnamed = write_licences(bundle, wheels=wheels, models=cards)
    write_sbom(
        bundle, wheels=wheels, models=cards, extras=manifest.extras, created=manifest.created
    )
    write_manifest(bundle, manifest)
    facts = {
        "crx": manifest.crx,
        "name": manifest.python,
        "version": manifest.version,
        "numbers": manifest.version.replace(".", ", "),
        "machine": manifest.machine,
        "incompatible": str(Incompatible.exit_code),
        "wheel": next(wheel.path.name for wheel in wheels if wheel.key == "crx"),
    }
    _write(bundle / "install.py", _INSTALL, facts)
    _write(bundle / "README.txt", _README, facts)
    return tuple(f"{each}: names no licence; ask its authors" for each in unnamed)


def _write(path: Path, template: str, facts: Mapping[str, str]) -> None:
    path.write_text(template.format_map(facts), encoding="utf-8", newline="\n")


def _size(folder: Path) -> int:
    """Return the size of the files below a folder in bytes, 0 if there is none."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
