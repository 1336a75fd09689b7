//! Vectors by the hash of what they were made from, as f16, and the chunks that lack theirs.

use std::collections::BTreeSet;

use half::f16;
use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::chunks::{StoredChunk, whole_document};
use super::row::{self, OnConflict, all, check, first, insert, value};
use super::schema::{CHUNK, VECTOR};
use super::{Store, changes};
use crate::error::{Error, Result};

/// The vector of a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocVector {
    /// The chunk's key.
    pub chunk: i64,
    /// The chunk's ordinal in its document, from 0.
    pub ordinal: u32,
    /// f16 little-endian bytes, or None if the vector is missing or does not match its hash.
    pub bytes: Option<Vec<u8>>,
}

/// A chunk that waits for its vector, and where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingChunk {
    /// The chunk's key.
    pub chunk: i64,
    /// The id of its document.
    pub doc: i64,
    /// The chunk's ordinal in its document, from 0.
    pub ordinal: i64,
}

impl Store {
    /// Returns for each key whether its vector exists and is intact.
    pub fn have_vectors(&self, keys: &[Vec<u8>]) -> Result<Vec<bool>> {
        self.read(|db| keys.iter().map(|key| have(db, key)).collect())
    }

    /// Returns the vector of each key as f16 little-endian bytes, or None if there is none.
    pub fn vectors(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>> {
        let sql = "SELECT key, dim, data, hash FROM vector WHERE key = ?";
        self.read(|db| {
            let vector = |key| {
                first(db, sql, [key], |row| {
                    check(&VECTOR, row, 0)?;
                    Ok(row.get(2)?)
                })
            };
            keys.iter().map(vector).collect()
        })
    }

    /// Stores rows of `dim` numbers as f16 under their keys, and links the chunks that lack them.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for an empty key, another number of rows than of keys, or a number that is
    /// not finite as f16.
    pub fn put_vectors(&self, keys: &[Vec<u8>], rows: &[f32], dim: usize) -> Result<()> {
        if dim == 0 || rows.len() != keys.len() * dim {
            let (keys, numbers) = (keys.len(), rows.len());
            return Err(Error::Invalid(format!(
                "rows: {numbers} numbers for {keys} keys of {dim} each"
            )));
        }
        if keys.iter().any(Vec::is_empty) {
            return Err(Error::Invalid(
                "vector: its key is empty; nothing was put".into(),
            ));
        }
        self.write(|db| {
            let mut changed = BTreeSet::new();
            for (at, (key, row)) in keys.iter().zip(rows.chunks_exact(dim)).enumerate() {
                let data = packed(row).ok_or_else(|| {
                    Error::Invalid(format!(
                        "rows[{at}]: a number is not finite as float16; nothing was put"
                    ))
                })?;
                if !have(db, key)? {
                    let dim = ValueRef::Integer(dim as i64);
                    let fields = [ValueRef::Blob(key), dim, ValueRef::Blob(&data)];
                    insert(db, &VECTOR, OnConflict::Replace, &fields)?;
                }
                let lacking = "wanted_key = ? AND vector_key IS NOT wanted_key";
                for mut chunk in StoredChunk::find(db, lacking, [key])? {
                    chunk.vector_key.clone_from(&chunk.wanted_key);
                    chunk.write_vector_key(db)?;
                    changed.insert(chunk.doc);
                }
            }
            changes::log(db, &Vec::from_iter(changed))
        })
    }

    /// Returns the keys above `after` of chunks whose wanted vector does not exist yet, ascending.
    pub fn pending(&self, after: i64, limit: usize) -> Result<Vec<i64>> {
        let sql = "SELECT chunk FROM chunk INDEXED BY chunk_pending \
                   WHERE vector_key IS NOT wanted_key AND chunk > ? ORDER BY chunk LIMIT ?";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.read(|db| all(db, sql, (after, limit), |row| Ok(row.get(0)?)))
    }

    /// Returns the number of chunks whose wanted vector does not exist yet.
    pub fn count_pending(&self) -> Result<i64> {
        let sql = "SELECT COUNT(*) FROM chunk INDEXED BY chunk_pending \
                   WHERE vector_key IS NOT wanted_key";
        self.read(|db| Ok(value(db, sql, [])?.unwrap_or(0)))
    }

    /// Returns all chunks whose wanted vector does not exist yet, by key.
    pub fn pending_chunks(&self) -> Result<Vec<PendingChunk>> {
        let sql = "SELECT chunk, doc, ordinal FROM chunk INDEXED BY chunk_pending \
                   WHERE vector_key IS NOT wanted_key ORDER BY chunk";
        self.read(|db| {
            all(db, sql, [], |row| {
                Ok(PendingChunk {
                    chunk: row.get(0)?,
                    doc: row.get(1)?,
                    ordinal: row.get(2)?,
                })
            })
        })
    }

    /// Returns those of the chunks, in their order, that should have a vector and have none.
    pub fn without_vector(&self, keys: &[i64]) -> Result<Vec<i64>> {
        let sql = "SELECT 1 FROM chunk \
                   WHERE chunk = ? AND vector_key IS NULL AND wanted_key IS NOT NULL";
        self.read(|db| {
            let mut statement = db.prepare_cached(sql)?;
            let mut without = Vec::new();
            for &key in keys {
                if statement.exists([key])? {
                    without.push(key);
                }
            }
            Ok(without)
        })
    }

    /// Returns whether any chunk has a vector.
    pub fn has_vectors(&self) -> Result<bool> {
        let sql = "SELECT EXISTS (SELECT 1 FROM chunk WHERE vector_key IS NOT NULL)";
        self.read(|db| Ok(value(db, sql, [])? == Some(true)))
    }

    /// Returns the vectors of a document's embedded chunks by ordinal; none if there is no such
    /// document. A damaged vector is no error, so that it does not hide the others.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`] if the document does not have all of its chunks.
    pub fn doc_vectors(&self, doc: i64) -> Result<Vec<DocVector>> {
        let sql = format!(
            "SELECT {}, {} FROM chunk LEFT JOIN vector ON vector.key = chunk.vector_key \
             WHERE chunk.doc = ? AND chunk.vector_key IS NOT NULL ORDER BY chunk.ordinal",
            CHUNK.select(),
            VECTOR.select()
        );
        let vector = CHUNK.width + 1;
        self.read(|db| {
            whole_document(db, doc)?;
            all(db, &sql, [doc], |row| {
                check(&CHUNK, row, 0)?;
                let intact = row::intact(&VECTOR, row, vector)?;
                Ok(DocVector {
                    chunk: row.get(0)?,
                    ordinal: row.get(2)?,
                    bytes: intact.then(|| row.get(vector + 2)).transpose()?,
                })
            })
        })
    }

    /// Deletes the vectors that do not match their hash, and returns the keys of the chunks that
    /// had one, ascending. These chunks are then [`pending`](Store::pending).
    pub fn drop_damaged_vectors(&self) -> Result<Vec<i64>> {
        let sql = format!("SELECT {}, vector.rowid FROM vector", VECTOR.select());
        let rowid = VECTOR.width + 1;
        self.write(|db| {
            let damaged = all(db, &sql, [], |row| {
                let intact = row::intact(&VECTOR, row, 0)?;
                Ok((!intact).then(|| row.get::<_, i64>(rowid)).transpose()?)
            })?;
            // The chunks are found by the lack of their vector, since its key may be damaged too.
            db.pragma_update(None, "defer_foreign_keys", true)?;
            for rowid in damaged.into_iter().flatten() {
                db.execute("DELETE FROM vector WHERE rowid = ?", [rowid])?;
            }
            let without = "vector_key IS NOT NULL AND NOT EXISTS \
                           (SELECT 1 FROM vector WHERE key = vector_key) ORDER BY chunk";
            let mut chunks = StoredChunk::find(db, without, [])?;
            for chunk in &mut chunks {
                chunk.vector_key.clear();
                chunk.write(db)?;
            }
            let docs = BTreeSet::from_iter(chunks.iter().map(|chunk| chunk.doc));
            changes::log(db, &Vec::from_iter(docs))?;
            Ok(chunks.iter().map(|chunk| chunk.key).collect())
        })
    }
}

/// Links a chunk to its wanted vector if that exists, and to none if it wants none.
pub(super) fn link(db: &Connection, chunk: &mut StoredChunk) -> Result<()> {
    let exists = "SELECT 1 FROM vector WHERE key = ?";
    if chunk.wanted_key.is_empty() || row::value::<i64>(db, exists, [&chunk.wanted_key])?.is_some()
    {
        chunk.vector_key.clone_from(&chunk.wanted_key);
    }
    Ok(())
}

/// Returns whether a vector exists and is intact.
fn have(db: &Connection, key: &[u8]) -> Result<bool> {
    let sql = "SELECT key, dim, data, hash FROM vector WHERE key = ?";
    Ok(first(db, sql, [key], |row| row::intact(&VECTOR, row, 0))? == Some(true))
}

/// Returns f16 little-endian bytes, or None if a number is not finite as f16.
fn packed(row: &[f32]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(row.len() * 2);
    for &number in row {
        let number = f16::from_f32(number);
        if !number.is_finite() {
            return None;
        }
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    Some(bytes)
}
