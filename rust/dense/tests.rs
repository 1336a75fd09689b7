//! The dense leg against a brute-force scan of a small store in memory.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use proptest::prelude::*;

use half::f16;

use super::live_rows::MAX_CHANGED;
use super::scan::TopRows;
use super::*;
use crate::store::{Derived, DocVector};

const KEY: Key = [5; 32];

/// A [`Source`] in memory.
#[derive(Default)]
struct MemoryStore {
    docs: Mutex<BTreeMap<i64, (i64, Vec<Scored>)>>,
    pointers: Mutex<BTreeMap<String, Derived>>,
    seq: Mutex<i64>,
    /// The chunks whose vector is damaged.
    damaged: Mutex<Vec<i64>>,
    reads_only: bool,
}

impl MemoryStore {
    /// Puts a document whose rows are `(key, angle)`: unit vectors of two dimensions.
    fn put(&self, doc: i64, rows: &[(i64, f32)]) {
        let mut seq = self.seq.lock().unwrap();
        *seq += 1;
        let rows = rows
            .iter()
            .map(|&(key, score)| Scored { key, score })
            .collect();
        self.docs.lock().unwrap().insert(doc, (*seq, rows));
    }

    fn nearest(&self, angle: f32, k: usize, only: Option<&Filter>) -> Vec<i64> {
        let best = self.best(angle, k, only);
        best.into_iter().map(|row| row.key).collect()
    }

    fn best(&self, angle: f32, k: usize, only: Option<&Filter>) -> Vec<Scored> {
        let mut best = TopRows::new(k);
        for (&doc, (_, rows)) in &*self.docs.lock().unwrap() {
            for row in rows
                .iter()
                .filter(|_| only.is_none_or(|only| only.contains(doc)))
            {
                best.push(scan::product(&unit(row.score), &query(angle)), || row.key);
            }
        }
        best.into_sorted()
    }
}

/// Returns a store of documents of so many rows, the angle of each of which is its key divided.
fn store_of(docs: i64, rows: i64, divisor: f32) -> MemoryStore {
    let store = MemoryStore::default();
    for doc in 0..docs {
        let keys = doc * rows..(doc + 1) * rows;
        let rows: Vec<_> = keys.map(|key| (key, key as f32 / divisor)).collect();
        store.put(doc, &rows);
    }
    store
}

fn query(angle: f32) -> [f32; 2] {
    [angle.cos(), angle.sin()]
}

fn unit(angle: f32) -> [f16; 2] {
    query(angle).map(f16::from_f32)
}

impl Source for MemoryStore {
    fn seq(&self) -> Result<i64> {
        Ok(*self.seq.lock().unwrap())
    }
    fn changed_since(&self, since: i64) -> Result<Vec<i64>> {
        let docs = self.docs.lock().unwrap();
        let changed = docs.iter().filter(|(_, (seq, _))| *seq > since);
        Ok(changed.map(|(&doc, _)| doc).collect())
    }
    fn has_vectors(&self) -> Result<bool> {
        let docs = self.docs.lock().unwrap();
        Ok(docs.values().any(|(_, rows)| !rows.is_empty()))
    }
    fn doc_vectors(&self, doc: i64) -> Result<Vec<DocVector>> {
        let docs = self.docs.lock().unwrap();
        let damaged = self.damaged.lock().unwrap();
        let bytes = |angle| {
            unit(angle)
                .iter()
                .flat_map(|value| value.to_le_bytes())
                .collect()
        };
        let vectors = (0..).zip(&docs[&doc].1).map(|(ordinal, row)| DocVector {
            chunk: row.key,
            ordinal,
            bytes: (!damaged.contains(&row.key)).then(|| bytes(row.score)),
        });
        Ok(vectors.collect())
    }
    fn uri(&self, doc: i64) -> Result<String> {
        Ok(format!("document-{doc}"))
    }
    fn derived(&self, name: &str) -> Result<Option<Derived>> {
        Ok(self.pointers.lock().unwrap().get(name).cloned())
    }
    fn set_derived(&self, name: &str, derived: Option<&Derived>) -> Result<()> {
        let mut pointers = self.pointers.lock().unwrap();
        match derived {
            Some(derived) => pointers.insert(name.into(), derived.clone()),
            None => pointers.remove(name),
        };
        Ok(())
    }
    fn writable(&self) -> bool {
        !self.reads_only
    }
}

fn keys(dense: &Dense, angle: f32, k: usize, only: Option<&Filter>) -> Vec<i64> {
    let found = dense.search(&query(angle), k, only).unwrap();
    found.into_iter().map(|row| row.key).collect()
}

fn files(folder: &Path) -> Vec<String> {
    let names = folder.read_dir().unwrap();
    let mut names: Vec<_> = names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Returns a store of three documents, published, and its folder.
fn published() -> (MemoryStore, tempfile::TempDir) {
    let (store, folder) = (MemoryStore::default(), tempfile::tempdir().unwrap());
    store.put(1, &[(10, 0.0), (11, 0.5)]);
    store.put(2, &[(12, 1.0)]);
    store.put(3, &[(13, 1.5), (14, 0.5)]);
    let writer = Dense::open(folder.path(), KEY, true, 100_000);
    assert_eq!(writer.sync(&store).unwrap(), 3);
    assert_eq!(files(folder.path()), [] as [&str; 0]);
    writer.publish(&store).unwrap();
    assert_eq!(files(folder.path()), ["vectors-1.f16"]);
    (store, folder)
}

#[test]
fn a_reader_finds_published_rows_without_reading_documents() {
    let (store, folder) = published();
    let reader = Dense::open(folder.path(), KEY, false, 100_000);
    assert_eq!(reader.sync(&store).unwrap(), 0);
    assert_eq!((reader.len(), reader.seq(), reader.exact()), (5, 3, true));
    // 11 and 14 are the same vector.
    assert_eq!(keys(&reader, 0.4, 3, None), [11, 14, 10]);
    assert_eq!(
        keys(&reader, 0.5, 3, Some(&Filter::from_docs([2, 3]))),
        [14, 12, 13]
    );
    assert_eq!(reader.faults(), [] as [&str; 0]);
}

#[test]
fn no_document_of_a_store_without_vectors_is_read() {
    let (store, folder) = (MemoryStore::default(), tempfile::tempdir().unwrap());
    store.put(1, &[]);
    store.put(2, &[]);
    let reader = Dense::open(folder.path(), KEY, false, 100_000);
    assert_eq!(reader.sync(&store).unwrap(), 0);
    assert_eq!((reader.len(), reader.seq()), (0, 2));
    store.put(2, &[(12, 1.0)]);
    assert_eq!(reader.sync(&store).unwrap(), 1);
    assert_eq!(keys(&reader, 1.0, 9, None), [12]);
}

#[test]
fn a_changed_document_is_searched_as_it_is_now() {
    let (store, folder) = published();
    let reader = Dense::open(folder.path(), KEY, false, 100_000);
    reader.sync(&store).unwrap();
    store.put(1, &[(11, 0.5), (20, 0.75)]);
    store.put(2, &[]);
    assert_eq!(keys(&reader, 0.0, 9, None), [10, 11, 14, 12, 13]);
    assert_eq!(reader.sync(&store).unwrap(), 2);
    assert_eq!(keys(&reader, 0.0, 9, None), [11, 14, 20, 13]);
    assert_eq!(reader.sync(&store).unwrap(), 0);
    let writer = Dense::open(folder.path(), KEY, true, 100_000);
    writer.publish(&store).unwrap();
    assert_eq!(files(folder.path()), ["vectors-2.f16"]);
    assert_eq!(keys(&writer, 0.0, 9, None), [11, 14, 20, 13]);
    // The reader still has the removed generation mapped; `sync` switches to the new one.
    assert_eq!(keys(&reader, 0.0, 9, None), [11, 14, 20, 13]);
    assert_eq!((reader.sync(&store).unwrap(), reader.len()), (0, 4));
}

#[test]
fn a_reader_ignores_a_damaged_file_and_the_writer_replaces_it() {
    let (store, folder) = published();
    let path = folder.path().join("vectors-1.f16");
    let good = std::fs::read(&path).unwrap();
    for at in (0..good.len()).step_by(7) {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let reader = Dense::open(folder.path(), KEY, false, 100_000);
        assert_eq!(reader.sync(&store).unwrap(), 3, "byte {at}");
        assert_eq!(keys(&reader, 0.4, 3, None), [11, 14, 10]);
        let fault = format!(
            "{}: does not match its seal; rows are read from the store",
            path.display()
        );
        assert_eq!(reader.faults(), [fault.as_str()]);
        assert_eq!(
            (reader.sync(&store).unwrap(), reader.faults().len()),
            (0, 1)
        );
    }
    let writer = Dense::open(folder.path(), KEY, true, 100_000);
    writer.sync(&store).unwrap();
    assert_eq!(
        (writer.faults().len(), files(folder.path())),
        (1, vec!["vectors-2.f16".into()])
    );
    let reader = Dense::open(folder.path(), KEY, false, 100_000);
    assert_eq!(
        (reader.sync(&store).unwrap(), reader.faults().len()),
        (0, 0)
    );
}

#[test]
fn a_missing_file_another_key_and_a_pointer_out_of_the_folder_are_faults() {
    let (store, folder) = published();
    let refused = |key: Key| {
        let reader = Dense::open(folder.path(), key, false, 100_000);
        reader.sync(&store).unwrap();
        (reader.faults().len(), reader.len())
    };
    assert_eq!(refused(KEY), (0, 5));
    assert_eq!(refused([6; 32]), (1, 5));
    let pointer = store.derived(VECTORS).unwrap().unwrap();
    let outside = Derived {
        file: "../vectors-1.f16".into(),
        ..pointer.clone()
    };
    store.set_derived(VECTORS, Some(&outside)).unwrap();
    assert_eq!(refused(KEY), (1, 5));
    store.set_derived(VECTORS, Some(&pointer)).unwrap();
    std::fs::remove_file(folder.path().join("vectors-1.f16")).unwrap();
    assert_eq!(refused(KEY), (1, 5));
}

#[test]
fn files_left_by_a_crash_are_removed_with_the_next_generation() {
    let (store, folder) = published();
    std::fs::write(folder.path().join("vectors-2.f16"), b"no row points here").unwrap();
    std::fs::write(folder.path().join("vectors-3.f16.tmp"), b"half").unwrap();
    std::fs::write(folder.path().join("notes.txt"), b"not ours").unwrap();
    store.put(4, &[(30, 0.1)]);
    Dense::open(folder.path(), KEY, true, 100_000)
        .publish(&store)
        .unwrap();
    assert_eq!(files(folder.path()), ["notes.txt", "vectors-4.f16"]);
}

#[test]
fn the_writer_publishes_a_grown_tail_without_a_request() {
    let (store, folder) = published();
    let rows: Vec<(i64, f32)> = (100..100 + MAX_CHANGED as i64)
        .map(|key| (key, 0.001))
        .collect();
    store.put(4, &rows);
    let writer = Dense::open(folder.path(), KEY, true, 100_000);
    writer.sync(&store).unwrap();
    assert_eq!(files(folder.path()), ["vectors-1.f16"]);
    store.put(5, &[(99, 0.0)]);
    writer.sync(&store).unwrap();
    assert_eq!(
        (files(folder.path()), writer.len()),
        (vec!["vectors-2.f16".into()], MAX_CHANGED + 6)
    );
    assert_eq!(keys(&writer, 0.0, 3, None), [10, 99, 100]);
}

#[test]
fn rows_of_different_dimensions_and_queries_of_others_are_refused() {
    let (store, folder) = published();
    let reader = Dense::open(folder.path(), KEY, false, 100_000);
    assert_eq!(reader.search(&[1.0], 1, None), Ok(Vec::new()));
    reader.sync(&store).unwrap();
    assert!(matches!(
        reader.search(&[1.0], 1, None),
        Err(Error::Invalid(_))
    ));
    let mut live = LiveRows::default();
    live.add(1, 1, &[0; 4]).unwrap();
    assert!(matches!(
        live.add(1, 2, &[0; 6]),
        Err(Error::Incompatible(_))
    ));
    assert!(matches!(reader.publish(&store), Err(Error::Invalid(_))));
}

#[test]
fn above_the_limit_a_graph_is_searched() {
    let (store, folder) = published_with_graph();
    assert_eq!(files(folder.path()), ["ann-1.hnsw", "vectors-1.f16"]);
    store.put(50, &[(900, 2.0)]);
    store.put(20, &[]);
    let reader = Dense::open(folder.path(), KEY, false, 100);
    reader.sync(&store).unwrap();
    for only in [
        None,
        Some(Filter::from_docs(10..40)),
        Some(Filter::from_docs([3])),
    ] {
        let expected = store.nearest(2.0, 5, only.as_ref());
        assert_eq!(keys(&reader, 2.0, 5, only.as_ref()), expected);
    }
}

#[test]
fn a_damaged_graph_is_found_by_the_search_that_reads_it_or_by_a_check_and_made_anew() {
    let (store, folder) = published_with_graph();
    let path = folder.path().join("ann-1.hnsw");
    let good = std::fs::read(&path).unwrap();
    let mut found_by_search = 0;
    for at in (0..good.len()).step_by(997) {
        let mut bytes = good.clone();
        bytes[at] ^= 0x80;
        std::fs::write(&path, &bytes).unwrap();
        let reader = Dense::open(folder.path(), KEY, false, 100);
        reader.sync(&store).unwrap();
        let is_searched = !reader.exact();
        // A list of neighbours is checked when it is read.
        match reader.search(&query(2.0), 5, None) {
            Ok(found) => {
                let found: Vec<i64> = found.into_iter().map(|row| row.key).collect();
                assert_eq!(found, store.nearest(2.0, 5, None), "byte {at}");
            }
            Err(error) => {
                assert!(
                    matches!(error, Error::Damaged(_)) && is_searched,
                    "byte {at}"
                );
                found_by_search += 1;
            }
        }
        reader.check(&store).unwrap();
        assert_eq!(
            (reader.exact(), reader.faults().len()),
            (true, 1),
            "byte {at}"
        );
        assert_eq!(keys(&reader, 2.0, 5, None), store.nearest(2.0, 5, None));
    }
    assert!(found_by_search > 0);
    let writer = Dense::open(folder.path(), KEY, true, 100);
    writer.publish(&store).unwrap();
    assert_eq!(files(folder.path()), ["ann-2.hnsw", "vectors-2.f16"]);
    assert!(!writer.exact());
}

#[test]
fn a_reader_finds_the_rows_of_another_model_although_the_base_is_of_the_one_before() {
    for graph in [100, 100_000] {
        let (store, folder) = (store_of(50, 10, 100.0), tempfile::tempdir().unwrap());
        let writer = Dense::open(folder.path(), KEY, true, graph);
        writer.publish(&store).unwrap();
        let reader = Dense::open(folder.path(), KEY, false, graph);
        reader.sync(&store).unwrap();
        let mut live = LiveRows::clone(&reader.live());
        live.remove(&(0..50).collect::<Vec<_>>());
        live.add(99, 7, &[0, 60, 0, 0, 0, 0]).unwrap();
        let query = [1.0, 0.0, 0.0];
        let found = search::nearest(&live, &query, 5, None).unwrap();
        let keys: Vec<i64> = found.into_sorted().iter().map(|row| row.key).collect();
        assert_eq!(keys, [7]);
    }
}

#[test]
fn a_writer_publishes_many_rows_of_another_model_in_place_of_a_graph() {
    let (store, folder) = published_with_graph();
    let writer = Dense::open(folder.path(), KEY, true, 100);
    writer.sync(&store).unwrap();
    let mut live = LiveRows::clone(&writer.live());
    live.remove(&(0..50).collect::<Vec<_>>());
    for key in 0..5_000 {
        live.add(99, key, &[0, 60, 0, 0, 0, 0]).unwrap();
    }
    writer.set(live);
    writer.sync(&store).unwrap();
    let reader = Dense::open(folder.path(), KEY, false, 100);
    reader.sync(&store).unwrap();
    assert_eq!((reader.faults(), reader.len()), (Vec::new(), 5_000));
}

#[test]
fn a_graph_with_a_filter_deleted_rows_and_duplicates_finds_what_a_scan_finds() {
    let (store, folder) = (MemoryStore::default(), tempfile::tempdir().unwrap());
    for doc in 0..1_000 {
        // Every tenth document has the rows of the one 500 before.
        let shift = if doc >= 500 && doc % 10 == 0 { 500 } else { 0 };
        let angle = |i: i64| ((doc - shift) * 40 + i) as f32 / 8_000.0;
        let rows: Vec<_> = (0..40).map(|i| (doc * 40 + i, angle(i))).collect();
        store.put(doc, &rows);
    }
    let writer = Dense::open(folder.path(), KEY, true, 100);
    writer.publish(&store).unwrap();
    for doc in (0..1_000).step_by(16) {
        store.put(doc, &[]);
    }
    writer.publish(&store).unwrap();
    let reader = Dense::open(folder.path(), KEY, false, 100);
    reader.sync(&store).unwrap();
    assert!(!reader.exact());
    assert_eq!(reader.live().changed_rows(), 63 * 40);
    for only in [
        None,
        Some(Filter::from_docs(20..990)),
        Some(Filter::from_docs(200..950)),
    ] {
        for angle in [0.0, 0.1, 1.6, 2.6, 4.9] {
            let expected = store.best(angle, 5, only.as_ref());
            let found = reader.search(&query(angle), 5, only.as_ref()).unwrap();
            // Of equal rows any may be among the best.
            let scores = |rows: &[Scored]| rows.iter().map(|row| row.score).collect::<Vec<_>>();
            assert_eq!(scores(&found), scores(&expected), "{angle}");
            let docs = found.iter().map(|row| row.key / 40);
            let allowed =
                |doc| doc % 16 != 0 && only.as_ref().is_none_or(|only| only.contains(doc));
            assert!(docs.into_iter().all(allowed), "{angle}");
        }
    }
}

/// Returns a store of 4,000 rows, published with a graph, and its folder.
fn published_with_large_graph() -> (MemoryStore, tempfile::TempDir) {
    let (store, folder) = (store_of(40, 100, 4000.0), tempfile::tempdir().unwrap());
    let writer = Dense::open(folder.path(), KEY, true, 100);
    writer.publish(&store).unwrap();
    (store, folder)
}

/// A byte of the last value of the matrix that [`published_with_large_graph`] writes: after its header
/// of 64 bytes, and for each row two keys, two codes, a scale of 12 bytes and two values.
const LAST_VALUE: usize = 64 + 4_000 * (16 + 2 + 12 + 4) - 1;

/// Flips a bit of a file.
fn damage(path: &Path, at: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[at] ^= 1;
    std::fs::write(path, &bytes).unwrap();
}

#[test]
fn a_damaged_row_is_found_by_the_search_that_reads_it_and_then_read_from_the_store() {
    // The last values of the matrix; the first page of the graph, whose upper layers are checked at
    // once.
    for (file, at, instead) in [
        ("vectors-1.f16", LAST_VALUE, "rows are read from the store"),
        ("ann-1.hnsw", 16_384 - 1, "all rows are scanned"),
    ] {
        let (store, folder) = published_with_large_graph();
        let path = folder.path().join(file);
        let reader = Dense::open(folder.path(), KEY, false, 100);
        reader.sync(&store).unwrap();
        assert!(!reader.exact());
        damage(&path, at);
        let reader = Dense::open(folder.path(), KEY, false, 100);
        reader.sync(&store).unwrap();
        let snapshot = reader.snapshot_handle();
        if file.starts_with("vectors") {
            assert!(reader.faults().is_empty());
            assert!(matches!(
                snapshot.search(&query(1.0), 5, None),
                Err(Error::Damaged(_))
            ));
            assert!(matches!(
                snapshot.search(&query(1.0), 5, Some(&Filter::from_docs([39]))),
                Err(Error::Damaged(_))
            ));
        }
        let fault = format!("{}: does not match its seal; {instead}", path.display());
        for dense in [&snapshot, &reader] {
            dense.sync(&store).unwrap();
            assert_eq!((dense.exact(), dense.faults()), (true, vec![fault.clone()]));
            assert_eq!(keys(dense, 1.0, 5, None), store.nearest(1.0, 5, None));
            dense.sync(&store).unwrap();
            assert_eq!(dense.faults().len(), 1);
        }
    }
}

#[test]
fn a_damaged_code_is_found_by_the_scan_that_reads_it_and_rows_are_then_read_from_the_store() {
    // A code that shares no page with a key, and the first byte of the last scale.
    for at in [64 + 4_000 * 16 + 2_000, 64 + 4_000 * (16 + 2 + 12) - 12] {
        let (store, folder) = (store_of(40, 100, 4000.0), tempfile::tempdir().unwrap());
        let writer = Dense::open(folder.path(), KEY, true, 10_000);
        writer.publish(&store).unwrap();
        let path = folder.path().join("vectors-1.f16");
        damage(&path, at);
        let reader = Dense::open(folder.path(), KEY, false, 10_000);
        reader.sync(&store).unwrap();
        assert!(reader.faults().is_empty());
        let found = reader.search(&query(1.0), 5, None);
        assert!(matches!(found, Err(Error::Damaged(_))), "byte {at}");
        reader.sync(&store).unwrap();
        let fault = "does not match its seal; rows are read from the store";
        assert_eq!(reader.faults(), [format!("{}: {fault}", path.display())]);
        assert_eq!(keys(&reader, 1.0, 5, None), store.nearest(1.0, 5, None));
    }
}

#[test]
fn a_check_reads_what_no_search_has_read() {
    let (store, folder) = published_with_large_graph();
    let path = folder.path().join("vectors-1.f16");
    damage(&path, LAST_VALUE);
    let reader = Dense::open(folder.path(), KEY, false, 100);
    reader.sync(&store).unwrap();
    assert_eq!((reader.exact(), reader.faults().len()), (false, 0));
    reader.check(&store).unwrap();
    assert_eq!((reader.exact(), reader.faults().len()), (true, 1));
    assert_eq!(keys(&reader, 1.0, 5, None), store.nearest(1.0, 5, None));
}

#[test]
fn the_writer_replaces_a_file_whose_damage_no_search_has_met() {
    for (file, at) in [("vectors-1.f16", LAST_VALUE), ("ann-1.hnsw", 5_000)] {
        let (store, folder) = published_with_large_graph();
        damage(&folder.path().join(file), at);
        let writer = Dense::open(folder.path(), KEY, true, 100);
        writer.publish(&store).unwrap();
        assert_eq!(files(folder.path()), ["ann-2.hnsw", "vectors-2.f16"]);
        assert_eq!(writer.faults().len(), 1);
        let reader = Dense::open(folder.path(), KEY, false, 100);
        reader.check(&store).unwrap();
        assert_eq!((reader.exact(), reader.faults().len()), (false, 0));
    }
}

#[test]
fn damaged_rows_are_not_published_anew() {
    let (store, folder) = published_with_large_graph();
    damage(&folder.path().join("vectors-1.f16"), LAST_VALUE);
    // So many changes that all rows are published again.
    let rows: Vec<(i64, f32)> = (10_000..15_000).map(|key| (key, 0.0)).collect();
    store.put(99, &rows);
    let writer = Dense::open(folder.path(), KEY, true, 100);
    writer.publish(&store).unwrap();
    assert_eq!(files(folder.path()), ["ann-2.hnsw", "vectors-2.f16"]);
    let reader = Dense::open(folder.path(), KEY, false, 100_000);
    reader.check(&store).unwrap();
    assert_eq!((reader.len(), reader.faults()), (9_000, Vec::new()));
    let only = Filter::from_docs([39]);
    assert_eq!(
        keys(&reader, 1.0, 100, Some(&only)),
        store.nearest(1.0, 100, Some(&only))
    );
}

/// Returns a store of 500 rows in 50 documents, published with a graph, and its folder.
fn published_with_graph() -> (MemoryStore, tempfile::TempDir) {
    let (store, folder) = (store_of(50, 10, 100.0), tempfile::tempdir().unwrap());
    let writer = Dense::open(folder.path(), KEY, true, 100);
    writer.publish(&store).unwrap();
    (store, folder)
}

#[test]
fn an_edit_is_published_as_a_tail_beside_the_graph() {
    let (store, folder) = published_with_graph();
    let mut writer = Dense::open(folder.path(), KEY, true, 100);
    let edits: [(i64, &[(i64, f32)]); 4] = [
        (50, &[(900, 2.0), (901, 0.1)]),
        (20, &[]),
        (50, &[(902, 2.005)]),
        (3, &[(903, 0.105), (904, 2.01)]),
    ];
    for (doc, rows) in edits {
        store.put(doc, rows);
        writer.publish(&store).unwrap();
        let tail = format!("tail-1-{}.f16", store.seq().unwrap());
        let expected = ["ann-1.hnsw", tail.as_str(), "vectors-1.f16"];
        assert_eq!(files(folder.path()), expected);
        let reader = Dense::open(folder.path(), KEY, false, 100);
        // Nothing is read from the store.
        assert_eq!(reader.sync(&store).unwrap(), 0);
        for dense in [&writer, &reader] {
            assert_eq!((dense.exact(), dense.faults().len()), (false, 0));
            for angle in [0.1, 2.0, 4.0] {
                assert_eq!(keys(dense, angle, 5, None), store.nearest(angle, 5, None));
            }
        }
        writer = Dense::open(folder.path(), KEY, true, 100);
    }
    // Nothing has changed: nothing is written.
    let before = files(folder.path());
    writer.publish(&store).unwrap();
    assert_eq!(files(folder.path()), before);
}

#[test]
fn a_damaged_tail_is_named_read_from_the_store_and_replaced() {
    let (store, folder) = published_with_graph();
    store.put(50, &[(900, 2.0)]);
    store.put(20, &[]);
    let writer = Dense::open(folder.path(), KEY, true, 100);
    writer.publish(&store).unwrap();
    let path = folder.path().join("tail-1-52.f16");
    let good = std::fs::read(&path).unwrap();
    for at in 0..good.len() {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let reader = Dense::open(folder.path(), KEY, false, 100);
        assert_eq!(reader.sync(&store).unwrap(), 2, "byte {at}");
        assert_eq!(keys(&reader, 2.0, 5, None), store.nearest(2.0, 5, None));
        let fault = format!(
            "{}: does not match its seal; its rows are read from the store",
            path.display()
        );
        assert_eq!((reader.exact(), reader.faults()), (false, vec![fault]));
    }
    let writer = Dense::open(folder.path(), KEY, true, 100);
    writer.sync(&store).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), good);
    let reader = Dense::open(folder.path(), KEY, false, 100);
    assert_eq!(
        (reader.sync(&store).unwrap(), reader.faults().len()),
        (0, 0)
    );
}

#[test]
fn a_tail_that_was_replaced_while_it_was_opened_is_read_from_the_store() {
    let (store, folder) = published_with_graph();
    store.put(50, &[(900, 2.0)]);
    let writer = Dense::open(folder.path(), KEY, true, 100);
    writer.publish(&store).unwrap();
    let tail = folder.path().join("tail-1-51.f16");
    std::fs::remove_file(&tail).unwrap();
    let reader = Dense::open(folder.path(), KEY, false, 100);
    assert_eq!(
        (reader.sync(&store).unwrap(), reader.faults().len()),
        (1, 0)
    );
    assert_eq!(keys(&reader, 2.0, 5, None), store.nearest(2.0, 5, None));
    let writer = Dense::open(folder.path(), KEY, true, 100);
    writer.publish(&store).unwrap();
    assert!(tail.exists());
}

#[test]
fn a_tail_of_an_older_generation_or_of_the_future_is_not_used() {
    let (store, folder) = published_with_graph();
    let bare = store.pointers.lock().unwrap().clone();
    store.put(50, &[(900, 2.0)]);
    let writer = Dense::open(folder.path(), KEY, true, 100);
    writer.publish(&store).unwrap();
    let tail = store.derived("tail").unwrap().unwrap();
    // A snapshot of the store from before the edit, whose pointer was read after it.
    let old = MemoryStore {
        seq: Mutex::new(50),
        ..MemoryStore::default()
    };
    *old.docs.lock().unwrap() = store.docs.lock().unwrap().clone();
    old.docs.lock().unwrap().remove(&50);
    *old.pointers.lock().unwrap() = bare;
    old.set_derived("tail", Some(&tail)).unwrap();
    let reader = Dense::open(folder.path(), KEY, false, 100);
    reader.sync(&old).unwrap();
    assert_eq!(keys(&reader, 2.0, 5, None), old.nearest(2.0, 5, None));
    // More than MAX_CHANGED new rows: the graph is built again, and the tail goes.
    let rows: Vec<(i64, f32)> = (1000..1001 + MAX_CHANGED as i64)
        .map(|key| (key, 5.0))
        .collect();
    store.put(51, &rows);
    writer.publish(&store).unwrap();
    assert_eq!(files(folder.path()), ["ann-2.hnsw", "vectors-2.f16"]);
    store.set_derived("tail", Some(&tail)).unwrap();
    let reader = Dense::open(folder.path(), KEY, false, 100);
    assert_eq!(reader.sync(&store).unwrap(), 0);
    assert_eq!(
        (reader.len(), reader.faults().len()),
        (502 + MAX_CHANGED, 0)
    );
}

#[test]
fn the_graph_is_built_once_at_the_end_of_a_build() {
    let (store, folder) = (MemoryStore::default(), tempfile::tempdir().unwrap());
    let writer = Dense::open(folder.path(), KEY, true, 100);
    for doc in 0..3 {
        let first = doc * 5000;
        let rows: Vec<(i64, f32)> = (first..first + 5000).map(|key| (key, 1.0)).collect();
        store.put(doc, &rows);
        writer.sync(&store).unwrap();
        let matrix = format!("vectors-{}.f16", doc + 1);
        assert_eq!(files(folder.path()), [matrix]);
        assert!(writer.exact());
    }
    writer.publish(&store).unwrap();
    assert_eq!(files(folder.path()), ["ann-4.hnsw", "vectors-4.f16"]);
    assert!(!writer.exact());
}

#[test]
fn the_tail_of_a_generation_without_rows_can_be_used() {
    let (store, folder) = (MemoryStore::default(), tempfile::tempdir().unwrap());
    for rows in [&[(1, 0.0)][..], &[]] {
        store.put(4, rows);
        let writer = Dense::open(folder.path(), KEY, true, 100_000);
        writer.publish(&store).unwrap();
    }
    let writer = Dense::open(folder.path(), KEY, true, 100_000);
    store.put(0, &[]);
    writer.publish(&store).unwrap();
    let reader = Dense::open(folder.path(), KEY, false, 100_000);
    reader.sync(&store).unwrap();
    assert_eq!(reader.faults(), [] as [&str; 0]);
    // Another model's vectors may follow.
    assert_eq!(reader.search(&[1.0; 3], 1, None).unwrap(), []);
}

#[derive(Debug, Clone)]
enum Step {
    Put(i64, Vec<f32>),
    Sync,
    Publish,
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let put = (0i64..6, prop::collection::vec(0.0f32..6.0, 0..5));
    let step = prop_oneof![
        4 => put.prop_map(|(doc, rows)| Step::Put(doc, rows)),
        2 => Just(Step::Sync),
        1 => Just(Step::Publish),
        1 => Just(Step::Reopen),
    ];
    prop::collection::vec(step, 1..30)
}

proptest! {
    #[test]
    fn after_any_history_a_search_equals_a_scan_of_the_store(
        steps in steps(),
        angle in 0.0f32..6.0,
        k in 0usize..12,
        only in prop::collection::vec(0i64..6, 0..4),
        ann_above in prop::sample::select(vec![0, 100_000]),
    ) {
        let (store, folder) = (MemoryStore::default(), tempfile::tempdir().unwrap());
        let open = |write| Dense::open(folder.path(), KEY, write, ann_above);
        let (mut writer, reader) = (open(true), open(false));
        let mut key = 0;
        for step in steps {
            match step {
                Step::Put(doc, rows) => {
                    let rows: Vec<(i64, f32)> = (key..).zip(rows).collect();
                    key += rows.len() as i64;
                    store.put(doc, &rows);
                }
                Step::Sync => drop(writer.sync(&store).unwrap()),
                Step::Publish => writer.publish(&store).unwrap(),
                Step::Reopen => writer = open(true),
            }
        }
        let only = Filter::from_docs(only);
        for dense in [&writer, &reader] {
            dense.sync(&store).unwrap();
            prop_assert_eq!(keys(dense, angle, k, None), store.nearest(angle, k, None));
            let expected = store.nearest(angle, k, Some(&only));
            prop_assert_eq!(keys(dense, angle, k, Some(&only)), expected);
            prop_assert_eq!(dense.faults(), Vec::<String>::new());
        }
    }
}

#[test]
fn a_damaged_vector_is_left_out_and_named_until_it_is_put_again() {
    let (store, folder) = published();
    store.damaged.lock().unwrap().push(14);
    store.put(3, &[(13, 1.5), (14, 0.5)]);
    let fault = "document-3: the vector of chunk 1 is damaged, so only BM25 finds this chunk; \
                 `crx verify` embeds it again";
    for write in [false, true, false] {
        let dense = Dense::open(folder.path(), KEY, write, 100_000);
        dense.sync(&store).unwrap();
        if write {
            dense.publish(&store).unwrap();
        }
        assert_eq!(keys(&dense, 0.5, 9, None), [11, 12, 10, 13]);
        assert_eq!(dense.faults(), [fault]);
    }
    assert_eq!(files(folder.path()), ["vectors-1.f16"]);
    store.damaged.lock().unwrap().clear();
    store.put(3, &[(13, 1.5), (14, 0.5)]);
    let writer = Dense::open(folder.path(), KEY, true, 100_000);
    writer.publish(&store).unwrap();
    assert_eq!(keys(&writer, 0.5, 2, None), [11, 14]);
    assert_eq!(writer.faults(), [] as [&str; 0]);
    assert_eq!(files(folder.path()), ["vectors-2.f16"]);
}
