"""Signatures of a bundle's checksums, made and checked by OpenSSH.

`ssh-keygen -Y` was chosen over a cryptography package because it comes with the operating system on
Linux, macOS and Windows, so that a bundle can be checked before anything of it is installed; the
keys are those that people have, also on a hardware token or in an agent.

This module imports the standard library and `crx.errors` alone; see `crx_bundle.manifest`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from crx.errors import Damaged, SystemFailure, UsageError
from crx_bundle.files import read_list

SUMS_FILE = "SHA256SUMS"
SIGNATURE_FILE = "SHA256SUMS.sig"

# The namespace of the signatures: one that was made for another purpose is not accepted.
NAMESPACE = "crx-bundle"


def sign(bundle: Path, key: Path) -> None:
    """Sign the checksums of a bundle with an SSH key; raises `UsageError` if that fails."""
    if not key.is_file():
        raise UsageError(f"{key}: no such key; ssh-keygen -t ed25519 makes one")
    # The terminal stays that of the user, whom ssh-keygen may ask for a passphrase.
    options = ["-Y", "sign", "-q", "-n", NAMESPACE, "-f", str(key)]
    done = _run_ssh_keygen([*options, str(bundle / SUMS_FILE)])
    if done.returncode or not is_signed(bundle):
        raise UsageError(f"{key}: cannot sign ({_first_line(done)}); name an SSH key")


def is_signed(bundle: Path) -> bool:
    """Return whether a bundle has a signature, which may be wrong."""
    return os.path.lexists(bundle / SIGNATURE_FILE)


def check_signature(bundle: Path, key: Path, *, sums: bytes) -> None:
    """Raise `Damaged` unless one of the public keys in a file has signed a bundle's checksums."""
    if not is_signed(bundle):
        raise Damaged(f"{bundle}: not signed; leave out --key to install it without a signature")
    try:
        signature = read_list(bundle / SIGNATURE_FILE)
    except OSError as error:
        path = bundle / SIGNATURE_FILE
        raise Damaged(f"{path}: cannot be read ({error}); do not install the bundle") from None
    with tempfile.TemporaryDirectory() as temporary:
        signers = Path(temporary) / "allowed_signers"
        signers.write_text(_allowed_signers(key), encoding="utf-8")
        options = ["-Y", "verify", "-n", NAMESPACE, "-I", NAMESPACE, "-f", str(signers)]
        (Path(temporary) / SIGNATURE_FILE).write_bytes(signature)
        options += ["-s", str(Path(temporary) / SIGNATURE_FILE)]
        done = _run_ssh_keygen(options, stdin=sums)
    if done.returncode:
        raise Damaged(
            f"{bundle / SIGNATURE_FILE}: not a signature of {SUMS_FILE} by {key} "
            f"({_first_line(done)}); do not install the bundle"
        )


def _allowed_signers(key: Path) -> str:
    """Return the public keys in a file in the format of ssh-keygen's list of allowed signers."""
    try:
        text = key.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{key}: the public key cannot be read: {error}") from None
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if not lines or any("PRIVATE KEY" in line for line in lines):
        raise UsageError(f"{key}: not a public key; name the file that ends in .pub")
    return "".join(f"{NAMESPACE} {line.strip()}\n" for line in lines)


def _run_ssh_keygen(
    options: list[str], *, stdin: bytes | None = None
) -> subprocess.CompletedProcess[bytes]:
    program = shutil.which("ssh-keygen")
    if program is None:
        raise SystemFailure("ssh-keygen: not found, so nothing can be signed; install OpenSSH")
    return subprocess.run([program, *options], check=False, capture_output=True, input=stdin)


def _first_line(done: subprocess.CompletedProcess[bytes]) -> str:
    """Return the first line that a program printed of its failure."""
    lines = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
    return lines[0].rstrip(".\r").strip() if lines else f"exit code {done.returncode}"
