"""A small bundle with a model, signed if this machine has ssh-keygen."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from command_line import model_store
from tiny_wheels import make_wheels

from crx_bundle.create import create_bundle
from crx_bundle.wheelhouse import WheelSources


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheels of a small crx, of its dependency and of pip."""
    return make_wheels(tmp_path_factory.mktemp("tiny") / "wheels")


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory, wheels: Path) -> Path:
    """A bundle that no test may change."""
    place = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CRX_MODELS", str(model_store(place)))
        patch.setenv("CRX_OFFLINE", "1")
        create_bundle(place / "bundle", sources=WheelSources(folder=wheels), models=["tiny"])
    return place / "bundle"


@pytest.fixture
def bundle(made: Path, tmp_path: Path) -> Path:
    """A copy of the bundle."""
    return Path(shutil.copytree(made, tmp_path / "carried"))


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """An SSH key; its public part is beside it."""
    program = shutil.which("ssh-keygen")
    if program is None:
        pytest.skip("needs ssh-keygen (openssh-client)")
    path = tmp_path / "id_ed25519"
    subprocess.run([program, "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    return path
