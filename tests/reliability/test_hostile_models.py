"""Models that anybody may have made: each is used or refused in a line, within limits."""

from __future__ import annotations

import resource
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest
from fault_injection.effort import Effort
from hostile_models import make_hostile_model
from tiny_export import make_exported_embedder

from crx._models.adding import add_foreign_model
from crx._models.card import file_digest, read_card, write_card
from crx._models.source_folder import Overrides
from crx._models.store import add_model
from crx.errors import CrxError
from crx.registry import load_embedder

EMBEDDER = Overrides(kind="embedder", pooling="mean", sequence=24)
# The limit of a small model, and what a busy machine takes to start and to end a process.
MOST_S, MOST_BYTES = 20 + 10, 2_000_000_000


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CRX_MODELS", str(tmp_path / "store"))
    add_model(make_exported_embedder(tmp_path / "tiny", precision="fp32"), overrides=EMBEDDER)
    return tmp_path / "store"


def carry(hostile: Path, store: Path) -> None:
    """Have the store hold a hostile model with a card that fits, as if copied from elsewhere."""
    carried = store / "carried"
    shutil.copytree(store / "tiny", carried)
    card = read_card(carried)
    for name in card.files:
        (carried / name).unlink()
        if (hostile / name).is_file() and (hostile / name).stat().st_size < 1 << 30:
            shutil.copyfile(hostile / name, carried / name)
        elif (hostile / name).exists():
            (carried / name).symlink_to(hostile / name)
    files = {name: digest_of(carried / name) for name in card.files}
    write_card(carried, replace(card, name="carried", files=files))


def digest_of(path: Path) -> str:
    is_small = path.is_file() and path.stat().st_size < 1 << 30
    return file_digest(path) if is_small else "0" * 64


def use(hostile: Path, store: Path, *, is_carried: bool) -> str:
    """Add a model, or load it from the store; return why that failed, or ""."""
    try:
        if is_carried:
            carry(hostile, store)
            load_embedder("carried")
        else:
            add_foreign_model(hostile, name="added", overrides=EMBEDDER)
    except CrxError as error:
        return str(error)
    return ""


def contents(folder: Path) -> list[tuple[str, int]]:
    return sorted((str(path), path.lstat().st_size) for path in folder.rglob("*"))


def require_harmless(hostile: Path, store: Path, *, is_carried: bool) -> tuple[str, float]:
    """Use a model; returns why that failed, and the seconds that it took."""
    outside = store.parent / "outside"
    outside.mkdir(exist_ok=True)
    (outside / "kept").write_text("kept")
    before = contents(outside), contents(hostile), contents(store)
    started = time.monotonic()
    why = use(hostile, store, is_carried=is_carried)
    took = time.monotonic() - started
    for made in ("added", "added@int8", "carried"):
        shutil.rmtree(store / made, ignore_errors=True)
    assert (contents(outside), contents(hostile), contents(store)) == before
    assert "\n" not in why
    assert took < MOST_S, why
    return why, took


def test_hostile_models_end_in_time_and_write_nothing_outside(
    effort: Effort, tmp_path: Path, store: Path
) -> None:
    slowest = 0.0
    for number in range(effort.runs(quick=3, full=200)):
        # A quick run takes any three, and a full one each.
        chosen = number if effort.runs(quick=0, full=1) else effort.chance.randrange(200)
        hostile = tmp_path / f"model-{number}"
        kind = make_hostile_model(hostile, chosen, effort.chance)
        for is_carried in (False, True):
            why, took = require_harmless(hostile, store, is_carried=is_carried)
            effort.outcomes["refused" if why else "used"] += 1
            slowest = max(slowest, took)
            if took > 10:
                effort.notes.append(f"{took:.1f} s: {kind}, {why}")
        shutil.rmtree(hostile)
        effort.done += 1
    # In kilobytes on Linux, of the largest child so far.
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    effort.notes.append(f"slowest {slowest:.1f} s, largest child {largest / 1e9:.2f} GB")
    assert largest < MOST_BYTES


def test_the_harness_finds_a_model_that_writes_outside(
    tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(folder: Path, **_: object) -> None:
        (store.parent / "outside" / "more").touch()

    monkeypatch.setitem(globals(), "add_foreign_model", write)
    made = make_exported_embedder(tmp_path / "plain", precision="fp32")
    with pytest.raises(AssertionError):
        require_harmless(made, store, is_carried=False)
