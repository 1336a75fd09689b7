"""Check of a model's files before they are loaded: against their hashes, once a day.

To hash the files of a model takes a third of the time of a first search. A file that was intact
today, and has the size, times and number that it had then, is not read again. `crx models verify`
reads every file.
"""

from __future__ import annotations

import time
from pathlib import Path

from crx._models.card import ModelCard, check_file
from crx._models.record import add_to_record, is_recorded

_RECORD = "checked-files"
_DAY_S = 86_400
# A file that changed so recently may change again without another time.
_RECENT_S = 2


def check_files_daily(folder: Path, card: ModelCard) -> None:
    """Raise `ModelError` for the first file that is missing or differs from the card."""
    for name in card.files:
        check_file_daily(folder / name, card)


def check_file_daily(path: Path, card: ModelCard) -> None:
    """Raise `ModelError` if a file of the model is missing or differs from the card."""
    state = _state(path, card)
    if state and is_recorded(_RECORD, state):
        return
    check_file(path, card)
    if state and state == _state(path, card):
        add_to_record(_RECORD, state)


def _state(path: Path, card: ModelCard) -> str:
    """Return the line of a file that is as it is now, today; "" if it has just changed."""
    now = time.time()
    try:
        status = path.stat()
    except OSError:
        return ""
    if abs(now - status.st_ctime) < _RECENT_S:
        return ""
    times = f"{status.st_mtime_ns} {status.st_ctime_ns}"
    number = f"{status.st_dev} {status.st_ino} {status.st_size}"
    return f"{card.files[path.name]} {number} {times} {int(now // _DAY_S)}"
