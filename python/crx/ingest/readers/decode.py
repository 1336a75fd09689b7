"""Decoding of bytes into normalized text.

The normalized text is stored, and every offset counts its code points. Normalization does the
least that makes texts comparable: newlines become "\\n", form feeds and runs of NUL characters a
blank, or nothing at the edge of a line, a leading byte order mark is removed, lone surrogates
become U+FFFD, and the bytes of files that a text embeds (`data:` URLs) are left out. Composition is
left as it is (no NFC): spans that come with a text must still fit it, and the analyzer and the
embedders' tokenizers fold it themselves.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

import webencodings

from crx.errors import InputError, NotText
from crx.ingest.readers.binary import is_known_binary
from crx.ingest.readers.normal_text import normalize
from crx.types import Scalar

# Encodings that Python has for other ends; some take time that grows with the square of the length.
_NO_CHARSETS = {"idna", "punycode", "raw_unicode_escape", "undefined", "unicode_escape"}
# Character sets whose texts are ASCII bytes, so that UTF-8 would decode them too.
_SEVEN_BIT = ("hz", "iso2022", "utf-7")
# What Python's strict codec of a character set is a part of.
_SUPERSETS = {"gb2312": "gb18030", "gbk": "gb18030", "euc_kr": "cp949", "shift_jis": "cp932"}


def detect_encodings(sample: bytes) -> dict[str, float]:
    """Return the encodings that a text may be in, the likeliest first, and how likely each is.

    Those of mainframes are none of a file's.
    """
    from chardet import EncodingEra, detect_all  # takes 100 ms: imported for a file that needs it

    found: dict[str, float] = {}
    for each in detect_all(
        sample,
        ignore_threshold=True,
        encoding_era=EncodingEra.ALL & ~EncodingEra.MAINFRAME,
        max_bytes=len(sample),
    ):
        if name := _find_charset(each["encoding"] or ""):
            found.setdefault(name, each["confidence"])
    return found


# UTF-32 first: the little-endian mark of UTF-16 is a prefix of its own.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAMPLE = 128 * 1024
_BEYOND = re.compile(rb"[\x80-\xff]")
# Bell, backspace and escape are in texts for terminals.
_CONTROL = bytes(set(range(1, 32)) - set(b"\t\n\v\f\r\a\b\x1b")) + b"\x7f"
# NUL bytes that a text may contain: programs leave some where they were killed while writing. A log
# that was truncated while it was written begins with many.
_FEW_NULS = 8
# UTF-8 and a declared encoding are evidence of a text; in others any byte is a character.
_LEGACY_BYTES_A_CONTROL = 200
# What follows `data:image/png;base64,`.
_EMBEDDED = re.compile(r"(?<=;base64,)[A-Za-z0-9+/=%_-]{64,}")
# A detector knows few words of a short text, so that it is told what writing is like: which
# encodings are rare, that kana are Japanese, and what hardly a text has.
_USUAL = "cp1252"
_USUALNESS = 1.1
_RARE = re.compile(
    "mac-(?!roman|cyr)|hp|kz|ptcp|johab|koi8-t|cp(?:43[^7]|7|85[^02]|86[^6]|10|11)"
    "|iso8859-(?:3|4|10|13|14|16)$"
)
_RARITY = 0.5
_OLD = re.compile("mac|cp(?:4|8[56])")
_AGE = 0.95
_JAPANESE = ("cp932", "euc_jp")
_KANA = re.compile("[\u3041-\u30fe]{2}")
_LEAST = 0.001
_LETTER = r"[^\W\d_]"
_SYMBOL = "\u00a1-\u00aa\u00ac\u00ae-\u00b4\u00b6-\u00ba\u00bc-\u00bf"
_ALPHABETIC = "\u0370-\u06ff\ufb50-\ufeff"
_BOXES = "\u2500-\u259f"
_OTHERS = rf"{_ALPHABETIC}\u00a8\u00af\u00b8\u02c6-\u02dd{_BOXES}"
_EASTERN = "\u0e00-\u0e7f\u4e00-\u9fff\uac00-\ud7a3"
_BEYOND_ASCII = re.compile(r"[^\x00-\xa0]")
# What few texts have: in a word, a symbol or a letter of another script; a letter four times or
# with three more that are not ASCII; signs or accents that stand alone, boxes beside words, and
# symbols beside each other.
_ODD = re.compile(
    rf"(?<={_LETTER})[^\w\s'’´·.,:;/&@()\u00ad-](?={_LETTER})"
    rf"|[¥¦§©®¬¸¹²³¼½¾†‡‰˜ƒ](?={_LETTER})|[{_SYMBOL}](?=[{_SYMBOL}])|[¤ˆ¯]"
    rf"|(?<=\w)[‚„†‡ˆ˜¡¿¢£¥¦©¬¯¸±×÷](?![\d ])|(?<={_LETTER})[‚„†‡˜¡¿¢£¥¦¬¸ƒ]"
    rf"|(?<!\w)[ðÐ](?={_LETTER})"
    rf"|[£¥€](?= ?{_LETTER})|(?<=[a-z])\xa0(?=[a-z])"
    r"|(?<!\w)[À-ÖØ-Þ\u0100-\u024f](?= ?\d)"
    rf"|(?<=\d)[\u00c0-\u024f](?!{_LETTER})"
    rf"|[a-zA-Z0-9] ?(?=[{_BOXES}])|[{_BOXES}](?= ?[a-zA-Z0-9])"
    rf"|[a-zA-Z](?=[{_OTHERS}])|[{_OTHERS}](?=[a-zA-Z])"
    rf"|(?<=[a-zA-Z])[{_EASTERN}](?=[a-zA-Z])"
    rf"|([^\W\d_a-zA-Z])(?=\1\1\1)"
    r"|[\u00c0-\u024f](?=[\u00c0-\u024f]{3})"
)
# What no text has: control characters, lost ones, and a last form within a word.
_NEVER = re.compile(rf"[\x80-\x9f\ufffd]|[ςךםןףץ](?={_LETTER})")
_NEVER_WEIGHT = 5
_ALONE = re.compile(rf"(?<!\w)[{_ALPHABETIC}](?!{_LETTER})")
_OTHER_WORD = re.compile(f"[{_ALPHABETIC}]{{4}}")
_LATIN = re.compile("[a-zA-Z]")
_JUDGED = 2 * 1024
_LIKELIEST = 25
_IN_SMALL = 3  # texts in capitals that are looked at in small letters
# The bytes of ğ, ı and ş of Turkish, which are ð, ý and þ of Icelandic; that has á, é, í, ú and æ.
_WESTERN = ("cp1252", "iso8859-1", "iso8859-15")
_DOTLESS = re.compile(b"[\xdd\xfd]")
_CEDILLA = re.compile(b"[\xde\xfe]")
_ETH = re.compile(b"[\xd0\xf0]")
_ACUTE = re.compile(b"[\xc1\xc6\xc9\xcd\xda\xe1\xe6\xe9\xed\xfa]")
# Colours and other codes of a terminal, which are no text, and which no detector expects.
TERMINAL_CODES = r"\x1b\[[\d;]*[A-Za-z]"
_PRIVATE_USE = re.compile("[\ue000-\uf8ff]")


# What languages are written with, and U+FFFD once at the end of a text that was cut.
_WRITTEN = re.compile(
    "[\\t\\n\\r -~\\xa0-\u024f\u0370-\u06ff\u0900-\u10ff\u1200-\u137f\u1780-\u17ff"
    "\u1e00-\u1fff\u200b-\u2044€№™"
    "\u3000-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff00-\uff9f\U0001f000-\U0001faff]|\ufffd\\Z"
)
# What a text in an encoding of two bytes a letter has. UTF-16 would make other letters of them.
_TWO_BYTES = re.compile(rb"[\0-\x7f]+|[\x81-\xfe][\x40-\xfe]")
# A disk leaves what was never written as NULs.
_PADDING = re.compile(rb"\A\0+|\0{16,}")
# What a text in HZ has: two bytes a letter, between marks; most letters are frequent ones. Lisp has
# the same marks around a loop in a format.
_HZ = re.compile(rb"~\{((?:[!-w][!-~])+)~\}")
_HZ_LETTER = re.compile(rb"([!#0-W][!-}])|..")


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
        or _seven_bit(data, declared)
        or _utf8(data)
        or _wide(data)
        or _unmarked(data)
        or _declared(data, declared)
        or _damaged(data)
        or _mixed_lines(data)
        or _legacy(data)
    )
    text = without_embedded(normalize(decoded.text))
    if not text.strip():
        raise NotText("is empty")
    return Decoded(text, decoded.encoding, decoded.undecodable)


def without_embedded(text: str) -> str:
    """Return a text without the bytes of the files that it embeds, such as pictures.

    Each is on one line, so that the text keeps its lines.
    """
    return _EMBEDDED.sub("", text) if ";base64," in text else text


def _with_byte_order_mark(data: bytes) -> Decoded | None:
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            text = data[len(mark) :].decode(encoding, errors="replace")
            lost = text.count("\ufffd")
            if lost * 50 > len(text):
                raise BinaryFile("is a binary file")
            return Decoded(text, encoding, lost)
    return None


def _seven_bit(data: bytes, declared: str) -> Decoded | None:
    """Decode ISO 2022, and other encodings of ASCII bytes if they are declared."""
    named = _find_charset(declared) if declared else ""
    # One byte is found ten times faster than two.
    shifts = b"\x1b" in data and (b"\x1b$" in data or b"\x1b(" in data)
    names = ["iso2022_kr", "iso2022_jp_2"] if shifts else []
    marked = _HZ.findall(data) if b"~{" in data else []
    letters = _HZ_LETTER.findall(b"".join(marked))
    if marked and len(marked) == data.count(b"~{") and letters.count(b"") * 4 <= len(letters):
        names.append("hz")
    if named.startswith(_SEVEN_BIT):
        names.insert(0, named)
    for name in names if names and data.isascii() else ():
        try:
            return Decoded(data.decode(name), name)
        except UnicodeDecodeError:
            continue
    return None


def _utf8(data: bytes) -> Decoded | None:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if text.isascii() and (wide := _wide(data)):
        return wide
    return None if _has_controls(data) else Decoded(text, "utf-8")


def _wide(data: bytes) -> Decoded | None:
    """Decode UTF-16 without a byte order mark: every other byte of a Latin text is NUL."""
    sample = data[:_SAMPLE]
    for encoding, high, low in (("utf-16-le", 1, 0), ("utf-16-be", 0, 1)):
        half = len(sample) // 2
        if sample[high::2].count(0) * 2 > half and sample[low::2].count(0) * 50 < half:
            text = data.decode(encoding, errors="replace")
            lost = text.count("\ufffd")
            return Decoded(text, encoding, lost) if lost < 2 else None
    return None


def _unmarked(data: bytes) -> Decoded | None:
    """Decode UTF-16 and UTF-32 without a byte order mark in other scripts than Latin.

    Raises `BinaryFile` for other bytes that are no text.
    """
    controls = _has_controls(data)
    sample = data[:_SAMPLE]
    likely = controls or (0 in data and _TWO_BYTES.sub(b"", sample))
    likely = likely and not is_known_binary(data)
    for name in ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be") if likely else ():
        if _is_written(sample.decode(name, errors="replace")):
            text = data.decode(name, errors="replace")
            return Decoded(text, name, text.count("\ufffd"))
    if controls:
        raise BinaryFile("is a binary file")
    return None


def _is_written(sample: str) -> bool:
    """Return True if nearly all characters are those of languages that many people write.

    Bytes of other texts or of none make rarer ones, and none of the other's blanks and newlines.
    """
    return len(_WRITTEN.sub("", sample)) * 40 <= len(sample) and len(sample) > 2


def require_charset(label: str) -> str:
    """Return the encoding that a label means; raise `LookupError` for a label of none.

    Labels are those of the Encoding Standard (WHATWG), by which `iso-8859-1` is Windows-1252 and
    `gb2312` is GB 18030; then those of Python.
    """
    standard = webencodings.lookup(label)
    found = standard.codec_info.name if standard else ""
    if not found or found == "replacement":
        found = codecs.lookup(label.strip()).name
    name = found.replace("-", "_")
    if name in _NO_CHARSETS or not getattr(codecs.lookup(found), "_is_text_encoding", True):
        raise LookupError(f"{label}: is no character set")
    return _SUPERSETS.get(name, found)


def _find_charset(label: str) -> str:
    """Return the encoding that a label means, "" for a label of none."""
    try:
        return require_charset(label)
    except (LookupError, ValueError):
        return ""


def _declared(data: bytes, label: str) -> Decoded | None:
    name = _find_charset(label) if label else ""
    # A page that declares UTF-16 in bytes of ASCII is in another encoding.
    if not name or name.startswith("utf-16"):
        return None
    try:
        return Decoded(data.decode(name), name)
    except UnicodeError:
        return None


def _damaged(data: bytes) -> Decoded | None:
    """Decode UTF-8 with a few bad bytes (a log cut within a character), which become U+FFFD."""
    text = data.decode("utf-8", errors="replace")
    lost = text.count("\ufffd")
    # In another encoding, hardly any of the bytes beyond ASCII would be valid UTF-8.
    beyond = len(data) - len(data.translate(None, bytes(range(128, 256))))
    return Decoded(text, "utf-8", lost) if lost * 20 < beyond else None


def _mixed_lines(data: bytes) -> Decoded | None:
    """Decode a log that programs wrote in UTF-8 and another encoding, line by line.

    In a text of another encoding hardly a line would be UTF-8.
    """
    lines = [line for line in data.splitlines(keepends=True) if not line.isascii()]
    others = [line for line in lines if _utf8(line) is None]
    if len(others) * 2 > len(lines):
        return None
    encoding = _legacy(b"".join(others)).encoding
    text = "".join(
        found.text if (found := _utf8(line)) else line.decode(encoding, errors="replace")
        for line in data.splitlines(keepends=True)
    )
    return Decoded(text, encoding, text.count("\ufffd"))


def _legacy(data: bytes) -> Decoded:
    if _has_controls(data, one_in=_LEGACY_BYTES_A_CONTROL):
        raise BinaryFile("is a binary file")
    sample = _beyond_ascii(data, _SAMPLE)
    if len(data) > _SAMPLE:  # not to the middle of a character
        sample = sample[: sample.rfind(b"\n") + 1] or sample
    found = detect_encodings(re.sub(TERMINAL_CODES.encode(), b"", sample.replace(b"\0", b"")))
    if not found:
        raise BinaryFile("is a binary file")
    encoding = _likeliest(_beyond_ascii(sample, _JUDGED), found)
    text = data.decode(encoding, errors="replace")
    lost = text.count("\ufffd")
    # EUC-TW, which Python cannot decode, has characters for private use by other encodings.
    if (lost + len(_PRIVATE_USE.findall(text))) * 100 > len(text):
        raise InputError("is in an unknown encoding; convert it to utf-8")
    return Decoded(text, encoding, lost)


def _beyond_ascii(data: bytes, size: int) -> bytes:
    """Return up to `size` bytes, of longer data from the first line that is not ASCII."""
    found = _BEYOND.search(data) if len(data) > size else None
    if not found:
        return data[:size]
    at = max(data.rfind(b"\n", 0, found.start()) + 1, found.start() - size // 2)
    return data[at : at + size]


def _likeliest(sample: bytes, found: dict[str, float]) -> str:
    """Return the encoding by which a text is likeliest: by its words, its letters, and itself.

    A detector knows words in small letters. It takes long, and is asked for the few encodings by
    which the letters are likeliest.
    """
    weighed = []
    for name in dict.fromkeys([*list(found)[:_LIKELIEST], _USUAL, *_JAPANESE]):
        text = sample.decode(name, errors="replace")
        weight = _USUALNESS if name == _USUAL else _RARITY if _RARE.match(name) else 1
        weight *= _AGE if _OLD.match(name) else 1
        weighed.append((weight * (1 - 0.9 * _odd_share(text)) ** 2, name, text))
    ranked = {}
    found_in = {sample: found}
    for weight, name, text in sorted(weighed, key=lambda each: -each[0]):
        small = sample
        if sum(map(str.isupper, text)) > sum(map(str.islower, text)):
            small = text.lower().encode(name, errors="replace")
        if small not in found_in and len(found_in) <= _IN_SMALL:
            found_in[small] = detect_encodings(small)
        kana = len(_KANA.findall(text)) / max(5, 5 * len(_BEYOND_ASCII.findall(text)))
        ranked[name] = weight * (found_in.get(small, {}).get(name, 0) + _LEAST + kana)
    encoding = max(ranked, key=lambda name: ranked[name])
    return "cp1254" if encoding in _WESTERN and _is_turkish(sample) else encoding


def _odd_share(text: str) -> float:
    """Return the share of the characters beyond ASCII that are where hardly a text has them."""
    odd = len(_ODD.findall(text)) + _NEVER_WEIGHT * len(_NEVER.findall(text))
    for a, b, c in zip(f" {text}", text, f"{text[1:]} ", strict=False):
        if b > "\x7f" and b.isupper() and (b < "\u0250" or not a.isascii()):
            odd += a.islower() or (a.isalpha() and c.islower())
    if _LATIN.search(text) and not _OTHER_WORD.search(text):
        odd += len(_ALONE.findall(text))
    return min(1, odd / max(1, len(_BEYOND_ASCII.findall(text))))


def _is_turkish(sample: bytes) -> bool:
    """Return True for bytes of ı, or of ş without ğ, which are likelier Turkish than Icelandic.

    Icelandic names and words in a Western text have ð, or þ and ð.
    """
    likely = _DOTLESS.search(sample) or (_CEDILLA.search(sample) and not _ETH.search(sample))
    return bool(likely) and not _ACUTE.search(sample)


def _has_controls(data: bytes, *, one_in: int = 50) -> bool:
    """Return True if more than 1 byte in `one_in` of a sample is a control character.

    A few NUL bytes, and those of padding, do not count.
    """
    sample = _PADDING.sub(b"", data[: 2 * _SAMPLE])[:_SAMPLE] if b"\0" in data else data[:_SAMPLE]
    controls = len(sample) - len(sample.translate(None, _CONTROL))
    nuls = sample.count(0)
    return (controls + (nuls if nuls > _FEW_NULS else 0)) * one_in > len(sample)
