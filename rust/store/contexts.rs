//! Contexts written by models, by the hash of what they were made from. They are expensive, so they
//! stay until `gc` is asked to drop unused ones.

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::chunks::StoredChunk;
use super::row::{self, OnConflict, check, first, hex, insert};
use super::schema::CONTEXT;
use super::{Store, changes, vectors};
use crate::error::{Error, Result};

/// A context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextRow {
    /// The contextualizer that made it.
    pub generator: String,
    /// The outcome of making it: "ok", "retried", "rejected:...", "failed:...".
    pub outcome: String,
    /// The text, or "" if none was made.
    pub text: String,
}

impl Store {
    /// Stores contexts under their keys. An existing context is not replaced, unless it is damaged.
    pub fn put_contexts(&self, rows: &[(Vec<u8>, ContextRow)]) -> Result<()> {
        if rows.iter().any(|(key, _)| key.is_empty()) {
            return Err(Error::Invalid(
                "context: its key is empty; nothing was put".into(),
            ));
        }
        self.write(|db| {
            for (
                key,
                ContextRow {
                    generator,
                    outcome,
                    text,
                },
            ) in rows
            {
                let sql = "SELECT key, generator, outcome, text, hash FROM context WHERE key = ?";
                if first(db, sql, [key], |row| row::intact(&CONTEXT, row, 0))? == Some(true) {
                    continue;
                }
                let words = [generator, outcome, text].map(|word| row::text(word));
                let fields = [ValueRef::Blob(key), words[0], words[1], words[2]];
                insert(db, &CONTEXT, OnConflict::Replace, &fields)?;
            }
            Ok(())
        })
    }

    /// Returns the context of each key, or None if there is none.
    pub fn contexts(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<ContextRow>>> {
        let sql = "SELECT key, generator, outcome, text, hash FROM context WHERE key = ?";
        self.read(|db| {
            let find = |key: &Vec<u8>| {
                first(db, sql, [key], |row| {
                    check(&CONTEXT, row, 0)?;
                    let (generator, outcome) = (row.get(1)?, row.get(2)?);
                    Ok(ContextRow {
                        generator,
                        outcome,
                        text: row.get(3)?,
                    })
                })
            };
            keys.iter().map(find).collect()
        })
    }

    /// Sets the context of a chunk and the vector that it should have, in one transaction. The chunk
    /// keeps its present vector until the wanted one exists.
    pub fn link_context(&self, chunk: i64, context_key: &[u8], vector_key: &[u8]) -> Result<()> {
        self.write(|db| {
            require(db, &[context_key])?;
            let Some(previous) = StoredChunk::find(db, "chunk = ?", [chunk])?.pop() else {
                return Err(Error::Invalid(format!(
                    "chunk {chunk}: no such chunk; its document was replaced or removed"
                )));
            };
            let mut stored = previous.clone();
            stored.context_key = context_key.to_vec();
            stored.wanted_key = vector_key.to_vec();
            vectors::link(db, &mut stored)?;
            if stored.row_hash() == previous.row_hash() {
                return Ok(());
            }
            stored.write(db)?;
            changes::log(db, &[stored.doc])
        })
    }
}

/// Checks that every key that is not empty has a context.
pub(super) fn require(db: &Connection, keys: &[impl AsRef<[u8]>]) -> Result<()> {
    for key in keys.iter().map(AsRef::as_ref).filter(|key| !key.is_empty()) {
        if row::value::<i64>(db, "SELECT 1 FROM context WHERE key = ?", [key])?.is_none() {
            let key = hex(key);
            return Err(Error::Invalid(format!(
                "context {key}: no such context; put it first"
            )));
        }
    }
    Ok(())
}
