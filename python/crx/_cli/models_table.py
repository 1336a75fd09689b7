"""What `crx models` prints of a model: rows of tables, and JSON objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from crx._cli.embedder_speed import estimate_speed, format_speed
from crx._cli.output import print_line, print_note, print_text
from crx._cli.tables import format_table
from crx._models.card import ModelCard
from crx._models.elsewhere import OtherModel
from crx._models.hub_address import SCHEME
from crx._models.known import KnownModel
from crx._models.licences import UNKNOWN
from crx._models.pinned_wheels import PinnedWheel
from crx.labels import format_size

# The model whose speed tells those of others.
_MEASURED = "e5@int8"


def print_models(
    models: Sequence[tuple[ModelCard, Path]],
    elsewhere: Sequence[OtherModel],
    pullable: Sequence[PinnedWheel],
    known: Sequence[KnownModel],
) -> None:
    """Print the models of the store, the others, those that can be pulled, and those of the hub."""
    if models:
        head = ["name", "kind", "dimensions", "tokens", "precision", "size", "licence"]
        head += ["languages", "speed", "folder"]
        rows = [_row(card, folder) for card, folder in models]
        print_text(format_table([head, *rows], right=(2, 3, 5, 8)))
    else:
        print_note("no models installed")
    if elsewhere:
        print_line()
        print_line("outside of the store:")
        print_text(format_table([_other_row(model) for model in elsewhere], right=(2,)))
    if pullable:
        if models or elsewhere:
            print_line()
        print_line("available to pull:")
        print_text(format_table([_pin_row(pin) for pin in pullable], right=(3,)))
    print_line()
    print_line("on the Hugging Face Hub, with the figures of their authors:")
    measured = next((card for card, _ in models if card.name == _MEASURED), None)
    sources = list(dict.fromkeys(each.source for each in known if each.source))
    head = ["name", "kind", "dimensions", "tokens", "licence", "languages", "score", "speed"]
    rows = [_known_row(each, measured, sources) for each in known]
    print_text(format_table([head, *rows], right=(2, 3, 7)))
    print_line("; ".join(f"({at}) {source}" for at, source in enumerate(sources, 1)))
    print_note('"crx models pull NAME" fetches one, "crx models add FOLDER" adds your own')


def known_object(model: KnownModel) -> dict[str, object]:
    """Return a model of the hub as a JSON object."""
    return {"name": f"{SCHEME}{model.repository}", **model._asdict()}


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
        "speed": _speed(card),
        "source": card.source,
        "folder": str(folder),
        "fingerprint": card.fingerprint,
        "provenance": asdict(card.provenance) if card.provenance else None,
    }


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


def _format_languages(codes: Sequence[str]) -> str:
    """Return a few codes, or how many there are; "" for a model that declares none."""
    return " ".join(codes) if len(codes) <= 3 else str(len(codes))


def _row(card: ModelCard, folder: Path) -> list[str]:
    return [
        card.name,
        card.kind,
        str(card.dimensions or ""),
        str(card.max_tokens or ""),
        card.precision,
        format_size(_bytes(folder, card)),
        card.licence or UNKNOWN,
        _format_languages(card.languages),
        _speed(card),
        str(folder),
    ]


def _other_row(model: OtherModel) -> list[str]:
    return [
        model.name,
        model.kind,
        format_size(model.size_bytes),
        model.licence or UNKNOWN,
        _format_languages(model.languages),
        model.use,
    ]


def _pin_row(pin: PinnedWheel) -> list[str]:
    return [
        pin.model,
        pin.kind,
        pin.purpose,
        format_size(pin.size_bytes),
        pin.licence,
        _format_languages(pin.languages),
        pin.release,
    ]


def _known_row(model: KnownModel, measured: ModelCard | None, sources: Sequence[str]) -> list[str]:
    speed = figure = ""
    if measured and model.work:
        speed = estimate_speed(f"onnx:{measured.fingerprint}", work=model.work)
    if model.score:
        figure = f"{model.score} {model.benchmark} ({sources.index(model.source) + 1})"
    return [
        f"{SCHEME}{model.repository}",
        model.kind,
        str(model.dimensions or ""),
        str(model.max_tokens or ""),
        model.licence,
        model.languages,
        figure,
        speed,
    ]


def _speed(card: ModelCard) -> str:
    return format_speed(card.kind, f"onnx:{card.fingerprint}")


def _bytes(folder: Path, card: ModelCard) -> int:
    """Return the total size of a model's files in bytes; a missing file counts 0."""
    paths = [folder / name for name in card.files]
    return sum(path.stat().st_size for path in paths if path.is_file())
