"""Names of the kinds of files that contain no text to read, by their first bytes."""

from __future__ import annotations

# The first bytes of an OLE compound file: old Office documents and Outlook messages.
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# The first bytes of what Outlook sends as `winmail.dat`.
TNEF = b"\x78\x9f\x3e\x22"
# The first bytes of PostScript: a program that draws pages, with fragments of words.
POSTSCRIPT = b"%!PS"
# The first bytes of the text that stands for a file until Git LFS has fetched it.
LFS_POINTER = b"version https://git-lfs.github.com/spec/"
_UNKNOWN = "a binary file"
_ARCHIVE = "; unpack it to index what it contains"
_BY_START = (
    (b"\x89PNG\r\n\x1a\n", "a picture (PNG)"),
    (b"\xff\xd8\xff", "a picture (JPEG)"),
    (b"GIF87a", "a picture (GIF)"),
    (b"GIF89a", "a picture (GIF)"),
    (b"BM", "a picture (BMP)"),
    (b"II*\0", "a picture (TIFF)"),
    (b"MM\0*", "a picture (TIFF)"),
    (b"8BPS", "a picture (Photoshop)"),
    (b"\0\0\1\0", "a picture (icon)"),
    (b"PK\3\4", f"a ZIP archive{_ARCHIVE}"),
    (b"PK\5\6", "an empty ZIP archive"),
    (b"7z\xbc\xaf\x27\x1c", f"a 7-Zip archive{_ARCHIVE}"),
    (b"Rar!\x1a\x07", f"a RAR archive{_ARCHIVE}"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard file without the extension .zst"),
    (b"\x1f\x8b", "a gzip file without the extension .gz"),
    (b"\x7fELF", "a program (ELF)"),
    (b"MZ", "a program (Windows)"),
    (b"\xcf\xfa\xed\xfe", "a program (macOS)"),
    (b"\xca\xfe\xba\xbe", "a program (Java or macOS)"),
    (b"\0asm", "a program (WebAssembly)"),
    (LFS_POINTER, 'a pointer of Git LFS; "git lfs pull" fetches the file'),
    (POSTSCRIPT, "PostScript; save it as PDF or text"),
    (OLE, "an old Office document; save it as PDF or text"),
    (b"OggS", "a recording (Ogg)"),
    (b"ID3", "a recording (MP3)"),
    (b"fLaC", "a recording (FLAC)"),
    (b"\x1a\x45\xdf\xa3", "a video (Matroska)"),
    (b"wOF2", "a font"),
    (b"wOFF", "a font"),
    (b"\0\1\0\0\0", "a font"),
    (b"OTTO", "a font"),
)
_BY_OFFSET = (
    (8, b"WEBP", "a picture (WebP)"),
    (8, b"WAVE", "a recording (WAV)"),
    (8, b"AVI ", "a video (AVI)"),
    (4, b"ftyp", "a video or picture (MP4)"),
    (257, b"ustar", f"a tar archive{_ARCHIVE}"),
)


def describe_binary(data: bytes) -> str:
    """Return what a file that is no text is, or "a binary file"."""
    for start, kind in _BY_START:
        if data.startswith(start):
            return kind
    for offset, mark, kind in _BY_OFFSET:
        if data[offset : offset + len(mark)] == mark:
            return kind
    return _UNKNOWN


def is_known_binary(data: bytes) -> bool:
    """Return True for the first bytes of a format that is no text."""
    return describe_binary(data) != _UNKNOWN
