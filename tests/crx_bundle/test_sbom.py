"""The bill of materials by itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crx._models.card import ModelCard
from crx_bundle.sbom import SBOM_FILE, write_sbom
from crx_bundle.wheel import WheelFacts


def facts(name: str, *requires: str) -> WheelFacts:
    return WheelFacts(
        path=Path(f"{name}-1.0-py3-none-any.whl"),
        name=name,
        version="1.0",
        sha256="0" * 64,
        expression="MIT",
        licences=(),
        licence_files=(),
        requires=requires,
        extras=(),
        components=(),
        unpacked_bytes=1,
    )


def test_the_bill_names_the_requirements_that_apply_here(tmp_path: Path) -> None:
    own = facts(
        "crx",
        "Tiny.One[fast] (>=1)",
        "tiny-two; python_version < '3'",
        "tiny-three; extra == 'More_Extras' or extra == 'others'",
        "tiny-four; extra == 'others'",
    )
    names = ("tiny_one", "tiny_two", "tiny_three", "tiny_four")
    wheels = [own, *map(facts, names)]
    write_sbom(
        tmp_path, wheels=wheels, models=[], extras=["more-extras"], created="2024-01-01T00:00:00Z"
    )
    bill = json.loads((tmp_path / SBOM_FILE).read_text())
    needs = {each["ref"]: each["dependsOn"] for each in bill["dependencies"]}
    assert needs["pkg:pypi/crx@1.0"] == ["pkg:pypi/tiny-one@1.0", "pkg:pypi/tiny-three@1.0"]


def test_the_bill_is_valid_for_the_library_of_cyclonedx(tmp_path: Path) -> None:
    validation = pytest.importorskip("cyclonedx.validation.json")
    schema = pytest.importorskip("cyclonedx.schema")
    card = ModelCard(
        name="tiny",
        kind="embedder",
        dimensions=2,
        sequence=8,
        max_tokens=8,
        pooling="mean",
        query_prefix="",
        passage_prefix="",
        precision="fp32",
        licence="mit",
        source="made here",
        converter=1,
        opset=17,
        files={"model.onnx": "0" * 64},
    )
    wheels = [facts("crx", "tiny"), facts("tiny")]
    write_sbom(tmp_path, wheels=wheels, models=[card], extras=[], created="2024-01-01T00:00:00Z")
    bill = (tmp_path / SBOM_FILE).read_text()
    validator = validation.JsonStrictValidator(schema.SchemaVersion.V1_6)
    assert validator.validate_str(bill) is None
