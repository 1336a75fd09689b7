//! Damage is detected, a full disk loses nothing, and a read-only folder can be read.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags};
use serde_json::value::RawValue;
use tempfile::TempDir;

use super::schema::TABLES;
use super::*;
use crate::passages::{self, ChunkSpan, Growth, Hit, LayoutChunk, Order};

/// Returns an index with a row in every table.
fn full(folder: &TempDir) -> Store {
    let store = Store::open(&folder.path().join("notes.crx"), true, true).unwrap();
    let made = ContextRow {
        generator: "llama".into(),
        outcome: "ok".into(),
        text: "from ACME's filing".into(),
    };
    store.put_contexts(&[(b"c".to_vec(), made)]).unwrap();
    store.put_vectors(&[b"v".to_vec()], &[0.6, 0.8], 2).unwrap();
    put(&store, "a", "revenue grew").unwrap();
    store
        .set_settings(&[("embedder".into(), "hashed".into())])
        .unwrap();
    let derived = Derived {
        file: "vectors-1.f16".into(),
        seq: 1,
        seal: [7; 32],
    };
    store.set_derived("vectors", Some(&derived)).unwrap();
    store.record_failure("b", "no text").unwrap();
    put_long(&store, &"line\n".repeat(20_000), "[]").unwrap();
    store
}

fn put(store: &Store, uri: &str, text: &str) -> Result<i64> {
    let end = text.chars().count() as u32;
    let span = ChunkSpan {
        start: 0,
        end,
        token_start: 0,
        token_end: 2,
        section: 0,
    };
    put_chunks(store, uri, text, "[]", &[span])
}

/// Puts a document without chunks.
fn put_long(store: &Store, text: &str, marks: &str) -> Result<i64> {
    put_chunks(store, "long", text, marks, &[])
}

fn put_chunks(
    store: &Store,
    uri: &str,
    text: &str,
    marks: &str,
    layout: &[ChunkSpan],
) -> Result<i64> {
    store.put_document(&NewDocument {
        uri,
        title: "Filing",
        lang: "en",
        metadata: r#"{"year":2023}"#,
        source_hash: b"hash",
        source_size: 12,
        source_mtime_ns: 34,
        text,
        marks,
        layout,
        outlines: &vec!["outline".to_string(); layout.len()],
        context_keys: &vec![b"c".to_vec(); layout.len()],
        vector_keys: &vec![b"v".to_vec(); layout.len()],
    })
}

/// Returns a connection without checks, to cause damage.
fn unchecked(store: &Store) -> Connection {
    let db = Connection::open(store.path().join("crx.db")).unwrap();
    db.pragma_update(None, "foreign_keys", false).unwrap();
    db
}

#[test]
fn a_flipped_bit_in_any_field_of_any_table_is_detected() {
    let folder = TempDir::new().unwrap();
    let store = full(&folder);
    assert_eq!(store.verify().unwrap(), Vec::<String>::new());
    let db = unchecked(&store);
    let mut flips = 0;
    for table in TABLES {
        let name = table.name;
        for column in table.columns.split(", ").chain(["hash"]) {
            let select = format!("SELECT rowid, {column} FROM {name} LIMIT 1");
            let (row, kept): (i64, Value) = db
                .query_row(&select, [], |row| Ok((row.get(0)?, row.get(1)?)))
                .unwrap();
            let flipped = match kept.clone() {
                Value::Integer(number) => Value::Integer(number ^ 1 << 40),
                Value::Text(text) => Value::Text(format!("{text}x")),
                Value::Blob(mut bytes) => {
                    bytes[0] ^= 1;
                    Value::Blob(bytes)
                }
                other => panic!("{name}.{column}: {other:?}"),
            };
            let update = format!("UPDATE {name} SET {column} = ?1 WHERE rowid = ?2");
            // An integer key is the rowid.
            let moved = match flipped {
                Value::Integer(key) if table.columns.starts_with(column) => key,
                _ => row,
            };
            assert_eq!(
                db.execute(&update, (&flipped, row)).unwrap(),
                1,
                "{name} {row}"
            );
            let faults = store.verify().unwrap();
            let of_table = format!("{name} ");
            assert!(
                faults
                    .iter()
                    .any(|line| line.starts_with(&of_table)
                        && line.contains("does not match its hash")),
                "{name}.{column}: {faults:?}"
            );
            assert_eq!(db.execute(&update, (&kept, moved)).unwrap(), 1);
            flips += 1;
        }
    }
    assert_eq!((flips, store.verify().unwrap()), (63, Vec::<String>::new()));
}

#[test]
fn reading_a_damaged_row_is_an_error() {
    type Reads = fn(&Store) -> Result<()>;
    let cases: [(&str, &str, Reads); 9] = [
        (
            "UPDATE setting SET value = 'x'",
            "setting embedder",
            |store| store.settings().map(drop),
        ),
        ("UPDATE document SET title = 'x'", "document 1", |store| {
            store.documents().map(drop)
        }),
        (
            "UPDATE piece SET text = 'revenue fell'",
            "piece 1",
            |store| store.text(1).map(drop),
        ),
        ("UPDATE piece SET text = 'x'", "piece 1", |store| {
            store.chunks(&[1]).map(drop)
        }),
        (
            "UPDATE piece_index SET lines = 1",
            "piece_index 2",
            |store| store.passage(2, 1, 2).map(drop),
        ),
        ("UPDATE chunk SET outline = 'x'", "chunk 1", |store| {
            store.doc_chunks(1).map(drop)
        }),
        ("UPDATE context SET text = 'x'", "context 63", |store| {
            store.chunks(&[1]).map(drop)
        }),
        ("UPDATE change SET seq = 9", "change 2", |store| {
            store.seq().map(drop)
        }),
        ("UPDATE derived SET seq = 9", "derived vectors", |store| {
            store.derived("vectors").map(drop)
        }),
    ];
    for (damage, row, read) in cases {
        let folder = TempDir::new().unwrap();
        let store = full(&folder);
        read(&store).unwrap();
        unchecked(&store).execute(damage, []).unwrap();
        let expected = format!(
            "{}: {row} does not match its hash; `crx verify` lists every fault",
            store.path().display()
        );
        assert_eq!(read(&store), Err(Error::Damaged(expected)), "{damage}");
    }
}

#[test]
fn missing_rows_are_detected() {
    let cases = [
        (
            "DELETE FROM chunk",
            "document 1 does not have its chunks 0, 1, 2, ...",
        ),
        ("DELETE FROM piece", "body 1 lacks pieces of its text"),
        (
            "DELETE FROM context WHERE key = x'63'",
            "chunk 1 refers to a missing row of context",
        ),
        (
            "DELETE FROM vector",
            "chunk 1 refers to a missing row of vector",
        ),
        (
            "DELETE FROM document",
            "chunk 1 refers to a missing row of document",
        ),
        ("DELETE FROM change", "document 1 is not in the change log"),
        (
            "DELETE FROM sqlite_sequence",
            "chunk 1 has a key that may be reused",
        ),
    ];
    for (damage, fault) in cases {
        let folder = TempDir::new().unwrap();
        let store = full(&folder);
        unchecked(&store).execute(damage, []).unwrap();
        let faults = store.verify().unwrap();
        assert!(
            faults.iter().any(|line| line.starts_with(fault)),
            "{damage}: {faults:?}"
        );
    }
}

/// Replaces the row of a table by one with a hash that fits, as whoever makes an index can.
fn forge(store: &Store, table: &schema::Table, change: impl Fn(&mut Vec<Value>)) {
    let db = unchecked(store);
    let sql = format!("SELECT {} FROM {} LIMIT 1", table.columns, table.name);
    let mut row: Vec<Value> = db
        .query_row(&sql, [], |row| {
            (0..table.width).map(|at| row.get(at)).collect()
        })
        .unwrap();
    change(&mut row);
    let fields: Vec<_> = row.iter().map(rusqlite::types::ValueRef::from).collect();
    row::insert(&db, table, row::OnConflict::Replace, &fields).unwrap();
}

#[test]
fn a_document_whose_metadata_is_no_object_is_damaged_whatever_its_hash() {
    let deep = format!("{}1{}", "{\"a\":".repeat(3000), "}".repeat(3000));
    // SQLite takes these three for JSON.
    let depth_of_200 = format!("{}1{}", "{\"a\":".repeat(200), "}".repeat(200));
    let accepted: [&str; 3] = [&depth_of_200, r#"{"a":1e999}"#, r#"{"a":"\ud800"}"#];
    for metadata in ["[1]", "1", "", "{", "{\"a\":1}x", &deep]
        .into_iter()
        .chain(accepted)
    {
        let folder = TempDir::new().unwrap();
        let store = full(&folder);
        forge(&store, &schema::DOCUMENT, |row| {
            row[5] = Value::Text(metadata.to_string());
        });
        let fault = "document 1 has metadata that is not a JSON object";
        for found in [store.documents().map(drop), store.document("a").map(drop)] {
            assert!(found.unwrap_err().to_string().contains(fault), "{metadata}");
        }
        let faults = store.verify().unwrap();
        assert!(faults.iter().any(|line| line == fault), "{faults:?}");
    }
}

#[test]
fn marks_that_are_none_of_crx_are_damaged_whatever_their_hash() {
    for marks in [
        "{}",
        "[1]",
        r#"[{"kind":"page","start":0,"end":1}]"#,
        r#"[{"kind":"page","start":0,"end":1,"label":"","x":1}]"#,
        r#"[{"kind":"page","start":2,"end":1,"label":""}]"#,
        r#"[{"kind":"page","start":-1,"end":1,"label":""}]"#,
        r#"[{"kind":1,"start":0,"end":1,"label":""}]"#,
    ] {
        let folder = TempDir::new().unwrap();
        let store = full(&folder);
        forge(&store, &schema::BODY, |row| {
            row[1] = Value::Blob(text::content_key("revenue grew", marks).to_vec());
            row[3] = Value::Text(marks.to_string());
        });
        let fault = "body 1 has marks that are not a JSON list of marks";
        for found in [store.marks(1).map(drop), store.text(1).map(drop)] {
            assert!(found.unwrap_err().to_string().contains(fault), "{marks}");
        }
        let faults = store.verify().unwrap();
        assert!(faults.iter().any(|line| line.contains(fault)), "{faults:?}");
    }
}

#[test]
fn putting_a_document_again_repairs_it() {
    for damage in [
        "UPDATE piece SET text = 'x'",
        "UPDATE body SET marks = 'x'",
        "UPDATE chunk SET outline = 'x'",
        "UPDATE document SET title = 'x'",
        "DELETE FROM piece; DELETE FROM piece_index",
        "UPDATE piece_index SET lines = 1",
    ] {
        let folder = TempDir::new().unwrap();
        let store = full(&folder);
        unchecked(&store).execute_batch(damage).unwrap();
        assert_ne!(store.verify().unwrap(), Vec::<String>::new());
        let doc = put(&store, "a", "revenue grew").unwrap();
        put_long(&store, &"line\n".repeat(20_000), "[]").unwrap();
        assert_eq!(store.verify().unwrap(), Vec::<String>::new(), "{damage}");
        assert_eq!(store.text(doc).unwrap(), "revenue grew");
    }
}

#[test]
fn a_damaged_vector_counts_as_missing_and_is_repaired() {
    let folder = TempDir::new().unwrap();
    let store = full(&folder);
    unchecked(&store)
        .execute("UPDATE vector SET data = x'00000000'", [])
        .unwrap();
    assert_eq!(store.have_vectors(&[b"v".to_vec()]).unwrap(), [false]);
    store.put_vectors(&[b"v".to_vec()], &[0.6, 0.8], 2).unwrap();
    assert_eq!(store.verify().unwrap(), Vec::<String>::new());
}

#[test]
fn a_damaged_vector_is_dropped_and_its_chunk_is_pending() {
    // Damage to the data, and to the key by which the chunk refers to the vector.
    for damage in ["data = x'00000000'", "key = x'00'"] {
        let folder = TempDir::new().unwrap();
        let store = full(&folder);
        let seq = store.seq().unwrap();
        assert_eq!(store.drop_damaged_vectors().unwrap(), [] as [i64; 0]);
        assert_eq!(store.seq().unwrap(), seq);
        unchecked(&store)
            .execute(&format!("UPDATE vector SET {damage}"), [])
            .unwrap();
        assert_eq!(store.drop_damaged_vectors().unwrap(), [1], "{damage}");
        assert_eq!(store.pending(0, 9).unwrap(), [1]);
        assert_eq!(store.count_pending().unwrap(), 1);
        assert_eq!(store.changed_since(seq).unwrap(), [1]);
        assert_eq!(store.doc_vectors(1).unwrap(), []);
        assert_eq!(store.verify().unwrap(), Vec::<String>::new());
        store.put_vectors(&[b"v".to_vec()], &[0.6, 0.8], 2).unwrap();
        assert_eq!(store.pending(0, 9).unwrap(), [] as [i64; 0]);
        assert_eq!(store.count_pending().unwrap(), 0);
        assert_eq!(store.doc_vectors(1).unwrap().len(), 1);
    }
}

#[test]
fn a_damaged_vector_does_not_hide_the_others_of_its_document() {
    let folder = TempDir::new().unwrap();
    let store = full(&folder);
    unchecked(&store)
        .execute("UPDATE vector SET data = x'00000000'", [])
        .unwrap();
    let vectors = store.doc_vectors(1).unwrap();
    assert_eq!((vectors[0].chunk, &vectors[0].bytes), (1, &None));
}

#[test]
fn torn_pages_are_detected() {
    let folder = TempDir::new().unwrap();
    let store = full(&folder);
    for number in 0..200 {
        put(
            &store,
            &format!("{number}"),
            &format!("{number}").repeat(500),
        )
        .unwrap();
    }
    let path = store.path().to_path_buf();
    drop(store);
    let file = path.join("crx.db");
    let mut bytes = std::fs::read(&file).unwrap();
    for page in bytes.chunks_mut(4096).skip(40).step_by(3) {
        page.fill(0xa5);
    }
    std::fs::write(&file, bytes).unwrap();
    let store = Store::open(&path, false, false).unwrap();
    let faults = store.verify().unwrap();
    assert_ne!(faults, Vec::<String>::new());
    assert_eq!(store.verify().unwrap(), faults);
}

#[test]
fn a_full_disk_is_an_error_and_loses_nothing() {
    let folder = TempDir::new().unwrap();
    let store = full(&folder);
    let limit = |pages: i64| {
        store
            .guard()
            .as_ref()
            .unwrap()
            .db
            .pragma_update(None, "max_page_count", pages)
            .unwrap();
    };
    limit(160);
    let long = |number: usize| format!("{number} ").repeat(10_000);
    let refused = (0..100).find_map(|number| {
        put(&store, &format!("{number}"), &long(number))
            .err()
            .map(|error| (number, error))
    });
    let (count, Error::NoRoom(message)) = refused.unwrap() else {
        panic!()
    };
    assert!(
        message.starts_with(&format!("{}: ", store.path().display())),
        "{message}"
    );
    assert!(
        message.contains("free some space and run the same command again"),
        "{message}"
    );
    assert_eq!(store.verify().unwrap(), Vec::<String>::new());
    assert_eq!(store.documents().unwrap().len(), count + 2);
    limit(1_000_000);
    put(&store, &format!("{count}"), &long(count)).unwrap();
    assert_eq!(store.verify().unwrap(), Vec::<String>::new());
}

#[test]
fn a_close_that_fails_keeps_the_log() {
    let folder = TempDir::new().unwrap();
    let store = full(&folder);
    let documents = store.documents().unwrap();
    {
        let guard = store.guard();
        let db = &guard.as_ref().unwrap().db;
        db.pragma_update(None, "query_only", true).unwrap();
    }
    store.close();
    let reopened = Store::open(store.path(), true, false).unwrap();
    assert!(!reopened.log_lost());
    assert_eq!(reopened.documents().unwrap(), documents);
    reopened.close();
    assert!(!store.path().join("crx.db-wal").exists());
}

fn pragma(store: &Store, name: &str) -> Value {
    let guard = store.guard();
    let db = &guard.as_ref().unwrap().db;
    db.pragma_query_value(None, name, |row| row.get(0)).unwrap()
}

#[test]
fn the_settings_of_sqlite_hold() {
    let folder = TempDir::new().unwrap();
    let store = full(&folder);
    let read = |name: &str| pragma(&store, name);
    assert_eq!(read("journal_mode"), Value::Text("wal".into()));
    assert_eq!(read("synchronous"), Value::Integer(2));
    assert_eq!(read("foreign_keys"), Value::Integer(1));
    assert_eq!(read("mmap_size"), Value::Integer(0));
    assert_eq!(read("wal_autocheckpoint"), Value::Integer(8_000));
}

#[test]
fn rows_are_kept_until_another_connection_changes_the_database() {
    let folder = TempDir::new().unwrap();
    let writer = full(&folder);
    let reader = Store::open(writer.path(), false, false).unwrap();
    let keys = reader.chunk_keys(1).unwrap();
    let text_of = |reader: &Store| {
        reader.begin_read().unwrap();
        let text = reader.chunks(&keys).unwrap()[0].text().to_owned();
        reader.end_read().unwrap();
        text
    };
    let kept = |reader: &Store| {
        let guard = reader.guard();
        guard.as_ref().unwrap().rows.chunk(keys[0]).is_some()
    };
    assert_eq!(text_of(&reader), "revenue grew");
    assert!(kept(&reader));
    reader.begin_read().unwrap();
    assert!(kept(&reader));
    reader.end_read().unwrap();
    unchecked(&writer)
        .execute(
            "UPDATE piece SET text = 'revenue fell' WHERE text = 'revenue grew'",
            [],
        )
        .unwrap();
    reader.begin_read().unwrap();
    assert!(!kept(&reader));
    assert!(matches!(reader.chunks(&keys), Err(Error::Damaged(_))));
}

#[test]
fn an_immutable_database_is_read_without_other_files() {
    let folder = TempDir::new().unwrap();
    let store = full(&folder);
    let path = store.path().to_path_buf();
    drop(store);
    assert!(!path.join("crx.db-wal").exists());
    let uri = format!("file:{}?immutable=1", path.join("crx.db").display());
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let db = Connection::open_with_flags(uri, flags).unwrap();
    let documents = documents::DocumentRow::find(&db, "", []).unwrap();
    assert_eq!(documents.len(), 2);
    assert!(!path.join("crx.db-shm").exists());
}

#[test]
fn the_change_log_names_each_document_once() {
    let folder = TempDir::new().unwrap();
    let store = full(&folder);
    let start = store.seq().unwrap();
    let b = put(&store, "b", "one").unwrap();
    let c = put(&store, "c", "two").unwrap();
    put(&store, "b", "three").unwrap();
    assert_eq!(store.changed_since(start).unwrap(), [b, c]);
    assert_eq!(store.changed_since(start + 2).unwrap(), [b]);
    store.remove_documents(&["c".into(), "b".into()]).unwrap();
    assert_eq!(store.seq().unwrap(), start + 4);
    assert_eq!(store.changed_since(start + 3).unwrap(), [b, c]);
    assert!(store.doc_chunks(c).unwrap().is_empty());
    assert_eq!(store.doc_vectors(c).unwrap(), []);
}

#[test]
fn the_legs_read_the_documents_that_were_put() {
    let folder = TempDir::new().unwrap();
    let store = full(&folder);
    let chunks = store.doc_chunks(1).unwrap();
    let described = |row: &ChunkRow| {
        let texts = [row.text(), row.outline(), row.context(), row.outcome()];
        let names = [row.uri(), row.title(), row.lang(), row.kind().name()];
        let numbers = (row.key(), row.doc(), row.ordinal(), row.span());
        format!("{texts:?} {names:?} {numbers:?}")
    };
    assert_eq!(
        described(&chunks[0]),
        described(&store.chunks(&[1]).unwrap()[0])
    );
    assert_eq!(chunks[0].text(), "revenue grew");
    assert_eq!(chunks[0].context(), "from ACME's filing");
    // 0.6 and 0.8 as f16, little-endian.
    assert_eq!(
        store.doc_vectors(1).unwrap(),
        [DocVector {
            chunk: 1,
            ordinal: 0,
            bytes: Some(vec![0xcd, 0x38, 0x66, 0x3a])
        }]
    );
    let derived = store.derived("vectors").unwrap().unwrap();
    assert_eq!(
        derived,
        Derived {
            file: "vectors-1.f16".into(),
            seq: 1,
            seal: [7; 32]
        }
    );
    store.set_derived("vectors", None).unwrap();
    assert_eq!(store.derived("vectors").unwrap(), None);
}

/// A text of many pieces, in characters of one and three bytes, and marks on it: nested sections, a
/// section of the whole text, and pages, one of them empty.
fn long_text() -> (String, String) {
    let text: String = (0..8_000)
        .map(|line| format!("{line}: 漢字 text\n"))
        .collect();
    let end = text.chars().count();
    let mark = |kind: &str, start: usize, end: usize| {
        format!(r#"{{"kind":"{kind}","start":{start},"end":{end},"label":"{start}","level":1}}"#)
    };
    let mut marks = vec![mark("heading", 0, end)];
    marks.extend((0..40).map(|at| mark("heading", at * 3_000, at * 3_000 + 4_000)));
    marks.extend(
        (0..60)
            .rev()
            .map(|at| mark("page", at * 2_000, at * 2_000 + 2_000)),
    );
    marks.push(mark("page", 70_000, 70_000));
    (text, format!("[{}]", marks.join(",")))
}

/// Returns a passage as it is cut from the whole text.
fn passage_of(text: &str, marks: &str, start: usize, end: usize) -> PassageText {
    let chars: Vec<char> = text.chars().collect();
    let breaks = |chars: &[char]| chars.iter().filter(|&&c| c == '\n').count() as u64;
    let first = 1 + breaks(&chars[..start]);
    let marks: Vec<&RawValue> = serde_json::from_str(marks).unwrap();
    let overlaps = |mark: &&&RawValue| {
        let mark: serde_json::Value = serde_json::from_str(mark.get()).unwrap();
        let number = |name: &str| mark[name].as_u64().unwrap() as usize;
        number("start") < end && number("end") > start
    };
    let around: Vec<_> = marks.iter().filter(overlaps).collect();
    PassageText {
        text: chars[start..end].iter().collect(),
        lines: (first, first + breaks(&chars[start..end - 1])),
        marks: serde_json::to_string(&around).unwrap(),
    }
}

#[test]
fn a_passage_has_the_lines_and_marks_that_it_has_in_the_whole_text() {
    let folder = TempDir::new().unwrap();
    let store = full(&folder);
    let (text, marks) = long_text();
    let doc = put_long(&store, &text, &marks).unwrap();
    let end = text.chars().count();
    let indexed: i64 = unchecked(&store)
        .query_row("SELECT count(*) FROM piece_index", [], |row| row.get(0))
        .unwrap();
    assert!(indexed > 20);
    let starts = (0..end - 1).step_by(997).chain([69_000, 69_999, end - 1]);
    let spans: Vec<(usize, usize)> = starts
        .flat_map(|start| [1, 700, 20_000].map(|length| (start, (start + length).min(end))))
        .collect();
    let check = |store: &Store| {
        for &(start, end) in &spans {
            let found = store.passage(doc, start as u32, end as u32).unwrap();
            assert_eq!(
                found,
                passage_of(&text, &marks, start, end),
                "{start}..{end}"
            );
        }
    };
    check(&store);
    unchecked(&store)
        .execute("DELETE FROM piece_index WHERE piece > 5", [])
        .unwrap();
    check(&store);
    unchecked(&store)
        .execute("DROP TABLE piece_index", [])
        .unwrap();
    let path = store.path().to_path_buf();
    drop(store);
    let reader = Store::open(&path, false, false).unwrap();
    check(&reader);
    assert_eq!(reader.verify().unwrap(), Vec::<String>::new());
    let writer = Store::open(&path, true, false).unwrap();
    check(&writer);
    let again: i64 = unchecked(&writer)
        .query_row("SELECT count(*) FROM piece_index", [], |row| row.get(0))
        .unwrap();
    assert_eq!(
        (again, writer.verify().unwrap()),
        (indexed, Vec::<String>::new())
    );
}

#[test]
fn a_span_outside_of_the_text_is_an_error() {
    let folder = TempDir::new().unwrap();
    let store = full(&folder);
    assert_eq!(store.passage(1, 0, 12).unwrap().text, "revenue grew");
    for (doc, start, end) in [(1, 0, 13), (1, 5, 5), (1, 12, 13), (9, 0, 1)] {
        let refused = store.passage(doc, start, end);
        assert!(
            matches!(refused, Err(Error::Invalid(_))),
            "{doc} {start}..{end}"
        );
    }
}

#[test]
fn gc_drops_the_index_of_a_text() {
    let folder = TempDir::new().unwrap();
    let store = full(&folder);
    let count = |table: &str| -> i64 {
        let sql = format!("SELECT count(*) FROM {table}");
        unchecked(&store)
            .query_row(&sql, [], |row| row.get(0))
            .unwrap()
    };
    assert!(count("piece_index") > 0);
    store.remove_documents(&["long".into()]).unwrap();
    store.gc(false).unwrap();
    assert_eq!((count("piece_index"), count("piece")), (0, 1));
}

/// Layouts of chunks of up to 300 tokens, each starting up to 20 before the end of the one before.
fn layouts() -> impl Strategy<Value = Vec<Vec<LayoutChunk>>> {
    let sizes = prop::collection::vec((0u32..300, 0u32..20, any::<bool>()), 1..60);
    prop::collection::vec(sizes, 1..3)
        .prop_map(|documents| documents.iter().map(|sizes| laid_out(sizes)).collect())
}

fn laid_out(sizes: &[(u32, u32, bool)]) -> Vec<LayoutChunk> {
    let mut chunks = Vec::new();
    let (mut token_start, mut token_end, mut section) = (0, 0u32, 0);
    for (ordinal, &(size, overlap, opens)) in (0u32..).zip(sizes) {
        token_start = token_end.saturating_sub(overlap).max(token_start);
        token_end = token_end.max(token_start + size);
        section += u32::from(opens);
        let span = ChunkSpan {
            start: ordinal,
            end: ordinal + 1,
            token_start,
            token_end,
            section,
        };
        chunks.push(LayoutChunk { ordinal, span });
    }
    chunks
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn passages_from_the_chunks_within_reach_are_those_from_whole_layouts(
        layouts in layouts(),
        picks in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..6),
        budget in 0u32..2000,
        within_section: bool,
    ) {
        let folder = TempDir::new().unwrap();
        let store = full(&folder);
        let (mut docs, mut keys) = (Vec::new(), Vec::new());
        for (number, layout) in layouts.iter().enumerate() {
            let spans: Vec<ChunkSpan> = layout.iter().map(|chunk| chunk.span).collect();
            let text = "x".repeat(spans.len());
            let doc = put_chunks(&store, &number.to_string(), &text, "[]", &spans).unwrap();
            docs.push(doc);
            keys.push(store.chunk_keys(doc).unwrap());
        }
        let layout_of = |doc| docs.iter().position(|&other| other == doc).map(|at| &layouts[at][..]);
        let (mut hits, mut given) = (Vec::new(), vec![(-1, 9.0)]);
        for (rank, (doc, chunk)) in (0u8..).zip(picks) {
            let at = doc.index(docs.len());
            let ordinal = chunk.index(layouts[at].len());
            let score = 1.0 / f32::from(rank + 1);
            hits.push(Hit { doc: docs[at], ordinal: ordinal as u32, score });
            given.push((keys[at][ordinal], score));
        }
        let check = |shown: Vec<ShownPassage>, mut expected: Vec<passages::Passage>| {
            for passage in &mut expected {
                // The first of the given hits has no chunk.
                passage.hits.iter_mut().for_each(|hit| *hit += 1);
            }
            let found: Vec<_> = shown.iter().map(|shown| shown.passage.clone()).collect();
            prop_assert_eq!(found, expected);
            for ShownPassage { passage, text, .. } in shown {
                prop_assert_eq!(text.text.len() as u32, passage.end - passage.start);
            }
            Ok(())
        };
        for order in [Order::Score, Order::Document] {
            check(
                store.select_passages(&given, budget, within_section, order).unwrap(),
                passages::select(&hits, layout_of, budget, within_section, order).unwrap(),
            )?;
            for growth in [Growth::None, Growth::Tokens(budget), Growth::Chunks(budget % 7)] {
                check(
                    store.expand_passages(&given, growth, within_section, order).unwrap(),
                    passages::expand(&hits, layout_of, growth, within_section, order).unwrap(),
                )?;
            }
        }
    }
}

/// Returns whether a transaction was committed that may not be durable.
fn has_unsynced(store: &Store) -> bool {
    store.guard().as_ref().unwrap().unsynced_since.is_some()
}

#[test]
fn documents_are_durable_after_a_flush_or_a_second() {
    let folder = TempDir::new().unwrap();
    let store = full(&folder);
    store.flush().unwrap();
    put(&store, "d", "whales eat krill").unwrap();
    assert!(has_unsynced(&store));
    store.flush().unwrap();
    assert!(!has_unsynced(&store));
    put(&store, "e", "herons eat fish").unwrap();
    let long_ago = Instant::now().checked_sub(durability::GROUP);
    store.guard().as_mut().unwrap().unsynced_since = long_ago;
    put(&store, "f", "owls eat mice").unwrap();
    assert!(!has_unsynced(&store));
}

#[test]
fn sqlite_syncs_every_commit_again_after_a_document_and_a_refused_one() {
    let folder = TempDir::new().unwrap();
    let store = full(&folder);
    put(&store, "d", "whales eat krill").unwrap();
    assert_eq!(pragma(&store, "synchronous"), Value::Integer(2));
    let unknown = store.rename_document("unknown", "e", "{}", 0);
    assert!(matches!(unknown, Err(Error::Invalid(_))));
    assert_eq!(pragma(&store, "synchronous"), Value::Integer(2));
}
