"""`crx models`: list, add, check and remove the models on this machine."""

from __future__ import annotations

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
from crx.errors import ModelError
from crx.models import ModelCard, add, find, folders, remove, verify
from crx.models.card import Precision, read_card


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def command(ctx: click.Context, *, as_json: bool) -> int | None:
    """List the models on this machine."""
    if ctx.invoked_subcommand is not None:
        return None
    models, damaged = _read_all()
    if as_json:
        listed = [as_object(card, folder) for card, folder in models]
        print_json({"models": listed, "damaged": damaged})
    elif models:
        head = ["name", "kind", "dimensions", "tokens", "precision", "size", "licence", "folder"]
        print_text(
            format_table([head, *(_row(card, folder) for card, folder in models)], right=(2, 3, 5))
        )
    else:
        print_note('no models here; "crx models add FOLDER" adds one')
    for line in damaged:
        print_note(line)
    return ModelError.exit_code if damaged else 0


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
    folder = find(card.name) if into is None else into / card.name
    if as_json:
        print_json(as_object(card, folder))
    else:
        print_line(f"{card.name}: added to {display_path(folder)}")
    if folders().get(card.name) != folder:
        print_note(f"{display_path(folder.parent)}: not searched for models; add it to CRX_MODELS")


@command.command("remove", short_help="Remove a model.")
@click.argument("name")
def remove_model(*, name: str) -> None:
    """Remove the model NAME from the store."""
    remove(name)
    print_line(f"{name}: removed")


@command.command("verify", short_help="Check the files of one model, or of all.")
@click.argument("name", required=False)
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
    }


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
        str(card.dimensions),
        str(card.max_tokens),
        card.precision,
        format_size(_bytes(folder, card)),
        card.licence or "unknown",
        str(folder),
    ]


def _bytes(folder: Path, card: ModelCard) -> int:
    """Return the bytes of a model's files; one that is missing has none."""
    paths = [folder / name for name in card.files]
    return sum(path.stat().st_size for path in paths if path.is_file())
