"""Decoding of bytes into normalized text.

The normalized text is stored, and every offset counts its code points. Normalization does the
least that makes texts comparable: newlines become "\\n", form feeds and runs of NUL characters a
blank, or nothing at the edge of a line, a leading byte order mark is removed, lone surrogates
become U+FFFD. Composition is left as it is (no NFC): spans that come with a text must still fit it,
and the analyzer and the embedders' tokenizers fold it themselves.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_left
from dataclasses import dataclass

from crx.errors import InputError, NotText
from crx.types import Scalar

# Detection of the encoding of text that is not UTF-8.
#
# charset-normalizer excludes impossible encodings and separates the families of scripts. Within a
# family (`è` of Windows-1252 or `č` of Windows-1250) its order is close to chance, so among its
# candidates the encoding is chosen whose letters fit a single language best.

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
# Encodings that Python has for other ends; some take time that grows with the square of the length.
_NO_CHARSETS = {"idna", "punycode", "raw_unicode_escape", "undefined", "unicode_escape"}
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


# UTF-32 first: the little-endian mark of UTF-16 is a prefix of its own.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAMPLE = 128 * 1024
# Bell, backspace and escape are in texts for terminals.
_CONTROL = bytes(set(range(1, 32)) - set(b"\t\n\v\f\r\a\b\x1b")) + b"\x7f"
# NUL bytes that a text may contain: programs leave some where they were killed while writing. A log
# that was truncated while it was written begins with many.
_FEW_NULS = 8
# Form feeds are how a printer is told of a page, and NULs stand for what was not written; at the
# edge of a line they part no words. Of a run of NULs the first one counts.
_FORM_FEED = "(?:(?<=[\r\n])|\\A)\f|\f(?=[\r\n]|\\Z)"
_NUL = "(?<=\0)\0|(?:(?<=[\r\n])|\\A)\0|\0(?=\0*(?:[\r\n]|\\Z))"
_REMOVED = re.compile(f"\r(?=\n)|{_NUL}|{_FORM_FEED}")
_SURROGATE = re.compile("[\ud800-\udfff]")


class BinaryFile(NotText):
    """The bytes are those of no text."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """A normalized text, the encoding it was in, and how many characters could not be decoded."""

    text: str
    encoding: str
    undecodable: int = 0

    def metadata(self) -> dict[str, Scalar | list[Scalar]]:
        """Return the encoding if it is not UTF-8, and the count of lost characters if any."""
        metadata: dict[str, Scalar | list[Scalar]] = {}
        if self.encoding != "utf-8":
            metadata["encoding"] = self.encoding
        if self.undecodable:
            metadata["undecodable"] = self.undecodable
        return metadata


def decode(data: bytes, *, declared: str = "") -> Decoded:
    """Decode and normalize a file's bytes.

    `declared` is the encoding that the format itself names; it is tried if the bytes are not
    UTF-8. Raises `NotText` for bytes that are no text or blank, `InputError` for a text in an
    unknown encoding.
    """
    if not data.strip():
        raise NotText("is empty")
    decoded = (
        _with_byte_order_mark(data)
        or _utf8(data)
        or _wide(data)
        or _declared(data, declared)
        or _damaged(data)
        or _legacy(data)
    )
    text = normalize(decoded.text)
    if not text.strip():
        raise NotText("is empty")
    return Decoded(text, decoded.encoding, decoded.undecodable)


def normalize(text: str) -> str:
    """Return the text with "\\n" newlines, without NUL, lone surrogates and form feeds.

    A form feed or a run of NULs within a line becomes a blank.
    """
    if "\f" in text or "\0" in text:
        text = _REMOVED.sub("", text).replace("\f", " ").replace("\0", " ")
    elif "\r" in text:
        text = text.replace("\r\n", "\n")
    text = text.replace("\r", "\n")
    try:
        text.encode("utf-8")  # ten times faster than to search
    except UnicodeEncodeError:
        text = _SURROGATE.sub("\ufffd", text)
    return text


def map_offsets(text: str, offsets: list[int]) -> list[int]:
    """Return the offsets into `normalize(text)` for offsets into `text`."""
    removed = [match.start() for match in _REMOVED.finditer(text)]
    return [offset - bisect_left(removed, offset) for offset in offsets]


def _with_byte_order_mark(data: bytes) -> Decoded | None:
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            text = data[len(mark) :].decode(encoding, errors="replace")
            lost = text.count("\ufffd")
            if lost * 50 > len(text):
                raise BinaryFile("is a binary file")
            return Decoded(text, encoding, lost)
    return None


def _utf8(data: bytes) -> Decoded | None:
    if b"\x1b$" in data or b"\x1b(" in data:  # ISO 2022 is pure ASCII to a UTF-8 decoder
        try:
            return Decoded(data.decode("iso2022_jp"), "iso2022_jp")
        except UnicodeDecodeError:
            pass
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if text.isascii() and (wide := _wide(data)):
        return wide
    _refuse_binary(data)
    return Decoded(text, "utf-8")


def _wide(data: bytes) -> Decoded | None:
    """Decode UTF-16 without a byte order mark: every other byte of a Latin text is NUL."""
    sample = data[:_SAMPLE]
    for encoding, high, low in (("utf-16-le", 1, 0), ("utf-16-be", 0, 1)):
        half = len(sample) // 2
        if sample[high::2].count(0) * 2 > half and sample[low::2].count(0) * 50 < half:
            try:
                return Decoded(data.decode(encoding), encoding)
            except UnicodeDecodeError:
                return None
    return None


def require_charset(name: str) -> str:
    """Return the usual name of a character set; raise `LookupError` for a name of none."""
    found = codecs.lookup(name).name
    if found.replace("-", "_") in _NO_CHARSETS:
        raise LookupError(f"{name}: is no character set")
    return found


def _declared(data: bytes, encoding: str) -> Decoded | None:
    _refuse_binary(data)
    try:
        if not encoding:
            return None
        name = require_charset(encoding)
        return Decoded(data.decode(name), name)
    except (LookupError, UnicodeError):
        return None


def _damaged(data: bytes) -> Decoded | None:
    """Decode UTF-8 with a few bad bytes (a log cut within a character), which become U+FFFD."""
    _refuse_binary(data)
    text = data.decode("utf-8", errors="replace")
    lost = text.count("\ufffd")
    # In another encoding, hardly any of the bytes beyond ASCII would be valid UTF-8.
    beyond = len(data) - len(data.translate(None, bytes(range(128, 256))))
    return Decoded(text, "utf-8", lost) if lost * 20 < beyond else None


def _legacy(data: bytes) -> Decoded:
    sample = data[:_SAMPLE]
    if len(data) > _SAMPLE:  # not in the middle of a character
        sample = sample[: sample.rfind(b"\n") + 1] or sample
    encoding = encoding_of(sample.replace(b"\0", b""))
    if not encoding:
        raise BinaryFile("is a binary file")
    text = data.decode(encoding, errors="replace")
    lost = text.count("\ufffd")
    if lost * 100 > len(text):
        raise InputError("is in an unknown encoding; convert it to utf-8")
    return Decoded(text, encoding, lost)


def _refuse_binary(data: bytes) -> None:
    """Raise `BinaryFile` if more than 1 byte in 50 of a sample is a control character.

    A few NUL bytes, and those at the start, do not count.
    """
    sample = data[:_SAMPLE] if data[:1] != b"\0" else data.lstrip(b"\0")[:_SAMPLE]
    controls = len(sample) - len(sample.translate(None, _CONTROL))
    nuls = sample.count(0)
    if (controls + (nuls if nuls > _FEW_NULS else 0)) * 50 > len(sample):
        raise BinaryFile("is a binary file")
