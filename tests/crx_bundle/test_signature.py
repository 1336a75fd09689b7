"""Signatures by SSH keys: whose key is accepted, and what is refused."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from crx.errors import Damaged, SystemFailure, UsageError
from crx_bundle.signature import sign
from crx_bundle.verify import check_bundle, write_sums


@pytest.fixture
def signed(bundle: Path, key: Path) -> Path:
    sign(bundle, key)
    return bundle


def test_a_signature_by_one_of_the_keys_is_good(signed: Path, key: Path, tmp_path: Path) -> None:
    assert check_bundle(signed).signature == "unchecked"
    keys = tmp_path / "keys.pub"
    keys.write_text(f"# signers\n{another_key(tmp_path)}\n{key.with_suffix('.pub').read_text()}")
    checked = check_bundle(signed, key=keys)
    assert (checked.signature, checked.faults) == ("good", ())


def another_key(folder: Path) -> str:
    path = folder / "another"
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)]
    subprocess.run(command, check=True)
    return path.with_suffix(".pub").read_text()


def test_checksums_that_were_written_again_are_refused(signed: Path, key: Path) -> None:
    (signed / "README.txt").write_text("run this instead\n")
    write_sums(signed)
    assert check_bundle(signed).faults == ()
    with pytest.raises(Damaged, match="not a signature of SHA256SUMS by"):
        check_bundle(signed, key=key.with_suffix(".pub"))


def test_a_signature_by_another_key_or_for_another_purpose_is_refused(
    signed: Path, key: Path, tmp_path: Path
) -> None:
    (tmp_path / "other.pub").write_text(another_key(tmp_path))
    with pytest.raises(Damaged, match="do not install the bundle"):
        check_bundle(signed, key=tmp_path / "other.pub")
    (signed / "SHA256SUMS.sig").unlink()
    command = ["ssh-keygen", "-Y", "sign", "-q", "-n", "git", "-f", str(key)]
    subprocess.run([*command, str(signed / "SHA256SUMS")], check=True, capture_output=True)
    with pytest.raises(Damaged, match="not a signature"):
        check_bundle(signed, key=key.with_suffix(".pub"))


def test_a_bundle_without_a_signature_does_not_pass_for_a_signed_one(
    bundle: Path, key: Path
) -> None:
    with pytest.raises(Damaged, match="not signed"):
        check_bundle(bundle, key=key.with_suffix(".pub"))


def test_a_wrong_key_is_an_error_that_names_it(signed: Path, key: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"not a public key; name the file that ends in \.pub"):
        check_bundle(signed, key=key)
    with pytest.raises(UsageError, match="the public key cannot be read"):
        check_bundle(signed, key=tmp_path / "nowhere.pub")
    with pytest.raises(UsageError, match="no such key"):
        sign(signed, tmp_path / "nowhere")
    (tmp_path / "no-key").write_text("no key")
    (signed / "SHA256SUMS.sig").unlink()
    with pytest.raises(UsageError, match="cannot sign"):
        sign(signed, tmp_path / "no-key")


def test_a_machine_without_openssh_is_told_so(
    signed: Path, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SystemFailure, match="install OpenSSH"):
        check_bundle(signed, key=key.with_suffix(".pub"))
