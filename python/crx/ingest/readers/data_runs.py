"""Data within texts that nobody searches by words: coordinates, drawings, hashes, search indexes.

They would fill an index with chunks. What is around them is kept, on the same lines.
"""

from __future__ import annotations

import re
from collections import deque
from itertools import chain

from crx.ingest.readers.left_out import LeftOut

_BETWEEN = r"[\s,;:\[\](){}MLHVCSQTAZmlhvcsqtaz]"
_AFTER_DIGITS = rf"(?:\.\d{{0,30}})?(?:[eE][-+]?\d{{1,3}})?{_BETWEEN}+"
_NUMBER = r"[-+]?(?:\d{1,30}|(?=\.\d))" + _AFTER_DIGITS
# At least so many numbers with nothing but punctuation and the commands of paths between them. What
# a lookahead found is not tried again shorter, and no number is tried from its middle.
_NUMBERS = re.compile(
    rf"\d(?<![\d.]\d)(?=(\d{{0,29}}{_AFTER_DIGITS}))\1(?:(?=({_NUMBER}))\2){{31,}}"
)
# The bytes that such a run may have as "x", and the fewest of them, which are quicker to look for.
_BYTES_OF_RUNS = bytes(
    ord("x" if n > 127 or re.match(rf"[-+.\deE]|{_BETWEEN}", chr(n)) else " ") for n in range(256)
)
_SHORTEST_RUN = b"x" * 2 * 32
# Numbers of books, orders or telephones, which people search.
_IDENTIFIERS = re.compile(r"(?:\d{5,30}[\s,;\[\](){}]+)+")
# Lines of base64, such as keys and files that are pasted, after the newline that is looked for. Of
# hexadecimal digits, 64, 96 or 128 are a hash.
_BASE64 = re.compile(
    r"\n(?:(?!(?:0x)?(?:[0-9a-fA-F]{32}){2,4}\n)[A-Za-z0-9+/]{60,200}={0,2}\n){8,}"
)
# Bytes for each digit and each blank of a text at most and at least that is looked through: to
# look takes as long as to read, and few texts have such data.
_BYTES_A_DIGIT, _BYTES_A_BLANK = 5, 20
_LOCK_FILE = re.compile(
    r"(?:^|[/#])(?:[^/#]+\.lock|package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.ya?ml"
    r"|packages\.lock\.json|go\.sum|package\.resolved|conda-lock\.ya?ml|gradle\.lockfile"
    r"|cabal\.project\.freeze)$",
    re.IGNORECASE,
)
_LOCK_CHARS = 2_000
# A line of requirements that is no comment, and a hash. If packages have hashes, each has one on a
# line below it, and so at least a third of the lines do.
_REQUIREMENT = re.compile(r"^[ \t]*[^\s#]", re.MULTILINE)
_HASH = re.compile(r"--hash=\w+:[0-9a-f]{64}")
# Points that differ in numbers alone, in tracks, meshes and drawings: what ends a line or an item,
# what is a number, and of how many items in a row the first are kept. An item repeats if one of the
# eight before it has its words.
_DRAWING = re.compile(
    r"\.(?:dae|dxf|gcode|geojson|gpx|iges|igs|kml|nmea|obj|ply|step|stl|stp|svg|tcx|topojson|wrl"
    r"|x3d|xyz)$",
    re.IGNORECASE,
)
_ITEM = re.compile(r"(?<=\n)|(?<=[}\]],)(?!\n)")
_VALUE = re.compile(r"\b\d\w*|\b[0-9A-F]{2}\b")
_MOST_APART, _FEWEST_ITEMS, _KEPT_ITEMS = 8, 64, 16
_SEARCH_INDEX = re.compile(
    r"(?:^|[/#])(?:search[-_]?index|lunr)[^/#]*\.(?:js|json)$", re.IGNORECASE
)
_SEARCH_STARTS = (b"var searchData=", b"Search.setIndex(", b"var searchIndex", b"// <!-- <mdb:mork")
# Code for browsers, which programs write from sources, without line breaks: bundles, search indexes
# of documentation, and source maps.
_MINIFIED = frozenset({".cjs", ".css", ".js", ".map", ".mjs"})
_MINIFIED_BYTES = 10_000
_MINIFIED_BYTES_A_LINE = 500


def without_data(text: str, *, name: str) -> str:
    """Return a text without its runs of numbers and base64; of a lock file only the first lines."""
    text = without_base64(cut_lock_file(text, name=name))
    encoded = text.encode("utf-8")
    digits = len(encoded) - len(encoded.translate(None, b"0123456789"))
    if digits * _BYTES_A_DIGIT > len(encoded) and (
        _SHORTEST_RUN in encoded.translate(_BYTES_OF_RUNS)
    ):
        text = _NUMBERS.sub(_newlines, text)
    return text


def cut_lock_file(text: str, *, name: str) -> str:
    """Return the first lines of a lock file or of requirements with hashes, other texts whole."""
    opening = text[:_LOCK_CHARS]
    is_hashed = name.lower().endswith(".txt") and (
        0 < len(_REQUIREMENT.findall(opening)) <= 3 * len(_HASH.findall(opening))
    )
    if text == opening or not (is_hashed or _LOCK_FILE.search(name)):
        return text
    return opening[: opening.rfind("\n") + 1] or opening


def without_base64(text: str) -> str:
    """Return a text without lines of base64; lists of hashes are kept."""
    encoded = text.encode("utf-8")
    if (len(encoded) - len(encoded.translate(None, b" "))) * _BYTES_A_BLANK < len(encoded):
        text = _BASE64.sub(_newlines, f"\n{text}")[1:]
    return text


def keep_first_points(text: str, left_out: LeftOut, *, name: str) -> str:
    """Return a track, mesh or drawing with the first ones of many points, other texts whole."""
    if not _DRAWING.search(name):
        return text
    runs: list[list[str]] = [[]]
    recent: deque[str] = deque(maxlen=_MOST_APART)
    for item in _ITEM.split(text):
        words = _VALUE.sub("0", item)
        if words not in recent:
            runs.append([])
        runs[-1].append(item)
        recent.append(words)
    if long := [run for run in runs if len(run) >= _FEWEST_ITEMS]:
        dropped = sum(map(len, long)) - _KEPT_ITEMS * len(long)
        left_out.add("points", f"{dropped:,} lines or items that differ in numbers alone")
    for run in long:
        run[_KEPT_ITEMS:] = "\n" * "".join(run[_KEPT_ITEMS:]).count("\n")
    return "".join(chain.from_iterable(runs))


def is_search_index(data: bytes, *, name: str) -> bool:
    """Return True for the index of a search in HTML documentation, which repeats its pages."""
    return data.startswith(_SEARCH_STARTS) or bool(_SEARCH_INDEX.search(name))


def is_minified(data: bytes, extension: str) -> bool:
    """Return whether the bytes are those of JavaScript or CSS without line breaks."""
    if extension not in _MINIFIED or len(data) < _MINIFIED_BYTES:
        return False
    return len(data) > _MINIFIED_BYTES_A_LINE * (1 + data.count(b"\n"))


def _newlines(run: re.Match[str]) -> str:
    return run[0] if _IDENTIFIERS.fullmatch(run[0]) else "\n" * run[0].count("\n") or " "
