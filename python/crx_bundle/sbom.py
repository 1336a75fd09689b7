"""Software bill of materials of a bundle, in the format CycloneDX 1.6."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from crx._models.card import ModelCard
from crx_bundle.wheel import WheelFacts

SBOM_FILE = "sbom.cdx.json"

# The fields of a component inside a wheel that are kept. Its identifiers are not: two wheels may
# have used the same ones.
_KEPT = ("type", "name", "version", "hashes", "licenses", "purl")


def write_sbom(
    bundle: Path,
    *,
    wheels: Sequence[WheelFacts],
    models: Sequence[ModelCard],
    extras: Sequence[str],
    created: str,
) -> None:
    """Write the bill: crx, the other wheels with what is compiled into them, and the models."""
    (crx,) = (wheel for wheel in wheels if wheel.key == "crx")
    others = [wheel for wheel in wheels if wheel is not crx]
    components = [*map(_wheel_component, others), *map(_model_component, models)]
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{_serial(wheels, models)}",
        "version": 1,
        "metadata": {
            "timestamp": created,
            "component": {**_wheel_component(crx), "type": "application"},
        },
        "components": components,
        "dependencies": _dependencies(wheels, extras),
    }
    text = json.dumps(bill, indent=2, ensure_ascii=False)
    (bundle / SBOM_FILE).write_text(text + "\n", encoding="utf-8", newline="\n")


def _wheel_component(wheel: WheelFacts) -> dict[str, Any]:
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": _purl(wheel),
        "name": wheel.name,
        "version": wheel.version,
        "hashes": [{"alg": "SHA-256", "content": wheel.sha256}],
        "purl": _purl(wheel),
    }
    if wheel.expression:
        component["licenses"] = [{"expression": wheel.expression}]
    elif wheel.licences:
        component["licenses"] = [{"license": {"name": name}} for name in wheel.licences]
    if wheel.components:
        component["components"] = [_inner_component(each) for each in wheel.components]
    return component


def _inner_component(component: Mapping[str, Any]) -> dict[str, Any]:
    return {name: component[name] for name in _KEPT if name in component}


def _model_component(card: ModelCard) -> dict[str, Any]:
    files = [
        {"type": "file", "name": name, "hashes": [{"alg": "BLAKE2b-256", "content": digest}]}
        for name, digest in sorted(card.files.items())
    ]
    component: dict[str, Any] = {
        "type": "machine-learning-model",
        "bom-ref": f"model:{card.name}",
        "name": card.name,
        "description": card.source,
        "components": files,
    }
    if card.licence:
        component["licenses"] = [{"license": {"name": card.licence}}]
    return component


def _dependencies(wheels: Sequence[WheelFacts], extras: Sequence[str]) -> list[dict[str, Any]]:
    """Return which wheel needs which; those of an extra are left out unless it was asked for."""
    by_key = {wheel.key: _purl(wheel) for wheel in wheels}
    return [
        {
            "ref": _purl(wheel),
            "dependsOn": sorted(
                {
                    by_key[name]
                    for text in wheel.requires
                    if (name := _required(text, extras if wheel.key == "crx" else ())) in by_key
                }
            ),
        }
        for wheel in wheels
    ]


def _required(text: str, extras: Sequence[str]) -> str:
    """Return the normalized name that a requirement is for, "" if it does not apply here."""
    requirement = Requirement(text)
    marker = requirement.marker
    if marker and not any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
        return ""
    return canonicalize_name(requirement.name)


def _purl(wheel: WheelFacts) -> str:
    return f"pkg:pypi/{wheel.key}@{wheel.version}"


def _serial(wheels: Sequence[WheelFacts], models: Sequence[ModelCard]) -> uuid.UUID:
    """Return the identifier of a bill: the same for the same content."""
    parts = [wheel.sha256 for wheel in wheels] + [card.fingerprint for card in models]
    return uuid.uuid5(uuid.NAMESPACE_URL, "\n".join(parts))
