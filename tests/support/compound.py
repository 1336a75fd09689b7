"""OLE compound files, and the Outlook messages and Excel 97 workbooks that they hold."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

Tree = Mapping[str, "bytes | Tree"]
_FREE, _END, _FAT = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
_SECTOR, _MINI, _CUTOFF = 512, 64, 4096


def compound_file(tree: Tree) -> bytes:
    """Return a compound file of streams and storages."""
    entries: list[tuple[str, int, int, int, bytes]] = []  # name, type, sibling, child, content

    def add(name: str, kind: int, node: bytes | Tree) -> int:
        at = len(entries)
        entries.append((name, kind, _FREE, _FREE, b""))
        child, content = _FREE, b""
        if isinstance(node, bytes):
            content = node
        else:
            for key in sorted(node, key=lambda key: (len(key), key.upper()), reverse=True):
                value = node[key]
                own = add(key, 2 if isinstance(value, bytes) else 1, value)
                entries[own] = (*entries[own][:2], child, *entries[own][3:])
                child = own
        entries[at] = (name, kind, _FREE, child, content)
        return at

    add("Root Entry", 5, tree)
    mini = b"".join(_pad(e[4], _MINI) for e in entries if 0 < len(e[4]) < _CUTOFF)
    mini_fat: list[int] = []
    sectors: list[bytes] = []
    fat: list[int] = []

    def store(content: bytes) -> int:
        first = len(sectors)
        pieces = _cut(_pad(content, _SECTOR), _SECTOR)
        sectors.extend(pieces)
        fat.extend([*range(first + 1, first + len(pieces)), _END] if pieces else [])
        return first if pieces else _END

    starts = []
    for _, kind, _, _, content in entries:
        if kind == 2 and 0 < len(content) < _CUTOFF:
            starts.append(len(mini_fat))
            count = -(-len(content) // _MINI)
            mini_fat += [*range(len(mini_fat) + 1, len(mini_fat) + count), _END]
        else:
            starts.append(store(content) if content else _END)
    starts[0] = store(mini) if mini else _END
    mini_start = store(struct.pack(f"<{len(mini_fat)}I", *mini_fat)) if mini_fat else _END
    directory = b"".join(
        _entry(name, kind, sibling, child, start, len(mini) if kind == 5 else len(content))
        for (name, kind, sibling, child, content), start in zip(entries, starts, strict=True)
    )
    directory_start = store(_pad(directory, _SECTOR))
    assert len(fat) < 127
    fat_at = len(sectors)
    fat.append(_FAT)
    sectors.append(struct.pack("<128I", *fat, *[_FREE] * (128 - len(fat))))
    header = struct.pack(
        "<8s16sHHHHH6xIIIIIIIII", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"", 0x3E, 3, 0xFFFE, 9, 6,
        0, 1, directory_start, 0, _CUTOFF, mini_start, 1 if mini_fat else 0, _END, 0,
    )  # fmt: skip
    return header + struct.pack("<109I", fat_at, *[_FREE] * 108) + b"".join(sectors)


def outlook_message(
    *, subject: str, body: str = "", html: str = "", headers: str = "",
    files: Mapping[str, bytes] | None = None, encoded_body: bytes = b"", code_page: int = 0,
) -> bytes:  # fmt: skip
    """Return an Outlook message; `encoded_body` is its text in a code page."""
    tree: dict[str, bytes | Tree] = {
        "__nameid_version1.0": {},
        "__substg1.0_001A001F": "IPM.Note".encode("utf-16-le"),
        "__substg1.0_0037001F": subject.encode("utf-16-le"),
        "__substg1.0_1000001F": body.encode("utf-16-le"),
        "__substg1.0_10130102": html.encode(),
        "__substg1.0_007D001F": headers.encode("utf-16-le"),
    }
    tree["__substg1.0_1000001E"] = encoded_body
    tree = {name: content for name, content in tree.items() if content or name[2] == "n"}
    encoding = struct.pack("<IIII", 0x3FDE0003, 6, code_page, 0) if code_page else b""
    tree["__properties_version1.0"] = (
        struct.pack("<8xIIII8x", 0, 0, 0, len(files or ())) + _table(tree) + encoding
    )
    for number, (name, content) in enumerate((files or {}).items()):
        own: dict[str, bytes | Tree] = {
            "__substg1.0_37010102": content,
            "__substg1.0_3707001F": name.encode("utf-16-le"),
        }
        own["__properties_version1.0"] = bytes(8) + _table(own)
        tree[f"__attach_version1.0_#{number:08X}"] = own
    return compound_file(tree)


def excel_97(sheets: Mapping[str, Sequence[Sequence[str | float]]]) -> bytes:
    """Return a workbook of the format before Office Open XML."""
    bodies = [
        _record(0x809, struct.pack("<HHHHII", 0x600, 0x10, 0, 0, 0, 0x600))
        + b"".join(
            _cell(row, column, value)
            for row, values in enumerate(rows)
            for column, value in enumerate(values)
        )
        + _record(0x0A, b"")
        for rows in sheets.values()
    ]
    opening = _record(0x809, struct.pack("<HHHHII", 0x600, 5, 0, 0, 0, 0x600))
    size = len(opening) + sum(4 + 8 + len(name) for name in sheets) + 4
    listed = b""
    for name, body in zip(sheets, bodies, strict=True):
        listed += _record(
            0x85, struct.pack("<IHBB", size, 0, len(name), 0) + name.encode("latin-1")
        )
        size += len(body)
    return compound_file({"Workbook": opening + listed + _record(0x0A, b"") + b"".join(bodies)})


def _cell(row: int, column: int, value: str | float) -> bytes:
    place = struct.pack("<HHH", row, column, 0)
    if isinstance(value, str):
        text = value.encode("utf-16-le")
        return _record(0x204, place + struct.pack("<HB", len(value), 1) + text)
    return _record(0x203, place + struct.pack("<d", value))


def _record(kind: int, content: bytes) -> bytes:
    return struct.pack("<HH", kind, len(content)) + content


def _table(tree: Mapping[str, bytes | Tree]) -> bytes:
    """Return the entries of the properties that have streams."""
    return b"".join(
        struct.pack("<HHIII", int(name[16:20], 16), int(name[12:16], 16), 6, len(content), 0)
        for name, content in tree.items()
        if name.startswith("__substg")
    )


def _entry(name: str, kind: int, sibling: int, child: int, start: int, size: int) -> bytes:
    encoded = name.encode("utf-16-le") + b"\0\0"
    return struct.pack(
        "<64sHBBIII36xIII", encoded, len(encoded), kind, 1, _FREE, sibling, child, start, size, 0
    )


def _pad(content: bytes, size: int) -> bytes:
    return content + bytes(-len(content) % size)


def _cut(content: bytes, size: int) -> list[bytes]:
    return [content[at : at + size] for at in range(0, len(content), size)]
