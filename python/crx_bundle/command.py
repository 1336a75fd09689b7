"""`crx bundle`: carry crx, its models and an index to a machine without a network."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from crx._cli.options import json_option
from crx._cli.output import display_path, print_json, print_line, print_note
from crx._cli.value_completion import complete_model
from crx.config import resolve
from crx.errors import Damaged
from crx.labels import format_size
from crx_bundle.create import create_bundle, models_of
from crx_bundle.install import install_bundle
from crx_bundle.verify import check_bundle
from crx_bundle.wheelhouse import WheelSources

if TYPE_CHECKING:
    from crx_bundle.verify import CheckedBundle

_PATH = click.Path(path_type=Path)

# Instead of a model: the bundle is to have none.
NO_MODEL = "none"
NO_EXTRA = "none"


@click.group()
def command() -> None:
    """Carry crx, its models and an index to a machine without a network.

    A bundle is a folder with everything that an installation needs, for machines with the same
    operating system, processor and version of Python as this one.
    """


_signers_option = click.option(
    "--key",
    metavar="FILE",
    type=_PATH,
    help="Public SSH keys, one of which must have signed the bundle.  [default: the signature is "
    "not checked]",
)


@command.command("create", short_help="Create a bundle for this Python and machine.")
@click.argument("folder", type=_PATH)
@click.option(
    "--from",
    "wheels",
    metavar="DIR",
    type=_PATH,
    help="Folder of wheels to use instead of the package registry.",
)
@click.option(
    "--wheel",
    "own",
    metavar="FILE",
    type=_PATH,
    help="Wheel of crx.  [default: the one in --from, else made of the installed files]",
)
@click.option(
    "--extra",
    "extras",
    metavar="NAME",
    multiple=True,
    help="Extra of crx whose packages are added, such as mcp; repeatable; none: no extra.  "
    "[default: all]",
)
@click.option(
    "--model",
    "models",
    metavar="NAME",
    multiple=True,
    shell_complete=complete_model,
    help="Model of the store to add; repeatable.  [default: those of the settings embedder, "
    "reranker and generator; none: no model]",
)
@click.option(
    "--index",
    metavar="DIR",
    type=_PATH,
    help="Index to add, with its embedder.  [default: no index]",
)
@click.option(
    "--key",
    metavar="FILE",
    type=_PATH,
    help="SSH key that signs the bundle (ssh-keygen -Y).  [default: no signature]",
)
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
@json_option
def create_command(
    *,
    folder: Path,
    wheels: Path | None,
    own: Path | None,
    extras: tuple[str, ...],
    models: tuple[str, ...],
    index: Path | None,
    key: Path | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Create a bundle in the new folder FOLDER.

    It contains the wheels of crx and of its dependencies, models, licences, a bill of materials
    (CycloneDX) and checksums. pip collects the wheels and installs none of them; a package that the
    registry has only as sources is built.
    """
    chosen = [name for name in models or models_of(resolve().settings) if name != NO_MODEL]
    made = create_bundle(
        folder,
        sources=WheelSources(folder=wheels, own=own, extras=_parse_extras(extras)),
        models=chosen,
        index=index,
        key=key,
        on_step=(lambda _: None) if quiet else print_note,
    )
    for note in made.notes:
        print_note(note)
    if as_json:
        manifest = {**asdict(made.manifest), "wheels": [wheel.path.name for wheel in made.wheels]}
        print_json(
            {"bundle": str(folder), "bytes": made.size_bytes, "signed": made.signed} | manifest
        )
        return
    parts = [f"crx {made.manifest.crx}", f"{len(made.wheels)} wheels"]
    parts.append(f"models: {', '.join(made.manifest.models) or NO_MODEL}")
    parts += ["an index"] * made.manifest.index + ["signed"] * made.signed
    print_line(f"{display_path(folder)}: {', '.join(parts)}; {format_size(made.size_bytes)}")
    command = f"python{made.manifest.version} {folder.name}/install.py FOLDER"
    print_note(f'for {made.manifest.python} on {made.manifest.machine}; there, "{command}"')


@command.command("verify", short_help="Check the files of a bundle, and its signature.")
@click.argument("bundle", type=_PATH)
@_signers_option
@json_option
def verify_command(*, bundle: Path, key: Path | None, as_json: bool) -> int:
    """Check every file of BUNDLE against its checksum.

    Each file that differs, is missing or is extra is printed, and the exit code is then 4.
    """
    checked = check_bundle(bundle, key=key)
    if as_json:
        print_json({"bundle": str(bundle), **asdict(checked)})
    else:
        for each in checked.faults:
            print_line(f"{each.path}: {each.fault}")
        if not checked.faults:
            print_line(f"{display_path(bundle)}: {checked.files} files as they were made")
    _note_signature(checked)
    if checked.faults:
        print_note(f"{display_path(bundle)}: damaged; copy the bundle again")
    return Damaged.exit_code if checked.faults else 0


@command.command("install", short_help="Install a bundle into a new virtual environment.")
@click.argument("bundle", type=_PATH)
@click.argument("folder", type=_PATH)
@_signers_option
@json_option
def install_command(*, bundle: Path, folder: Path, key: Path | None, as_json: bool) -> None:
    """Install BUNDLE into a virtual environment in the new folder FOLDER, without a network.

    On a machine that has no crx, "python3 BUNDLE/install.py FOLDER" does the same.
    """
    done = install_bundle(bundle, folder, key=key)
    if as_json:
        index = str(done.index) if done.index else None
        paths = {"folder": str(folder), "program": str(done.program), "index": index}
        print_json({**paths, "manifest": asdict(done.bundle.manifest)})
    else:
        print_line(f"{display_path(folder)}: crx {done.bundle.manifest.crx} installed")
        print_note(f"run {display_path(done.program)}")
        if done.index is not None:
            print_note(f"the index is {display_path(done.index)}; name it with --index")
    _note_signature(done.bundle)


def _note_signature(checked: CheckedBundle) -> None:
    notes = {
        "good": "the signature is good",
        "unchecked": "signed; --key FILE checks by whom",
        "none": "not signed",
    }
    print_note(notes[checked.signature])


def _parse_extras(names: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the extras that are named, none for "none", None if none is named."""
    return tuple(name for name in names if name != NO_EXTRA) if names else None
