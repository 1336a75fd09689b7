"""Detection of the encoding of text that is not UTF-8.

charset-normalizer excludes impossible encodings and separates the families of scripts. Within a
family (`è` of Windows-1252 or `č` of Windows-1250) its order is close to chance, so among its
candidates the encoding is chosen whose letters fit a single language best.
"""

from __future__ import annotations

import re

# The common 8-bit encodings, in the order in which they win a tie, with the letters beyond ASCII of
# each of their languages. (Russian hardly ever decodes as Hebrew or Greek, but both decode as
# Russian letters, so they precede it.) The EBCDIC and DOS code pages decode anything, and are left
# out.
_ALPHABETS = {
    "cp1252": (
        "àâæçéèêëîïôœùûüÿ", "äöüß", "áéíóúüñ", "ãõáéíóúâêôàç", "åäöæøé", "àèéìòù", "áðéíóúýþæö",
    ),
    "cp1250": ("ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž", "áéíóöőúüű", "ăâîşţ", "čćđšž"),
    "cp1254": ("çğıöşüâîû",),
    "cp1257": ("ąčęėįšųūž", "āčēģīķļņšūž", "äõöüšž"),
    "cp1258": ("àáãèéêìíòóôõùúýăđĩũơư",),
    "cp1255": ("אבגדהוזחטיךכלםמןנסעףפץצקרשת",),
    "cp1253": ("αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώϊϋΐΰ",),
    "cp1256": ("ابتثجحخدذرزسشصضطظعغفقكلمنهويىةءأإآؤئپچژگ",),
    "tis_620": ("".join(map(chr, range(0x0E01, 0x0E5C))),),
    "cp1251": ("абвгдежзийклмнопрстуфхцчшщъыьэюяё", "абвгґдеєжзиіїйклмнопрстуфхцчшщьюя"),
    "koi8_r": ("абвгдежзийклмнопрстуфхцчшщъыьэюяё",),
}  # fmt: skip
_BEYOND = re.compile(r"[^\x00-\x7f]+")
_WIDE = ("cp932", "euc_jp", "gb18030", "big5", "cp949")


def encoding_of(sample: bytes) -> str:
    """Return the name of the encoding, or "" if the bytes are no text in any known one."""
    from charset_normalizer import from_bytes  # takes 50 ms: imported for a file that needs it

    found = from_bytes(sample, cp_isolation=[*_ALPHABETS, *_WIDE], threshold=0.2)
    best = found.best()
    if best is None:
        return ""
    if best.encoding in _WIDE and _has_runs(sample, best.encoding):
        return best.encoding
    candidates = {match.encoding for match in found} | {"cp1252"}
    return max(
        (encoding for encoding in _ALPHABETS if encoding in candidates),
        key=lambda encoding: _likeness(sample, encoding),
    )


def _has_runs(sample: bytes, encoding: str) -> bool:
    """Return True if characters beyond ASCII come in runs, as in East Asian texts."""
    runs = _BEYOND.findall(sample.decode(encoding, errors="replace"))
    return sum(map(len, runs)) >= 2 * len(runs)


def _likeness(sample: bytes, encoding: str) -> float:
    """Return the largest share of the letters beyond ASCII that one language of an encoding has.

    Capitals do not count: a text has few, and those of Windows-1251 are small letters in KOI8-R.
    """
    try:
        text = sample.decode(encoding)
    except UnicodeDecodeError:
        return 0.0
    letters = [char for char in text if char > "\x7f" and (char.isalpha() or char in "\xaa\xba")]
    if not letters:
        return 1.0
    return max(
        sum(char in alphabet for char in letters) / len(letters)
        for alphabet in _ALPHABETS[encoding]
    )
