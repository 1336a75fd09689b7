"""Two hundred bundles of somebody else: each is refused, or installed inside its folder."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from crx.errors import CrxError
from crx_bundle.install import install_bundle
from crx_bundle.verify import check_bundle, write_sums

BUNDLES = 200
VALUES: list[object] = [
    "", "../up", "/etc", "..", ".", "a/b", "tiny", "x" * 100_000, "\0", "a\nb", "é",
    None, True, -1, 10**30, 1.5, float("nan"), [], {}, [[]], ["../up"], ["tiny", "tiny"], {"a": 1},
]  # fmt: skip
NAMES = [
    "../outside", "/tmp/outside", "models/../../outside", "wheels/pip-9-py3-none-any.whl", "models",
    "a\tb", "x" * 250, "index/crx.db", "models/tiny/more", "README.txt", ".", "-rf", "\x1b[2J",
]  # fmt: skip


def mutate(bundle: Path, chance: random.Random) -> None:
    """Change a bundle in one way, as somebody may who knows what crx reads."""
    files = sorted(path for path in _walk(bundle) if is_own(path))
    chosen = chance.choice(files)
    ways: list[Callable[[], object]] = [
        lambda: change_manifest(bundle, chance),
        lambda: change_manifest(bundle, chance),
        lambda: change_sums(bundle, chance),
        lambda: os.mkfifo(_removed(chosen)),
        lambda: _removed(chosen).symlink_to(chance.choice(["/dev/zero", "/etc/passwd"])),
        lambda: _removed(chosen).mkdir(),
        lambda: os.link(bundle.parent / "canary", _removed(chosen)),
        lambda: os.truncate(chosen, 0),
        lambda: chosen.write_bytes(chance.randbytes(5000)),
        lambda: exchange_folder(bundle / chance.choice(["models", "wheels", "licences"])),
        lambda: chosen.rename(bundle / f"{chance.randrange(9)}.txt"),
        lambda: chosen.unlink(),
    ]
    chance.choice(ways)()


def _removed(file: Path) -> Path:
    file.unlink()
    return file


def _walk(folder: Path) -> Iterator[Path]:
    for parent, _, names in os.walk(folder):
        yield from (Path(parent, name) for name in names)


def is_own(path: Path) -> bool:
    """Return whether a path is a file of the bundle alone, so that a change is none outside."""
    status = path.lstat()
    return stat.S_ISREG(status.st_mode) and status.st_nlink == 1


def change_manifest(bundle: Path, chance: random.Random) -> None:
    if not is_own(bundle / "bundle.json"):
        return
    try:
        manifest = json.loads((bundle / "bundle.json").read_text())
    except ValueError:
        return
    if not isinstance(manifest, dict):
        return
    manifest[chance.choice(sorted(manifest))] = chance.choice(VALUES)
    if chance.random() < 0.1:
        manifest = chance.choice(VALUES)
    (bundle / "bundle.json").write_text(json.dumps(manifest))


def change_sums(bundle: Path, chance: random.Random) -> None:
    sums = bundle / "SHA256SUMS"
    if not is_own(sums):
        return
    line = f"{'0' * 64}  {chance.choice(NAMES)}\n"
    sums.write_text(sums.read_text() + line if chance.random() < 0.7 else line)


def exchange_folder(folder: Path) -> None:
    if folder.is_symlink() or not folder.is_dir():
        return
    folder.rename(folder.parent.parent / f"away-{folder.name}")
    folder.symlink_to(folder.parent.parent / f"away-{folder.name}")


def test_a_hostile_bundle_writes_nothing_outside_and_fails_in_one_line(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What a bundle's own pip and crx do once they run is theirs.
    monkeypatch.setattr("crx_bundle.install._install_wheels", lambda *_: None)
    monkeypatch.setattr("venv.create", lambda folder, **_: Path(folder).mkdir(parents=True))
    messages: list[str] = []
    for seed in range(BUNDLES):
        chance = random.Random(seed)
        place = tmp_path / str(seed)
        bundle = Path(shutil.copytree(made, place / "bundle"))
        (place / "canary").write_text("whole")
        for _ in range(chance.randint(1, 3)):
            mutate(bundle, chance)
            if chance.random() < 0.5:
                rewrite_sums(bundle)
        before = {path.name for path in place.iterdir()}
        for use in (lambda b=bundle: check_bundle(b), lambda b=bundle: install(b)):
            try:
                use()
            except CrxError as error:
                messages.append(str(error))
        assert {path.name for path in place.iterdir()} - before <= {"new"}, seed
        assert (place / "canary").read_text() == "whole", seed
        assert not (tmp_path / "up").exists(), seed
        assert not (place / "up").exists(), seed
    assert len(messages) > BUNDLES
    assert [each for each in messages if "\n" in each] == []


def rewrite_sums(bundle: Path) -> None:
    if (bundle / "SHA256SUMS").exists() and not is_own(bundle / "SHA256SUMS"):
        return
    with contextlib.suppress(OSError):  # a pipe has no checksum
        write_sums(bundle)


def install(bundle: Path) -> None:
    target = bundle.parent / "new"
    install_bundle(bundle, target)
    assert all(path.resolve().is_relative_to(target) for path in target.rglob("*"))
