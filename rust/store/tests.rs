//! Damage is detected, a full disk loses nothing, and a read-only folder can be read.

#![allow(clippy::unwrap_used)]

use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

use super::schema::TABLES;
use super::*;

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
    store.put_document(&NewDocument {
        uri,
        title: "Filing",
        lang: "en",
        metadata: r#"{"year":2023}"#,
        source_hash: b"hash",
        source_size: 12,
        source_mtime_ns: 34,
        text,
        marks: "[]",
        layout: &[span],
        outlines: &["outline".to_string()],
        context_keys: &[b"c".to_vec()],
        vector_keys: &[b"v".to_vec()],
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
                Value::Integer(number) => Value::Integer(number ^ 1),
                Value::Text(text) => Value::Text(format!("{text}x")),
                Value::Blob(mut bytes) => {
                    bytes[0] ^= 1;
                    Value::Blob(bytes)
                }
                other => panic!("{name}.{column}: {other:?}"),
            };
            let update = format!("UPDATE {name} SET {column} = ?1 WHERE {column} = ?2");
            assert_eq!(
                db.execute(&update, [&flipped, &kept]).unwrap(),
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
            assert_eq!(db.execute(&update, [&kept, &flipped]).unwrap(), 1);
            flips += 1;
        }
    }
    assert_eq!((flips, store.verify().unwrap()), (58, Vec::<String>::new()));
}

#[test]
fn reading_a_damaged_row_is_an_error() {
    type Reads = fn(&Store) -> Result<()>;
    let cases: [(&str, &str, Reads); 8] = [
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
        ("UPDATE chunk SET outline = 'x'", "chunk 1", |store| {
            store.doc_chunks(1).map(drop)
        }),
        ("UPDATE context SET text = 'x'", "context 63", |store| {
            store.chunks(&[1]).map(drop)
        }),
        ("UPDATE change SET seq = 9", "change 1", |store| {
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

#[test]
fn putting_a_document_again_repairs_it() {
    for damage in [
        "UPDATE piece SET text = 'x'",
        "UPDATE body SET marks = 'x'",
        "UPDATE chunk SET outline = 'x'",
        "UPDATE document SET title = 'x'",
        "DELETE FROM piece",
    ] {
        let folder = TempDir::new().unwrap();
        let store = full(&folder);
        unchecked(&store).execute(damage, []).unwrap();
        assert_ne!(store.verify().unwrap(), Vec::<String>::new());
        let doc = put(&store, "a", "revenue grew").unwrap();
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
        assert_eq!(store.changed_since(seq).unwrap(), [1]);
        assert_eq!(store.doc_vectors(1).unwrap(), []);
        assert_eq!(store.verify().unwrap(), Vec::<String>::new());
        store.put_vectors(&[b"v".to_vec()], &[0.6, 0.8], 2).unwrap();
        assert_eq!(store.pending(0, 9).unwrap(), [] as [i64; 0]);
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
    limit(120);
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
    assert_eq!(store.documents().unwrap().len(), count + 1);
    limit(1_000_000);
    put(&store, &format!("{count}"), &long(count)).unwrap();
    assert_eq!(store.verify().unwrap(), Vec::<String>::new());
}

#[test]
fn the_settings_of_sqlite_hold() {
    let folder = TempDir::new().unwrap();
    let store = full(&folder);
    let read = |pragma: &str| {
        let guard = store.guard();
        let db = &guard.as_ref().unwrap().db;
        db.pragma_query_value(None, pragma, |row| row.get::<_, Value>(0))
            .unwrap()
    };
    assert_eq!(read("journal_mode"), Value::Text("wal".into()));
    assert_eq!(read("synchronous"), Value::Integer(2));
    assert_eq!(read("foreign_keys"), Value::Integer(1));
    assert_eq!(read("mmap_size"), Value::Integer(0));
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
    assert_eq!(documents.len(), 1);
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
    assert_eq!(store.doc_chunks(c).unwrap(), []);
    assert_eq!(store.doc_vectors(c).unwrap(), []);
}

#[test]
fn the_legs_read_the_documents_that_were_put() {
    let folder = TempDir::new().unwrap();
    let store = full(&folder);
    let chunks = store.doc_chunks(1).unwrap();
    assert_eq!(chunks, store.chunks(&[1]).unwrap());
    assert_eq!(chunks[0].text, "revenue grew");
    assert_eq!(chunks[0].context, "from ACME's filing");
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
