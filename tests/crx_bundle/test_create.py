"""Creation of a bundle: what is in it, and what is refused."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest
from command_line import flip, model_store
from tiny_wheels import VERSION, make_wheels, write_wheel

import crx
from crx.config import Settings
from crx.errors import Damaged, ModelError, NoRoom, Offline, SystemFailure, UsageError
from crx_bundle.create import create_bundle, models_of
from crx_bundle.own_wheel import pack_wheel
from crx_bundle.wheel import read_wheel
from crx_bundle.wheelhouse import WheelSources, choose_extras


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = model_store(tmp_path)
    monkeypatch.setenv("CRX_MODELS", str(folder))
    return folder


def test_a_bundle_has_wheels_models_licences_and_a_bill(made: Path) -> None:
    names = sorted(path.name for path in made.iterdir())
    assert names == [
        "README.txt", "SHA256SUMS", "bundle.json", "install.py", "licences", "models",
        "requirements.txt", "sbom.cdx.json", "wheels",
    ]  # fmt: skip
    wheels = {path.name.split("-")[0] for path in (made / "wheels").iterdir()}
    assert wheels == {"crx", "pip", "tiny_dep"}
    listed = (made / "licences" / "list.txt").read_text().splitlines()
    assert f"crx\t{VERSION}\tApache-2.0\t1" in listed
    assert "tiny_dep\t1.5\tMIT License\t1" in listed
    text = made / "licences" / "tiny_dep-1.5" / "LICENSE.txt"
    assert text.read_text() == "Do what you like.\n"


def test_the_bill_names_each_package_its_licence_and_what_is_compiled_into_it(made: Path) -> None:
    bill = json.loads((made / "sbom.cdx.json").read_text())
    own = bill["metadata"]["component"]
    assert (own["name"], own["licenses"]) == ("crx", [{"expression": "Apache-2.0"}])
    assert own["components"] == [{"type": "library", "name": "aho", "version": "1"}]
    by_name = {each["name"]: each for each in bill["components"]}
    assert set(by_name) == {"pip", "tiny_dep", "tiny"}
    assert by_name["tiny_dep"]["purl"] == "pkg:pypi/tiny-dep@1.5"
    assert by_name["tiny"]["type"] == "machine-learning-model"
    needs = {each["ref"]: each["dependsOn"] for each in bill["dependencies"]}
    assert needs[f"pkg:pypi/crx@{VERSION}"] == ["pkg:pypi/tiny-dep@1.5"]


def test_an_extra_brings_its_packages(tmp_path: Path, wheels: Path) -> None:
    made = create_bundle(tmp_path / "b", sources=WheelSources(folder=wheels, extras=("more",)))
    assert {wheel.name for wheel in made.wheels} == {"crx", "pip", "tiny_dep", "tiny_more"}
    assert "pip" not in "".join(made.notes)
    assert made.notes == ("tiny_more 2: names no licence; ask its authors",)
    with pytest.raises(UsageError, match=r"mroe: no such extra of crx .*; known: more"):
        create_bundle(tmp_path / "c", sources=WheelSources(folder=wheels, extras=("mroe",)))


@pytest.mark.parametrize(
    ("named", "offered", "chosen"),
    [
        (None, ("all", "mcp"), ("all",)),
        (None, ("mcp",), ()),
        ((), ("all",), ()),
        (("mcp",), ("all", "mcp"), ("mcp",)),
    ],
)
def test_without_a_named_extra_it_has_all(
    wheels: Path,
    named: tuple[str, ...] | None,
    offered: tuple[str, ...],
    chosen: tuple[str, ...],
) -> None:
    own = replace(read_wheel(next(wheels.glob("crx-*.whl"))), extras=offered)
    assert choose_extras(WheelSources(extras=named), own) == chosen


def test_an_index_is_added_with_its_embedder(tmp_path: Path, wheels: Path, store: Path) -> None:
    (tmp_path / "whales.md").write_text("# Whales\n\nKrill is what a whale eats.\n")
    with crx.open(tmp_path / "index", settings={"embedder": "tiny"}) as index:
        index.add(tmp_path / "whales.md")
    sources = WheelSources(folder=wheels)
    made = create_bundle(tmp_path / "b", sources=sources, index=tmp_path / "index")
    assert (made.manifest.models, made.manifest.index) == (("tiny",), True)
    with crx.open(tmp_path / "b" / "index", create=False) as index:
        assert "Krill" in index.search("whale eats", legs=("bm25",))[0].text
    with pytest.raises(UsageError):
        create_bundle(tmp_path / "c", sources=sources, index=tmp_path / "nowhere")
    assert not (tmp_path / "c").exists()


def test_the_models_are_those_of_the_settings(store: Path) -> None:
    assert models_of(Settings()) == ["e5@int8"]
    chosen = Settings(embedder="tiny:threads=2", reranker="", generator="llama:smollm2")
    assert models_of(chosen) == ["tiny", "smollm2"]
    assert models_of(Settings(embedder="hashed", reranker="overlap")) == []


def test_a_folder_that_exists_is_not_overwritten(tmp_path: Path, wheels: Path) -> None:
    (tmp_path / "mine").write_text("kept")
    with pytest.raises(UsageError, match="exists already; name a folder that does not"):
        create_bundle(tmp_path, sources=WheelSources(folder=wheels))


def test_a_model_that_is_named_twice_or_by_its_folder_is_added_once(
    tmp_path: Path, wheels: Path, store: Path
) -> None:
    sources = WheelSources(folder=wheels)
    made = create_bundle(tmp_path / "b", sources=sources, models=["tiny", "tiny"])
    assert made.manifest.models == ("tiny",)
    (store / "tiny").rename(tmp_path / "mine")
    made = create_bundle(tmp_path / "c", sources=sources, models=[str(tmp_path / "mine")])
    assert made.manifest.models == ("mine",)
    assert (tmp_path / "c" / "models" / "mine" / "model.onnx").is_file()


def test_an_unknown_or_damaged_model_is_refused(tmp_path: Path, wheels: Path, store: Path) -> None:
    sources = WheelSources(folder=wheels)
    with pytest.raises(ModelError, match=r"nowhere: no such model; installed: "):
        create_bundle(tmp_path / "b", sources=sources, models=["nowhere"])
    flip(store / "tiny" / "model.onnx", 100)
    with pytest.raises(ModelError, match="damaged"):
        create_bundle(tmp_path / "b", sources=sources, models=["tiny"])
    assert not (tmp_path / "b").exists()


def test_a_folder_that_lacks_a_wheel_is_named_with_the_wheel(tmp_path: Path) -> None:
    wheels = make_wheels(tmp_path / "wheels")
    next(wheels.glob("tiny_dep-*.whl")).unlink()
    with pytest.raises(UsageError, match=r"wheels: lacks a wheel \(.*tiny-dep"):
        create_bundle(tmp_path / "b", sources=WheelSources(folder=wheels))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["wheels"]
    with pytest.raises(UsageError, match="no such folder of wheels"):
        create_bundle(tmp_path / "b", sources=WheelSources(folder=tmp_path / "nowhere"))


def test_a_file_that_is_not_a_wheel_of_crx_is_refused(tmp_path: Path, wheels: Path) -> None:
    other = write_wheel(tmp_path, "other", "1", {})
    with pytest.raises(UsageError, match="a wheel of other, not of crx"):
        create_bundle(tmp_path / "b", sources=WheelSources(folder=wheels, own=other))
    (tmp_path / "crx.whl").write_text("no archive")
    with pytest.raises(UsageError, match="not a wheel"):
        create_bundle(tmp_path / "b", sources=WheelSources(folder=wheels, own=tmp_path / "crx.whl"))


def test_the_registry_is_not_asked_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRX_OFFLINE", "1")
    with pytest.raises(Offline):
        create_bundle(tmp_path / "b", sources=WheelSources())


@pytest.mark.parametrize(
    ("printed", "error", "message"),
    [
        ("ERROR: [Errno 28] No space left on device", NoRoom, "no space left for the wheels"),
        ("WARNING: connection broken by x\nERROR: none", SystemFailure, r"\(no connection\)"),
        ("", SystemFailure, r"\(pip failed\); name a folder of wheels with --from"),
    ],
)
def test_what_pip_says_becomes_one_line(
    printed: str,
    error: type[Exception],
    message: str,
    tmp_path: Path,
    wheels: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object, **__: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess([], 1, "", printed)

    monkeypatch.setattr("crx_bundle.wheelhouse.subprocess.run", fail)
    own = next(wheels.glob("crx-*.whl"))
    with pytest.raises(error, match=message):
        create_bundle(tmp_path / "b", sources=WheelSources(own=own))


@pytest.fixture
def installed(wheels: Path, tmp_path: Path) -> metadata.Distribution:
    """A distribution as an installer leaves it: the files of the wheel, and its own."""
    site = tmp_path / "site"
    with zipfile.ZipFile(next(wheels.glob("crx-*.whl"))) as archive:
        archive.extractall(site)
    about = site / f"crx-{VERSION}.dist-info"
    added = [f"crx-{VERSION}.dist-info/INSTALLER", "crx/__pycache__/a.pyc", "../../bin/crx"]
    with (about / "RECORD").open("a") as record:
        record.writelines(f"{path},,\n" for path in added)
    (about / "INSTALLER").write_text("pip")
    return metadata.Distribution.at(about)


def test_an_installation_is_packed_into_the_wheel_that_it_is_from(
    installed: metadata.Distribution, wheels: Path, tmp_path: Path
) -> None:
    (tmp_path / "packed").mkdir()
    wheel = pack_wheel(installed, tmp_path / "packed")
    original = next(wheels.glob("crx-*.whl"))
    assert wheel.name == original.name
    assert content(wheel) == content(original)
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target"]
    subprocess.run([*command, tmp_path / "target", wheel], check=True)
    assert (tmp_path / "target" / "crx" / "program.py").is_file()


def content(wheel: Path) -> dict[str, list[bytes]]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: sorted(archive.read(name).split(b"\n")) for name in archive.namelist()}


def test_a_changed_installation_is_not_packed(
    installed: metadata.Distribution, tmp_path: Path
) -> None:
    (tmp_path / "site" / "crx" / "program.py").write_text("changed")
    with pytest.raises(Damaged, match="changed since it was installed"):
        pack_wheel(installed, tmp_path)


def test_an_installation_of_sources_has_to_be_built_first(tmp_path: Path) -> None:
    about = tmp_path / "crx-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Name: crx\nVersion: 1\n")
    (about / "RECORD").write_text("crx.pth,,\ncrx-1.dist-info/METADATA,,\n")
    with pytest.raises(UsageError, match='build its wheel with "pip wheel --no-deps"'):
        pack_wheel(metadata.Distribution.at(about), tmp_path)
