"""Which notes of a search are told to who searches."""

from __future__ import annotations

from collections.abc import Sequence

from crx.types import Note

# A search is good without what notes of these kinds tell of.
_QUIET = ("state", "limit")


def choose_notes(notes: Sequence[str], *, passages: int, explain: bool = False) -> list[Note]:
    """Return the notes of a search that are told, and that nothing was found.

    What limits left out, and what `crx status` says, is told only if it is asked for or nothing
    was found.
    """
    made = [Note.of(note) for note in notes]
    if not passages and not any(note.kind == "nothing" for note in made):
        made.append(Note("nothing found", "nothing"))
    if explain or not passages:
        return made
    return without_quiet(made)


def without_quiet(notes: Sequence[str]) -> list[Note]:
    """Return the notes of a search but those that `crx status` and `--explain` are for."""
    return [note for note in map(Note.of, notes) if note.kind not in _QUIET]
