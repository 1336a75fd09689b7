"""Databases of SQLite, Parquet files, contacts and calendars, and files of Zstandard."""

from __future__ import annotations

import importlib.util
import sqlite3
import time
from contextlib import closing
from io import BytesIO
from pathlib import Path

import pytest

from crx.errors import InputError
from crx.ingest.read import read_bytes
from crx.types import Document

ROWS = [("A1", 12.5, None), ("B2", 7, b"\0\1"), ("Nürnberg\nroad", 3, "note")]


def database(path: Path, *, script: str = "", journal: str = "delete") -> bytes:
    """Return the bytes of a database with a table of roads."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA journal_mode = {journal}")
        connection.execute("CREATE TABLE roads (road TEXT, miles REAL, note)")
        connection.executemany("INSERT INTO roads VALUES (?, ?, ?)", ROWS)
        connection.executescript(script)
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.read_bytes()


def read(data: bytes, name: str) -> Document:
    (document,) = read_bytes(data, name=name)
    return document


@pytest.mark.parametrize("journal", ["delete", "wal"])
@pytest.mark.parametrize("name", ["/a/towns.sqlite", "/a/towns.db", "/a/towns.dat"])
def test_a_database_is_read_table_by_table(tmp_path: Path, journal: str, name: str) -> None:
    found = read(database(tmp_path / "a.db", journal=journal), name)
    assert found.text == "roads\nroad\tmiles\tnote\nA1\t12.5\nB2\t7.0\nNürnberg road\t3.0\tnote\n"
    assert found.title == "towns"
    labels = [(mark.kind, mark.label) for mark in found.marks if mark.kind != "row"]
    assert set(labels) == {
        ("sheet", "roads"),
        ("heading", "roads"),
        ("heading", "road, miles, note"),
    }
    rows = [found.text[m.start : m.end] for m in found.marks if m.kind == "row" and m.label == "2"]
    assert rows == ["B2\t7.0\n"]


def test_what_a_database_could_run_is_left_out(tmp_path: Path) -> None:
    script = """
        CREATE VIEW endless AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
            SELECT i FROM n;
        CREATE TABLE computed (a, b AS (upper(a)));
        INSERT INTO computed (a) VALUES ('plain');
        CREATE VIRTUAL TABLE words USING fts5(body);
        INSERT INTO words VALUES ("a heron");
        CREATE TABLE words_history (word);
        INSERT INTO words_history VALUES ('an egret');
        CREATE TRIGGER t AFTER INSERT ON roads BEGIN DELETE FROM roads; END;
    """
    found = read(database(tmp_path / "a.db", script=script), "a.db")
    assert "A1\t12.5" in found.text
    assert "computed\na\nplain\n" in found.text
    assert "PLAIN" not in found.text
    assert "endless" not in found.text
    assert "words_content\nid\tc0\n1\ta heron\n" in found.text
    assert "words_history\nword\nan egret\n" in found.text
    for hidden in ("words_config", "words_data", "words_docsize", "words_idx"):
        assert hidden not in found.text


def test_rows_keep_their_order_where_an_index_has_all_columns(tmp_path: Path) -> None:
    script = """
        CREATE TABLE birds (name, plural AS (name || 's') STORED);
        INSERT INTO birds (name) VALUES ('wren'), ('heron');
        CREATE INDEX by_name ON birds (name);
        CREATE TABLE keyed (name PRIMARY KEY) WITHOUT ROWID;
        INSERT INTO keyed VALUES ('ibis');
    """
    found = read(database(tmp_path / "a.db", script=script), "a.db")
    assert "birds\nname\nwren\nheron\n" in found.text
    assert "keyed\nname\nibis\n" in found.text


def test_damaged_and_encrypted_databases_are_refused_in_one_line(tmp_path: Path) -> None:
    data = database(tmp_path / "a.db")
    zeros = bytes(len(data) - 200)
    for damaged in (data[:100] + zeros, data[:30], data[:100] + b"\xff" * 4000):
        with pytest.raises(InputError) as failed:
            list(read_bytes(damaged, name="a.sqlite"))
        assert "\n" not in str(failed.value)
    # A name that is not UTF-8 is an error of Python's.
    named = data.replace(b"TABLE roads", b"TABLE r\xfeads")
    with pytest.raises(InputError, match="is a damaged SQLite database"):
        list(read_bytes(named, name="a.sqlite"))
    with pytest.raises(InputError, match="no SQLite database; it may be encrypted"):
        list(read_bytes(b"\x8a\x01" * 4096, name="a.sqlite"))


CARD = """BEGIN:VCARD
VERSION:3.0
N:Mercator;Anna;;Dr.;
FN:Anna Mercator
ORG:Harbour Office;Charts
item1.TEL;TYPE=CELL:tel:+49-40-123
EMAIL:anna@example.org
ADR;TYPE=WORK:;;Pier 7;Hamburg;;20457;Germany
NOTE:Knows the tides\\, the pilots\\nand the
  weather.
PHOTO;ENCODING=b:AAAA
END:VCARD
BEGIN:VCARD
VERSION:2.1
N;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=BCller;Jan
TEL:55
END:VCARD
"""
CALENDAR = """BEGIN:VCALENDAR
BEGIN:VEVENT
SUMMARY:Board meeting
DTSTART;TZID=Europe/Berlin:20260305T140000
DTEND:20260305T153000Z
LOCATION:Room 4
ATTENDEE;CN="Lee: Kim";ROLE=X:mailto:kim@example.org
DESCRIPTION:Budget of the pier.
BEGIN:VALARM
TRIGGER:-PT15M
END:VALARM
END:VEVENT
BEGIN:VTODO
SUMMARY:Order rope
DUE;VALUE=DATE:20260401
END:VTODO
END:VCALENDAR
"""


def test_contacts_are_sections() -> None:
    found = read(CARD.replace("\n", "\r\n").encode(), "people.vcf")
    assert found.text == (
        "Anna Mercator\n\nHarbour Office Charts\nMail: anna@example.org\nPhone: +49-40-123\n"
        "Address: Pier 7, Hamburg, 20457, Germany\n"
        "Knows the tides, the pilots\nand the weather.\n\nMüller Jan\n\nPhone: 55"
    )
    assert [m.label for m in found.marks if m.kind == "heading"] == ["Anna Mercator", "Müller Jan"]


def test_events_and_tasks_are_sections() -> None:
    found = read(CALENDAR.encode(), "board.ics")
    assert found.text == (
        "Board meeting\n\nBegins: 2026-03-05 14:00 Europe/Berlin\n"
        "Ends: 2026-03-05 15:30 UTC\nLocation: Room 4\n"
        "Attendee: Lee: Kim <kim@example.org>\nBudget of the pier.\n\nOrder rope\n\nDue: 2026-04-01"
    )


def test_the_name_of_a_calendar_is_its_title() -> None:
    event = "BEGIN:VEVENT\nSUMMARY:Launch\nEND:VEVENT\n"
    data = f"BEGIN:VCALENDAR\nX-WR-CALNAME:Slip\\, north\n{event}END:VCALENDAR\n"
    (document,) = read_bytes(data.encode(), name="a.ics")
    assert document.title == "Slip, north"


def test_an_event_that_is_folded_within_a_letter_is_read() -> None:
    event = "BEGIN:VEVENT\r\nSUMMARY:Fähre nach Föhr\r\nEND:VEVENT\r\n".encode()
    folded = event.replace("ö".encode(), b"\xc3\r\n \xb6")
    (document,) = read_bytes(folded, name="a.ics")
    assert "Fähre nach Föhr" in document.text


def test_what_is_nested_in_an_event_says_nothing_of_it() -> None:
    event = """BEGIN:VEVENT
BEGIN:VALARM
SUMMARY:An alarm
DESCRIPTION:Wake up
END:VALARM
SUMMARY:Zoo visit
SUMMARY:A later one
LOCATION:Gate 2
END:VEVENT
"""
    assert read(event.encode(), "a.ics").text == "Zoo visit\n\nLocation: Gate 2"


def test_a_property_may_have_a_character_set_of_its_own() -> None:
    card = (
        b"BEGIN:VCARD\nVERSION:2.1\nFN;CHARSET=ISO-8859-1;ENCODING=QUOTED-PRINTABLE:J=F6rg\n"
        b"NOTE;ENCODING=QUOTED-PRINTABLE;CHARSET=windows-1251:=CF=F0=E8=E2=E5=F2\n"
        b"ROLE;CHARSET=no-such-set;ENCODING=QUOTED-PRINTABLE:caf=C3=A9\n"
        b"TITLE;CHARSET=base64;ENCODING=QUOTED-PRINTABLE:na=C3=AFve\nEND:VCARD\n"
    )
    assert read(card, "a.vcf").text == "Jörg\n\nnaïve\ncafé\nПривет"


@pytest.mark.parametrize("name", ["punycode", "IDNA", "unicode_escape", "raw-unicode-escape"])
def test_an_encoding_that_is_no_character_set_is_not_used(name: str) -> None:
    value = "a-" + "b" * 90_000
    card = (
        f"BEGIN:VCARD\nFN:Ann\nNOTE;CHARSET={name};ENCODING=QUOTED-PRINTABLE:\\u0041 {value}\n"
        "END:VCARD\n"
    )
    page = f'<meta charset="{name}"><p>é {value}'.encode("latin-1")
    start = time.process_time()
    assert f"\\u0041 {value}" in read(card.encode(), "a.vcf").text
    assert value in read(page, "a.html").text
    assert time.process_time() - start < 2


def test_a_property_that_recurs_keeps_its_order() -> None:
    card = b"BEGIN:VCARD\nFN:Anna\nTEL:9\nEMAIL:b@c\nEMAIL:a@c\nEND:VCARD\n"
    assert read(card, "a.vcf").text == "Anna\n\nMail: b@c\nMail: a@c\nPhone: 9"


def test_genetic_variants_are_read_as_text() -> None:
    variants = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\n20\t14370\trs6054257\n"
    found = read(variants.encode(), "genes.vcf")
    assert found.text == variants
    assert found.metadata["format"] == "text"


def test_a_card_that_does_not_end_is_kept() -> None:
    cards = b"BEGIN:VCARD\nFN:Anna\nBEGIN:VCARD\nFN:Jan\nEND:VCARD\n"
    assert read(cards, "a.vcf").text == "Anna\n\nJan"


@pytest.mark.parametrize(
    "data",
    [b"BEGIN:VCALENDAR", b"END:", b"BEGIN:VCARD\n" * 50_000, b'BEGIN:VEVENT\nX;"' + b":" * 99_999],
)
def test_a_file_without_a_card_or_an_event_says_so(data: bytes) -> None:
    with pytest.raises(InputError, match="has no contact, event or task"):
        list(read_bytes(data, name="a.ics"))


def test_formats_of_packages_that_are_not_installed_name_the_package() -> None:
    for package, name, extra in [
        ("pyarrow", "a.parquet", "parquet"),
        ("zstandard", "a.txt.zst", "zstd"),
    ]:
        if importlib.util.find_spec(package):
            continue
        with pytest.raises(InputError, match=rf'pip install "crx\[{extra}\]"'):
            list(read_bytes(b"PAR1", name=name))


def test_parquet_is_read_row_by_row() -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    out = BytesIO()
    table = arrow.table({"road": ["A1", "B2"], "miles": [12.5, None], "lanes": [[1, 2], []]})
    parquet.write_table(table, out)
    found = read(out.getvalue(), "roads.parquet")
    assert found.text == "roads\nroad\tmiles\tlanes\nA1\t12.5\t[1, 2]\nB2\t\t[]\n"
    assert "road, miles, lanes" in {mark.label for mark in found.marks}
    for damaged in (out.getvalue()[:-6], b"PAR1" + bytes(90) + b"PAR1"):
        with pytest.raises(InputError, match="is a damaged Parquet file"):
            list(read_bytes(damaged, name="a.parquet"))


def test_parquet_with_nanoseconds_is_read() -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    moment = 1_772_719_200_123_456_789
    kinds = {"at": arrow.timestamp("ns"), "clock": arrow.time64("ns")}
    table = arrow.table({
        "at": arrow.array([moment, None], kinds["at"]),
        "clock": arrow.array([1, 2], kinds["clock"]),
    })  # fmt: skip
    out = BytesIO()
    parquet.write_table(table, out)
    assert read(out.getvalue(), "times.parquet").text == (
        "times\nat\tclock\n"
        "2026-03-05 14:00:00.123456789\t00:00:00.000000001\n\t00:00:00.000000002\n"
    )


def test_parquet_with_nanoseconds_within_values_is_read() -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    moment, kind = 1_772_719_200_123_456_789, arrow.timestamp("ns")
    table = arrow.table({
        "list": arrow.array([[moment, None], None], arrow.list_(kind)),
        "struct": arrow.array([{"at": moment, "by": 1}, None], arrow.struct([
            ("at", kind), ("by", arrow.int8()),
        ])),
        "dictionary": arrow.array([moment, None], kind).dictionary_encode(),
        "far": arrow.array([10**14, None], arrow.timestamp("s")),
        "note": ["A road", "is long"],
    })  # fmt: skip
    out = BytesIO()
    parquet.write_table(table, out)
    text = read(out.getvalue(), "times.parquet").text
    assert text.count("2026-03-05 14:00:00.123456789") == 3
    assert "A road" in text
    assert "is long" in text


def test_what_is_left_out_of_large_tables_is_noted(tmp_path: Path) -> None:
    wide = ", ".join(f"c{n}" for n in range(201))
    script = f"CREATE TABLE a ({wide}); INSERT INTO a (c0) VALUES ('{'x' * 100_001}');"
    found = read(database(tmp_path / "a.db3", script=script), "a.db3")
    assert found.metadata["left_out"] == [
        "columns after the first 200 of 201",
        "what a cell has after 100,000 characters",
    ]
    script = "".join(f"CREATE TABLE t{n} (a); INSERT INTO t{n} VALUES (1);" for n in range(1000))
    found = read(database(tmp_path / "b.db3", script=script), "b.db3")
    assert found.metadata["left_out"] == ["tables after the first 1,000 of 1,001"]
    small = database(tmp_path / "c.db3", script="CREATE TABLE a (b); INSERT INTO a VALUES (1);")
    assert "left_out" not in read(small, "c.db3").metadata


def test_files_of_zstandard_are_decompressed_within_the_limit() -> None:
    zstandard = pytest.importorskip("zstandard")
    one, two = zstandard.compress(b"A heron. "), zstandard.compress(b"An egret.")
    assert read(one + two, "a.txt.zst").text == "A heron. An egret."
    with pytest.raises(InputError, match=r"is a damaged \.zst file: it ends too early"):
        list(read_bytes(one[:-3], name="a.txt.zst"))
    with pytest.raises(InputError, match=r"is a damaged \.zst file"):
        list(read_bytes(b"PK\3\4 no frame", name="a.txt.zst"))
    bomb = zstandard.compress(bytes(200_000_000))
    with pytest.raises(InputError, match="when decompressed"):
        list(read_bytes(bomb, name="a.txt.zst", max_bytes=1_000_000))
