"""The bundle's `install.py`: checks and installs the bundle with nothing but Python.

`install.py` imports this module from the wheel of crx in the bundle. It imports the standard
library and `crx.errors` alone; see `crx_bundle.manifest`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from crx.errors import CrxError, Damaged
from crx_bundle.install import install_bundle
from crx_bundle.verify import check_bundle


def run(bundle: Path, arguments: list[str]) -> int:
    """Check a bundle, or install it into a folder; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="install.py", description="Install this bundle of crx, without a network."
    )
    parser.add_argument("folder", nargs="?", type=Path, help="a new folder to install into")
    parser.add_argument("--verify", action="store_true", help="only check the files of the bundle")
    parser.add_argument("--key", type=Path, help="public key that must have signed the bundle")
    options = parser.parse_args(arguments)
    if options.verify == (options.folder is not None):
        parser.error("name a folder, or --verify alone")
    try:
        if options.verify:
            return _verify(bundle, options.key)
        return _install(bundle, options.folder, options.key)
    except CrxError as error:
        return _fail(str(error), error.exit_code)
    except OSError as error:
        return _fail(f"{error.filename or bundle}: {error.strerror}", 6)
    except KeyboardInterrupt:
        return _fail("interrupted; the same command starts again", 130)


def _install(bundle: Path, folder: Path, key: Path | None) -> int:
    done = install_bundle(bundle, folder, key=key)
    _print(f"{folder}: crx {done.bundle.manifest.crx} installed; run {done.program}")
    if done.index is not None:
        _print(f"{done.index}: the index; search it with --index, or set CRX_INDEX")
    return 0


def _verify(bundle: Path, key: Path | None) -> int:
    checked = check_bundle(bundle, key=key)
    for each in checked.faults:
        _print(f"{each.path}: {each.fault}")
    if checked.faults:
        return _fail(f"{bundle}: damaged; copy it again", Damaged.exit_code)
    _print(f"{bundle}: {checked.files} files as they were made; signature: {checked.signature}")
    return 0


def _print(text: str) -> None:
    sys.stdout.write(f"{_escape(text)}\n")


def _fail(text: str, code: int) -> int:
    sys.stderr.write(f"install.py: {_escape(text)}\n")
    return code


def _escape(text: str) -> str:
    """Return a text without control characters, which a name of a file may contain."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
