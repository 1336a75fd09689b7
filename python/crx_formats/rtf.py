"""Reader of Rich Text Format: the paragraphs, with headings by their outline level.

The text is what `striprtf` makes of the file. Before that, the outline levels of paragraphs and the
ends of cells are written into the file's text as characters of the private use area. Text boxes
follow their paragraph and footnotes the text. Pictures and embedded objects are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from striprtf.striprtf import rtf_to_text

from crx.errors import InputError, NothingToRead
from crx.ingest.readers.file_title import squeeze, written_title
from crx.ingest.readers.left_out import LeftOut
from crx.ingest.readers.text_builder import TextBuilder
from crx.types import Document, Scalar
from crx_formats.rtf_groups import lift_groups

extensions = (".rtf",)

_LEVEL = 0xF8E0  # the character of the outermost outline level; those of the others follow
_CELL = 0xF8F0
# A backslash of the text, whose next letters are no control word. It is as long as it is in the
# file, which counts the bytes of pictures; where it only stands for a character, half is left out.
_BACKSLASH = 2 * chr(0xF8F1)
_OUTLINE_LEVEL = re.compile(r"\\outlinelevel([0-8])(?![0-9]) ?")
_CELL_END = re.compile(r"\\(?:nest)?cell(?![a-z]) ?")
_LEVELS = re.compile(f"[{chr(_LEVEL)}-{chr(_LEVEL + 8)}]")
_HEX_DATA = re.compile(r"[0-9a-fA-F\r\n]{512,}")
_BARE_BIN = re.compile(r"\\bin(?![0-9a-z])")  # without the number that striprtf expects
# The table of fonts, whose entries `striprtf` looks through to the end of their line.
_FONT_TABLE = re.compile(r"\{\\fonttbl.*?(?:\}\s*\}|\Z)", re.DOTALL)
_CODE_PAGE = re.compile(r"\\ansicpg[0-9]{1,5}|\\(?:mac|pca?)(?![a-z])")
# What a file has instead of a code page, and the code page that Python has by another name.
_SYSTEM = re.compile(r"\\(mac|pca?)(?![a-z])")
_ENCODINGS = {"mac": "mac_roman", "pc": "cp437", "pca": "cp850"}
_MAC_ROMAN = r"\ansicpg10000"
_PROPERTY = re.compile(r"\{\\(title|author|keywords|doccomm)\b ?((?:[^{}\\]|\\.)*)\}", re.DOTALL)
_METADATA = {"author": "author", "keywords": "keywords", "doccomm": "description"}


def read(data: bytes, *, name: str) -> Iterator[Document]:
    """Yield the document's text with its headings."""
    if not data.lstrip().startswith(b"{\\rtf"):
        raise InputError("is not in Rich Text Format")
    source = data.decode("cp1252", errors="replace").replace(r"\\", _BACKSLASH)
    source = _BARE_BIN.sub("", _HEX_DATA.sub("", source)).replace(_MAC_ROMAN, r"\mac")
    left_out = LeftOut()
    lifted = left_out.attempt("footnotes and text boxes", lambda: lift_groups(source), plain=source)
    marked = _OUTLINE_LEVEL.sub(lambda match: _escape(_LEVEL + int(match[1])), lifted)
    text = TextBuilder()
    in_table = False
    for paragraph in _convert(_CELL_END.sub(lambda _: _escape(_CELL), marked)).split("\n"):
        levels = _LEVELS.findall(paragraph)
        plain = _LEVELS.sub("", paragraph).replace(chr(_CELL), "\t").strip()
        if levels and plain:
            text.add_heading(plain, level=ord(levels[-1]) - _LEVEL + 1)
        else:
            text.add(plain, gap="\n" if in_table and "\t" in plain else "\n\n")
        in_table = chr(_CELL) in paragraph
    if not text:
        raise NothingToRead("has no text")
    title, metadata = _properties(source)
    yield text.build(
        name, title=title, metadata={**metadata, **left_out.metadata(), "format": "rtf"}
    )


def _escape(code_point: int) -> str:
    return f"{{\\uc1\\u{code_point} ?}}"


def _convert(source: str) -> str:
    """Return the text of a file; raises `InputError` for a damaged one."""
    system = _SYSTEM.search(source)
    encoding = _ENCODINGS[system[1]] if system else "cp1252"
    in_lines = _FONT_TABLE.sub(lambda table: table[0].replace("{\\f", "\n{\\f"), source, count=1)
    try:
        text: str = rtf_to_text(in_lines, encoding, errors="replace")  # type: ignore[no-untyped-call]
    except (ValueError, LookupError, TypeError, OverflowError) as failed:
        raise InputError("is damaged: not well-formed Rich Text Format") from failed
    # Characters beyond the first 65,536 are written as two, the halves of a pair.
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace(_BACKSLASH, "\\").replace(_BACKSLASH[0], "")


def _properties(source: str) -> tuple[str, dict[str, Scalar | list[Scalar]]]:
    """Return the title that the document's properties give, and its metadata."""
    title, metadata = "", dict[str, Scalar | list[Scalar]]()
    code_page = next(iter(_CODE_PAGE.findall(source)), "")
    for name, written in _PROPERTY.findall(source):
        value = squeeze(_convert(f"{{\\rtf1{code_page} {written}}}"))
        if name == "title":
            title = title or written_title(value)
        elif value:
            metadata.setdefault(_METADATA[name], value)
    return title, metadata
