"""Whether the machine runs on its battery."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

SUPPLIES = Path("/sys/class/power_supply")


def is_on_battery(supplies: Path = SUPPLIES) -> bool:
    """Return whether the machine runs on its battery; False if its system does not tell."""
    if sys.platform == "darwin":
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            command = ["pmset", "-g", "batt"]
            told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=5)
            return "Battery Power" in told.stdout
        return False
    found = [(_read(each / "type"), each) for each in supplies.glob("*")]
    mains = [_read(each / "online") for kind, each in found if kind in ("Mains", "USB")]
    if "1" in mains:
        return False
    # That of a mouse is no battery of the machine.
    batteries = [each for kind, each in found if kind == "Battery"]
    return any(
        _read(each / "scope") != "Device" and _read(each / "status") == "Discharging"
        for each in batteries
    )


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
