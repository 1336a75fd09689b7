"""Detection of the encoding of text that is not UTF-8.

charset-normalizer tells what cannot be, and the families of scripts apart. Within a family (is it
`è` of Windows-1252 or `č` of Windows-1250?) its order is close to chance, so among its candidates
the one is taken whose letters are best those of a single language.
"""

from __future__ import annotations

import re

# Those that whole countries have written files in, in the order in which they win a tie. (Russian
# hardly ever decodes as Hebrew or Greek, but both decode as Russian letters, so they go before.)
# Left out are the EBCDIC and DOS code pages, which "decode" anything.
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
    """Return the encoding's name, or "" where the bytes are no text in any that is known."""
    from charset_normalizer import from_bytes  # 50 ms that only an old file should cost

    found = from_bytes(sample, cp_isolation=[*_ALPHABETS, *_WIDE], threshold=0.2)
    best = found.best()
    if best is None:
        return ""
    if best.encoding in _WIDE and _runs(sample, best.encoding):
        return best.encoding
    candidates = {match.encoding for match in found} | {"cp1252"}
    return max(
        (encoding for encoding in _ALPHABETS if encoding in candidates),
        key=lambda encoding: _likeness(sample, encoding),
    )


def _runs(sample: bytes, encoding: str) -> bool:
    """Do the characters beyond ASCII come in runs, as in East Asian texts, and not one by one?"""
    runs = _BEYOND.findall(sample.decode(encoding, errors="replace"))
    return sum(map(len, runs)) >= 2 * len(runs)


def _likeness(sample: bytes, encoding: str) -> float:
    """Return the share of the letters beyond ASCII that one language of the encoding has.

    Capitals count as none: a text has few, and KOI8-R makes small letters of those of Windows-1251.
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
